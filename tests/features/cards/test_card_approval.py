"""Approval: a person decides, once, and it counts from then on."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call, as_admin, stores_of
from tests.features.cards.conftest import Draft, Query, Records
from tests.fixtures.verbs import Rows


def test_approval_makes_a_draft_active_and_verified_with_evidence(
    call: Call, draft: Draft, card: Any
) -> None:
    card_id = draft("The cache is never cleared.")
    assert card(card_id)["evidence_count"] == 0
    done = call("approve_card", card_id=card_id, by="maintainer")
    assert (done["status"], done["confidence"], done["approved_by"]) == ("active", "verified", "maintainer")
    found = card(card_id)
    assert (found["approved"], found["approved_by"]) == (True, "maintainer")
    assert [(e["kind"], e["ref"]) for e in found["evidence"]] == [
        ("audit_event", "human_approval:maintainer")
    ]


def test_an_approval_of_another_version_than_the_one_that_was_shown_is_refused(
    call: Call, draft: Draft, card: Any, rows: Rows
) -> None:
    """An agent drafted it anew while a person read it, and the yes was for a text that nobody had seen."""
    card_id = draft("The cache is never cleared.")
    shown = card(card_id)["version"]
    rows(
        'update pgmem.node set props = props || \'{"statement": "The cache is cleared."}\' where id = %s returning 1',
        card_id,
    )
    with pytest.raises(psycopg.Error, match="has changed since it was shown"):
        call("approve_card", card_id=card_id, by="ada", version=shown)
    assert card(card_id)["status"] == "draft"
    assert (
        call("approve_card", card_id=card_id, by="ada", version=card(card_id)["version"])["status"]
        == "active"
    )


def test_an_approved_card_is_found_by_the_next_search(call: Call, draft: Draft, query: Query) -> None:
    card_id = draft("The cache is never cleared.")
    assert query("search", query="cache")["records"] == []
    assert call("search_memory", query="cache cleared", project_id="shop", labels=["Card"]) == {}
    call("approve_card", card_id=card_id, by="maintainer")
    assert [r["id"] for r in query("search", query="cache")["records"]] == [str(card_id)]
    assert call("search_memory", query="cache cleared", project_id="shop", labels=["Card"])["id"] == card_id


def test_each_decision_is_on_record_with_who_and_why(call: Call, draft: Draft, query: Query) -> None:
    card_id = draft("The cache is never cleared.")
    call("approve_card", card_id=card_id, by="ada", reason="I looked")
    call("archive_card", card_id=card_id, by="bob", reason="rewritten")
    revisions = query("get", record_id=card_id)["revisions"]
    assert [
        (r["action"], r.get("from_status"), r["to_status"], r["by"], r.get("reason")) for r in revisions
    ] == [
        ("recorded", None, "draft", "human", None),
        ("approve", "draft", "active", "ada", "I looked"),
        ("archive", "active", "archived", "bob", "rewritten"),
    ]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("approve_card", "reject_card", "Cannot reject record in status 'active'"),
        ("reject_card", "approve_card", "Cannot approve record in status 'rejected'"),
        ("reject_card", "archive_card", "Cannot archive record in status 'rejected'"),
        ("approve_card", "approve_card", "Cannot approve record in status 'active'"),
    ],
)
def test_a_card_in_another_status_cannot_be_decided(
    call: Call, draft: Draft, first: str, second: str, message: str
) -> None:
    card_id = draft("The cache is never cleared.")
    call(first, card_id=card_id, by="maintainer")
    with pytest.raises(psycopg.Error) as error:
        call(second, card_id=card_id, by="maintainer")
    assert (error.value.sqlstate, error.value.diag.message_primary) == ("PM010", message)


def test_a_draft_cannot_be_archived(call: Call, draft: Draft) -> None:
    with pytest.raises(psycopg.Error, match="Cannot archive record in status 'draft'"):
        call("archive_card", card_id=draft("One fact."), by="maintainer")


def test_a_card_that_is_not_there_is_not_found(call: Call, shop: str) -> None:
    missing = uuid4()
    with pytest.raises(psycopg.Error, match=f"Memory record not found: {missing}") as error:
        call("approve_card", card_id=missing, by="maintainer")
    assert error.value.sqlstate == "PM002"


@pytest.mark.parametrize("verb", ["approve_card", "reject_card", "archive_card"])
def test_a_decision_names_who_decides(call: Call, draft: Draft, card: Any, verb: str) -> None:
    card_id = draft("One fact.")
    with pytest.raises(psycopg.Error, match="by must not be empty"):
        call(verb, card_id=card_id, by="  ")
    assert card(card_id)["status"] == "draft"


@pytest.mark.parametrize("verb", ["approve_card", "reject_card", "archive_card", "vacuum_cards"])
def test_a_login_that_is_not_a_reviewer_decides_nothing(
    server: str, connection: psycopg.Connection[DictRow], dsn: str, draft: Draft, card: Any, verb: str
) -> None:
    card_id = draft("One fact.")
    login = f"agent_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create role {login} login password 'only-for-tests'".encode())
    try:
        connection.execute(f"grant usage on schema pgmem to {login}".encode())
        connection.execute(f"grant execute on all functions in schema pgmem to {login}".encode())
        arguments = (
            "p_project_id => 'shop'" if verb == "vacuum_cards" else f"p_card_id => '{card_id}', p_by => 'me'"
        )
        with (
            psycopg.connect(
                stores_of(dsn)[0], user=login, password="only-for-tests", autocommit=True
            ) as agent,
            pytest.raises(psycopg.Error) as error,
        ):
            agent.execute(f"select pgmem.{verb}({arguments})".encode())
        assert error.value.sqlstate == "PM004"
    finally:
        with psycopg.connect(as_admin(dsn), autocommit=True) as admin:
            admin.execute(f"drop owned by {login}; drop role {login}".encode())
    assert card(card_id)["status"] == "draft"


def test_an_approval_supersedes_what_it_replaces(
    call: Call, approved: Draft, draft: Draft, card: Any, relevant: Records
) -> None:
    old = approved("The cache is cleared hourly.")
    new = draft("The cache is cleared daily.")
    done = call("approve_card", card_id=new, by="maintainer", supersedes=[old])
    assert done["superseded"] == [old]
    assert card(old)["status"] == "superseded"
    assert card(old)["relations"] == {"superseded_by": [str(new)]}
    assert [r["id"] for r in relevant(["pkg/mod.py"], include_stale=True)] == [str(new)]


def test_an_approval_that_cannot_supersede_changes_nothing(call: Call, draft: Draft, card: Any) -> None:
    other, new = draft("One."), draft("Two.")
    with pytest.raises(
        psycopg.Error, match="is not an active or stale card beside this one; nothing was changed"
    ):
        call("approve_card", card_id=new, by="maintainer", supersedes=[other])
    assert (card(other)["status"], card(new)["status"]) == ("draft", "draft")


@pytest.mark.parametrize("verb", ["forget", "revert"])
def test_no_other_verb_goes_round_the_decision(call: Call, draft: Draft, card: Any, verb: str) -> None:
    card_id = draft("One fact.")
    more: dict[str, object] = {"version": 1} if verb == "revert" else {"purge": True}
    call("approve_card", card_id=card_id, by="maintainer")
    with pytest.raises(psycopg.Error, match="A Card is decided by a person"):
        call(verb, label="Card", key=str(card_id), **more)
    assert card(card_id)["status"] == "active"
