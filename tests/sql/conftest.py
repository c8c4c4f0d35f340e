"""What the tests of the verbs share: an open project, all rows of a verb, a picture of every table, identities."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.database.call import clean, statement
from tests.conftest import Call

Each = Callable[..., list[DictRow]]
Rows = Callable[..., list[DictRow]]
Picture = Callable[..., dict[str, str]]
ActAs = Callable[..., None]

SAVES: dict[str, dict[str, object]] = {
    "save_session": {"objective": "o", "project_id": "shop"},
    "save_decision": {"title": "t", "rationale": "r", "project_id": "shop"},
    "save_pattern": {"trigger": "t", "repeatable_steps": ["s"], "project_id": "shop"},
    "save_context": {"content": "c", "project_id": "shop"},
    "upsert_entity": {"entity_name": "e", "fact": "f", "project_id": "shop"},
    "store_session_with_learnings": {"session": {"objective": "o"}, "project_id": "shop"},
    "request_global_write_approval": {"content_preview": "p"},
}
"""Arguments that the verbs take which store what an agent says."""


@pytest.fixture
def rows(connection: psycopg.Connection[DictRow]) -> Rows:
    """`rows("select …", *parameters)`: what a query gives."""

    def rows(query: str, *parameters: object) -> list[DictRow]:
        return connection.execute(query.encode(), parameters or None).fetchall()

    return rows


@pytest.fixture
def each(connection: psycopg.Connection[DictRow]) -> Each:
    """`each("neighbours", label=…)`: every row of a verb."""

    def each(verb: str, /, **arguments: object) -> list[DictRow]:
        sent = {name: clean(name, value) for name, value in arguments.items()}
        return connection.execute(statement(verb, sent), sent).fetchall()

    return each


@pytest.fixture
def shop(call: Call) -> str:
    """The name of a project that is there."""
    assert call("save_session", objective="open the shop", project_id="shop")["status"] == "saved"
    return "shop"


@pytest.fixture
def picture(connection: psycopg.Connection[DictRow]) -> Picture:
    """`picture()`: a digest of every table's rows; `picture(without={"save_attempt"})` leaves one out."""

    def picture(without: frozenset[str] | set[str] = frozenset()) -> dict[str, str]:
        tables = connection.execute(
            "select table_schema || '.' || quote_ident(table_name) as name from information_schema.tables"
            " where table_schema in ('pgmem', 'pgmem_graph') and table_type = 'BASE TABLE' order by 1"
        ).fetchall()
        found = {}
        for table in tables:
            name = str(table["name"])
            # The rows of held_lock are locks: a scope that was locked once keeps its row.
            if name.removeprefix("pgmem.") in {"held_lock", *without}:
                continue
            query = f"select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') from {name} t"
            row = connection.execute(query.encode()).fetchone()
            assert row is not None
            found[name] = str(row["?column?"])
        return found

    return picture


@pytest.fixture
def act_as(connection: psycopg.Connection[DictRow]) -> ActAs:
    """`act_as("acme", "alice")`: the identity the test's connection has from now on; `act_as()` has none."""

    def act_as(org_id: str = "", user_id: str = "", session_id: str = "") -> None:
        connection.execute(
            "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false),"
            " set_config('pgmem.session_id', %s, false)",
            (org_id, user_id, session_id),
        )

    return act_as
