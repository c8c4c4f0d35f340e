"""One connection to PostgreSQL: its class, and lost connections as errors of pgmem."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncPipeline
from psycopg.abc import PQGen
from psycopg.rows import DictRow, dict_row

from pgmem.database.closing import to_its_end
from pgmem.database.identity import PIN
from pgmem.database.pipeline import first_error_only, sent_first
from pgmem.database.silent import NO_CELL
from pgmem.database.times import read_times
from pgmem.errors import CUT, CellSilent, DatabaseUnavailable, NotPermitted, OutOfResources, first_line

T = TypeVar("T")

_CANCEL_S = 2.0  # to ask the server to cancel a statement


class Connection(AsyncConnection[DictRow]):
    """A connection that cancels its statement when the caller gives up, and whose pipelines work."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Connect as psycopg does; one that is cancelled meanwhile closes its socket at once."""
        try:
            connection = await super().connect(conninfo, **options)
        except asyncio.CancelledError as error:
            raise error.with_traceback(None) from None  # its frames hold a half-open connection
        read_times(connection.adapters)
        return connection

    async def cancel_safe(self, *, timeout: float = _CANCEL_S) -> None:
        """Ask the server to cancel the statement, whose result is no longer needed; takes at most two seconds.

        A caller that is cancelled once more waits for it too.
        """
        await to_its_end(super().cancel_safe(timeout=min(timeout, _CANCEL_S)))

    async def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Run a generator of psycopg to its end, or close it; see `pipeline.sent_first`."""
        steps = sent_first(self.pgconn, gen)
        try:
            return await super().wait(steps, interval, timeout)
        finally:
            steps.close()

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        """Send the statements of the block without waiting for their answers; see `pipeline.first_error_only`."""
        async with first_error_only(super().pipeline()) as pipeline:
            yield pipeline


def settled(dsn: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect outside of the pools and begin a transaction with the settings of pgmem, whatever those of the login are.

    Args:
        dsn: where.
    """
    connection = psycopg.connect(dsn, client_encoding="UTF8")
    try:
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        connection.execute(PIN)
    except BaseException:
        connection.close()
        raise
    return connection


@asynccontextmanager
async def opened(dsn: str, **options: Any) -> AsyncIterator[Connection]:
    """Give a connection outside the pools for the time of the block; a transaction that is open then is rolled back.

    It is closed without a word to the server, which takes no await: the block that psycopg has (`async with
    connection`) rolls back first, and whoever is cancelled once more in that await leaves the connection open. Nothing
    else in this package opens such a connection.

    Args:
        dsn: where.
        options: those of psycopg; rows are dicts unless they say otherwise.
    """
    connection = await Connection.connect(
        dsn, **{"row_factory": dict_row, "client_encoding": "UTF8", **options}
    )
    try:
        yield connection
    finally:
        await connection.close()


@contextmanager
def losing(lost: type[DatabaseUnavailable]) -> Iterator[None]:
    """Raise a lost connection as the given class; errors of a statement pass unchanged.

    Raises:
        DatabaseUnavailable: the given class.
        CellSilent: a front reached no cell.
        OutOfResources: the server refused the statement for want of memory, disk space or connections.
    """
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        # 53400 is the statement's own fault: it exceeded a limit of its login, such as temp_file_limit.
        if (error.sqlstate or "").startswith("53") and error.sqlstate != "53400":
            raise OutOfResources(f"The database has no resources left: {first_line(error)}") from error
        # A condition on the server, such as a cancelled statement, has an SQLSTATE. A lost connection has none, or one
        # of class 57P (shutdown) or 08 (connection).
        if error.sqlstate is not None and not error.sqlstate.startswith(("57P", "08")):
            raise
        if error.sqlstate == "57P03" and error.diag.message_primary == NO_CELL:
            raise CellSilent(NO_CELL) from error
        why = first_line(error)
        raise lost(f"The connection was lost: {'the server ended it' if why == CUT else why}.") from error


@contextmanager
def connecting(server: str) -> Iterator[None]:
    """Raise the errors of a first connection as errors of pgmem.

    Args:
        server: its name in the message, such as the setting that holds the DSN.

    Raises:
        NotPermitted: the login has no rights in the schema.
        DatabaseUnavailable: the server does not answer or refuses the login.
    """
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise NotPermitted(
            f"{server}: {first_line(error)}. Grant this login pgmem_writer or pgmem_reader."
        ) from error
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(f"{server} does not answer: {first_line(error)}") from error
