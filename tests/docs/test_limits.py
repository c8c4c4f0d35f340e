"""The limits that README names are those of the product."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pgmem import InvalidArgument
from pgmem._verbs import VERBS
from pgmem.settings import load
from tests.conftest import Call

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
LIMITS = README.partition("## Limits")[2]


def test_titles_are_compared_by_their_words_as_the_examples_say(call: Call) -> None:
    named = [" ".join(text.split()) for text in re.findall(r'"([^"]+)"', LIMITS)]
    europe, asia, after, before = named
    call("save_session", objective="x", project_id="shop")

    def outcome(title: str) -> str:
        return str(call("save_decision", title=title, rationale=title, project_id="shop")["dedup_outcome"])

    assert [outcome(title) for title in (europe, asia)] == ["new", "new"]
    assert [outcome(title) for title in (before, after)] == ["new", "supersede"]
    shown = call("retrieve_context", project_id="shop")["items"]
    assert {europe, asia, after} <= {item.get("title") for item in shown}
    assert call("get_node", label="Decision", key=before)["status"] == "superseded"


def test_what_a_person_decides_is_no_tool() -> None:
    verbs = "approve_card reject_card archive_card resolve_review supersede merge_entities retry_save erase_subject"
    assert [name for name in verbs.split() if VERBS[name].toolsets] == []


def test_other_backends_are_refused() -> None:
    named = re.search(r"backends other than PostgreSQL \(([^)]+)\)", LIMITS)
    assert named is not None
    for backend in named[1].split(", "):
        with pytest.raises(InvalidArgument, match="GRAPH_BACKEND"):
            load(graph_backend=backend)
