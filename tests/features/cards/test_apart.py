"""Cards are counted and listed apart from the memories of agents and people."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.features.cards.conftest import Draft, Refresh
from tests.fixtures.verbs import Each


@pytest.fixture
def read(call: Call, refresh: Refresh, approved: Draft) -> str:
    """A project with one decision, three cards that pgmem read, two that agents drafted, and a session."""
    refresh()
    for statement in ("Rounds half a penny down.", "Half a penny rounds down."):
        approved(statement, "pkg/a.py")
    call("save_decision", title="Round at the till", rationale="Cash", project_id="shop")
    return "shop"


def test_lists_and_counts_are_of_what_was_told(
    call: Call, read: str, connection: psycopg.Connection[DictRow]
) -> None:
    listed = connection.execute("select label from pgmem.list_memories('shop')").fetchall()
    assert sorted(one["label"] for one in listed) == ["Decision", "Session"]
    cards = connection.execute("select label from pgmem.list_memories('shop', '{Card}')").fetchall()
    assert len(cards) == 5
    (project,) = [p for p in [call("list_projects")] if p["name"] == read]
    assert (project["memories"], project["cards"]) == (2, 5)
    row = connection.execute("select memories, cards from pgmem.project where name = 'shop'").fetchone()
    assert row == {"memories": 2, "cards": 5}
    for moment in ({}, {"as_of": "2100-01-01"}):
        counts = call("count_memories", project_id=read, **moment)
        assert (counts["total"], counts["cards"]) == (2, 5)
        assert counts["labels"] == {"Decision": 1, "Session": 1}


def test_health_judges_what_was_told(call: Call, read: str) -> None:
    health = call("memory_health", project_id=read)
    assert health["memories"] == {"Decision": 1, "Session": 1}
    assert health["statuses"] == {"active": 2}
    assert health["cards"] == {"active": 5}
    assert sum(health["confidence"]) == 2
    related = [one["label"] for kind in ("orphans", "hubs") for one in health[kind]["items"]]
    assert "Card" not in related


def test_hygiene_compares_no_cards_that_pgmem_read(
    call: Call, read: str, connection: psycopg.Connection[DictRow]
) -> None:
    drafted = call("run_hygiene", project_id=read)
    assert [finding["label"] for finding in drafted["findings"]] == ["Card"], (
        "an agent's cards can be repaired"
    )
    connection.execute(
        """update pgmem.node set props = props || '{"origin": "system"}' where props ->> 'origin' <> 'system'"""
    )
    assert call("run_hygiene", project_id=read)["duplicates_found"] == 0


def test_a_card_says_which_branch_it_is_of(call: Call, each: Each, shop: str) -> None:
    card = {"record_type": "risk_note", "subject_path": "a.py", "project_id": "shop"}
    call("record_candidate", statement="The till rounds.", branch="till", branch_commit="abcdef0", **card)
    call("record_candidate", statement="The till waits.", **card)
    assert {
        one["title"]: one["branch"] for one in each("list_memories", labels=["Card"], status="draft")
    } == {"a.py: The till rounds.": "till", "a.py: The till waits.": None}
    assert [one["title"] for one in each("list_memories", branch="till", status="draft")] == [
        "a.py: The till rounds."
    ]
    for one in each("list_memories", labels=["Card"], status="draft"):
        call("approve_card", card_id=one["id"], by="ada")
    found = each("search_memory", query="till", labels=["Card"], known_at="2100-01-01")
    assert [one["title"] for one in found] == ["a.py: The till waits."]
