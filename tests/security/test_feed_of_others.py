"""A bound login and the feed: it reads its own changes, and changes sent as another store's gain nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Call, caller
from tests.core.sql.conftest import Rows
from tests.fixtures.verbs import unheld_changes
from tests.security.conftest import Session


def read(session: Session) -> dict[str, Any]:
    return unheld_changes(caller(session), content=True)


def test_no_change_of_others_is_read(alice: Session, carol: Session) -> None:
    caller(carol)("save_context", content="the canary", project_id="proj-carol")
    page = read(alice)
    assert "canary" not in str(page)
    assert "proj-carol" not in str(page)
    cursor = caller(carol)("changes", after="now")["cursor"]
    caller(carol)("save_context", content="the canary again", project_id="proj-carol")
    assert caller(alice)("changes", after=cursor, content=True)["changes"] == []


def sent(session: Session, *records: dict[str, Any]) -> list[dict[str, Any]]:
    return session.execute("select * from pgmem.apply_changes(%s::jsonb)", (json.dumps(records),)).fetchall()


def test_what_a_writer_sends_as_changes_gains_nothing(alice: Session, carol: Session, rows: Rows) -> None:
    made = caller(alice)("save_decision", title="Pay by invoice", rationale="x", project_id="proj-alice")
    record = next(
        change["record"]
        for change in read(alice)["changes"]
        if change["id"] == str(made["artifact_id"]) and "record" in change
    )
    later = {**record, "recorded_at": "2999-01-01T00:00:00+00:00", "title": "Pay nobody"}
    assert "still to come" in sent(alice, later)[0]["reason"]
    new = {
        **record,
        "id": "00000000-0000-4000-8000-000000000001",
        "title": "Ship on Monday",
        "content_hash": None,
        "source": "cli",
        "trust_level": 1.0,
        "agent_id": "a person",
    }
    assert sent(alice, new)[0]["outcome"] == "taken"
    stored = rows(
        "select source, trust_level, agent_id, user_id from pgmem.node where title = 'Ship on Monday'"
    )
    assert [(row["source"], row["trust_level"], row["agent_id"]) for row in stored] == [("sql", 0.5, None)]
    wide = {
        **new,
        "id": "00000000-0000-4000-8000-000000000002",
        "title": "For all",
        "scope": "global",
        "approved": True,
    }
    for gone in ("project", "project_id", "focus", "focus_id"):
        wide.pop(gone, None)
    assert "It is global" in sent(alice, wide)[0]["reason"]
    decided = {"type": "save", "save_id": "00000000-0000-4000-8000-000000000003", "verb": "save_decision",
               "status": "saved", "arguments_hash": "", "dedup_outcome": "manual_review"}  # fmt: skip
    assert "a person decides" in sent(alice, decided)[0]["reason"]
    # The id of another tenant's memory names nothing here.
    of_carol = caller(carol)("save_decision", title="Hers", rationale="x", project_id="proj-carol")
    stolen = {**record, "id": str(of_carol["artifact_id"]), "title": "Taken over", "content_hash": None}
    sent(alice, stolen)
    assert rows("select title from pgmem.node where id = %s", of_carol["artifact_id"]) == [{"title": "Hers"}]


def test_changes_of_low_trust_do_not_say_what_became_of_a_persons_decision(
    alice: Session, rows: Rows
) -> None:
    """Neither by a relation that is made or removed, nor by a state in its past."""

    def save(title: str) -> str:
        return str(
            caller(alice)("save_decision", title=title, rationale="x", project_id="proj-alice")["artifact_id"]
        )

    persons, own, rival = save("Pay by invoice"), save("Serve tea at noon"), save("Keep the blue lamp")
    assert rows("update pgmem.node set trust_level = 1.0 where id = %s returning 1 as n", persons) == [
        {"n": 1}
    ]
    links = "select e.rel from pgmem.edge e join pgmem.node n on n.seq in (e.src, e.dst) where n.id = %s and e.rel = any(%s)"
    said = ["SUPERSEDES", "OUTDATES", "MERGES_INTO", "CONFLICTS_WITH", "SIMILAR_TO"]
    for rel in said:
        for src, dst in ((own, persons), (persons, own)):
            edge = {"type": "edge", "src": src, "rel": rel, "dst": dst, "props": {"reason": "both hold"}}
            assert "a person decides" in str(sent(alice, edge)[0]["reason"]), (rel, src == own)
    assert rows(links, persons, said) == []
    assert (
        sent(alice, {"type": "edge", "src": own, "rel": "CONFLICTS_WITH", "dst": rival})[0]["outcome"]
        == "taken"
    )
    rows("update pgmem.node set trust_level = 1.0 where id = %s returning 1 as n", rival)
    gone = {"type": "unrelated", "src": own, "rel": "CONFLICTS_WITH", "dst": rival}
    assert "a person decides" in str(sent(alice, gone)[0]["reason"])
    assert rows(links, rival, said) == [{"rel": "CONFLICTS_WITH"}]
    record = next(
        change["record"]
        for change in read(alice)["changes"]
        if change["id"] == persons and "record" in change
    )
    backdated = {**record, "recorded_at": "2020-01-01T00:00:00+00:00", "title": "Pay nobody"}
    assert "a person decides" in str(sent(alice, backdated)[0]["reason"])
    assert rows("select v.title from pgmem.node_version v where v.title = 'Pay nobody'") == []


@pytest.fixture
def public(call: Call) -> str:
    """The id of a memory from before the store had tenants."""
    call("save_session", objective="open", project_id="public")
    return str(call("save_context", content="Salaries go to GB11.", project_id="public")["artifact_id"])


def test_no_memory_of_a_tenant_outdates_a_public_one(public: str, alice: Session, rows: Rows) -> None:
    """A tenant's own statement would decide whether a statement that all tenants see is compared with new ones."""
    own = str(
        caller(alice)("save_context", content="Salaries go to DE00.", project_id="proj-alice")["artifact_id"]
    )
    for rel in ("SUPERSEDES", "OUTDATES", "MERGES_INTO", "CONFLICTS_WITH", "SIMILAR_TO"):
        for src, dst in ((own, public), (public, own)):
            found = sent(alice, {"type": "edge", "src": src, "rel": rel, "dst": dst})[0]
            assert (found["outcome"], "two of one owner" in found["reason"]) == ("refused", True), rel
    edges = "select e.rel from pgmem.edge e join pgmem.node n on n.seq in (e.src, e.dst) where n.id = %s and e.rel ~ 'S_|OUT'"
    assert rows(edges, public) == []


def tombstone(id: str) -> dict[str, Any]:
    return {
        "type": "purge", "id": id, "label": "Turn", "trust_level": 1.0, "content_hash": "-",
        "purged_by": "the director", "agent_id": "a person", "source": "ui", "purged_at": "2001-01-01",
    }  # fmt: skip


def test_a_tombstone_that_a_writer_sends_names_the_writer(alice: Session, rows: Rows) -> None:
    assert sent(alice, tombstone("00000000-0000-4000-8000-000000000009"))[0]["outcome"] == "purged"
    query = "select purged_by <> 'the director' as writer, source, trust_level, purged_at > '2002-01-01' as now from pgmem.tombstone"
    assert rows(query) == [{"writer": True, "source": "sql", "trust_level": 0.5, "now": True}]


def test_a_tombstone_with_the_id_of_anothers_turn_does_not_take_the_place_of_its_own(
    alice: Session, carol: Session, rows: Rows
) -> None:
    """The id of a turn follows from its name, so another tenant can compute it; a purged turn must stay purged."""
    said = {"client": "codex", "session_id": "s", "project_id": "proj-carol",
            "turns": json.dumps([{"id": "1", "role": "user", "content": "osprey"}])}  # fmt: skip
    capture = "select * from pgmem.capture_turns(p_client => %(client)s, p_session_id => %(session_id)s,"
    capture += " p_project_id => %(project_id)s, p_turns => %(turns)s::jsonb)"
    carol.execute(capture, said)
    (turn,) = rows("select id::text as id from pgmem.node where label = 'Turn'")
    assert sent(alice, tombstone(turn["id"]))[0]["outcome"] == "purged"
    caller(carol)("forget", label="Turn", key=turn["id"], purge=True)
    carol.execute(capture, said)
    assert rows("select 1 from pgmem.node where label = 'Turn'") == []


def test_a_turn_whose_id_another_tenant_has_taken_stays_purged(
    alice: Session, carol: Session, rows: Rows
) -> None:
    """A change of another store comes with its id, so the one that follows from the name of a turn can be taken first."""
    caller(alice)("save_context", content="mine", project_id="proj-alice")
    page = read(alice)
    mine = next(change["record"] for change in page["changes"] if change["label"] == "Context")
    taken = str(rows("select pgmem.id_by_name(%s, 'codex:s/1')::text as id", "globex\x1fcarol")[0]["id"])
    assert sent(alice, {**mine, "id": taken, "props": {"content": "in its place"}})[0]["outcome"] == "taken"
    said = {"p_client": "codex", "p_session_id": "s", "p_project_id": "proj-carol",
            "p_turns": json.dumps([{"id": "1", "role": "user", "content": "osprey"}])}  # fmt: skip
    capture = (
        "select captured from pgmem.capture_turns(p_client => %(p_client)s, p_session_id => %(p_session_id)s,"
    )
    capture += " p_project_id => %(p_project_id)s, p_turns => %(p_turns)s::jsonb)"
    assert carol.execute(capture, said).fetchone() == {"captured": 1}
    (turn,) = rows("select id::text as id, key from pgmem.node where label = 'Turn'")
    assert (turn["key"], turn["id"] != taken) == ("codex:s/1", True)
    caller(carol)("forget", label="Turn", key=turn["id"], purge=True)
    assert carol.execute(capture, said).fetchone() == {"captured": 0}


def test_an_agent_adds_no_word_to_the_vocabulary_of_all_tenants(connection: Session, rows: Rows) -> None:
    """A server whose login is the owner calls for the agents of every tenant."""
    identity = (
        "select set_config('pgmem.org_id', 'acme', false), set_config('pgmem.user_id', 'alice', false),"
    )
    connection.execute((identity + " set_config('pgmem.source', 'mcp', false)").encode())
    words = (
        {"type": "label", "name": "Backdoor", "key_field": "name", "text_fields": ["name"]},
        {"type": "relation", "name": "OWNS_ALL", "from_labels": ["Tool"], "to_labels": ["Tool"]},
    )
    found = sent(connection, *words, {"type": "label", "name": "Tool"})
    assert [row["outcome"] for row in found] == ["refused", "refused", "present"]
    assert "all tenants share" in found[0]["reason"]
    assert rows("select name from pgmem.label where name = 'Backdoor'") == []
    assert rows("select name from pgmem.relation where name = 'OWNS_ALL'") == []
    connection.execute("select set_config('pgmem.source', 'sync', false)")
    assert [row["outcome"] for row in sent(connection, *words)] == ["taken", "taken"]


def test_no_verb_names_an_address(call: Call, rows: Rows) -> None:
    call("list_settings")
    assert rows("select name from pgmem.setting where name ~ '(url|webhook|address)'") == []
    assert rows("select name from pgmem.argument where name ~ '(url|webhook|address)'") == []
