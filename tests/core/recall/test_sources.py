"""From a memory to its sources in one call, with its state at that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Rows


def cite(call: Call, *targets: object) -> Any:
    return call(
        "remember",
        label="Concept",
        properties={"name": "Till", "citation": [str(one) for one in targets]},
        project_id="shop",
    )["id"]


def test_a_source_is_fresh_stale_gone_or_uncheckable(call: Call, each: Each, shop: str, rows: Rows) -> None:
    kept = call("save_context", content="The till opens at seven", project_id=shop)["artifact_id"]
    dropped = call("save_context", content="The till is red", topic="red till", project_id=shop)[
        "artifact_id"
    ]
    call("capture_turns", client="codex", session_id="s", project_id=shop,
         turns='[{"id": "1", "role": "user", "content": "Open the till at seven."}]')  # fmt: skip
    (turn,) = rows("select id from pgmem.turn")
    gone = uuid4()
    till = cite(
        call, kept, dropped, turn["id"], gone, "https://example.org/till", "src/till.py:3-9@abc123", "#34"
    )
    call("forget", label="Context", key=str(dropped), project_id=shop)
    before = rows("select updated_at, version from pgmem.memory where id = %s", till)
    found = each("get_sources", id=till)
    assert [(row["kind"], row["state"], row["checked_at"] is not None) for row in found] == [
        ("memory", "FRESH", True),
        ("memory", "STALE", True),
        ("turn", "FRESH", True),
        ("memory", "GONE", True),
        ("url", "UNCHECKABLE", False),
        ("file", "UNCHECKABLE", False),
        ("ticket", "UNCHECKABLE", False),
    ]
    assert found[2]["said"] == "Open the till at seven."
    assert rows("select updated_at, version from pgmem.memory where id = %s", till) == before


def test_a_source_of_another_tenant_is_not_shown(call: Call, each: Each, act_as: ActAs) -> None:
    act_as("acme", "ana")
    call("save_session", objective="open", project_id="shop")
    hidden = call("save_context", content="The safe is behind the shelf", project_id="shop")["artifact_id"]
    act_as("globex", "gus")
    call("save_session", objective="open", project_id="shop")
    (source,) = each("get_sources", id=cite(call, hidden))
    assert (source["state"], source["said"]) == ("GONE", None)
    with pytest.raises(psycopg.Error, match="No memory .* found; search_memory"):
        each("get_sources", id=hidden)


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("save_context", {"content": "The till opens at seven"}),
        ("save_decision", {"title": "Open at seven", "rationale": "Bakers come early"}),
        ("save_pattern", {"trigger": "the till sticks", "repeatable_steps": ["hit it"]}),
        ("upsert_entity", {"entity_name": "Till", "fact": "opens at seven"}),
    ],
)
def test_a_save_names_its_sources(
    call: Call, each: Each, shop: str, verb: str, arguments: dict[str, object]
) -> None:
    saved = call(verb, **arguments, citation=["src/till.py:3@abc123", "#34"], project_id="shop")
    found = each("get_sources", id=saved["artifact_id"])
    assert [(row["kind"], row["target"]) for row in found] == [
        ("file", "src/till.py:3@abc123"),
        ("ticket", "#34"),
    ]


def states_of(each: Each, query: str = "till", **more: object) -> dict[str, str | None]:
    return {
        row["title"]: row["sources"] for row in each("search_memory", query=query, project_id="shop", **more)
    }


def test_the_worker_records_whether_turns_and_memories_still_stand(
    call: Call, each: Each, shop: str, rows: Rows, clock: Callable[[str], None]
) -> None:
    clock("2026-04-08T12:00:00Z")
    kept = call("save_context", content="The till opens at seven", topic="hours", project_id=shop)[
        "artifact_id"
    ]
    till = cite(call, kept)
    plain = {"hours": None}
    assert states_of(each) == {"Till": "UNCHECKABLE", **plain}
    before = rows("select updated_at, version from pgmem.memory where id = %s", till)
    call("sweep")
    assert states_of(each) == {"Till": "FRESH", **plain}
    call("forget", label="Context", key=str(kept), project_id=shop)
    clock("2026-04-09T11:00:00Z")
    call("sweep")
    assert states_of(each) == {"Till": "FRESH"}
    clock("2026-04-09T13:00:00Z")
    call("sweep")
    assert states_of(each) == {"Till": "STALE"}
    assert rows("select updated_at, version from pgmem.memory where id = %s", till) == before
    call("remember", label="Concept", properties={"name": "Till", "citation": ["#34"]}, project_id="shop")
    assert states_of(each) == {"Till": "UNCHECKABLE"}, "a check of what is no longer cited counts for nothing"


def test_a_source_that_is_gone_places_a_memory_lower(call: Call, each: Each, shop: str) -> None:
    first, second = (
        call(
            "save_context",
            content=f"The {colour} till opens at seven",
            citation=["src/till.py"],
            project_id=shop,
        )["artifact_id"]
        for colour in ("red", "green")
    )

    def parts(**more: object) -> dict[object, float]:
        found = each("search_memory", query="till", project_id=shop, explain=True, **more)
        return {row["id"]: row["explanation"]["citation"] for row in found}

    assert parts() == {first: 0, second: 0}
    states = [{"id": str(second), "target": "src/till.py", "state": "GONE"}]
    assert call("record_sources", project_id=shop, states=states) == {"record_sources": 1}
    assert parts() == {first: 0, second: pytest.approx(-0.1)}
    assert list(parts()) == [first, second]
    assert (
        parts(weights={"hybrid_citation_weight": 0}) == parts(without=["citation"]) == {first: 0, second: 0}
    )
    states[0]["state"] = "STALE"
    call("record_sources", project_id=shop, states=states)
    assert parts()[second] == pytest.approx(-0.05)


def test_only_files_that_a_memory_names_are_recorded(
    call: Call, each: Each, rows: Rows, act_as: ActAs
) -> None:
    act_as("acme", "ana")
    call("save_session", objective="open", project_id="shop")
    till = call("save_context", content="The till", citation=["till.py", "#34"], project_id="shop")[
        "artifact_id"
    ]
    named = {"id": str(till), "target": "till.py", "state": "GONE"}
    act_as("globex", "gus")
    call("save_session", objective="open", project_id="shop")
    assert each("list_cited_files", project_id="shop") == []
    assert call("record_sources", project_id="shop", states=[named]) == {"record_sources": 0}
    act_as("acme", "ana")
    assert [row["target"] for row in each("list_cited_files", project_id="shop")] == ["till.py"]
    others = [{**named, "target": target} for target in ("safe.py", "#34", str(till))]
    assert call("record_sources", project_id="shop", states=[named, named, *others]) == {"record_sources": 1}
    assert [row["state"] for row in each("get_sources", id=till)] == ["GONE", "UNCHECKABLE"]
    with pytest.raises(psycopg.Error, match="state is"):
        call("record_sources", project_id="shop", states=[{**named, "state": "TRUE"}])


def test_the_turn_of_a_memory_may_expire(call: Call, each: Each, shop: str, rows: Rows) -> None:
    call("remember", label="Concept", properties={"name": "Till", "turn": str(uuid4())}, project_id=shop)
    call("sweep")
    (found,) = each("search_memory", query="till", project_id=shop, explain=True)
    assert (found["sources"], found["explanation"]["citation"]) == ("GONE", 0)
