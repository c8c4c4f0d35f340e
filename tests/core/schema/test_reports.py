"""The schema of the views alone, the login that reads it, and the changes and authors in its views."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow

from tests.conftest import Call, caller, past_the_pooler

Rows = Callable[..., list[DictRow]]


@pytest.fixture
def rows(connection: psycopg.Connection[DictRow]) -> Rows:
    """`rows("select …")`: the rows of a query."""
    return lambda query, *parameters: connection.execute(query.encode(), parameters or None).fetchall()


def test_the_schema_of_reports_holds_the_views_and_nothing_else(rows: Rows) -> None:
    listed = (
        "select relname as name from pg_class where relnamespace = %s::regnamespace and relkind in ('r', 'v')"
    )
    reports = {row["name"] for row in rows(listed, "pgmem_report")}
    public = {row["name"] for row in rows(listed + " and reloptions @> '{security_invoker=true}'", "pgmem")}
    assert reports == public
    assert {"decision", "memory", "recall"} <= reports
    bare = """select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
              where c.relnamespace = 'pgmem_report'::regnamespace and a.attnum > 0
                and col_description(c.oid, a.attnum) is null"""
    assert rows(bare) == []
    (function,) = rows("select proname from pg_proc where pronamespace = 'pgmem_report'::regnamespace")
    assert function["proname"] == "memory_at"


@pytest.mark.usefixtures("createrole")
def test_the_login_of_reports_reads_the_views_and_nothing_else(
    dsn: str, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    call("save_session", objective="Open", project_id="shop")
    call("save_decision", title="Sell tea", rationale="Thirst", project_id="shop")
    name = call("make_report_login", password="only-for-tests")["make_report_login"]
    assert name == "pgmem_report"
    try:
        asked = make_conninfo(past_the_pooler(dsn), user=name, password="only-for-tests")
        with psycopg.connect(asked, autocommit=True) as reader:
            assert reader.execute("select title from decision").fetchall() == [("Sell tea",)]
            found = reader.execute("select title from memory_at() where label = 'Decision'").fetchall()
            assert found == [("Sell tea",)]
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                reader.execute("create table mine (a text)")
            reader.execute("set default_transaction_read_only = off")
            for refused in (
                "select * from pgmem.node",
                "select * from pgmem.save_session('x', 'shop')",
                "insert into decision (title) values ('x')",
                "create table pgmem_report.mine (a text)",
            ):
                with pytest.raises(
                    (psycopg.errors.InsufficientPrivilege, psycopg.errors.ObjectNotInPrerequisiteState)
                ):
                    reader.execute(refused)
    finally:
        connection.execute("drop owned by pgmem_report")
        with suppress(
            psycopg.errors.DependentObjectsStillExist
        ):  # another test's database grants it its views
            connection.execute("drop role pgmem_report")


def test_a_change_says_what_it_was_before_and_the_author_stays(
    call: Call, rows: Rows, connection: psycopg.Connection[DictRow]
) -> None:
    connection.execute("select set_config('pgmem.agent_id', 'claude', false)")
    agent = caller(connection)
    agent("save_session", objective="Open", project_id="shop")
    saved = agent("save_decision", title="Sell tea", rationale="Thirst", project_id="shop", owner="Ada")
    given: dict[str, Any] = {"rationale": "Cold mornings"}
    agent("edit_memory", id=saved["artifact_id"], version=1, title="Sell hot tea", by="ada",
          properties=psycopg.types.json.Jsonb(given))  # fmt: skip
    changes = rows(
        "select version, agent_id, changed_from from pgmem.memory_change where id = %s order by version",
        saved["artifact_id"],
    )
    assert [tuple(change.values()) for change in changes] == [
        (1, "claude", None),
        (2, "ada", {"title": "Sell tea", "rationale": "Thirst"}),
    ]
    for view in ("decision", "memory"):
        (row,) = rows(f"select agent_id, author from pgmem.{view} where id = %s", saved["artifact_id"])
        assert row == {"agent_id": "ada", "author": "claude"}, view


def test_a_prompt_that_brought_nothing_is_recorded(call: Call, rows: Rows) -> None:
    call("save_session", objective="Open", project_id="shop")
    silent = {"by": "UserPromptSubmit", "memory_ids": [], "project_id": "shop"}
    assert call("record_recall", **silent, act="injected")["record_recall"] == 0
    assert call("record_recall", **silent)["record_recall"] == 0
    found = rows("select act, memory_ids, project from pgmem.recall")
    assert found == [{"act": "injected", "memory_ids": [], "project": "shop"}], (
        "a search without results is not"
    )
    assert call("list_recall")["memories"] == []
