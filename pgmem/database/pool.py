"""Connections: one pool a process, one transaction a call, identity set for the transaction only."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, LiteralString, TypeVar

import anyio
import anyio.to_thread
import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from pgmem.database import schema
from pgmem.database.call import build, clean, statement
from pgmem.database.embedded import EmbeddedServer
from pgmem.errors import DatabaseUnavailable, translate
from pgmem.models import MemoryScope
from pgmem.settings import Settings

__all__ = ["Attached", "Database"]

T = TypeVar("T")
log = logging.getLogger("pgmem")

# What one transaction is told before its verb runs. It is a statement of its own: a timeout that is set inside a function
# does not stop the running call.
_OPEN: LiteralString = (
    "select set_config('pgmem.org_id', %s, true), set_config('pgmem.user_id', %s, true),"
    " set_config('pgmem.agent_id', %s, true), set_config('pgmem.session_id', %s, true),"
    " set_config('pgmem.source', %s, true), set_config('pgmem.made_at', %s, true),"
    " set_config('statement_timeout', %s, true)"
)


class Database:
    """A pool of connections that acts for one memory scope; `acting_as` gives another scope over the same pool."""

    def __init__(self, settings: Settings, scope: MemoryScope | None = None, source: str = "sdk") -> None:
        self.settings = settings
        self.scope = scope or MemoryScope(
            org_id=settings.org_id, user_id=settings.user_id, agent_id=settings.agent_id, session_id=settings.session_id
        )
        self.source = source
        self.server: EmbeddedServer | None = None
        self._pool: AsyncConnectionPool[AsyncConnection[DictRow]] | None = None
        self._made_at: datetime | None = None

    def acting_as(
        self, scope: MemoryScope, *, source: str | None = None, made_at: datetime | None = None
    ) -> Database:
        """The same pool, for another scope; `made_at` is when the saves of a replay were made."""
        other = Database(self.settings, scope, source or self.source)
        other.server, other._pool, other._made_at = self.server, self._pool, made_at
        return other

    @property
    def dsn(self) -> str:
        """Where this database is: `PGMEM_DSN`, or the embedded server once it is started."""
        if self.settings.dsn is not None:
            return self.settings.dsn
        assert self.server is not None, "open() starts the embedded server"
        return self.server.start()

    async def open(self) -> None:
        """Start the embedded server where no DSN is set, bring it to this release, and open the pool.

        Raises:
            DatabaseUnavailable: the server does not answer.
            SchemaOutdated: the database behind `PGMEM_DSN` holds another schema; it names `pgmem init`.
            EmbeddedServerError: the embedded server cannot be started.
        """
        await anyio.to_thread.run_sync(self._prepare)
        prepare = self.settings.prepare if self.settings.prepare is not None else self.settings.dsn is None
        self._pool = AsyncConnectionPool(
            self.dsn,
            min_size=1,
            max_size=self.settings.pool_size,
            timeout=self.settings.connect_timeout_s,
            open=False,
            name="pgmem",
            connection_class=AsyncConnection[DictRow],
            # Named statements die behind a pooler in transaction mode; our own server has none.
            kwargs={"row_factory": dict_row, "prepare_threshold": 2 if prepare else None},
        )
        try:
            await self._pool.open(wait=True, timeout=self.settings.connect_timeout_s)
        except PoolTimeout as error:
            await self.close()
            raise DatabaseUnavailable(f"The database does not answer: {error}") from error

    def _prepare(self) -> None:
        if self.settings.dsn is None:
            self.server = self.server or EmbeddedServer(self.settings.data_dir)
            dsn = self.server.start()
            with psycopg.connect(dsn) as connection:
                try:
                    schema.check_version(connection)
                except schema.SchemaOutdated:
                    connection.rollback()
                    schema.upgrade(dsn, settings=self.settings.store_settings())
            return
        try:
            with psycopg.connect(self.settings.dsn, connect_timeout=max(2, int(self.settings.connect_timeout_s))) as connection:
                schema.check_version(connection)
        except psycopg.OperationalError as error:
            raise DatabaseUnavailable(f"PGMEM_DSN does not answer: {_first_line(error)}") from error

    async def close(self) -> None:
        """Close the pool and let go of the embedded server."""
        if self._pool is not None:
            await self._pool.close()
        if self.server is not None:
            await anyio.to_thread.run_sync(self.server.close)

    async def recover(self) -> None:
        """After a lost connection: start the embedded server again if it died, and replace dead connections."""
        if self.server is not None:
            await anyio.to_thread.run_sync(self.server.start)
        if self._pool is not None:
            await self._pool.check()

    @asynccontextmanager
    async def transaction(self, timeout_s: float | None = None) -> AsyncIterator[AsyncConnection[DictRow]]:
        """One transaction, with this scope's identity set for it.

        Raises:
            DatabaseUnavailable: no connection could be had, or it was lost; then a commit's outcome is unknown.
        """
        if self._pool is None:
            raise DatabaseUnavailable("The database is not open yet.")
        try:
            async with self._pool.connection() as connection:
                await connection.execute(_OPEN, self._opening(timeout_s))
                yield connection
        except PoolTimeout as error:
            raise DatabaseUnavailable(f"The database does not answer: {error}") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            # Server-side conditions such as a cancelled statement carry an SQLSTATE; a lost connection does not, but for
            # the shutdown class 57P.
            if error.sqlstate is not None and not error.sqlstate.startswith(("57P", "08")):
                raise
            raise DatabaseUnavailable(f"The connection was lost: {_first_line(error)}") from error

    def _opening(self, timeout_s: float | None) -> list[str]:
        made_at = self._made_at.isoformat() if self._made_at else ""
        timeout = str(int((timeout_s or self.settings.write_timeout_s) * 1000))
        scope = self.scope
        return [scope.org_id, scope.user_id, scope.agent_id, scope.session_id, self.source, made_at, timeout]

    async def rows(self, verb: str, timeout_s: float | None = None, **params: object) -> list[DictRow]:
        """Call a verb in a transaction of its own; its rows.

        A deadlock or a serialisation failure is retried once, whole; a caller's own transaction never is (`Attached`).

        Raises:
            PgmemError: what the verb refuses, by SQLSTATE.
            DatabaseUnavailable: no connection, or it was lost.
        """
        sent = {name: clean(name, value) for name, value in params.items()}
        for last in (False, True):
            try:
                with translate():
                    async with self.transaction(timeout_s) as connection:
                        cursor = await connection.execute(statement(verb, sent), sent)
                        return await cursor.fetchall()
            except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
                if last:
                    raise
        raise AssertionError("unreachable")

    async def one(self, verb: str, cls: type[T], timeout_s: float | None = None, **params: object) -> T:
        """Call a verb that answers with one row."""
        return build(cls, (await self.rows(verb, timeout_s, **params))[0])

    async def all(self, verb: str, cls: type[T], timeout_s: float | None = None, **params: object) -> list[T]:
        """Call a verb that answers with a set of rows."""
        return [build(cls, row) for row in await self.rows(verb, timeout_s, **params)]


class Attached(Database):
    """A caller's own connection: the verbs run in the caller's transaction, and nothing is committed or retried here."""

    def __init__(
        self, connection: AsyncConnection[Any], scope: MemoryScope | None = None, source: str = "sdk"
    ) -> None:
        super().__init__(Settings(), scope or MemoryScope(), source)
        self._connection = connection

    @asynccontextmanager
    async def transaction(self, timeout_s: float | None = None) -> AsyncIterator[AsyncConnection[DictRow]]:
        """The caller's transaction; the caller ends it."""
        *identity, _ = self._opening(timeout_s)
        keep = self._connection.cursor(row_factory=dict_row)
        await keep.execute("select current_setting('statement_timeout') as timeout")
        row = await keep.fetchone()
        assert row is not None
        await self._connection.execute(_OPEN, [*identity, row["timeout"]])
        yield self._connection

    async def rows(self, verb: str, timeout_s: float | None = None, **params: object) -> list[DictRow]:
        """Call a verb in the caller's transaction."""
        sent = {name: clean(name, value) for name, value in params.items()}
        with translate():
            async with self.transaction(timeout_s) as connection:
                cursor = connection.cursor(row_factory=dict_row)
                await cursor.execute(statement(verb, sent), sent)
                return await cursor.fetchall()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
