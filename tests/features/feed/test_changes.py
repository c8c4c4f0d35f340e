"""The feed: each change once, in the order of commits, to those who may see it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow

from tests.concurrency.conftest import OpenSession
from tests.conftest import Call, as_admin, past_the_pooler, stores_of
from tests.features.feed.conftest import Read
from tests.fixtures.verbs import ActAs, Rows, unheld_changes


def kinds(changes: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(change["subject"], change["kind"], change["label"]) for change in changes]


def now(call: Call) -> str:
    """The cursor of this moment."""
    return str(unheld_changes(call, after="now")["cursor"])


@pytest.mark.usefixtures("shop")
def test_every_kind_of_change_is_one_entry(
    call: Call, read: Read, connection: psycopg.Connection[DictRow]
) -> None:
    start = now(call)
    first = call("save_decision", title="Pay by invoice", rationale="Firms ask for it.", project_id="shop")
    call("save_decision", title="Pay by invoice only", rationale="All firms ask for it.", project_id="shop")
    call("remember", label="Concept", properties={"name": "Invoice"}, project_id="shop")
    call("remember", label="Concept", properties={"name": "Invoice", "notes": "Paper."}, project_id="shop")
    call("relate", from_label="Concept", from_key="Invoice", rel_type="RELATED_TO", to_label="Decision",
         to_key="Pay by invoice only", project_id="shop")  # fmt: skip
    call("forget", label="Concept", key="Invoice", project_id="shop")
    call("revert", label="Concept", key="Invoice", version=2, project_id="shop")
    call("forget", label="Concept", key="Invoice", project_id="shop", purge=True)
    held = call("save_decision", title="Pay by card only", rationale="x", project_id="shop")
    assert held["dedup_outcome"] == "manual_review"
    call("resolve_review", save_id=held["save_id"], outcome="new", by="ann")
    changes = read(start)
    assert kinds(changes) == [
        ("memory", "saved", "Decision"),
        ("memory", "saved", "Decision"),
        ("memory", "superseded", "Decision"),
        ("edge", "related", "SUPERSEDES"),
        ("memory", "saved", "Concept"),
        ("memory", "changed", "Concept"),
        ("edge", "related", "RELATED_TO"),
        ("memory", "forgotten", "Concept"),
        ("memory", "restored", "Concept"),
        ("memory", "purged", "Concept"),
        ("review", "held", "save_decision"),
        ("memory", "saved", "Decision"),
        ("edge", "related", "SIMILAR_TO"),
        ("review", "approved", "save_decision"),
    ]
    assert changes[0]["id"] == str(first["artifact_id"])
    assert {change["project"] for change in changes} == {"shop"}
    assert [c["version"] for c in changes if c["label"] == "Concept"] == [1, 2, 3, 4, 4]
    columns = connection.execute(
        "select string_agg(c::text, ' ') as text from pgmem.change c where label = 'Concept'"
    ).fetchone()
    assert columns is not None
    assert "Invoice" not in columns["text"]


@pytest.mark.usefixtures("shop")
def test_the_content_is_a_line_of_an_export_beside_the_last_change(call: Call, read: Read) -> None:
    start = now(call)
    call("remember", label="Concept", properties={"name": "Invoice"}, project_id="shop")
    call("remember", label="Concept", properties={"name": "Invoice", "notes": "Paper."}, project_id="shop")
    call("remember", label="Concept", properties={"name": "Bill"}, project_id="shop")
    call("forget", label="Concept", key="Bill", project_id="shop", purge=True)
    first, second, _, bill = read(start, content=True)
    assert "record" not in first
    assert second["record"]["type"] == "node"
    assert second["record"]["props"] == {"name": "Invoice", "notes": "Paper."}
    assert len(second["record"]["versions"]) == 1
    assert bill["record"]["type"] == "purge"
    assert "Bill" not in str(bill)


def test_a_page_ends_where_the_next_one_begins(call: Call, read: Read) -> None:
    for number in range(7):
        call("save_session", objective=f"o{number}", project_id="shop")
    whole = read()
    assert len(whole) == 8
    assert [c["cursor"] for c in read(limit=2)] == [c["cursor"] for c in whole]
    for place, change in enumerate(whole):
        assert [c["id"] for c in read(change["cursor"])] == [c["id"] for c in whole[place + 1 :]]


def test_an_overtaken_transaction_holds_the_reader_back_and_nothing_is_missed_or_read_twice(
    call: Call, read: Read, session: OpenSession
) -> None:
    """Ann's transaction is older and commits last: a reader by sequence alone would have passed her change."""
    call("save_session", objective="open", project_id="shop")
    start = now(call)
    ann, bob = session("ann"), session("bob")
    ann.call("save_context", content="ann", project_id="shop")
    bob.call("save_context", content="bob", project_id="shop")
    bob.commit()
    page = call("changes", after=start)
    assert (page["changes"], page["held"], page["more"]) == ([], True, False)
    ann.commit()
    found = read(page["cursor"])
    assert len(found) == 2
    assert read(found[-1]["cursor"]) == []


def test_a_transaction_of_another_database_holds_nobody(call: Call, read: Read, dsn: str) -> None:
    start = now(call)
    with psycopg.connect(make_conninfo(as_admin(dsn), dbname="postgres")) as elsewhere:
        elsewhere.execute("select pg_current_xact_id()")
        call("save_session", objective="open", project_id="shop")
        assert len(read(start)) == 2
        assert read(now(call)) == []


def test_a_reader_does_not_pass_what_it_has_not_committed_itself(
    call: Call, read: Read, session: OpenSession
) -> None:
    call("save_session", objective="open", project_id="shop")
    start = now(call)
    ann = session("ann")
    assert ann.call("save_context", content="ann", project_id="shop")["status"] == "saved"
    page = ann.call("changes", after=start)
    ann.rollback()
    call("save_context", content="bob", project_id="shop")
    assert page["changes"] == []
    assert len(read(page["cursor"])) == 1


def test_a_transaction_that_rolls_back_leaves_no_entry_and_holds_nobody(
    call: Call, read: Read, session: OpenSession
) -> None:
    call("save_session", objective="open", project_id="shop")
    start = now(call)
    ann = session("ann")
    ann.call("save_context", content="ann", project_id="shop")
    call("save_context", content="mine", project_id="shop")
    assert call("changes", after=start)["held"]
    ann.rollback()
    assert kinds(read(start)) == [("memory", "saved", "Context")]


def test_the_versions_of_a_memory_are_in_order_though_the_older_transaction_wrote_last(
    call: Call, read: Read, session: OpenSession
) -> None:
    """Ann begins first, Bob changes the memory and commits, then Ann changes it: her number is lower, her place later."""
    call("save_session", objective="open", project_id="shop")
    fact = {"entity_name": "Port", "project_id": "shop"}
    call("upsert_entity", fact="5432", **fact)
    start = now(call)
    ann, bob, carl = session("ann"), session("bob"), session("carl")
    ann.call("save_context", content="ann is first", project_id="shop")
    carl.call("save_context", content="carl stays", project_id="shop")
    bob.call("upsert_entity", fact="5433", **fact)
    bob.commit()
    ann.call("upsert_entity", fact="5434", **fact)
    ann.commit()
    page = call("changes", after=start)
    carl.commit()
    seen = page["changes"] + read(page["cursor"])
    versions = [c["version"] for c in seen if c["label"] == "EntityFact"]
    assert versions == [2, 3]


def test_a_tenant_reads_its_own_changes_those_of_its_organisation_and_public_ones(
    call: Call, read: Read, act_as: ActAs, rows: Rows
) -> None:
    call("save_session", objective="public", project_id="open")
    act_as("acme", "ann")
    call("save_session", objective="of ann", project_id="shop")
    act_as("acme", "bob")
    call("save_session", objective="of bob", project_id="desk")
    act_as("other", "eve")
    call("save_session", objective="of eve", project_id="lair")
    everything = {
        str(row["id"]): row for row in rows("select id, tenant from pgmem.node where label <> 'GlobalScope'")
    }
    for org, user in (("acme", "ann"), ("acme", "bob"), ("other", "eve"), ("", "")):
        act_as(org, user)
        seen = {c["id"] for c in read()}
        visible = {
            str(row["id"]) for row in rows("select id from pgmem.visible_node where label <> 'GlobalScope'")
        }
        assert seen == visible
    act_as("", "")
    assert {c["id"] for c in read(all_tenants=True)} == set(everything)


def test_an_edge_between_owners_is_seen_by_those_who_see_both_ends(
    call: Call, read: Read, act_as: ActAs
) -> None:
    act_as("acme", "ann")
    call("remember", label="Concept", properties={"name": "Shared"}, share="org")
    call("remember", label="Concept", properties={"name": "Own"})
    for ends in (("Own", "Shared"), ("Shared", "Own")):
        call(
            "relate",
            from_label="Concept",
            from_key=ends[0],
            rel_type="RELATED_TO",
            to_label="Concept",
            to_key=ends[1],
        )
    assert len([c for c in read() if c["subject"] == "edge"]) == 2
    act_as("acme", "bob")
    assert [c["subject"] for c in read()].count("edge") == 0
    assert "memory" in [c["subject"] for c in read()]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ("yesterday", "after must be a cursor that changes has returned"),
        ("0123456789ab.7.0", "This cursor is of another store"),
    ],
)
def test_a_cursor_that_is_none_of_this_store_is_one_sentence(call: Call, after: str, message: str) -> None:
    with pytest.raises(psycopg.Error, match=message):
        call("changes", after=after)


def test_a_cursor_ahead_of_the_store_is_one_sentence(call: Call) -> None:
    name = now(call).split(".", maxsplit=1)[0]
    with pytest.raises(psycopg.Error, match="another past of the store"):
        call("changes", after=f"{name}.999999999999.0.00000000")


def test_a_reader_that_comes_after_feed_days_is_told_to_start_anew(
    call: Call, read: Read, connection: psycopg.Connection[DictRow], rows: Rows
) -> None:
    start = now(call)
    call("save_session", objective="old", project_id="shop")
    connection.execute("update pgmem.change set at = at - interval '61 days'")
    call("save_session", objective="new", project_id="shop")
    call("sweep")
    assert [c["kind"] for c in read()] == ["saved"]
    with pytest.raises(psycopg.Error, match="kept no longer"):
        call("changes", after=start)
    header = call("export_header")["export_header"]
    assert read(header["cursor"]) == []
    assert rows("select count(*) from pgmem.change") == [{"count": 1}]


def test_a_project_alone_is_read(call: Call, read: Read) -> None:
    call("save_session", objective="o", project_id="shop")
    call("save_session", objective="o", project_id="desk")
    assert {c["project"] for c in read(project_id="SHOP")} <= {"shop", None}
    assert len(read(project_id="shop")) == 2
    with pytest.raises(psycopg.Error, match="No project"):
        read(project_id="nowhere")


def test_a_repeat_that_only_confirms_a_memory_is_a_change_and_a_read_is_none(call: Call, read: Read) -> None:
    call("save_session", objective="o", project_id="shop")
    call("upsert_entity", entity_name="Port", fact="5432", project_id="shop")
    start = now(call)
    call("search_memory", query="port", project_id="shop")
    call("get_node", label="EntityFact", key="Port", project_id="shop")
    assert read(start) == []


def notified(connection: psycopg.Connection[Any]) -> int:
    return len(list(connection.notifies(timeout=0.2, stop_after=50)))


@pytest.mark.usefixtures("shop")
def test_a_transaction_notifies_once_and_only_while_somebody_listens(dsn: str, session: OpenSession) -> None:
    ann = session("ann")
    with psycopg.connect(past_the_pooler(stores_of(dsn)[0]), autocommit=True) as listener:
        listener.execute("listen pgmem_change")
        ann.call("save_context", content="nobody has said that it listens", project_id="shop")
        ann.commit()
        assert notified(listener) == 0
        listener.execute("select pgmem.listen_changes()")
        for content in ("one", "two", "three"):
            ann.call("save_context", content=content, project_id="shop")
        ann.commit()
        assert notified(listener) == 1
        ann.call("save_context", content="four", project_id="shop")
        ann.rollback()
        assert notified(listener) == 0
        listener.execute("update pgmem.listener set until = now()")
        ann.call("save_context", content="five", project_id="shop")
        ann.commit()
        assert notified(listener) == 0


def test_a_copied_store_begins_another_feed(
    call: Call, connection: psycopg.Connection[DictRow], dsn: str
) -> None:
    from pgmem.install import schema

    call("save_session", objective="o", project_id="shop")
    before = now(call)
    connection.execute("update pgmem.feed set system = 'another server'")
    with pytest.raises(psycopg.Error, match="copied from another server"):
        call("changes")
    connection.execute("delete from pgmem.schema_file where path like '%feed%' and path like 'sql/%'")
    connection.execute("update pgmem.schema_version set digest = ''")
    schema.upgrade(stores_of(dsn)[0])
    assert call("changes")["changes"] == []
    with pytest.raises(psycopg.Error, match="of another store"):
        call("changes", after=before)


def test_ids_in_the_feed_are_those_of_the_memories(call: Call, read: Read, rows: Rows) -> None:
    call("save_session", objective="o", project_id="shop")
    ids = [UUID(c["id"]) for c in read()]
    assert ids == [
        row["id"] for row in rows("select id from pgmem.node where label <> 'GlobalScope' order by seq")
    ]
    cursors = [tuple(map(int, c["cursor"].split(".")[1:3])) for c in read()]
    assert all(a < b for a, b in pairwise(cursors))
