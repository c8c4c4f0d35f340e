"""The declarations of the tables, compared with the catalog."""

from __future__ import annotations

import psycopg
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Rows

COLUMNS = """
select c.relname as name, c.relrowsecurity as secured, array_agg(a.attname::text) as columns,
  array(select p.polname::text from pg_policy p where p.polrelid = c.oid) as policies,
  array(select t.tgname::text from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers,
  array(select k.attname::text from pg_constraint f join pg_attribute k on k.attrelid = c.oid and k.attnum = f.conkey[1]
        where f.conrelid = c.oid and f.contype = 'f' and f.confrelid = 'pgmem.node'::regclass and f.confdeltype = 'c') as nodes
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'pgmem'::regnamespace and c.relkind in ('r', 'p') group by c.oid
"""
RULES = "select * from pgmem.table_rule"


def test_every_table_is_declared(rows: Rows) -> None:
    tables = {row["name"] for row in rows(COLUMNS)}
    declared = {row["name"] for row in rows(RULES)}
    assert declared - {"embedding"} == tables - {"embedding"}  # made where pgvector is


def test_whose_rows_are_is_what_the_columns_say(rows: Rows) -> None:
    rules = {row["name"]: row for row in rows(RULES)}
    for table in rows(COLUMNS):
        columns, rule = set(table["columns"]), rules[table["name"]]
        if table["name"] == "away":  # the front removes its row when it erases the organisation
            continue
        expected = (
            "owner"
            if {"org_id", "user_id"} <= columns
            else "tenant"
            if "tenant" in columns
            else "node"
            if table["nodes"] or table["name"] == "dedup_token"  # by a trigger
            else "store"
        )
        assert rule["rows_of"] == expected, table["name"]
        if expected == "node" and table["nodes"]:
            assert sorted(rule["nodes"]) == sorted(table["nodes"]), table["name"]
        assert set(rule["ordered_by"]) <= columns, table["name"]


def test_every_declared_rule_is_in_the_catalog(rows: Rows) -> None:
    tables = {row["name"]: row for row in rows(COLUMNS)}
    functions = {
        row["name"]
        for row in rows("select proname as name from pg_proc where pronamespace = 'pgmem'::regnamespace")
    }
    for rule in rows(RULES):
        table = tables.get(rule["name"])
        if table is None:
            continue
        assert table["secured"] == (rule["shown_to"] != "all"), rule["name"]
        assert table["policies"] == (["shown"] if rule["shown_to"] in ("tenant", "node") else []), rule[
            "name"
        ]
        assert set(rule["fed_by"]) <= set(table["triggers"]), rule["name"]
        assert {name for name in (rule["exported_by"], rule["imported_by"]) if name} <= functions


def test_a_table_that_holds_rows_of_a_tenant_has_row_security(rows: Rows) -> None:
    named = ("tenant", "org_id", "user_id", "node_seq")
    open_ones = [t["name"] for t in rows(COLUMNS) if not t["secured"] and set(named) & set(t["columns"])]
    assert open_ones == []


def test_a_table_is_secured_exported_imported_adopted_moved_and_erased_by_one_declaration(
    connection: psycopg.Connection[DictRow], call: Call, act_as: ActAs, rows: Rows
) -> None:
    act_as("acme", "ana")
    call("save_session", objective="plan", project_id="shop")
    connection.execute(
        """
        create table pgmem.note (
          id uuid primary key default gen_random_uuid(), org_id text not null, user_id text not null,
          tenant text generated always as (org_id || e'\\x1f' || user_id) stored,
          project_seq bigint not null references pgmem.node on delete cascade, said text, more jsonb);
        select set_config('pgmem.chapter', 'test', true);
        select pgmem.declare_table('note', 'owner', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'all',
          p_part => 'note', p_ordered_by => '{id}');
        select pgmem.secure_table('note');
        insert into pgmem.note (org_id, user_id, project_seq, said, more)
          select 'acme', 'ana', n.seq, 'hello', '{"a": null}' from pgmem.node n where n.label = 'Project' and n.key = 'shop';
        """
    )
    assert rows("select polname from pg_policy where polrelid = 'pgmem.note'::regclass") == [
        {"polname": "shown"}
    ]
    (exported,) = rows("select record from pgmem.export_records('note')")
    connection.execute("delete from pgmem.note")
    answer = "select taken, present from pgmem.import_records(jsonb_build_array(%s::jsonb))"
    assert rows(answer, exported["record"]) == [{"taken": 1, "present": 0}]
    assert rows(answer, exported["record"]) == [{"taken": 0, "present": 1}]
    assert rows("select said, more, tenant from pgmem.note") == [
        {"said": "hello", "more": {"a": None}, "tenant": "acme\x1fana"}
    ]
    (moved,) = rows("select condition from pgmem.moved_tables('acme') where name = 'note'")
    assert rows(f"select count(*) as n from pgmem.note t where {moved['condition']}") == [{"n": 1}]
    connection.execute("select pgmem.adopt_rows(%s, 'globex', 'bea')", ("acme\x1fana",))
    assert rows("select org_id, user_id from pgmem.note") == [{"org_id": "globex", "user_id": "bea"}]
    connection.execute("select pgmem.adopt_rows(%s, 'acme', 'ana')", ("globex\x1fbea",))
    erased = call("erase_subject", org_id="acme", user_id="ana", dry_run=False, by="Eve")
    assert erased["counts"]["note"] == 1
    assert rows("select * from pgmem.note") == []
