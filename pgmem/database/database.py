"""The database as its callers see it: verbs in, rows out, each call a transaction with the identity of one scope.

A call takes two round trips: the transaction begins and sets its identity; then the verb and its COMMIT go together.
Every wait has an end: `connect_timeout_s` until the transaction has begun, then the statement timeout and
`connect_timeout_s` more for the answer. A call that may be sent again takes one round trip: a read that somebody waits
for, and a save with its id, which the store knows again.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic

import anyio
import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg.rows import DictRow

from pgmem._verbs import VERBS
from pgmem.database.call import Request
from pgmem.database.closing import Tasks, to_its_end
from pgmem.database.connection import connecting, losing, opened
from pgmem.database.dsn import place, with_limits
from pgmem.database.identity import PIN, Identity, opening
from pgmem.database.pool import Lost, Pool, Pools, give_back
from pgmem.database.replica import NOT_READ_BACK, ON_PRIMARY, READS, Position, Replica
from pgmem.database.verdict import verdict
from pgmem.database.wakes import Wakes
from pgmem.database.watch import Call, Save, Watcher, observed
from pgmem.errors import (
    DatabaseUnavailable,
    MemoryNotOpen,
    OutcomeUnknown,
    OutOfResources,
    PgmemError,
    UnsuitableDatabase,
    translate,
)
from pgmem.install import schema
from pgmem.models import DescribedLabel, MemoryScope
from pgmem.outbox import Outbox
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import Settings

Rows = Callable[..., Awaitable[list[DictRow]]]

CHECKS = frozenset({"verify_token", "backlog"})
"""Verbs that use a separate pool where tenants share a process, so that no tenant delays them."""

_TAKE_NOTHING = READS | ON_PRIMARY | CHECKS  # their success says nothing of room for a save

AT_ONCE = frozenset(
    verb.name for verb in VERBS.values() if verb.effect == "read" and verb.patience == "answer"
)
"""Verbs that write nothing and answer within `retrieval_timeout_s`: search and retrieval."""

_SHORT_S = 30.0
"""Seconds that a server without resources counts as such: a probe takes none, so only the next save finds out."""

_GONE = (
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedObject,
)
"""The errors of a verb whose function, arguments or columns were changed by another release."""

_ROLLED_BACK = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
"""The errors of a transaction that PostgreSQL rolled back because of others: it is repeated once."""

_PROBE_S = 1.0  # statement timeout of wal_position, by which the replica is compared with the primary


@dataclass(slots=True)
class _Shared:
    """The parts that a database shares with those that `acting_as` makes of it."""

    pools: Pools
    outbox: Outbox | None = None
    replica: Replica | None = None
    watchers: list[Watcher] = field(default_factory=list)
    labels: dict[str, DescribedLabel] = field(default_factory=dict)
    is_closed: bool = False
    is_outdated: bool = False
    running: int = 0
    wakes: Wakes | None = None
    beside: Tasks = field(default_factory=Tasks)


class Database:
    """A pool of connections that acts for one memory scope; `acting_as` gives another over the same pool.

    Args:
        settings: DSN, pool size and time limits.
        scope: the caller; None takes the one of the settings.
        source: the way in that is stamped on writes: cli, mcp, sdk or sync.
    """

    def __init__(self, settings: Settings, scope: MemoryScope | None = None, source: str = "sdk") -> None:
        self.settings = settings
        self.scope = scope or MemoryScope(
            org_id=settings.org_id,
            user_id=settings.user_id,
            agent_id=settings.agent_id,
            session_id=settings.session_id,
        )
        self.source = source
        self._shared = _Shared(Pools(settings))
        self._made_at: datetime | None = None

    def acting_as(
        self, scope: MemoryScope, *, source: str | None = None, made_at: datetime | None = None
    ) -> Database:
        """Return a database over the same pool for another scope.

        Args:
            scope: the caller.
            source: the way in that is stamped on writes; None keeps it.
            made_at: the time at which replayed saves were made; None means now.
        """
        other = Database(self.settings, scope, source or self.source)
        other._shared, other._made_at = self._shared, made_at
        return other

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server once it is started; None with `PGMEM_DSN`."""
        return self._shared.pools.server

    @property
    def names(self) -> dict[tuple[str, str, str], tuple[float, re.Pattern[str] | None]]:
        """By (organisation, user, project): until when the names of a project hold, and their rows."""
        return self._shared.pools.names

    @property
    def is_away(self) -> bool:
        """Whether the primary of `PGMEM_DSN` did not answer the last call."""
        return self._shared.pools.is_away

    @property
    def is_front(self) -> bool:
        """Whether the database is the front of several cells (`pgmem cells`), once it is open."""
        return self._shared.pools.is_front

    @property
    def rests(self) -> bool:
        """Whether the last call of this tenant got no answer from its cell, so that no call of another asks for it."""
        return self._shared.pools.silent.rests((self.scope.org_id, self.scope.user_id))

    def asking(self, tenant: tuple[str, str]) -> AbstractContextManager[None]:
        """Make a call of a tenant in this block, as `Silent.asking` does."""
        return self._shared.pools.silent.asking(tenant)

    @property
    def is_short(self) -> bool:
        """Whether the primary refused a statement for want of memory or disk space within the last 30 seconds."""
        since = self._shared.pools.short_since
        return since is not None and monotonic() - since < _SHORT_S

    @property
    def is_outdated(self) -> bool:
        """Whether a call has failed because the store was upgraded since this process opened it."""
        return self._shared.is_outdated

    @property
    def is_idle(self) -> bool:
        """Whether no call is running, of any scope over this pool."""
        return self._shared.running == 0

    @property
    def replica(self) -> Replica | None:
        """The replica that serves reads, once the database is open; None without `PGMEM_READ_DSN`."""
        return self._shared.replica

    def share_out(self) -> None:
        """Give each tenant its share of the connections, and token checks and probes their own; before `open`."""
        self._shared.pools.share_out()

    async def answers(self, timeout_s: float) -> bool:
        """Return whether the database answers now, on the connections for probes if there are any."""
        pools = self._shared.pools
        try:
            if pools.checking is not None:
                await pools.alone(
                    pools.checking, lambda connection: connection.execute("select 1"), timeout_s
                )
                return True
            async with self.transaction(timeout_s):
                return True
        except (DatabaseUnavailable, psycopg.Error):
            return False

    def watch(self, watcher: Watcher) -> None:
        """Register a watcher for all later calls and saves, of every scope over this pool."""
        self._shared.watchers.append(watcher)

    def notice(self, seen: Call | Save) -> None:
        """Give an event to every watcher."""
        for watcher in self._shared.watchers:
            watcher(seen)

    @property
    def dsn(self) -> str:
        """The DSN of the primary: `PGMEM_DSN`, or that of the embedded server once it is started."""
        dsn = self._shared.pools.dsn
        assert dsn is not None, "open() starts the embedded server"
        return dsn

    @property
    def beside(self) -> Tasks:
        """Tasks beside calls over this pool, at the longest until it is closed."""
        return self._shared.beside

    @property
    def wakes(self) -> Wakes:
        """The waker of those who follow the feed, over one connection for all scopes.

        Raises:
            MemoryNotOpen: the database is closed.
        """
        self._require_open()
        if self._shared.wakes is None:
            self._shared.wakes = Wakes(lambda: self.dsn, self.settings.connect_timeout_s)
        return self._shared.wakes

    @property
    def outbox(self) -> Outbox:
        """The queue of the saves that wait for this database."""
        if self._shared.outbox is None:
            dsn = self.settings.dsn
            self._shared.outbox = Outbox(self.settings.outbox_dir, "embedded" if dsn is None else place(dsn))
        return self._shared.outbox

    async def labels(
        self, including: str | None = None, timeout_s: float | None = None
    ) -> Mapping[str, DescribedLabel]:
        """Return the registry of labels by name.

        It is read once for all that act over this pool, and again if it lacks `including`, which a process may have
        added since. An own label never changes, so the rows read stay right.

        Args:
            including: a label that the caller needs; it is absent if the store does not have it either.
            timeout_s: seconds that the reading may take; None takes `write_timeout_s`.

        Raises:
            DatabaseUnavailable: the registry has to be read and no connection works.
        """
        known = self._shared.labels
        if not known or (including is not None and including not in known):
            described = (await self.rows("describe_schema", timeout_s))[0]["labels"]
            known.update((label["name"], DescribedLabel(**label)) for label in described)
        return known

    async def open(self) -> None:
        """Start the embedded server if no DSN is set, bring it to this release, and open the pool.

        Raises:
            DatabaseUnavailable: the server does not answer.
            InvalidArgument: `PGMEM_DSN` cannot be parsed.
            NotPermitted: the login of `PGMEM_DSN` has no rights in the schema.
            SchemaOutdated: the database of `PGMEM_DSN` holds another schema; the message names `pgmem init`.
            EmbeddedServerError: the embedded server cannot be started.
        """
        shared = self._shared
        if shared.pools.is_open:
            return
        try:
            await shared.pools.open()
            if shared.pools.reading is not None:
                shared.replica = Replica(
                    self.settings.read_max_lag_s,
                    lambda: self._position(shared.pools.primary),
                    lambda: self._position(shared.pools.reading),
                )
        except BaseException:
            await self.close()
            raise

    async def _position(self, pool: Pool | None) -> Position:
        rows = await self._send(Request("wal_position", {}), _PROBE_S, pool)
        return Position(**rows[0])

    async def close(self) -> None:
        """Close the pool and leave the embedded server, also under cancellation."""
        await to_its_end(self._close())

    async def _close(self) -> None:
        try:
            await self.beside.end()
            if self._shared.wakes is not None:
                await self._shared.wakes.close()
            if self._shared.replica is not None:
                await self._shared.replica.close()
        finally:
            await self._shared.pools.close()

    async def recover(self) -> None:
        """After a lost connection: start the embedded server again if it died, and replace dead connections.

        Takes a few seconds at most. If several calls ask at once, one does the work and the others wait for it.

        Raises:
            EmbeddedServerError: the embedded server cannot be started.
            DatabaseUnavailable: the server did not come up in time; its start goes on.
        """
        await self._shared.pools.recover()

    def retire(self) -> None:
        """Refuse all later calls, of every scope over this pool: its owner has closed it for good."""
        self._shared.is_closed = True

    def _require_open(self) -> None:
        if self._shared.is_closed:
            raise MemoryNotOpen(
                "This memory is closed: make the call inside `with Memory.connect(…) as memory:`."
            )

    @property
    def _identity(self) -> Identity:
        scope, made_at = self.scope, self._made_at.isoformat() if self._made_at else ""
        return Identity(scope.org_id, scope.user_id, scope.agent_id, scope.session_id, self.source, made_at)

    @asynccontextmanager
    async def transaction(
        self, timeout_s: float | None = None, *, pool: Pool | None = None
    ) -> AsyncIterator[AsyncConnection[DictRow]]:
        """Begin a transaction with the identity of this scope, and commit it at the end of the block.

        Args:
            timeout_s: seconds that each statement may take; None takes `write_timeout_s`.
            pool: where; None takes the primary.

        Raises:
            DatabaseUnavailable: no connection works; nothing was sent.
            OutcomeUnknown: the connection was lost; if COMMIT had been sent, the transaction may be committed.
            Busy: other calls of the tenant hold its share of the connections.
        """
        self._require_open()
        pools = self._shared.pools
        pool = pool or pools.primary
        if pool is None:
            raise DatabaseUnavailable("The database is not open yet.")
        limit = timeout_s or self.settings.write_timeout_s
        async with pools.share(self._identity, pool):
            connection = await pools.begin(pool, self._identity, limit)
            try:
                with losing(OutcomeUnknown):
                    async with connection:
                        yield connection
            finally:
                await give_back(connection, pool)

    async def rows(self, verb: str, /, timeout_s: float | None = None, **params: object) -> list[DictRow]:
        """Call a verb in a transaction and return its rows.

        Args:
            verb: name of the function.
            timeout_s: seconds that it may take; None takes `write_timeout_s`.
            params: its arguments, without `p_`.

        Raises:
            InvalidArgument: an argument cannot be sent.
            PgmemError: as `send` does.
        """
        return await self.send(Request(verb, params), timeout_s)

    async def send(self, request: Request, timeout_s: float | None = None) -> list[DictRow]:
        """Send the call of a verb and return its rows.

        After a deadlock or a serialization failure the transaction is repeated once.

        Args:
            request: the call; it can be sent again.
            timeout_s: seconds that it may take; None takes `write_timeout_s`.

        Raises:
            PgmemError: the verb refuses the call; the class depends on the SQLSTATE.
            DatabaseUnavailable: no connection works; nothing was sent.
            OutcomeUnknown: the connection was lost, or no answer came in time.
            OutOfResources: the server has no memory, disk space or connection left; nothing was done.
            SchemaOutdated: the store was upgraded since it was opened and no longer knows the call; nothing was done.
            MemoryNotOpen: the database is closed.
        """
        self._require_open()
        verb, limit = request.verb, timeout_s or self.settings.write_timeout_s
        replica, tenant = self._shared.replica, (self.scope.org_id, self.scope.user_id)
        with observed(verb, self.notice) as seen:
            self._shared.running += 1
            try:
                found = None
                if replica is not None and verb in READS and await replica.may_serve(tenant):
                    found = await self._read_from(replica, request, limit)
                    seen.replica = found is not None
                if found is None:
                    found = await self._check_or_send(request, limit)
                seen.rows = len(found)
                if verb not in _TAKE_NOTHING:
                    self._shared.pools.short_since = None
                return found
            except OutOfResources:
                self._shared.pools.short_since = monotonic()
                raise
            except _GONE as error:
                raise await self._explained(error) from error
            finally:
                self._shared.running -= 1
                if replica is not None and verb not in READS | ON_PRIMARY | NOT_READ_BACK:
                    replica.wrote(tenant)

    async def _explained(self, error: psycopg.Error) -> Exception:
        """Return why the store lacks a verb: SchemaOutdated if it holds another schema, else the error."""
        try:
            async with self.transaction(_PROBE_S) as connection:
                row = await (
                    await connection.execute("select release, digest from pgmem.schema_version")
                ).fetchone()
        except (PgmemError, psycopg.Error):
            return error
        changed = None if row is None else schema.changed_meanwhile(row["release"], row["digest"])
        self._shared.is_outdated = self._shared.is_outdated or changed is not None
        return changed or error

    async def _check_or_send(self, request: Request, limit: float) -> list[DictRow]:
        """Call a verb on the primary; a check uses the connections for checks, if they exist."""
        pools = self._shared.pools
        if request.verb not in CHECKS or pools.checking is None:
            return await self._send(request, limit, pools.primary)
        with translate():
            patience = min(limit, self.settings.connect_timeout_s)
            return await pools.alone(
                pools.checking, lambda connection: request.at_once(connection, (PIN, ())), patience
            )

    async def _read_from(self, replica: Replica, request: Request, limit: float) -> list[DictRow] | None:
        """Call a verb on the replica; None if the replica fails, which then rests, and the primary has to answer."""
        try:
            return await self._send(request, limit, self._shared.pools.reading)
        except (DatabaseUnavailable, psycopg.Error) as error:
            if isinstance(error, psycopg.errors.QueryCanceled):
                raise  # it would take as long on the primary
            # A replica also cancels statements that conflict with replay.
            replica.failed(error)
            return None

    async def _send(self, request: Request, limit: float, pool: Pool | None) -> list[DictRow]:
        """Call a verb in a separate transaction on one of the servers and return its rows."""
        # A front asks its cell in the first round trip already, so that a silent one is noticed by it.
        at_once = request.verb in AT_ONCE or (request.is_repeatable and not self.is_front)
        attempt = self._at_once if at_once else self._in_two
        with suppress(*_ROLLED_BACK):
            return await attempt(request, limit, pool)
        return await attempt(request, limit, pool)

    async def _in_two(self, request: Request, limit: float, pool: Pool | None) -> list[DictRow]:
        """Call a verb in two round trips: a connection that died while it was idle is replaced after the first."""
        try:
            with translate():
                async with self.transaction(limit, pool=pool) as connection:
                    # The server keeps the statement timeout; this one is for a server that has stopped answering.
                    with anyio.fail_after(limit + self.settings.connect_timeout_s):
                        return await request.send(connection, commit=True)
        except TimeoutError:
            raise OutcomeUnknown("The database has stopped answering.") from None

    async def _at_once(self, request: Request, limit: float, pool: Pool | None) -> list[DictRow]:
        """Call a verb in one round trip; in two where the connection was lost, perhaps while it was idle."""
        pools = self._shared.pools
        if pool is None:
            raise DatabaseUnavailable("The database is not open yet.")
        identity = self._identity
        try:
            with translate():
                async with pools.share(identity, pool):
                    return await pools.at_once(pool, identity, request, limit)
        except Lost as lost:
            try:
                return await self._in_two(request, limit, pool)
            except DatabaseUnavailable as error:
                if request.is_repeatable and verdict(error) == "queue":  # the first may have written
                    raise OutcomeUnknown(str(lost)) from error
                raise

    @asynccontextmanager
    async def snapshot(self, timeout_s: float) -> AsyncIterator[Rows]:
        """Give `rows(verb, **params)`, whose calls all read the same snapshot in one read-only transaction.

        It uses a separate connection, which it may hold for long.

        Args:
            timeout_s: seconds that each call may take.

        Raises:
            DatabaseUnavailable: the server does not answer, or the connection was lost.
            NotPermitted: the login has no rights in the database.
            UnsuitableDatabase: it is a front, whose calls are transactions of its cells.
        """
        self._require_open()
        if self.is_front:
            raise UnsuitableDatabase(
                "A front cannot read a cell in one transaction: connect to the cell of the organisation itself, which"
                " pgmem cells where ORG shows."
            )
        limited = with_limits(self.dsn, self.settings.connect_timeout_s)
        async with AsyncExitStack() as stack:
            with connecting("The database"):
                connection = await stack.enter_async_context(opened(limited))
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            with losing(DatabaseUnavailable), translate():
                await connection.execute(*opening(self._identity, timeout_s or self.settings.write_timeout_s))

            async def rows(verb: str, /, **params: object) -> list[DictRow]:
                request = Request(verb, params)
                try:
                    with losing(DatabaseUnavailable), translate():
                        return await request.send(connection)
                except _GONE as error:
                    raise await self._explained(error) from error

            yield rows
