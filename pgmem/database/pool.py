"""The connections of one process: a pool on the primary, a pool on a replica, and the embedded server if it uses one.

A connection that died while it was idle is replaced as a transaction begins, when nothing but the opening was sent, so
that the caller does not notice. Every wait has an end: `connect_timeout_s` for a connection and its opening.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from time import monotonic
from typing import TypeVar

import anyio
import anyio.to_thread
import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from pgmem.database.call import Request
from pgmem.database.closing import to_its_end
from pgmem.database.connection import Connection, connecting, losing, opened, settled
from pgmem.database.dsn import place, with_limits
from pgmem.database.identity import BEGIN, Identity, opening
from pgmem.database.shares import Recent, Shares
from pgmem.database.silent import NO_CELL, Silent
from pgmem.database.verdict import verdict
from pgmem.errors import (
    Busy,
    CellSilent,
    DatabaseUnavailable,
    OutcomeUnknown,
    OutOfResources,
    SchemaOutdated,
    first_line,
)
from pgmem.install import schema
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import Settings

Pool = AsyncConnectionPool[Connection]
T = TypeVar("T")

_CHECKS = 2  # connections for token checks and probes
_REPLICA_S = 1.0  # to get a connection to the replica; after that the primary serves the read
_ON_THE_WAY_S = 1.0  # for the answer to a read after the statement timeout, which the server keeps
_PROBE_S = 0.5  # for a primary that was found away, at each call until it answers
_SILENCE_S = 1.0  # that a front needs at most, itself, to answer a check
_FULL = re.compile("too many (?:clients|connections)|connection slots|no more connections")
"""The messages of a server or pooler that accepts no further connection; libpq gives no SQLSTATE."""
_PROJECTS = 1_000  # whose names are known
_RECOVERY_S = 4.0  # to start an embedded server that died; after that the call fails


class Lost(OutcomeUnknown):
    """The connection was lost, perhaps while it was idle: a call that may be sent again is."""


class Pools:
    """The pools of one process; every `Database` that acts over them shares this object.

    Attributes:
        server: the embedded server once it is started; None with `PGMEM_DSN`.
        dsn: the DSN of the primary once it is known.
        primary: the pool on the primary once it is open.
        reading: the pool on the replica once it is open; None without `PGMEM_READ_DSN`.
        checking: connections for token checks and probes, once open; None if tenants do not share this process.
        short_since: when a statement was last refused for want of memory or disk space; None once one has written.
        silent: the tenants whose cell did not answer, of a front.
        shares: the part of the other connections that a tenant may hold; None if tenants do not share this process.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.server: EmbeddedServer | None = None
        self.dsn = settings.dsn
        self.primary: Pool | None = None
        self.reading: Pool | None = None
        self.is_front = False
        self.checking: Pool | None = None
        self.shares: Shares | None = None
        self.silent = Silent()
        self._recovery = anyio.Lock()
        self._recovered_at = 0.0
        self.names = Recent[tuple[str, str, str], tuple[float, re.Pattern[str] | None]](_PROJECTS)
        self._away = False
        self.short_since: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self.primary is not None and not self.primary.closed

    @property
    def is_away(self) -> bool:
        """Whether the primary did not answer the last call; the embedded server is started again instead."""
        return self._away and self.server is None

    async def open(self) -> None:
        """Start the embedded server if no DSN is set, check the schema, and open the pools.

        Raises:
            DatabaseUnavailable: the server does not answer.
            InvalidArgument: a DSN cannot be parsed.
            NotPermitted: the login has no rights in the schema.
            SchemaOutdated: the database of `PGMEM_DSN` holds another schema.
            EmbeddedServerError: the embedded server cannot be started.
        """
        settings = self._settings
        try:
            self.dsn = await anyio.to_thread.run_sync(self._prepare)
            self.primary = self._make(self.dsn, "pgmem", least=1)
            await self.primary.open(wait=True, timeout=settings.connect_timeout_s)
            if self.shares is not None:
                # Checks at a front wait for cells: those of a silent one must not keep the others waiting.
                most = settings.pool_size if self.is_front else _CHECKS
                self.checking = self._make(self.dsn, "pgmem-checks", least=1, most=most)
                await self.checking.open(wait=False)
        except PoolTimeout as error:
            raise DatabaseUnavailable(f"The database does not answer: {error}") from error
        if settings.read_dsn is not None:
            place(settings.read_dsn, "PGMEM_READ_DSN")
            # Nothing waits for the replica, and nothing fails without it.
            self.reading = self._make(settings.read_dsn, "pgmem-replica", least=0)
            await self.reading.open(wait=False)

    def _prepare(self) -> str:
        """Return the DSN of a primary whose schema is of this release; blocks."""
        settings = self._settings
        if settings.dsn is None:
            self.server = self.server or EmbeddedServer(
                settings.data_dir, settings.embedded_port, settings.embedded
            )
            dsn = self.server.start()
            with connecting("The embedded server"), settled(dsn) as connection:
                with suppress(SchemaOutdated):
                    schema.check_version(connection)
                    return dsn
                connection.rollback()
            # The agent waits for its server to start: the worker renews stored rows.
            schema.upgrade(dsn, settings=settings.store, renew=False)
            return dsn
        place(settings.dsn)
        limited = with_limits(settings.dsn, settings.connect_timeout_s)
        with connecting("PGMEM_DSN"), settled(limited) as connection:
            self.is_front = schema.check_version(connection)
        return settings.dsn

    def share_out(self) -> None:
        """Give each tenant its share of the connections, and token checks and probes their own; before `open`.

        A share is a quarter of them, and of half of the processors at most: each connection can keep one busy.
        """
        settings = self._settings
        places = max(1, min(settings.pool_size // 4, (os.cpu_count() or 2) // 2))
        self.shares = Shares(places, None, settings.write_timeout_s)

    def share(self, identity: Identity, pool: Pool) -> AbstractAsyncContextManager[None]:
        """Hold one of the connections that the tenant may have at once, if tenants share this process.

        A caller without a tenant is the only user of a store or its worker, and has all connections.

        Raises:
            Busy: other calls of the tenant held its share for `write_timeout_s`.
            DatabaseUnavailable: the same, and the primary does not answer.
            CellSilent: the cell of the tenant did not answer its last call, and another one asks.
        """
        tenant = (identity.org_id, identity.user_id)
        return nullcontext() if tenant == ("", "") else self._share(tenant, pool)

    @asynccontextmanager
    async def _share(self, tenant: tuple[str, str], pool: Pool) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            was_silent = tenant in self.silent
            held.enter_context(self.silent.asking(tenant))
            if self.shares is not None and pool is not self.checking:
                try:
                    await held.enter_async_context(self.shares.place(tenant))
                except Busy:
                    if pool is self.primary:
                        await self._ask(pool)  # the others may wait for a server that fell silent
                    raise
            if not was_silent and tenant in self.silent:
                raise CellSilent(NO_CELL)  # it fell silent while this call waited
            yield

    def _make(self, dsn: str, name: str, *, least: int, most: int | None = None) -> Pool:
        settings = self._settings
        prepare = settings.prepare if settings.prepare is not None else settings.dsn is None
        return AsyncConnectionPool(
            with_limits(dsn, settings.connect_timeout_s),
            min_size=least,
            max_size=most or settings.pool_size,
            timeout=settings.connect_timeout_s,
            # Give up early, so that a later call tries at once: the pauses between attempts double.
            reconnect_timeout=settings.connect_timeout_s,
            open=False,
            name=name,
            connection_class=Connection,
            # Prepared statements fail behind a pooler in transaction mode; the embedded server has none.
            # The statements of one round trip are one transaction by itself; another one sends begin and
            # commit.
            kwargs={
                "row_factory": dict_row,
                "prepare_threshold": 2 if prepare else None,
                "autocommit": True,
                "client_encoding": "UTF8",
            },
        )

    async def close(self) -> None:
        """Close the pools and leave the embedded server."""
        try:
            for pool in (self.reading, self.checking, self.primary):
                if pool is not None:
                    await pool.close()
        finally:
            if self.server is not None:
                await anyio.to_thread.run_sync(self.server.close)

    async def recover(self) -> None:
        """Start the embedded server again if it died, and replace dead connections.

        Takes at most `_RECOVERY_S`. If several calls ask at once, one does the work and the others wait for it.

        Raises:
            EmbeddedServerError: the embedded server cannot be started.
            DatabaseUnavailable: the server did not come up in time; its start goes on.
        """
        asked_at = monotonic()
        if self.primary is None or self.primary.closed or self.is_away:
            return
        async with self._recovery:
            if self._recovered_at > asked_at:
                return
            try:
                with anyio.fail_after(_RECOVERY_S):
                    if self.server is not None:
                        self.dsn = await anyio.to_thread.run_sync(self.server.start, abandon_on_cancel=True)
                        # Its socket may be in another directory now.
                        for pool in filter(None, (self.primary, self.checking)):
                            pool.conninfo = with_limits(self.dsn, self._settings.connect_timeout_s)
                    await self.primary.check()
            except TimeoutError:
                raise DatabaseUnavailable("The database does not answer: it is still coming up.") from None
            finally:
                self._recovered_at = monotonic()

    async def begin(self, pool: Pool, identity: Identity, timeout_s: float) -> Connection:
        """Take a connection and begin a transaction with an identity; connections that died while idle are replaced.

        Args:
            pool: `primary` or `reading`; the connection must be given back to it by `give_back`.
            identity: the caller.
            timeout_s: seconds that each statement of the transaction may take.

        Raises:
            DatabaseUnavailable: no connection works; nothing was sent.
            Busy: the server answers, and other calls keep all connections; nothing was sent.
            EmbeddedServerError: the embedded server died and cannot be started.
        """

        async def open_transaction(connection: Connection) -> None:
            async with connection.pipeline():
                await connection.execute(BEGIN)
                await connection.execute(*opening(identity, timeout_s))

        async with self._watched(pool) as patience:
            return (await self._live(pool, open_transaction, patience))[0]

    async def at_once(
        self, pool: Pool, identity: Identity, request: Request, timeout_s: float
    ) -> list[DictRow]:
        """Call a verb in a separate transaction and in one round trip, and return its rows.

        Args:
            pool: `primary` or `reading`.
            identity: the caller.
            request: the call, which may be sent again: it writes nothing, or the store knows it again.
            timeout_s: seconds that it may take.

        Raises:
            Lost: the connection was lost, perhaps while it was idle; the call may be made again.
            OutcomeUnknown: no answer came in time.
            DatabaseUnavailable: no connection works.
            Busy: the server answers, and other calls keep all connections.
        """
        async with self._watched(pool) as patience:
            try:
                connection = await pool.getconn(timeout=patience)
            except (PoolTimeout, PoolClosed) as error:
                raise DatabaseUnavailable(f"The database does not answer: {error}") from error
            # The server keeps the statement timeout; this one is for a server that has stopped answering.
            scope = anyio.CancelScope(deadline=anyio.current_time() + timeout_s + _ON_THE_WAY_S)
            asked: list[asyncio.Future[None]] = []
            watch = asyncio.get_running_loop().call_later(
                patience, lambda: asked.append(asyncio.ensure_future(self._end_if_silent(pool, scope)))
            )
            try:
                with losing(Lost), scope:
                    return await request.at_once(connection, opening(identity, timeout_s))
                raise OutcomeUnknown("The database has stopped answering.")
            finally:
                watch.cancel()
                for task in asked:
                    task.cancel()
                await give_back(connection, pool)

    async def _end_if_silent(self, pool: Pool, scope: anyio.CancelScope) -> None:
        """End a call that has no answer yet, if the primary does not say another thing either."""
        if pool is not self.primary:
            return
        try:
            await self._ask(pool)
        except DatabaseUnavailable:
            scope.cancel()

    @asynccontextmanager
    async def _watched(self, pool: Pool) -> AsyncIterator[float]:
        """Note whether the primary answers in this block, which is given the seconds to wait for a connection.

        Raises:
            Busy: no connection became free, and the primary answers.
        """
        patience = self._settings.connect_timeout_s
        if pool is self.reading:
            yield min(patience, _REPLICA_S)
            return
        if self.is_away:
            await self._return(pool)
        try:
            yield patience
        except (OutOfResources, CellSilent):
            raise  # the server answers
        except DatabaseUnavailable as error:
            if isinstance(error.__cause__, PoolTimeout) and await self._is_full(pool):
                raise Busy(
                    f"The database is busy: no connection became free for {patience:g} s. Nothing was read or saved; "
                    f"wait {patience:g} s and send this again."
                ) from error
            self._away = True
            raise
        self._away = False

    async def _is_full(self, pool: Pool) -> bool:
        """Whether the primary answers, and the pool or the server has no connection left."""
        try:
            is_full = await self._ask(pool)
        except DatabaseUnavailable:
            return False
        return is_full or pool.get_stats()["pool_size"] >= pool.max_size

    async def _return(self, pool: Pool) -> None:
        """Use a primary that was found away, if it answers again.

        Raises:
            DatabaseUnavailable: it does not.
        """
        await self._ask(pool)
        self._away = False
        await self.recover()

    async def _ask(self, pool: Pool) -> bool:
        """Ask the primary whether it answers; return whether the answer is that it takes no further connection.

        Raises:
            DatabaseUnavailable: it does not answer, and counts as away.
        """
        try:
            with anyio.fail_after(_PROBE_S):
                async with opened(str(pool.conninfo), autocommit=True) as connection:
                    await connection.execute("select 1")  # a pooler accepts clients while its server is down
        except (TimeoutError, psycopg.OperationalError) as error:
            if _FULL.search(str(error)):
                return True
            self._away = True
            raise DatabaseUnavailable(f"The database does not answer: {first_line(error)}") from error
        return False

    async def alone(self, pool: Pool, send: Callable[[Connection], Awaitable[T]], timeout_s: float) -> T:
        """Send a statement that needs no identity and writes nothing by itself, in one round trip.

        Args:
            pool: where.
            send: sends it on a connection; again on another one if that died while it was idle.
            timeout_s: seconds until there is an answer.

        Raises:
            DatabaseUnavailable: no connection works, or no answer came in time.
        """
        if self.is_away:
            await self._return(pool)
        connection, answer = await self._live(pool, send, timeout_s)
        await give_back(connection, pool)
        return answer

    async def _live(
        self, pool: Pool, send: Callable[[Connection], Awaitable[T]], timeout_s: float
    ) -> tuple[Connection, T]:
        """Take a connection and send on it; on another one if that one died while it was idle, within a time."""
        deadline = monotonic() + timeout_s
        lost: DatabaseUnavailable | None = None
        for _ in range(pool.max_size + 1):
            try:
                connection = await pool.getconn(timeout=max(deadline - monotonic(), 0.001))
            except (PoolTimeout, PoolClosed) as error:
                raise lost or DatabaseUnavailable(f"The database does not answer: {error}") from error
            answered, sent_at = False, monotonic()
            try:
                with losing(DatabaseUnavailable), anyio.fail_after(max(deadline - monotonic(), 0.001)):
                    answer = await send(connection)
                answered = True
                return connection, answer
            except TimeoutError:
                if self.is_front and monotonic() - sent_at > _SILENCE_S:
                    raise CellSilent(NO_CELL) from None
                raise DatabaseUnavailable("The database does not answer.") from None
            except DatabaseUnavailable as error:
                if verdict(error) != "queue":
                    raise  # the server answers
                lost = error
            finally:
                if not answered:
                    await give_back(connection, pool)
            if self.server is not None:
                await self.recover()  # nothing else starts it
        raise lost or DatabaseUnavailable("The database does not answer.")


async def give_back(connection: Connection, pool: Pool) -> None:
    """Return a connection to its pool, closed if a statement still runs on it.

    A cancelled return would leave the pool one connection short for ever.
    """
    if not connection.closed and connection.info.transaction_status == TransactionStatus.ACTIVE:
        await connection.close()
    await to_its_end(pool.putconn(connection))
