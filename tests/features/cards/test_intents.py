"""Declaring an intent, finishing it, drafting from its receipt; claims; vacuum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.conftest import Call
from tests.features.cards.conftest import Draft, Query, Records, Refresh, Set, without

Finish = Callable[..., Any]


@pytest.fixture
def finish(call: Call, shop: str) -> Finish:
    """`finish(["pkg/a.py"])`: an intent declared and finished with these files changed."""

    def finish(changed: list[str], **arguments: object) -> Any:
        intent = call("declare_intent", project_id=shop, paths=["pkg"], description="Sell faster")
        return call(
            "finish_intent",
            project_id=shop,
            intent_id=intent["intent_id"],
            changed_paths=changed,
            **arguments,
        )

    return finish


def test_an_intent_is_a_scope_for_retrieval(call: Call, draft: Draft, shop: str) -> None:
    card_id = draft("One fact.")
    intent = call("declare_intent", project_id=shop, paths=["./pkg/", "docs/x.md", "pkg"])
    assert intent["paths"] == ["docs/x.md", "pkg"]
    assert intent["policy"]["memory_does_not_authorize_edits"] is True
    found = call("get_relevant_memory", project_id=shop, intent_id=intent["intent_id"], detail_level="full")
    assert (found["scope_resolved_from"], found["records"][0]["id"]) == ("intent", str(card_id))
    assert found["coverage"]["record_coverage"]["scope_paths_total"] == 2


def test_an_intent_is_bounded_and_known(call: Call, draft: Draft, shop: str) -> None:
    draft("One fact.")
    with pytest.raises(psycopg.Error, match="51 paths are too many for one scope; send at most 50"):
        call("declare_intent", project_id=shop, paths=[f"file{n}.py" for n in range(51)])
    with pytest.raises(psycopg.Error, match="call declare_intent first"):
        call("get_relevant_memory", project_id=shop, intent_id=uuid4())
    with pytest.raises(psycopg.Error, match="call declare_intent first"):
        call("finish_intent", project_id=shop, intent_id=uuid4(), changed_paths=["a.py"])


def test_finishing_makes_the_cards_of_changed_files_stale(
    approved: Draft, draft: Draft, card: Any, finish: Finish, relevant: Records, query: Query
) -> None:
    touched = approved("About a changed file.", "pkg/a.py")
    other = approved("About another.", "pkg/b.py")
    above = approved("About the folder.", "pkg")
    waiting = draft("A draft.", "pkg/a.py")
    done = finish(["pkg/a.py", "setup.py"])
    assert done["stale_cards"] == [touched]
    assert done["outside_scope"] == ["setup.py"]
    assert (card(touched)["status"], card(touched)["stale_reason"]) == ("stale", "scope_files_changed")
    assert [card(one)["status"] for one in (other, above, waiting)] == ["active", "active", "draft"]
    assert str(touched) not in [record["id"] for record in relevant(["pkg/a.py"])]
    assert str(touched) in [record["id"] for record in relevant(["pkg/a.py"], include_stale=True)]
    assert [record["id"] for record in query("stale")["records"]] == [str(touched)]


def test_an_intent_is_finished_once(call: Call, shop: str, draft: Draft) -> None:
    intent = call("declare_intent", project_id=shop, paths=["pkg"])["intent_id"]
    call("finish_intent", project_id=shop, intent_id=intent, changed_paths=[])
    with pytest.raises(psycopg.Error, match=f"Intent {intent} is finished already"):
        call("finish_intent", project_id=shop, intent_id=intent, changed_paths=[])


def test_finishing_drafts_from_the_receipt_on_request(finish: Finish, query: Query) -> None:
    receipt = {
        "claims": ["Sales are batched."],
        "review": "One till is enough.",
        "contract_notes": ["sell() raises"],
    }
    assert finish(["pkg/a.py"], receipt=receipt)["proposed"] is None
    assert query("status")["record_count"] == 0
    proposed = finish(["pkg/a.py", "aaa.py"], propose=True, receipt=receipt)["proposed"]
    assert [(card["type"], card["path"]) for card in proposed["drafted"]] == [
        ("module_role", "aaa.py"),
        ("module_role", "pkg/a.py"),
        ("change_rationale", "pkg/a.py"),
        ("architecture_decision", "pkg/a.py"),
    ]
    assert [note["statement"] for note in proposed["proposal_only"]] == ["sell() raises"]
    drafts = query("drafts")["records"]
    assert "pkg.a was part of a finished change: Sell faster." in [record["statement"] for record in drafts]
    assert query("status")["records_by_type"].get("contract_note") is None


def test_a_receipt_that_does_not_fit_leaves_the_intent_open_and_writes_nothing(
    call: Call, shop: str, query: Query, approved: Draft, card: Any
) -> None:
    kept = approved("About a changed file.", "pkg/a.py")
    intent = call("declare_intent", project_id=shop, paths=["pkg"])["intent_id"]
    given: dict[str, Any] = {
        "project_id": shop,
        "intent_id": intent,
        "changed_paths": ["pkg/a.py"],
        "propose": True,
    }
    with pytest.raises(psycopg.Error, match="too long for a durable card"):
        call("finish_intent", **given, receipt={"claims": ["Fine.", "x" * 1001]})
    assert card(kept)["status"] == "active"
    assert query("status")["record_count"] == 1
    assert call("finish_intent", **given, receipt={"claims": ["Fine."]})["proposed"]["drafted"]


def test_proposing_is_all_or_nothing_and_names_what_is_there(
    call: Call, shop: str, query: Query, setting: Set
) -> None:
    receipt = {"scope": ["pkg/a.py"], "claims": ["One.", "Two."]}
    setting("max_candidates", 2)
    with pytest.raises(psycopg.Error, match="max_candidates_reached: 2/2"):
        call("propose_from_receipt", project_id=shop, receipt=receipt)
    assert query("status")["record_count"] == 0
    setting("max_candidates", 10)
    assert len(call("propose_from_receipt", project_id=shop, receipt=receipt)["drafted"]) == 3
    again = call("propose_from_receipt", project_id=shop, receipt=receipt)
    assert (again["drafted"], len(again["existing"])) == ([], 2)
    with pytest.raises(psycopg.Error, match="A receipt needs paths"):
        call("propose_from_receipt", project_id=shop, receipt={"claims": ["One."]})
    with pytest.raises(psycopg.Error, match="is not finished in this project"):
        call("propose_from_receipt", project_id=shop, receipt={"intent_id": str(uuid4())})


def test_a_claim_that_memory_cannot_make_is_named(call: Call, shop: str) -> None:
    assert call("validate_claims", text="MCP can approve drafts.", project_id=shop)["errors"] == [
        "Claim may grant permission memory cannot provide: approval by an agent."
    ]


def test_a_claim_that_rests_on_a_stale_card_must_be_marked(
    call: Call, approved: Draft, finish: Finish
) -> None:
    card_id = approved("About a changed file.", "pkg/a.py")
    finish(["pkg/a.py"])
    assert call("validate_claims", text=f"As card {card_id} says.")["warnings"] == [
        f"Relies on stale card {card_id} without saying that it is stale."
    ]
    assert call("validate_claims", text=f"As stale card {card_id} says.")["warnings"] == []
    assert len(call("validate_claims", text="x" * 501)["warnings"]) == 1


def test_vacuum_removes_every_state_after_its_days(
    call: Call,
    clock: Callable[[str], None],
    shop: str,
    approved: Draft,
    draft: Draft,
    query: Query,
    setting: Set,
) -> None:
    clock("2026-01-01")
    approved("Active.", "a.py")
    stale = approved("Stale.", "b.py")
    intent = call("declare_intent", project_id=shop, paths=["b.py"])["intent_id"]
    call("finish_intent", project_id=shop, intent_id=intent, changed_paths=["b.py"])
    draft("Draft.", "c.py")
    call("reject_card", card_id=draft("Rejected.", "d.py"), by="m")
    call("archive_card", card_id=approved("Archived.", "e.py"), by="m")
    superseded = approved("Superseded.", "f.py")
    call("approve_card", card_id=draft("New.", "f.py"), by="m", supersedes=[superseded])

    def due(day: str) -> dict[str, int]:
        clock(day)
        return dict(call("vacuum_cards", project_id=shop, dry_run=True)["removed"])

    assert due("2026-01-15") == {}
    assert due("2026-01-16") == {"draft": 1}
    assert due("2026-02-01") == {"draft": 1, "rejected": 1}
    assert due("2026-07-01") == {"draft": 1, "rejected": 1, "stale": 1}
    assert due("2027-01-02") == {"draft": 1, "rejected": 1, "stale": 1, "archived": 1, "superseded": 1}
    done = call("vacuum_cards", project_id=shop, limit=3)
    assert (sum(done["removed"].values()), done["remaining"], done["receipts"]) == (3, 2, 1)
    assert sum(call("vacuum_cards", project_id=shop)["removed"].values()) == 2
    assert query("status")["records_by_status"] == {"active": 2}
    assert (
        call("query_engineering_memory", project_id=shop, mode="get", record_id=str(stale))["status"]
        == "not_found"
    )
    setting("card_days_active", 10)
    assert due("2027-01-02") == {"active": 2}
    draft("Draft.", "c.py")


def test_vacuum_removes_the_cards_of_deleted_files(
    call: Call, clock: Callable[[str], None], refresh: Refresh, shop: str
) -> None:
    clock("2026-01-01")
    refresh()
    refresh(without("pkg/b.py"))
    clock("2027-01-02")
    assert call("vacuum_cards", project_id=shop)["removed"] == {"historical": 1}
