"""Faults that the workarounds for psycopg mend, and that bare psycopg still needs them."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.waiting import Wait

from pgmem.database.connection import Connection
from pgmem.database.pipeline import sent_first
from tests.conftest import past_the_pooler

pytestmark = pytest.mark.anyio

LARGE = "x" * 20_000_000  # more than a socket takes at once


class Stuck(Exception):
    """Data is left to send and the client waits for an answer only."""


class Watched(AsyncConnection[Any]):
    """Bare psycopg, which raises where it would wait for ever."""

    async def wait(self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        return await super().wait(self._watched(gen), interval, timeout)

    def _watched(self, steps: PQGen[Any]) -> PQGen[Any]:
        try:
            wanted = next(steps)
            while True:
                if wanted == Wait.R and self.pgconn.flush():
                    raise Stuck
                wanted = steps.send((yield wanted))
        except StopIteration as done:
            return done.value


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> None:
    """Listen to psycopg, which a command that ran in this process has quieted."""
    caplog.set_level(logging.WARNING, logger="psycopg")


async def length_of(connection: AsyncConnection[Any], text: str) -> Any:
    async with connection.pipeline():
        cursor = await connection.execute("select length(%s::text) as length", (text,))
        await connection.commit()
    return await cursor.fetchone()


async def refused(connection: AsyncConnection[Any], other: AsyncConnection[Any]) -> None:
    """A statement whose error arrives after it was sent and before the next one is: it waits for a lock of `other`."""
    await other.execute("select pg_advisory_xact_lock(7)")
    async with connection.pipeline():
        await connection.execute("select 1 / length(pg_advisory_xact_lock(7)::text)")
        await other.rollback()
        await anyio.wait_readable(connection.fileno())
        await connection.execute("select 1")


async def lost(connection: AsyncConnection[Any], other: AsyncConnection[Any]) -> None:
    """A statement whose connection ends before COMMIT is sent."""
    async with connection.pipeline():
        await connection.execute("select 1")
        await other.execute("select pg_terminate_backend(%s)", (connection.info.backend_pid,))
        await connection.commit()


async def test_bare_psycopg_waits_for_the_answer_to_a_large_statement_that_it_has_not_sent(dsn: str) -> None:
    """If this test fails, psycopg sends all by itself: remove `pipeline.sent_first`."""
    connection = await Watched.connect(dsn)
    try:
        assert await length_of(connection, "x") == (1,)
        if not connection.info.host.startswith("/"):
            pytest.skip(
                "A proxy before a TCP port may take any statement whole; the sockets of the other servers do not."
            )
        with pytest.raises(Stuck):
            await length_of(connection, LARGE)
    finally:
        await connection.close()


async def test_a_large_statement_is_sent_whole(dsn: str) -> None:
    async with await Connection.connect(dsn) as connection:
        assert await length_of(connection, LARGE) == (len(LARGE),)


async def test_bare_psycopg_logs_the_end_of_a_pipeline_that_was_refused(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    """If this test fails, psycopg is quiet by itself: remove `pipeline.first_error_only`."""
    async with await AsyncConnection.connect(dsn) as connection, await AsyncConnection.connect(dsn) as other:
        with pytest.raises(psycopg.errors.DivisionByZero):
            await refused(connection, other)
    assert "error ignored terminating" in caplog.text


async def test_a_refused_call_logs_nothing_and_leaves_the_connection_good(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with await Connection.connect(dsn) as connection, await AsyncConnection.connect(dsn) as other:
        with pytest.raises(psycopg.errors.DivisionByZero):
            await refused(connection, other)
        await connection.rollback()
        assert await length_of(connection, "x") == (1,)
    assert caplog.records == []


async def test_a_pipeline_on_a_lost_connection_raises_the_loss_and_logs_nothing(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    connection = await Connection.connect(past_the_pooler(dsn))
    async with await AsyncConnection.connect(dsn, autocommit=True) as other:
        with pytest.raises(psycopg.OperationalError):
            await lost(connection, other)
    assert connection.closed
    assert caplog.records == []


async def left(connection: Connection) -> None:
    """A pipeline whose end is begun and then left, as a generator is that nobody runs on."""
    async with connection.pipeline() as pipeline:
        await connection.execute("select pg_sleep(10)")
        steps = sent_first(connection.pgconn, pipeline._exit_gen())
        next(steps)
        steps.close()


async def test_the_end_of_a_pipeline_that_is_left_in_the_middle_closes_its_connection(dsn: str) -> None:
    """It raised in the garbage collector, and left answers that nobody read to the next call."""
    connection = await Connection.connect(dsn)
    with pytest.raises(psycopg.OperationalError, match="closed"):
        await left(connection)
    assert connection.closed
