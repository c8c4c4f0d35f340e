"""The verbs on a connection of the caller, as a watcher sees them."""

from __future__ import annotations

import psycopg
import pytest

from pgmem import Memory
from pgmem.database.watch import Call, Save
from pgmem.errors import InvalidArgument, MemoryNotFound
from pgmem.models import MemoryScope
from tests.conftest import past_the_pooler

pytestmark = pytest.mark.anyio


async def test_calls_on_a_callers_connection_are_noticed_with_their_outcome_and_rows(dsn: str) -> None:
    seen: list[Call | Save] = []
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await connection.set_isolation_level(
            psycopg.IsolationLevel.READ_COMMITTED
        )  # a login may have another one
        memory = Memory.on(connection)
        memory.watch(seen.append)
        await memory.save_session("Sell tea", "shop")
        found = await memory.search_memory("tea", project_id="shop")
        with pytest.raises(MemoryNotFound):
            await memory.memory_history("Decision", "no such decision", project_id="shop")
    calls = [each for each in seen if isinstance(each, Call)]
    assert [(call.verb, call.outcome, call.rows, call.replica) for call in calls] == [
        ("save_session", "ok", 1, False),
        ("search_answer", "ok", len(found.results), False),
        ("memory_history", "refused", 0, False),
    ]
    assert all(call.seconds > 0 for call in calls)
    assert [each.status for each in seen if isinstance(each, Save)] == ["saved"]


async def test_a_watcher_sees_what_another_scope_does_on_the_same_connection(dsn: str) -> None:
    seen: list[Call | Save] = []
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await connection.set_isolation_level(
            psycopg.IsolationLevel.READ_COMMITTED
        )  # a login may have another one
        memory = Memory.on(connection)
        memory.watch(seen.append)
        await memory.acting_as(MemoryScope(org_id="acme", user_id="ann")).save_session("Sell tea", "shop")
    assert [each.verb for each in seen] == ["save_session", "save_session"]


async def test_a_statement_that_runs_out_of_time_on_a_callers_connection_is_noticed_as_such(dsn: str) -> None:
    seen: list[Call | Save] = []
    async with await psycopg.AsyncConnection.connect(past_the_pooler(dsn), autocommit=True) as connection:
        memory = Memory.on(connection)
        memory.watch(seen.append)
        await connection.execute("set statement_timeout = 1")
        with pytest.raises(psycopg.errors.QueryCanceled):
            await memory.search_memory("tea")
    assert [(each.verb, each.outcome) for each in seen if isinstance(each, Call)] == [
        ("search_answer", "timeout")
    ]


async def test_a_value_that_cannot_be_sent_makes_no_call(dsn: str) -> None:
    seen: list[Call | Save] = []
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await connection.set_isolation_level(
            psycopg.IsolationLevel.READ_COMMITTED
        )  # a login may have another one
        memory = Memory.on(connection)
        memory.watch(seen.append)
        with pytest.raises(InvalidArgument, match="lone surrogate"):
            await memory.search_memory("\ud800")
    assert seen == []
