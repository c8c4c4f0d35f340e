"""A decision that names the one it replaces, one that was replaced and is said again, and decisions that grow old."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

Call = Callable[..., Any]
OLD, NEW = "Take payments with Stripe", "Settle by invoice through Adyen"


@pytest.fixture
def old(call: Call) -> str:
    call("save_session", objective="begin", project_id="shop")
    return str(call("save_decision", title=OLD, rationale="Known.", project_id="shop")["artifact_id"])


def status(connection: psycopg.Connection[DictRow], title: str) -> list[str]:
    rows = connection.execute("select status from pgmem.memory where title = %s", (title,)).fetchall()
    return [row["status"] for row in rows]


@pytest.mark.parametrize("by_title", [True, False])
def test_a_decision_replaces_the_one_that_it_names(
    by_title: bool, old: str, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    saved = call(
        "save_decision",
        title=NEW,
        rationale="Cheaper.",
        project_id="shop",
        supersedes=OLD if by_title else old,
    )
    assert (saved["status"], saved["dedup_outcome"], str(saved["candidate_id"])) == (
        "saved",
        "supersede",
        old,
    )
    assert status(connection, OLD) == ["superseded"]
    assert status(connection, NEW) == ["active"]


@pytest.mark.parametrize("purge", [True, False])
def test_forgetting_a_decision_names_the_one_that_it_replaced_and_leaves_it_hidden(
    purge: bool, old: str, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    assert call("forget", label="Decision", key=old)["next_step"] is None
    call("revert", label="Decision", key=old, version=1)
    call("save_decision", title=NEW, rationale="Cheaper.", project_id="shop", supersedes=old)
    gone = call("forget", label="Decision", key=NEW, purge=purge)
    assert gone["next_step"] == f"Still hidden, as it replaced them: '{OLD}' ({old}). revert brings it back."
    assert status(connection, OLD) == ["superseded"]


def test_a_replaced_decision_that_is_said_again_does_not_come_back(
    old: str, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    new = call("save_decision", title=NEW, rationale="Cheaper.", project_id="shop", supersedes=old)[
        "artifact_id"
    ]
    for rationale in ("Known.", "We know it well."):
        again = call("save_decision", title=OLD, rationale=rationale, project_id="shop")
        assert (again["dedup_outcome"], again["artifact_id"]) == ("duplicate_skip", new)
        assert "this was replaced by" in again["message"]
        assert NEW in again["message"]
    assert status(connection, OLD) == ["superseded"]
    # Who means it names it, and the line goes on.
    back = call("save_decision", title=OLD, rationale="Known.", project_id="shop", supersedes=str(new))
    assert back["dedup_outcome"] == "supersede"
    assert status(connection, NEW) == ["superseded"]
    assert sorted(status(connection, OLD)) == ["active", "superseded"]


def test_what_supersedes_names_is_live_and_of_the_same_place(old: str, call: Call) -> None:
    new = call("save_decision", title=NEW, rationale="Cheaper.", project_id="shop", supersedes=old)[
        "artifact_id"
    ]
    with pytest.raises(psycopg.Error, match=f"superseded: it was replaced by .* send its id {new}"):
        call(
            "save_decision",
            title="Pay by bank transfer alone",
            rationale="x",
            project_id="shop",
            supersedes=old,
        )
    with pytest.raises(psycopg.Error, match="No Decision"):
        call(
            "save_decision",
            title="Pay by bank transfer alone",
            rationale="x",
            project_id="shop",
            supersedes="Pay",
        )
    call("save_session", objective="begin", project_id="other")
    with pytest.raises(psycopg.Error, match="holds in another place"):
        call("save_decision", title="Pay by transfer", rationale="x", project_id="other", supersedes=str(new))


def test_a_decision_holds_however_old_it_is(
    old: str, call: Call, clock: Callable[[str], None], connection: psycopg.Connection[DictRow]
) -> None:
    """Its confidence does not fall, it is not called stale, and no detector asks whether it holds."""
    call("save_context", content="Always run the tests with tox.", topic="tests", project_id="shop")
    call("save_pattern", trigger="A webhook arrives", repeatable_steps=["check"], project_id="shop")
    clock("2028-01-01")
    bundle = call("retrieve_context", project_id="shop")
    kept = {item["label"]: item for item in bundle["items"] + bundle["standing"]}
    assert (kept["Decision"]["confidence"], kept["Decision"]["freshness"]) == (1.0, "current")
    assert (kept["Context"]["confidence"], kept["Context"]["freshness"]) == (1.0, "current")
    assert kept["Pattern"]["freshness"] == "stale"
    assert kept["Pattern"]["confidence"] < 0.1
    (result,) = call("search_answer", query=OLD, labels=["Decision"])["results"]
    assert result["confidence"] == 1.0
    assert call("get_node", label="Decision", key=old)["confidence"] == 1.0
    call("decay_scores", archive_below=0.5)
    assert status(connection, OLD) == ["active"]


def decided(call: Call, **times: str) -> set[str]:
    """The titles of the decisions that a context shows."""
    items = call("retrieve_context", project_id="shop", categories=["Decision"], **times)["items"]
    return {item["title"] for item in items}


@pytest.mark.parametrize("named", [True, False])
def test_an_announced_decision_replaces_the_earlier_one_when_it_begins_to_hold(
    named: bool, old: str, call: Call, clock: Callable[[str], None], connection: psycopg.Connection[DictRow]
) -> None:
    new = NEW if named else f"{OLD} again"
    saved = call(
        "save_decision",
        title=new,
        rationale="Cheaper.",
        project_id="shop",
        valid_from="2090-01-01T00:00:00Z",
        **({"supersedes": OLD} if named else {}),
    )
    assert (saved["dedup_outcome"], str(saved["candidate_id"])) == ("supersede", old)
    assert decided(call) == {OLD}
    assert decided(call, as_of="2089-12-31") == {OLD}
    assert decided(call, as_of="2090-01-02") == {new}
    clock("2090-01-02")
    assert decided(call) == {new}
    # Once it holds, the one that it has replaced does not come back.
    again = call("save_decision", title=OLD, rationale="We know it.", project_id="shop")
    assert (again["dedup_outcome"], again["artifact_id"]) == ("duplicate_skip", saved["artifact_id"])
    assert decided(call) == {new}


def test_a_decision_that_has_ended_replaces_and_contradicts_nothing(
    old: str, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    past = f"{OLD} again"
    saved = call(
        "save_decision",
        title=past,
        rationale="Then.",
        project_id="shop",
        valid_from="2001-01-01",
        valid_to="2009-12-31",
    )
    assert (saved["status"], saved["dedup_outcome"]) == ("saved", "new")
    assert decided(call) == {OLD}
    assert decided(call, as_of="2005-01-01") == {past}
    assert status(connection, OLD) == ["active"]


@pytest.mark.parametrize(
    ("verb", "content"),
    [
        ("save_decision", {"title": "Ship on Mondays", "rationale": "Quiet."}),
        ("save_pattern", {"trigger": "A release", "repeatable_steps": ["tag", "build"]}),
    ],
)
def test_what_is_saved_again_with_a_period_holds_in_that_period(
    verb: str, content: dict[str, Any], call: Call, clock: Callable[[str], None]
) -> None:
    def shown(**times: str) -> bool:
        items = call("retrieve_context", project_id="shop", **times)["items"]
        return any(item["label"] != "Session" for item in items)

    call("save_session", objective="begin", project_id="shop")
    save = {"project_id": "shop", **content}
    first = call(verb, **save, valid_from="2020-01-01")
    assert (shown(), shown(as_of="2005-01-01")) == (True, False)
    again = call(verb, **save, valid_from="2001-01-01", valid_to="2009-12-31")  # another period
    assert (again["dedup_outcome"], again["artifact_id"]) == ("duplicate_skip", first["artifact_id"])
    assert (shown(), shown(as_of="2005-01-01"), shown(as_of="2015-01-01")) == (True, True, False)
    call(verb, **save, valid_from="2020-01-01", valid_to="2089-12-31")  # the end is known now
    assert (shown(), shown(as_of="2080-01-01")) == (True, True)
    clock("2091-01-01")
    assert not shown()
