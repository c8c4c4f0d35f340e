"""Drafting a card: accepted drafts, warnings, refusals and the capacity."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call, GraphDifferences
from tests.features.cards.conftest import Draft, Query, Records, Refresh, Set

TYPES = (
    "module_role",
    "contract_note",
    "test_anchor",
    "document_link",
    "risk_note",
    "public_surface",
    "contradiction_note",
    "architecture_decision",
    "change_rationale",
    "protocol_rule",
    "stale_marker",
    "human_note",
)


@pytest.mark.parametrize("record_type", TYPES)
def test_every_type_of_card_can_be_drafted(draft: Draft, card: Any, record_type: str) -> None:
    found = card(draft("One fact.", record_type=record_type))
    assert (found["type"], found["status"], found["confidence"]) == (record_type, "draft", "inferred")


def test_an_unknown_type_is_an_error_that_lists_the_types(draft: Draft) -> None:
    with pytest.raises(psycopg.Error) as error:
        draft("One fact.", record_type="rumour")
    assert error.value.sqlstate == "PM010"
    assert str(error.value).startswith(
        "Invalid Engineering Memory record_type: 'rumour'. Allowed values: module_role, "
    )


@pytest.mark.parametrize(
    ("length", "warning"),
    [
        (300, []),
        (301, ["Statement length 301 exceeds target (300 chars); prefer <= 300 chars for durable cards."]),
        (500, ["Statement length 500 exceeds target (300 chars); prefer <= 300 chars for durable cards."]),
        (
            501,
            [
                "Statement length 501 exceeds soft limit (500 chars); "
                "compress to one durable fact before record_candidate."
            ],
        ),
        (
            1000,
            [
                "Statement length 1000 exceeds soft limit (500 chars); "
                "compress to one durable fact before record_candidate."
            ],
        ),
    ],
)
def test_a_long_statement_is_taken_with_a_warning(
    call: Call, shop: str, length: int, warning: list[str]
) -> None:
    made = call(
        "record_candidate",
        record_type="risk_note",
        statement=f"  {'é' * length}\n",
        subject_path="pkg/mod.py",
        project_id=shop,
    )
    assert (made["statement_length"], made["warnings"]) == (length, warning)


def test_a_statement_of_more_than_1000_characters_is_refused(draft: Draft, query: Query) -> None:
    with pytest.raises(
        psycopg.Error, match=r"Memory candidate is too long for a durable card\. Compress it into one"
    ):
        draft("x" * 1001)
    assert query("status")["record_count"] == 0


@pytest.mark.parametrize("statement", ["", "  \n\t ", None])
def test_an_empty_statement_is_refused(draft: Draft, statement: Any) -> None:
    with pytest.raises(psycopg.Error, match=r"Candidate statement must not be empty\."):
        draft(statement)


@pytest.mark.parametrize("path", ["", "   ", None])
def test_a_draft_without_a_subject_path_is_refused(draft: Draft, path: Any) -> None:
    with pytest.raises(
        psycopg.Error, match="record_candidate requires subject_path linking the observation to a repo file"
    ):
        draft("One fact.", path)


def test_a_draft_about_the_root_is_refused(draft: Draft) -> None:
    with pytest.raises(psycopg.Error, match="Project root is not a valid memory scope"):
        draft("One fact.", "./")


def test_the_same_type_path_and_statement_is_refused_while_one_is_live(draft: Draft, query: Query) -> None:
    first = draft("The cache is never cleared.")
    with pytest.raises(psycopg.Error) as error:
        draft("  The cache is   never cleared. ", "./pkg//mod.py")
    assert error.value.sqlstate == "PM010"
    assert str(error.value).startswith("Candidate already exists for identity_key=risk_note:path:pkg/mod.py:")
    assert str(first) in str(error.value)
    assert query("status")["record_count"] == 1


@pytest.mark.parametrize(
    ("statement", "path", "record_type"),
    [
        ("The cache is never cleared.", "pkg/mod.py", "contract_note"),
        ("The cache is never cleared.", "pkg/Mod.py", "risk_note"),
        ("The cache is never cleared.", "pk/gmod.py", "risk_note"),
        ("The cache is never cleared!", "pkg/mod.py", "risk_note"),
        ("the cache is never cleared.", "pkg/mod.py", "risk_note"),
    ],
)
def test_another_type_path_or_statement_is_another_card(
    draft: Draft, query: Query, statement: str, path: str, record_type: str
) -> None:
    draft("The cache is never cleared.")
    draft(statement, path, record_type)
    assert query("status")["record_count"] == 2


def test_a_rejected_card_may_be_proposed_again_and_the_answer_reports_the_rejection(
    call: Call, shop: str, draft: Draft
) -> None:
    rejected = draft("The cache is never cleared.")
    call("reject_card", card_id=rejected, by="maintainer", reason="it is")
    again = call(
        "record_candidate",
        record_type="risk_note",
        statement="The cache is never cleared.",
        subject_path="pkg/mod.py",
        project_id=shop,
    )
    assert again["previously_rejected"] == rejected
    assert f"rejected before ({rejected})" in again["message"]
    assert again["card_id"] != rejected


def test_a_draft_carries_its_subjects_once_each(draft: Draft, card: Any) -> None:
    found = card(draft("One fact.", symbols=["pkg.mod.run", "pkg.mod.run", " "]))
    assert [(s["kind"], s["key"], s["relation"]) for s in found["subjects"]] == [
        ("path", "pkg/mod.py", "about"),
        ("symbol", "pkg.mod.run", "about"),
        ("module", "pkg.mod", "about"),
    ]


def test_evidence_is_kept_with_its_kind(draft: Draft, card: Any) -> None:
    found = card(draft("One fact.", evidence=[{"kind": "spec", "ref": "RFC 9110", "digest": "d"}]))
    assert found["evidence"] == [{"kind": "spec", "ref": "RFC 9110", "digest": "d", "added_by": "human"}]


def test_unknown_evidence_is_an_error_that_lists_the_kinds(draft: Draft, query: Query) -> None:
    with pytest.raises(
        psycopg.Error, match=r"Invalid evidence kind: 'rumour'\. Allowed values: code, test, doc"
    ):
        draft("One fact.", evidence=[{"kind": "rumour", "ref": "somebody"}])
    assert query("status")["record_count"] == 0


def test_more_evidence_than_a_card_holds_is_refused(draft: Draft, query: Query) -> None:
    given = [{"kind": "spec", "ref": f"rule {number}"} for number in range(21)]
    with pytest.raises(psycopg.Error, match="A card holds at most 20 pieces of evidence; this would be 21"):
        draft("One fact.", evidence=given)
    assert query("status")["record_count"] == 0


def test_what_the_last_run_saw_of_the_file_anchors_a_draft(draft: Draft, card: Any, refresh: Refresh) -> None:
    refresh()
    found = card(draft("Selling is final.", "pkg/a.py"))
    assert [(e["kind"], e["ref"], e.get("digest")) for e in found["evidence"]] == [
        ("code", "pkg/a.py", "a1"),
        ("git_commit", "c0ffee", None),
    ]


def test_at_max_candidates_a_draft_is_refused_and_a_decision_makes_room(
    call: Call, draft: Draft, setting: Set
) -> None:
    setting("max_candidates", 2)
    first = draft("One.")
    draft("Two.")
    with pytest.raises(psycopg.Error) as error:
        draft("Three.")
    assert (error.value.sqlstate, error.value.diag.message_primary) == (
        "PM009",
        "max_candidates_reached: 2/2",
    )
    call("approve_card", card_id=first, by="maintainer")
    draft("Three.")


def test_at_max_records_a_draft_is_refused(draft: Draft, setting: Set) -> None:
    setting("max_records", 1)
    draft("One.")
    with pytest.raises(psycopg.Error) as error:
        draft("Two.")
    assert (error.value.sqlstate, error.value.diag.message_primary) == ("PM009", "max_records_reached: 1/1")


def test_a_card_is_a_node_with_history_search_text_and_graph(
    graph_differences: GraphDifferences, connection: psycopg.Connection[DictRow], approved: Draft
) -> None:
    card_id = approved("The cache is never cleared.")
    node = connection.execute(
        "select label, scope, project, status, version, tsv @@ to_tsquery('english', 'cache') as found"
        " from pgmem.node where id = %s",
        (card_id,),
    ).fetchone()
    assert node == {
        "label": "Card",
        "scope": "project",
        "project": "shop",
        "status": "active",
        "version": 2,
        "found": True,
    }
    versions = connection.execute(
        "select v.status from pgmem.node_version v join pgmem.node n on n.seq = v.node_seq where n.id = %s",
        (card_id,),
    ).fetchall()
    assert versions == [{"status": "draft"}]
    assert graph_differences() == []


def test_a_card_of_an_unknown_project_is_refused(call: Call, shop: str) -> None:
    with pytest.raises(
        psycopg.Error, match=r"No project '\w+' found\. Call save_session with this project_id first"
    ):
        call(
            "record_candidate", record_type="risk_note", statement="s", subject_path="a.py", project_id="nope"
        )


def test_cards_do_not_flood_the_context_of_their_project(
    call: Call, shop: str, approved: Draft, relevant: Records
) -> None:
    for number in range(12):
        approved(f"Fact {number}.")
    bundle = call("retrieve_context", project_id=shop, scope="project")
    assert {item["label"] for item in bundle["items"]} == {"Session"}
    assert call("retrieve_context", project_id=shop, scope="project", topic="fact")["items"] == []
    assert len(relevant(["pkg/mod.py"])) >= 10  # what a page holds
    with pytest.raises(psycopg.Error, match="Cards are read by get_relevant_memory"):
        call("retrieve_context", project_id=shop, scope="project", categories=["Card"])
