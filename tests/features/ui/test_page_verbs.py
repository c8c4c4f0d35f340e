"""The verbs of the pages: lines of decisions, counts at a time, and the activity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import Each


@pytest.fixture
def kept(call: Call) -> dict[str, Any]:
    call("save_session", objective="Begin", project_id="shop")
    saved = call("save_decision", title="Use PostgreSQL", rationale="One system.", project_id="shop")
    return call("find_memory", id=saved["artifact_id"])


def test_the_lines_of_decisions_are_counted_and_each_is_listed_once(
    call: Call, each: Each, kept: dict[str, Any]
) -> None:
    def decide(title: str, old: object | None = None) -> object:
        new = call("save_decision", title=title, rationale="Because.", project_id="shop")["artifact_id"]
        if old is not None:
            call("supersede", old=str(old), new=str(new), by="ada")
        return new

    decide("Keep nothing at all", decide("Write files by hand", kept["id"]))
    decide("Mail goes at night", decide("Send through a queue"))
    lines = each("list_lines")
    assert [(one["line"], one["title"]) for one in lines] == [
        (1, "Send through a queue"),
        (1, "Mail goes at night"),
        (2, "Use PostgreSQL"),
        (2, "Write files by hand"),
        (2, "Keep nothing at all"),
    ]
    assert {one["line"] for one in each("list_lines", limit=1)} == {1}


@pytest.mark.parametrize("known", [None, "2026-02-15"])
def test_counts_and_lists_of_a_time_are_those_of_the_states(
    call: Call,
    connection: psycopg.Connection[DictRow],
    each: Each,
    clock: Callable[[str], None],
    known: str | None,
) -> None:
    """They read the present states from an index, and answer as states_at does."""
    clock("2026-01-01")
    call("save_session", objective="Begin", project_id="shop")
    old = call("save_decision", title="Use MySQL", rationale="Known.", project_id="shop")["artifact_id"]
    gone = call("save_context", topic="Gone", content="Soon.", project_id="shop")["artifact_id"]
    clock("2026-02-01")
    new = call("save_decision", title="Everything in PostgreSQL", rationale="One.", project_id="shop")
    call("supersede", old=str(old), new=str(new["artifact_id"]), by="ada")
    clock("2026-03-01")
    call("forget", label="Context", key=str(gone))
    call("save_pattern", trigger="Slow", repeatable_steps=["Explain"], project_id="shop")
    for as_of in (None, "2026-01-15", "2026-02-15", "2026-03-15"):
        if as_of is None and known is None:
            continue
        when = {"as_of": as_of, "known_at": known}
        states = each("list_memories", limit=100, **when)
        counted = call("count_memories", **when)
        truth = sorted(
            str(one["title"])
            for one in connection.execute(
                "select title from pgmem.states_at(%s, %s) where pgmem.is_memory(label)", (as_of, known)
            )
        )
        assert sorted(one["title"] for one in states) == truth, when
        assert counted["total"] == len(truth)


def test_the_cards_that_pgmem_reads_are_one_entry_of_the_activity(call: Call, each: Each, shop: str) -> None:
    report = {
        "modules": [{"path": f"src/{name}.py", "doc": f"The {name}."} for name in ("cart", "mail", "tax")]
    }
    call("refresh_from_run", report=psycopg.types.json.Jsonb(report), project_id=shop)
    call("save_decision", title="Sell tea", rationale="We like it.", project_id=shop)
    call("save_context", topic="The shop", content="It opens at nine.", project_id=shop)
    found = [(one["kind"], one["title"]) for one in each("list_activity", project_id=shop)]
    assert {("saved", "Sell tea"), ("saved", "The shop: It opens at nine.")} <= set(found)
    (cards,) = [title for kind, title in found if kind == "cards"]
    assert cards == "3 cards"
    assert not [kind for kind, title in found if "src/" in title]
