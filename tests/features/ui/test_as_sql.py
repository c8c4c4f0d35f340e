"""The SQL that a list offers gives the list."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.features.ui import as_sql
from pgmem.features.ui.visit import Visit
from tests.conftest import Call

QUERIES: dict[str, Callable[[Visit], str]] = {
    "memories": as_sql.memories,
    "search": lambda visit: as_sql.search(visit, "where's the till\\?"),
    "recalled": as_sql.recalled,
    "at": as_sql.at,
    "changes": as_sql.changes,
    "conflicts": as_sql.conflicts,
    "reviews": as_sql.reviews,
    "saves": as_sql.saves,
    "turns": as_sql.turns,
    "edges": as_sql.edges,
    "opening": as_sql.opening,
    "rules": as_sql.rules,
    "waiting rules": as_sql.waiting_rules,
    "near names": as_sql.near_names,
    "insights": as_sql.insights,
    "balance": as_sql.balance,
}
FILTERS: list[dict[str, str]] = [
    {},
    {"project": "ada's shop"},
    {"labels": "Decision, Context", "agent": "it's me", "source": "mcp", "status": "active"},
    {"status": "superseded"},
    {"labels": "Card", "branch": "fix\\'s"},
    {"session": "claude-code:'1", "project": "ada's shop"},
    {"t": "2026-03-31", "as_of": "2026-03-31", "focus": "till", "tags": "a, b's"},
]


def visit(query: dict[str, str]) -> Visit:
    nothing = cast(Any, SimpleNamespace())
    return Visit(nothing, nothing, "/ui", "/", query, {}, {}, nothing, nothing)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
@pytest.mark.parametrize("name", QUERIES)
def test_every_query_runs_as_it_is_shown(
    name: str, filters: dict[str, str], call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    call("save_session", objective="Open", project_id="ada's shop")
    connection.execute("set search_path = pgmem, public")
    assert connection.execute(QUERIES[name](visit(filters)).encode()).description


def test_the_query_of_the_list_gives_its_memories(
    call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    for project in ("shop", "ada's"):
        call("save_session", objective=f"Open {project}", project_id=project)
        old = call("save_decision", title=f"Count {project} at nine", rationale="Calm", project_id=project)
        call("save_decision", title=f"Count {project} at ten", rationale="Late", project_id=project,
             supersedes=str(old["artifact_id"]))  # fmt: skip
    connection.execute("set search_path = pgmem, public")
    for given in ({}, {"project": "ada's"}, {"labels": "Decision"}, {"status": "superseded"}):
        listed = connection.execute(
            "select title from list_memories(%s, %s, %s)",
            (given.get("project"), [given["labels"]] if "labels" in given else None, given.get("status")),
        ).fetchall()
        found = connection.execute(as_sql.memories(visit(given)).encode()).fetchall()
        assert sorted(one["title"] for one in found) == sorted(one["title"] for one in listed), given
        assert found


def test_a_literal_is_what_it_was(connection: psycopg.Connection[DictRow]) -> None:
    for text in ("plain", "it's", "a\\b", "'; drop table x; --", "\\'", "línea\nnew"):
        row = connection.execute(f"select {as_sql.literal(text)} as text".encode()).fetchone()
        assert row == {"text": text}
