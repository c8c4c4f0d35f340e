"""Connections: one pool a process, one transaction a call, identity set for the transaction only.

A call takes two round trips: the transaction opens and is told its identity; then the verb and its COMMIT go
together. While nothing but the opening was sent, a dead connection is replaced and the caller never sees it.
Every wait has an end: `connect_timeout_s` for a connection and its opening, the statement timeout and
`connect_timeout_s` more for an answer.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from time import monotonic, time_ns
from typing import Any, LiteralString, TypeVar

import anyio
import anyio.to_thread
import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.rows import DictRow, dict_row
from psycopg.waiting import Ready, Wait
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from pgmem.database import schema
from pgmem.database.call import build, clean, statement
from pgmem.database.embedded import EmbeddedServer
from pgmem.database.outbox import Outbox
from pgmem.database.replica import ON_PRIMARY, READS, Position, Replica
from pgmem.database.watch import Call, Outcome, Save, Watcher, outcome_of
from pgmem.errors import (
    DatabaseUnavailable,
    InvalidArgument,
    NotPermitted,
    OutcomeUnknown,
    SchemaOutdated,
    first_line,
    translate,
)
from pgmem.models import MemoryScope
from pgmem.settings import Settings, load

__all__ = ["Attached", "Database"]

T = TypeVar("T")
Rows = Callable[..., Awaitable[list[DictRow]]]
log = logging.getLogger("pgmem")

_IDENTITY: LiteralString = (
    "select set_config('pgmem.org_id', %s, true), set_config('pgmem.user_id', %s, true),"
    " set_config('pgmem.agent_id', %s, true), set_config('pgmem.session_id', %s, true),"
    " set_config('pgmem.source', %s, true), set_config('pgmem.made_at', %s, true)"
)
# What one transaction is told before its verb runs. It is a statement of its own: a timeout that is set
# inside a function does not stop the running call. jit: to compile a statement takes longer than ours run.
_OPEN: LiteralString = (
    _IDENTITY + ", set_config('jit', 'off', true), set_config('statement_timeout', %s, true)"
)

# A replica answers at once, or the primary does.
_REPLICA_S = 1.0

# An embedded server that died is started again within this time, or the call goes on without.
_RECOVERY_S = 4.0

# To tell the server that nobody waits for a statement any more.
_CANCEL_S = 2.0


class Connection(AsyncConnection[DictRow]):
    """A connection that tells the server when its caller gives up, and sends all before it reads."""

    async def cancel_safe(self, *, timeout: float = _CANCEL_S) -> None:
        """Ask the server to cancel the statement, else a session would wait there for nobody; at most two seconds.

        Shielded: a scope of anyio cancels every await anew.
        """
        with anyio.CancelScope(shield=True):
            await super().cancel_safe(timeout=min(timeout, _CANCEL_S))

    async def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for what a generator of psycopg waits for, but never to read with something left to send."""
        return await super().wait(_sent_first(self.pgconn, gen), interval, timeout)


def _sent_first(server: PGconn, steps: PQGen[T]) -> PQGen[T]:
    """Send all of a statement before its answer is read.

    psycopg's pipeline turns to reading once its last command is queued. Of more than a socket takes at once some is not
    sent by then: the server would wait for the rest, and the client for its answer.
    """
    ready = 0
    try:
        wanted = next(steps)
        while True:
            left = wanted == Wait.R and _flush(server)
            ready = (yield Wait.RW if left else wanted) or 0
            if left:
                ready &= Ready.R
                if not ready:
                    continue
            wanted = steps.send(ready)
    except StopIteration as done:
        value: T = done.value
        return value
    finally:
        steps.close()


def _flush(server: PGconn) -> bool:
    """Send what the network takes; whether something is left."""
    try:
        return bool(server.flush())
    except psycopg.OperationalError:
        return False  # reading tells why


Pool = AsyncConnectionPool[Connection]


class _Shared:
    """What all that act over one pool have in common."""

    def __init__(self) -> None:
        self.server: EmbeddedServer | None = None
        self.dsn: str | None = None
        self.pool: Pool | None = None
        self.reading: Pool | None = None
        self.replica: Replica | None = None
        self.watchers: list[Watcher] = []
        self.recovery = anyio.Lock()
        self.recovered_at = 0.0


class Database:
    """A pool of connections that acts for one memory scope; `acting_as` gives another over the same pool."""

    def __init__(self, settings: Settings, scope: MemoryScope | None = None, source: str = "sdk") -> None:
        self.settings = settings
        self.scope = scope or MemoryScope(
            org_id=settings.org_id,
            user_id=settings.user_id,
            agent_id=settings.agent_id,
            session_id=settings.session_id,
        )
        self.source = source
        self._shared = _Shared()
        self._made_at: datetime | None = None

    def acting_as(
        self, scope: MemoryScope, *, source: str | None = None, made_at: datetime | None = None
    ) -> Database:
        """The same pool, for another scope; `made_at` is when the saves of a replay were made."""
        other = Database(self.settings, scope, source or self.source)
        other._shared, other._made_at = self._shared, made_at
        return other

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server, once it is started; None with `PGMEM_DSN`."""
        return self._shared.server

    @property
    def replica(self) -> Replica | None:
        """The replica that reads go to, once the database is open; None without `PGMEM_READ_DSN`."""
        return self._shared.replica

    def watch(self, watcher: Watcher) -> None:
        """Tell somebody of every call and every save from now on, whoever they act for."""
        self._shared.watchers.append(watcher)

    def notice(self, seen: Call | Save) -> None:
        """Tell those who watch."""
        for watcher in self._shared.watchers:
            watcher(seen)

    @property
    def dsn(self) -> str:
        """Where this database is: `PGMEM_DSN`, or the embedded server once it is started."""
        if self.settings.dsn is not None:
            return self.settings.dsn
        assert self._shared.dsn is not None, "open() starts the embedded server"
        return self._shared.dsn

    @property
    def outbox(self) -> Outbox:
        """Where saves wait for this database, and for no other."""
        dsn = self.settings.dsn
        return Outbox(self.settings.outbox_dir, "embedded" if dsn is None else _place(dsn))

    async def open(self) -> None:
        """Start the embedded server where no DSN is set, bring it to this release, and open the pool.

        Raises:
            DatabaseUnavailable: the server does not answer.
            InvalidArgument: `PGMEM_DSN` is no connection string.
            NotPermitted: the login of `PGMEM_DSN` may not use the schema.
            SchemaOutdated: the database behind `PGMEM_DSN` holds another schema; it names `pgmem init`.
            EmbeddedServerError: the embedded server cannot be started.
        """
        settings = self.settings
        if self._shared.pool is not None and not self._shared.pool.closed:
            return
        try:
            self._shared.dsn = await anyio.to_thread.run_sync(self._prepare)
            self._shared.pool = self._make_pool(self._shared.dsn, "pgmem")
            await self._shared.pool.open(wait=True, timeout=settings.connect_timeout_s)
            if settings.read_dsn is not None:
                await self._open_replica(settings.read_dsn)
        except PoolTimeout as error:
            await self.close()
            raise DatabaseUnavailable(f"The database does not answer: {error}") from error
        except BaseException:
            await self.close()
            raise

    def _make_pool(self, dsn: str, name: str, least: int = 1) -> Pool:
        settings = self.settings
        prepare = settings.prepare if settings.prepare is not None else settings.dsn is None
        return AsyncConnectionPool(
            _with_limits(dsn, settings.connect_timeout_s),
            min_size=least,
            max_size=settings.pool_size,
            timeout=settings.connect_timeout_s,
            # Gives up early, so that a later call tries at once: the pauses between attempts double.
            reconnect_timeout=settings.connect_timeout_s,
            open=False,
            name=name,
            connection_class=Connection,
            # Named statements die behind a pooler in transaction mode; our own server has none.
            kwargs={"row_factory": dict_row, "prepare_threshold": 2 if prepare else None},
        )

    async def _open_replica(self, dsn: str) -> None:
        """Make ready to read from a replica; nothing waits for it, and nothing fails without it."""
        shared = self._shared
        _place(dsn, "PGMEM_READ_DSN")
        shared.reading = self._make_pool(dsn, "pgmem-replica", least=0)
        await shared.reading.open(wait=False)
        shared.replica = Replica(
            self.settings.read_max_lag_s,
            lambda: self._position(shared.pool),
            lambda: self._position(shared.reading),
        )

    async def _position(self, pool: Pool | None) -> Position:
        rows = await self._call("wal_position", _REPLICA_S, {}, pool)
        return Position(**rows[0])

    def _prepare(self) -> str:
        settings = self.settings
        if settings.dsn is None:
            self._shared.server = self._shared.server or EmbeddedServer(settings.data_dir)
            dsn = self._shared.server.start()
            with _connecting("The embedded server"), psycopg.connect(dsn) as connection:
                try:
                    schema.check_version(connection)
                    return dsn
                except SchemaOutdated:
                    connection.rollback()
            schema.upgrade(dsn, settings=settings.store_settings())
            return dsn
        _place(settings.dsn)
        limited = _with_limits(settings.dsn, settings.connect_timeout_s)
        with _connecting("PGMEM_DSN"), psycopg.connect(limited) as connection:
            schema.check_version(connection)
        return settings.dsn

    async def close(self) -> None:
        """Close the pool and let go of the embedded server, under cancellation too."""
        shared, server = self._shared, self._shared.server
        with anyio.CancelScope(shield=True):
            try:
                if shared.replica is not None:
                    await shared.replica.close()
                for pool in (shared.reading, shared.pool):
                    if pool is not None:
                        await pool.close()
            finally:
                if server is not None:
                    await anyio.to_thread.run_sync(server.close)

    async def recover(self) -> None:
        """After a lost connection: start the embedded server again if it died, and replace dead connections.

        Takes a few seconds at most. Of several calls at once one works and the others wait for it.

        Raises:
            EmbeddedServerError: the embedded server cannot be started.
            DatabaseUnavailable: it takes longer than a call may wait; it goes on coming up.
        """
        shared, asked_at = self._shared, monotonic()
        if shared.pool is None or shared.pool.closed:
            return
        async with shared.recovery:
            if shared.recovered_at > asked_at:
                return
            try:
                with anyio.fail_after(_RECOVERY_S):
                    if shared.server is not None:
                        shared.dsn = await anyio.to_thread.run_sync(
                            shared.server.start, abandon_on_cancel=True
                        )
                        # It may have come back on another socket.
                        shared.pool.conninfo = _with_limits(shared.dsn, self.settings.connect_timeout_s)
                    await shared.pool.check()
            except TimeoutError:
                raise DatabaseUnavailable("The database does not answer: it is still coming up.") from None
            finally:
                shared.recovered_at = monotonic()

    @asynccontextmanager
    async def transaction(
        self, timeout_s: float | None = None, *, pool: Pool | None = None
    ) -> AsyncIterator[AsyncConnection[DictRow]]:
        """One transaction, with this scope's identity set for it; on the primary unless another pool is named.

        Raises:
            DatabaseUnavailable: no connection could be had.
            OutcomeUnknown: it was lost; if COMMIT had been sent, the outcome is unknown.
        """
        pool = pool or self._shared.pool
        if pool is None:
            raise DatabaseUnavailable("The database is not open yet.")
        connection = await self._begin(timeout_s, pool)
        try:
            with _losing(OutcomeUnknown):
                async with connection:
                    yield connection
        finally:
            await _give_back(connection, pool)

    async def _begin(self, timeout_s: float | None, pool: Pool) -> Connection:
        """A connection in a transaction that knows who it acts for; one that died idle is replaced."""
        patience = self.settings.connect_timeout_s
        if pool is self._shared.reading:
            patience = min(patience, _REPLICA_S)
        deadline = monotonic() + patience
        lost: DatabaseUnavailable | None = None
        for _ in range(pool.max_size + 1):
            try:
                connection = await pool.getconn(timeout=max(deadline - monotonic(), 0.001))
            except (PoolTimeout, PoolClosed) as error:
                raise lost or DatabaseUnavailable(f"The database does not answer: {error}") from error
            begun = False
            try:
                with _losing(DatabaseUnavailable), anyio.fail_after(max(deadline - monotonic(), 0.001)):
                    async with connection.pipeline():
                        await connection.execute(_OPEN, self._opening(timeout_s))
                begun = True
                return connection
            except TimeoutError:
                raise DatabaseUnavailable("The database does not answer.") from None
            except DatabaseUnavailable as error:
                lost = error
            finally:
                if not begun:
                    await _give_back(connection, pool)
            if self._shared.server is not None:
                await self.recover()  # nobody else starts it
        raise lost or DatabaseUnavailable("The database does not answer.")

    def _opening(self, timeout_s: float | None) -> list[str]:
        return [*self._identity(), str(int((timeout_s or self.settings.write_timeout_s) * 1000))]

    def _identity(self) -> list[str]:
        scope, made_at = self.scope, self._made_at.isoformat() if self._made_at else ""
        return [scope.org_id, scope.user_id, scope.agent_id, scope.session_id, self.source, made_at]

    async def rows(self, verb: str, /, timeout_s: float | None = None, **params: object) -> list[DictRow]:
        """Call a verb in a transaction of its own; its rows.

        A deadlock or a serialisation failure is retried once, whole; never in a caller's own transaction.

        Raises:
            PgmemError: what the verb refuses, by SQLSTATE.
            DatabaseUnavailable: no connection could be had, and nothing was sent.
            OutcomeUnknown: the connection was lost, or no answer came in time.
        """
        sent = {name: clean(name, value) for name, value in params.items()}
        limit = timeout_s or self.settings.write_timeout_s
        shared, tenant = self._shared, (self.scope.org_id, self.scope.user_id)
        began_ns, began = time_ns(), monotonic()
        outcome: Outcome = "ok"
        found: list[DictRow] = []
        on_replica = False
        try:
            if shared.replica is not None and verb in READS and await shared.replica.may_serve(tenant):
                try:
                    found = await self._call(verb, limit, sent, shared.reading)
                    on_replica = True
                    return found
                except (DatabaseUnavailable, psycopg.Error) as error:
                    if isinstance(error, psycopg.errors.QueryCanceled):
                        raise  # it would take as long on the primary
                    # A replica dies, or cancels what stands in the way of the log: the primary answers.
                    shared.replica.failed(error)
            found = await self._call(verb, limit, sent, shared.pool)
            return found
        except BaseException as error:
            outcome = outcome_of(error)
            raise
        finally:
            if shared.replica is not None and verb not in READS and verb not in ON_PRIMARY:
                shared.replica.wrote(tenant)
            if shared.watchers:
                self.notice(Call(verb, began_ns, monotonic() - began, outcome, len(found), on_replica))

    async def _call(self, verb: str, limit: float, sent: dict[str, Any], pool: Pool | None) -> list[DictRow]:
        """Call a verb in a transaction of its own on one of the servers; its rows."""
        for last in (False, True):
            try:
                with translate():
                    async with self.transaction(limit, pool=pool) as connection:
                        # The statement timeout is the server's; this is for one that says nothing any more.
                        with anyio.fail_after(limit + self.settings.connect_timeout_s):
                            async with connection.pipeline():
                                cursor = await connection.execute(statement(verb, sent), sent)
                                await connection.commit()
                        return await cursor.fetchall()
            except TimeoutError:
                raise OutcomeUnknown("The database has stopped answering.") from None
            except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
                if last:
                    raise
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def snapshot(self, timeout_s: float) -> AsyncIterator[Rows]:
        """Verbs that read, all of one moment: `rows(verb, **params)` in one read-only transaction.

        On a connection of its own, which it may hold for long; `timeout_s` is for each call.
        """
        limited = _with_limits(self.dsn, self.settings.connect_timeout_s)
        with _connecting("The database"):
            connection = await AsyncConnection.connect(limited, row_factory=dict_row)
        async with connection:
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            with _losing(DatabaseUnavailable), translate():
                await connection.execute(_OPEN, self._opening(timeout_s))

            async def rows(verb: str, /, **params: object) -> list[DictRow]:
                sent = {name: clean(name, value) for name, value in params.items()}
                with _losing(DatabaseUnavailable), translate():
                    cursor = await connection.execute(statement(verb, sent), sent)
                    return await cursor.fetchall()

            yield rows

    async def one(self, verb: str, cls: type[T], /, timeout_s: float | None = None, **params: object) -> T:
        """Call a verb that answers with one row."""
        return build(cls, (await self.rows(verb, timeout_s, **params))[0])

    async def all(
        self, verb: str, cls: type[T], /, timeout_s: float | None = None, **params: object
    ) -> list[T]:
        """Call a verb that answers with a set of rows."""
        return [build(cls, row) for row in await self.rows(verb, timeout_s, **params)]


class Attached(Database):
    """A caller's own connection: the verbs run in its transaction, and nothing is committed or retried here.

    The identity stays set until that transaction ends. Outside a transaction, on a connection with
    autocommit, each verb is a transaction of its own. There is no outbox: the caller alone commits.
    """

    def __init__(
        self, connection: AsyncConnection[Any], scope: MemoryScope | None = None, source: str = "sdk"
    ) -> None:
        super().__init__(load(), scope or MemoryScope(), source)
        self._connection = connection

    def acting_as(
        self, scope: MemoryScope, *, source: str | None = None, made_at: datetime | None = None
    ) -> Attached:
        """The same connection, for another scope."""
        other = Attached(self._connection, scope, source or self.source)
        other._made_at = made_at
        return other

    @asynccontextmanager
    async def transaction(
        self,
        timeout_s: float | None = None,  # noqa: ARG002
        *,
        pool: Pool | None = None,  # noqa: ARG002
    ) -> AsyncIterator[AsyncConnection[Any]]:
        """The caller's transaction, which the caller ends; its own statement timeout holds."""
        connection = self._connection
        # With autocommit the identity would be gone with its own statement, and the verb run as nobody.
        if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
            async with connection.transaction():
                await connection.execute(_IDENTITY, self._identity())
                yield connection
        else:
            await connection.execute(_IDENTITY, self._identity())
            yield connection

    async def rows(self, verb: str, /, timeout_s: float | None = None, **params: object) -> list[DictRow]:
        """Call a verb in the caller's transaction."""
        sent = {name: clean(name, value) for name, value in params.items()}
        with translate():
            async with self.transaction(timeout_s) as connection:
                cursor = connection.cursor(row_factory=dict_row)
                await cursor.execute(statement(verb, sent), sent)
                return await cursor.fetchall()


async def _give_back(connection: Connection, pool: Pool) -> None:
    # Under cancellation the pool would lose count of it.
    with anyio.CancelScope(shield=True):
        if not connection.closed and connection.info.transaction_status == TransactionStatus.ACTIVE:
            await connection.close()
        await pool.putconn(connection)


@contextmanager
def _losing(lost: type[DatabaseUnavailable]) -> Iterator[None]:
    """A lost connection as one of ours; what the server says about a statement passes unchanged."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        # Server-side conditions such as a cancelled statement carry an SQLSTATE; a lost connection does not,
        # but for the shutdown class 57P and the connection class 08.
        if error.sqlstate is not None and not error.sqlstate.startswith(("57P", "08")):
            raise
        raise lost(f"The connection was lost: {first_line(error)}") from error


@contextmanager
def _connecting(whom: str) -> Iterator[None]:
    """What goes wrong at the first connection, as errors of ours."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise NotPermitted(
            f"{whom}: {first_line(error)}. Grant this login pgmem_writer or pgmem_reader."
        ) from error
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(f"{whom} does not answer: {first_line(error)}") from error


def _with_limits(dsn: str, seconds: float) -> str:
    """The DSN with an end to every wait for the network, where it does not set its own."""
    limits: dict[str, int] = {
        "connect_timeout": max(2, round(seconds)),
        "tcp_user_timeout": int(seconds * 1000),
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
    }
    given = conninfo_to_dict(dsn)
    return make_conninfo(dsn, **{name: value for name, value in limits.items() if name not in given})


def _place(dsn: str, setting: str = "PGMEM_DSN") -> str:
    """Which database and login a DSN means, without its secrets."""
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise InvalidArgument(
            f"{setting} is no connection string; send postgresql://user@host/database or host=… dbname=…"
        ) from None
    names = {
        "service": "PGSERVICE",
        "host": "PGHOST",
        "hostaddr": "PGHOSTADDR",
        "port": "PGPORT",
        "dbname": "PGDATABASE",
        "user": "PGUSER",
    }
    found = {name: str(given.get(name) or os.environ.get(variable, "")) for name, variable in names.items()}
    return " ".join(f"{name}={value}" for name, value in found.items() if value)
