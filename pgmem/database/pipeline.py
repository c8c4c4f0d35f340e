"""Workarounds for the pipeline mode of psycopg.

`sent_first`: the synchronization of a pipeline, which `commit()` runs, flushes once after the last command and then
only reads (`BasePipeline._sync_gen`). Bytes that the socket has not taken by then are never sent: the server
waits for the rest of the statement, the client for the answer, for ever. Seen in psycopg 3.3.9 with a
statement of 20 MB. The same hang at the end of a block is psycopg issue 685, which is closed.

`first_error_only`: if the server has refused a statement before the block ends, psycopg raises that error and logs
"error ignored terminating <psycopg.AsyncPipeline …>" about the statements that were aborted after it. Without a
logging configuration the line goes to stderr, although the caller has the error already.

tests/core/database/test_pipeline.py shows both in bare psycopg. If one of these tests fails, psycopg has mended it and
the workaround can go.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq.abc import PGconn
from psycopg.waiting import Ready, Wait

T = TypeVar("T")


def sent_first(server: PGconn, steps: PQGen[T]) -> PQGen[T]:
    """Run a generator of psycopg, but send all data before it waits for an answer.

    Args:
        server: the connection of libpq.
        steps: yields the events (`Wait`) that it waits for, and is sent those that occurred (`Ready`).
    """
    ready = 0
    try:
        wanted = next(steps)
        while True:
            unsent = wanted == Wait.R and _flush(server)
            ready = (yield Wait.RW if unsent else wanted) or 0
            if unsent:
                ready &= Ready.R
                if not ready:
                    continue
            wanted = steps.send(ready)
    except StopIteration as done:
        value: T = done.value
        return value
    finally:
        _leave(server, steps)


def _leave(server: PGconn, steps: PQGen[T]) -> None:
    """Close a generator, which may be in the middle when its caller is cancelled.

    The exit of a pipeline begins to fetch the remaining results then (`BasePipeline._exit_gen`), which a
    generator that is closed must not. Answers are on their way that nobody reads, so the connection is closed
    too.
    """
    try:
        steps.close()
    except (RuntimeError, psycopg.Error):
        server.finish()


def _flush(server: PGconn) -> bool:
    """Send as much as the socket takes; return whether data is left."""
    try:
        return bool(server.flush())
    except psycopg.OperationalError:
        return False  # the next read raises the reason


@asynccontextmanager
async def first_error_only(block: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """Run a pipeline block, and raise the first database error of the block without the ones that follow from it."""
    first: psycopg.Error | None = None
    try:
        async with block as pipeline:
            try:
                yield pipeline
            except psycopg.Error as error:
                first = error
    except psycopg.Error as error:
        first = first or error
    if first is not None:
        raise first
