"""Confirming memories that still hold, and that the advice of a report makes its finding go away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Rows

Clock = Callable[[str], None]
DECISION = {"title": "Sell tea", "rationale": "We like it", "project_id": "shop"}
PATTERN = {"trigger": "Morning", "repeatable_steps": ["Open"], "project_id": "shop"}
FACT = {"entity_name": "Ada", "fact": "Keeps the till", "project_id": "shop"}


def stale(call: Call) -> list[str]:
    return [item["title"] for item in call("memory_freshness", project_id="shop")["stale_items"]]


def test_a_confirmed_memory_is_current_again_with_its_text_and_history_as_they_were(
    call: Call, clock: Clock, rows: Rows, shop: str
) -> None:
    clock("2026-01-01")
    made = call("remember", label="Concept", properties={"name": "Ink"}, project_id=shop)
    clock("2026-06-01")
    before = rows("select * from pgmem.memory_history('Concept', 'Ink')")
    assert "Ink" in stale(call)
    assert call("search_memory", query="Ink")["confidence"] < 0.3
    done = call("confirm", id=made["id"])
    assert (done["label"], done["title"]) == ("Concept", "Ink")
    assert str(done["confirmed_at"]).startswith("2026-06-01")
    assert "Ink" not in stale(call)
    assert call("search_memory", query="Ink")["confidence"] == 1
    assert rows("select * from pgmem.memory_history('Concept', 'Ink')") == before
    assert rows("select kind from pgmem.change order by seq desc limit 1") == [{"kind": "confirmed"}]


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [("save_decision", DECISION), ("save_pattern", PATTERN), ("upsert_entity", FACT)],
)
def test_saving_the_same_again_confirms_it(
    call: Call, clock: Clock, shop: str, verb: str, arguments: dict[str, Any]
) -> None:
    clock("2026-01-01")
    first = call(verb, **arguments)
    clock("2026-06-01")
    assert len(stale(call)) == 1
    again = call(verb, **arguments)
    assert again["artifact_id"] == first["artifact_id"]
    assert stale(call) == []


def test_a_pattern_that_is_confirmed_was_last_validated_then(
    call: Call, clock: Clock, rows: Rows, shop: str
) -> None:
    clock("2026-01-01")
    made = call("save_pattern", **PATTERN)
    assert rows("select last_validated_at::date::text as day from pgmem.pattern") == [{"day": "2026-01-01"}]
    clock("2026-06-01")
    call("confirm", id=made["artifact_id"])
    assert rows("select last_validated_at::date::text as day from pgmem.pattern") == [{"day": "2026-06-01"}]
    (item,) = call("retrieve_context", project_id=shop, categories=["Pattern"])["items"]
    assert item["last_validated_at"].startswith("2026-06-01")
    assert call("run_hygiene", project_id=shop)["obsolete_patterns"] == 0


def test_what_cannot_be_confirmed_is_refused_with_a_reason(call: Call, shop: str, act_as: ActAs) -> None:
    made = call("save_decision", **DECISION)
    call("forget", label="Decision", key=str(made["artifact_id"]))
    with pytest.raises(psycopg.Error, match="is archived: only a memory that holds can be confirmed"):
        call("confirm", id=made["artifact_id"])
    with pytest.raises(psycopg.Error, match="No memory 00000000-0000-4000-8000-000000000001 found"):
        call("confirm", id="00000000-0000-4000-8000-000000000001")


def test_a_memory_of_another_tenant_is_not_confirmed(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("save_session", objective="x", project_id="shop")
    made = call("save_decision", **DECISION)
    act_as("acme", "bob")
    with pytest.raises(psycopg.Error, match="No memory"):
        call("confirm", id=made["artifact_id"])


def test_what_hygiene_advises_makes_each_finding_go_away(
    call: Call, clock: Clock, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    """One finding of every check and every kind of advice; its verb is called with its arguments."""
    clock("2025-01-01")
    call("save_decision", **DECISION)
    call("save_pattern", **PATTERN)
    clock("2026-01-01")
    for focus in ("till", "yard"):  # one content in two places of a project
        placed = {"project_id": shop, "scope": "focus", "focus": focus}
        call("save_decision", title="Count twice", rationale="It was wrong", **placed)
        call("save_pattern", trigger="Evening", repeatable_steps=["Close"], **placed)
        call("save_context", content="The lamp flickers", topic="lamp", **placed)
        call("upsert_entity", entity_name="Lamp Post", fact="By the gate", **placed)
    call(
        "upsert_entity",
        entity_name="LampPost",
        fact="By the shed",
        project_id=shop,
        scope="focus",
        focus="till",
    )
    for objective in ("Count the tills of the shop in spring", "Count the tills of the shop in spring"):
        call("save_session", objective=objective, project_id=shop)
    for name in ("The long quay of the old harbour in town A", "the long quay of the old harbour in town a."):
        call("remember", label="Concept", properties={"name": name, "notes": "wet " * 3}, project_id=shop)
    call("save_decision", title="one two three", rationale="r", project_id=shop)
    call("save_decision", title="one two four", rationale="r", project_id=shop)
    call("save_decision", title="t", rationale="r", project_id=shop, scope="global")
    report = call("run_hygiene", project_id=shop)
    advised = {(finding["check"], finding["verb"]) for finding in report["findings"]}
    assert {check for check, _ in advised} == {
        "duplicates", "outdated_decisions", "obsolete_patterns", "entity_drift", "unresolved_saves",
    }  # fmt: skip
    for finding in report["findings"]:
        arguments = dict(finding["arguments"])
        if finding["verb"] == "resolve_review":
            arguments.setdefault("outcome", "new")
        if finding["verb"] in ("resolve_review", "archive_card"):
            arguments["by"] = "ada"
        if "request_global_write_approval" in finding["what"]:
            arguments["governance_token"] = call("request_global_write_approval", content_preview="t: r")[
                "token"
            ]
        still = call("run_hygiene", project_id=shop)["findings"]
        if (finding["check"], finding["ids"]) not in [(f["check"], f["ids"]) for f in still]:
            continue  # gone with another
        call(finding["verb"], **arguments)
        left = call("run_hygiene", project_id=shop)["findings"]
        assert (finding["check"], finding["ids"]) not in [(f["check"], f["ids"]) for f in left], finding
    assert call("run_hygiene", project_id=shop)["total"] == 0
    clock("2026-06-01")
    for item in call("memory_freshness", project_id=shop)["stale_items"]:
        call("confirm", id=item["id"])
    assert call("memory_freshness", project_id=shop)["stale_count"] == 0


def test_what_hygiene_advises_for_cards_entities_and_saves_that_no_retry_makes(call: Call, shop: str) -> None:
    for statement in ("Rounds half a penny down.", "Half a penny rounds down."):
        drafted = call("record_candidate", record_type="risk_note", statement=statement,
                       subject_path="lib/till.py", project_id=shop)  # fmt: skip
        call("approve_card", card_id=drafted["card_id"], by="ada")
    for name in ("Lamp by the gate", "Gate by the lamp"):
        call("upsert_entity", entity_name=name, fact="It flickers in wind", project_id=shop)
    call("fail_save", save_id=uuid4(), verb="save_decision", message="Invalid date: soon.", readable=False,
         arguments={"title": "Sell tea", "date": "soon", "project_id": shop})  # fmt: skip
    found = call("run_hygiene", project_id=shop)["findings"]
    assert {finding["verb"] for finding in found} == {"archive_card", "merge_entities", "resolve_review"}
    for finding in found:
        by = {} if finding["verb"] == "merge_entities" else {"by": "ada"}
        call(finding["verb"], **finding["arguments"], **by)
    assert call("run_hygiene", project_id=shop)["total"] == 0
