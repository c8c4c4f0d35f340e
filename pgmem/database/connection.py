"""One connection to PostgreSQL: its class, and lost connections as errors of pgmem."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import LiteralString, TypeVar

import anyio
import psycopg
from psycopg import AsyncConnection, AsyncPipeline
from psycopg.abc import PQGen
from psycopg.rows import DictRow

from pgmem.database.pipeline import first_error_only, sent_first
from pgmem.database.silent import NO_CELL
from pgmem.errors import CellSilent, DatabaseUnavailable, NotPermitted, OutOfResources, first_line

T = TypeVar("T")

AS_TEXT: LiteralString = (
    "set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';"
    " set local extra_float_digits = 1; set local bytea_output = 'hex'"
)
"""What decides how a value is written as text: rows of two databases are compared by their texts."""

_CANCEL_S = 2.0  # to ask the server to cancel a statement


class Connection(AsyncConnection[DictRow]):
    """A connection that cancels its statement when the caller gives up, and whose pipelines work."""

    async def cancel_safe(self, *, timeout: float = _CANCEL_S) -> None:
        """Ask the server to cancel the statement, whose result is no longer needed; takes at most two seconds.

        It is shielded, because a cancel scope of anyio cancels every await again.
        """
        with anyio.CancelScope(shield=True):
            await super().cancel_safe(timeout=min(timeout, _CANCEL_S))

    async def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Run a generator of psycopg to its end; see `pipeline.sent_first`."""
        return await super().wait(sent_first(self.pgconn, gen), interval, timeout)

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        """Send the statements of the block without waiting for their answers; see `pipeline.first_error_only`."""
        async with first_error_only(super().pipeline()) as pipeline:
            yield pipeline


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
        raise lost(f"The connection was lost: {first_line(error)}") from error


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
