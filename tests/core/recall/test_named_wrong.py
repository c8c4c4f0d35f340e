"""A memory that an agent named wrong: marked at once by every way in, and after the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

Call = Callable[..., Any]


@pytest.fixture
def saved(call: Call) -> dict[str, str]:
    """Two decisions about refunds, whose ids are text."""
    call("save_session", objective="begin", project_id="shop")
    return {
        title: str(call("save_decision", title=title, rationale="Decided.", project_id="shop")["artifact_id"])
        for title in ("Refunds are paid within three days", "Refunds are paid to the card of the order")
    }


def test_what_was_named_wrong_is_marked_and_comes_after_the_others(call: Call, saved: dict[str, str]) -> None:
    wrong, other = saved
    call("feedback", id=saved[wrong], verdict="wrong")
    found = call("search_answer", query="Refunds are paid within three days", project_id="shop")["results"]
    assert [result["title"] for result in found] == [other, wrong]
    assert found[1]["wrong_at"]
    assert not found[0].get("wrong_at")
    items = call("retrieve_context", project_id="shop")["items"]
    assert [item["title"] for item in items if item["label"] == "Decision"] == [other, wrong]
    assert items[-1]["wrong_at"]
    near = call("memory_for_prompt", prompt="pay refunds within three days", project_id="shop")["matches"]
    assert [match["title"] for match in near if match.get("wrong_at")] == [wrong]


def test_what_is_used_more_often_than_named_wrong_is_not_marked(
    call: Call, saved: dict[str, str], clock: Any
) -> None:
    wrong, _ = saved
    call("feedback", id=saved[wrong], verdict="wrong")
    call("feedback", id=saved[wrong], verdict="used")
    assert not [
        result
        for result in call("search_answer", query="Refunds", project_id="shop")["results"]
        if result.get("wrong_at")
    ]


@pytest.mark.parametrize("name", ["id", "short", "title", "title in capitals"])
def test_feedback_and_confirm_take_what_a_session_is_shown(
    call: Call, saved: dict[str, str], name: str
) -> None:
    title, _ = saved
    sent = {
        "id": saved[title],
        "short": saved[title][:8],
        "title": title,
        "title in capitals": title.upper(),
    }[name]
    assert call("feedback", id=sent, verdict="used")["used"] == 1
    assert call("confirm", id=sent)["title"] == title


def test_verbs_that_take_a_name_take_the_first_digits_of_an_id(call: Call, saved: dict[str, str]) -> None:
    title, other = saved
    assert call("get_node", label="Decision", key=saved[title][:8])["title"] == title
    newer = call(
        "save_decision",
        title="Pay refunds in a week",
        rationale="The bank is slow.",
        project_id="shop",
        supersedes=saved[title][:8],
    )
    assert newer["status"] == "saved"
    assert call("get_node", label="Decision", key=saved[title][:8])["status"] == "superseded"
    assert call("get_node", label="Decision", key=saved[other][:8])["status"] == "active"


def test_a_name_of_no_memory_or_of_several_is_an_error_that_says_so(
    call: Call, saved: dict[str, str]
) -> None:
    with pytest.raises(psycopg.Error, match="No memory 'Refunds' found"):
        call("feedback", id="Refunds", verdict="used")
    call("save_session", objective="begin", project_id="web")
    title, _ = saved
    call("save_decision", title=title, rationale="Decided.", project_id="web")
    with pytest.raises(psycopg.Error, match="names 2 memories; send the id of one"):
        call("feedback", id=title, verdict="used")
