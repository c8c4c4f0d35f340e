"""Stores that an old release wrote: how one is loaded, and the questions before and after an upgrade.

`scripts/write-release-store` runs this file in the environment of the old release, the tests run it in this one: so it
needs psycopg and nothing else, and asks by SQL that both releases answer.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

INSTALLER = "release_installer"
"""The login that installed and filled the stores; `load` gives its objects to another."""

LOGINS = ("release_anna", "release_cara")
"""The logins that are tenants of the store `tenants`."""

NODE = (
    "label", "key", "title", "props", "status", "scope", "project", "focus", "org_id", "user_id", "agent_id", "session_id",
    "source", "trust_level", "initial_confidence", "valid_from", "valid_to", "content_hash", "version", "text_config",
    "created_at", "updated_at", "recorded_at",
)  # fmt: skip
"""The columns that a memory is written with; the others are made of them."""

VERSION = (
    "label", "key", "title", "props", "status", "scope", "project", "focus", "org_id", "user_id", "source", "trust_level",
    "initial_confidence", "valid_from", "valid_to", "text_config", "created_at", "ingested_at", "replaced_at",
)  # fmt: skip
"""The same of an earlier state."""

ROLES = """
do $$
declare
  v_role text;
begin
  perform pg_advisory_xact_lock(hashtextextended('release stores', 0));  -- roles are the cluster's, and tests run side by side
  foreach v_role in array '{pgmem_owner,pgmem_writer,pgmem_reader,pgmem_trusted,pgmem_reviewer}'::text[] loop
    if to_regrole(v_role) is null then
      execute format('create role %I nologin', v_role);
    end if;
  end loop;
  foreach v_role in array '{release_installer,release_anna,release_cara}'::text[] loop
    if to_regrole(v_role) is null then
      execute format('create role %I login', v_role);
    end if;
  end loop;
  grant pgmem_writer to pgmem_trusted;
  grant pgmem_writer, pgmem_reader to pgmem_reviewer;
  grant pgmem_writer, pgmem_reader to release_anna, release_cara;
end $$
"""
"""Makes the objects of a cluster that a store needs before it is loaded: the roles of pgmem, as make_roles of the release made them, and logins."""

# A dump holds the number of the graph's schema in the database that it was taken from. The graph's tables and triggers
# came with it, and are those of the old release: only the number is put right.
_WAKE_GRAPH = """
with moved as (
  update ag_catalog.ag_graph g set graphid = 'pgmem_graph'::regnamespace::oid, namespace = 'pgmem_graph'::regnamespace
  where g.name = 'pgmem_graph' returning g.graphid)
update ag_catalog.ag_label a set graph = 'pgmem_graph'::regnamespace::oid, relation = to_regclass(format('pgmem_graph.%I', a.name))
where exists (select from moved) and a.graph = (select g.graphid from ag_catalog.ag_graph g where g.name = 'pgmem_graph')
"""


def load(
    dsn: str, dump: Path, program: Callable[..., object], owner: str | None = None, *, graph: bool = True
) -> None:
    """Fill an empty database with a store, so that it is as the old release left it, its graph and triggers live.

    Args:
        dsn: the database, as a superuser reaches it.
        dump: one of the `*.dump.gz`.
        program: runs one of PostgreSQL's programs with arguments and standard input.
        owner: the login that the store belongs to from now on; none: who loads it.
        graph: false leaves the graph as a dump does: its tables are there, its number is another database's.
    """
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(ROLES)
        text = gzip.decompress(dump.read_bytes()).decode()
        if "CREATE EXTENSION IF NOT EXISTS age " in text:
            admin.execute("create extension age")
        program("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={dsn}", stdin=text)
        if graph and admin.execute("select to_regclass('ag_catalog.ag_graph') is not null").fetchone() == (
            True,
        ):
            admin.execute(_WAKE_GRAPH)
        admin.execute(
            sql.SQL("reassign owned by {} to {}").format(
                sql.Identifier(INSTALLER), sql.Identifier(owner) if owner else sql.SQL("current_user")
            )
        )
        # Settings of the database itself are in no dump.
        grant = sql.SQL("grant create on database {} to pgmem_owner")
        admin.execute(grant.format(sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))))


Rows = dict[str, dict[str, Any]]


def rows(connection: psycopg.Connection[Any]) -> dict[str, Rows]:
    """The memories and their earlier states, each by id, and the edges."""

    def held(columns: Sequence[str]) -> str:
        return "jsonb_build_object(" + ", ".join(f"'{name}', t.{name}" for name in columns) + ")"

    return _each(connection, held)


def digests(connection: psycopg.Connection[Any]) -> dict[str, dict[str, str]]:
    """As `rows`, a digest each."""
    return _each(
        connection, lambda columns: f"left(md5(row({', '.join(f't.{name}' for name in columns)})::text), 12)"
    )


def _each(connection: psycopg.Connection[Any], shown: Callable[[Sequence[str]], str]) -> dict[str, Any]:
    """Memories and their earlier states by id, and the edges, each with its shown columns."""
    _read_alike(connection)
    asked = {
        "nodes": f"select t.id::text, {shown(NODE)} from pgmem.node t where t.label <> 'GlobalScope' order by 1",
        "versions": f"select n.id || ' ' || t.version, {shown(VERSION)} from pgmem.node_version t"
        " join pgmem.node n on n.seq = t.node_seq order by 1",
        "edges": f"select s.id || ' ' || t.rel || ' ' || d.id, {shown(('props', 'created_at'))}"
        " from pgmem.edge t join pgmem.node s on s.seq = t.src join pgmem.node d on d.seq = t.dst order by 1",
    }
    return {name: dict(connection.execute(query.encode()).fetchall()) for name, query in asked.items()}


def counts(connection: psycopg.Connection[Any]) -> dict[str, dict[str, int]]:
    """How many memories by label and status, edges by relation, saves by verb and status, rows by table."""
    tables = connection.execute(
        "select c.relname::text from pg_class c where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'r' order by 1"
    ).fetchall()
    by_table = {}
    for (name,) in tables:
        row = connection.execute(
            sql.SQL("select count(*) from pgmem.{}").format(sql.Identifier(name))
        ).fetchone()
        by_table[name] = int(row[0]) if row else 0
    asked = {
        "memories": "select label || ' ' || status, count(*) from pgmem.node group by 1 order by 1",
        "relations": "select rel, count(*) from pgmem.edge group by 1"
        " union all select 'BELONGS_TO', count(*) from pgmem.node where project_seq is not null or scope = 'global'"
        " union all select 'HAS_FOCUS', count(*) from pgmem.node where focus_seq is not null order by 1",
        "saves": "select verb || ' ' || status || coalesce(' ' || dedup_outcome, ''), count(*) from pgmem.save_attempt group by 1 order by 1",
    }
    found = {name: dict(connection.execute(query.encode()).fetchall()) for name, query in asked.items()}
    return {**found, "tables": by_table}


def known(connection: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """The values that a store of this release can hold: labels, relations, and the values of each status."""
    values = (
        "select found[1] from pg_constraint c, regexp_matches(pg_get_constraintdef(c.oid), $$'([^']+)'$$, 'g') found"
        " where c.contypid = 'pgmem.{}'::regtype order by 1"
    )
    asked = {
        "labels": "select name from pgmem.label order by 1",
        "relations": "select name from pgmem.relation order by 1",
        **{name: values.format(name) for name in ("node_status", "save_status", "dedup_outcome")},
    }
    return {name: [row[0] for row in connection.execute(query.encode())] for name, query in asked.items()}


def answer(connection: psycopg.Connection[Any], question: Mapping[str, Any]) -> Any:
    """The answer of a verb, in a transaction that is rolled back: the ids that it finds, or the SQLSTATE of its refusal.

    Args:
        connection: a superuser's, in autocommit.
        question: verb and arguments; org_id, user_id or login say who asks.
    """
    arguments = {
        name: Jsonb(value) if isinstance(value, dict) else value
        for name, value in question["arguments"].items()
    }
    named = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(sql.Identifier(f"p_{name}"), sql.Placeholder(name)) for name in arguments
    )
    call = sql.SQL("select * from pgmem.{}({})").format(sql.Identifier(question["verb"]), named)
    if login := question.get("login"):
        connection.execute(sql.SQL("set session authorization {}").format(sql.Identifier(login)))
    try:
        with connection.transaction(force_rollback=True), connection.cursor() as cursor:
            cursor.execute(
                "select set_config('pgmem.org_id', %s, true), set_config('pgmem.user_id', %s, true)",
                (question.get("org_id", ""), question.get("user_id", "")),
            )
            cursor.execute(call, arguments)
            columns = [column.name for column in cursor.description or ()]
            found = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
            return _summary(question["verb"], found)
    except psycopg.Error as error:
        return f"refused {error.sqlstate}"
    finally:
        if login:
            connection.execute("reset session authorization")


def _summary(verb: str, found: Sequence[Mapping[str, Any]]) -> Any:
    """The part of an answer that a later release must give as well."""
    if verb == "retrieve_context":
        return sorted(item["id"] for item in found[0]["items"])
    if verb == "memory_history":
        return [[row["version"], row["title"], row["status"]] for row in found]
    if verb == "get_node":
        return [[str(row["id"]), row["title"], row["status"], row["version"]] for row in found]
    if verb == "export_records":
        return sorted(json.loads(row["record"])["id"] for row in found)
    return [str(row["id"]) for row in found]


def _read_alike(connection: psycopg.Connection[Any]) -> None:
    connection.execute(
        "select set_config('timezone', 'UTC', false), set_config('extra_float_digits', '1', false)"
    )
