"""From a memory to what it rests on in one call, with its state at that moment."""

from __future__ import annotations

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
    with pytest.raises(psycopg.Error, match="No memory with id"):
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
