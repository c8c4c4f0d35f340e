"""The state of a running server: the memory, whose database is opened in the background."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from pgmem import conversations
from pgmem.database.closing import Tasks, to_its_end
from pgmem.database.database import Database
from pgmem.embeddings import create_provider
from pgmem.errors import (
    DatabaseUnavailable,
    EmbeddedServerError,
    IdentityRequired,
    PgmemError,
    SchemaOutdated,
    summary,
)
from pgmem.mcp.recall import Recorder
from pgmem.memory import Memory
from pgmem.models import Backlog, MemoryScope
from pgmem.settings import Settings, overruled
from pgmem.telemetry import attach

if TYPE_CHECKING:
    from pgmem.telemetry.metrics import Metrics

log = logging.getLogger("pgmem")

# Seconds that a tool waits for the database: longer than a first start with its install, shorter than the timeout of
# clients.
_PATIENCE = 20.0
_PROBE_S = 1.0

# For a server with an upgraded store: seconds without a call after which it ends, so that answers reach
# clients, and seconds after which it ends as soon as no call is running.
_IDLE_S = 5.0
_LATEST_S = 60.0
still_valid: ContextVar[Callable[[], Awaitable[bool]] | None] = ContextVar("still_valid", default=None)
"""Whether the token of a request that stays open is valid yet; None where requests come without a token."""


class Speaker(NamedTuple):
    """Who calls a tool, as it says itself: written beside a save, and no identity.

    Attributes:
        client: the name by which the client introduced itself; empty if it did not.
        session: the session of the transport; None where it has none.
        beside: whether the client started this process, so that its hooks may say which conversation this is.
    """

    client: str = ""
    session: str | None = None
    beside: bool = False


speaker: ContextVar[Speaker | None] = ContextVar("speaker", default=None)
"""Who calls the tool of this request."""

EXIT_CODE = 75
"""With which such a server ends: EX_TEMPFAIL of sysexits.h, a failure, so that supervisors start it again."""


def holder(token: AccessToken) -> MemoryScope:
    """Whom a token acts for."""
    claims = token.claims or {}
    return MemoryScope(
        org_id=str(claims["org_id"]), user_id=str(claims["user_id"]), agent_id=str(claims["name"])
    )


def tenant(token: AccessToken) -> tuple[str, str]:
    """Organisation and user of a token."""
    claims = token.claims or {}
    return str(claims["org_id"]), str(claims["user_id"])


def exchanges(token: AccessToken) -> bool:
    """Whether a token is that of another store, which exchanges changes and does nothing else."""
    return (token.claims or {}).get("for_sync") is True


def vouches(token: AccessToken) -> bool:
    """Whether another store is believed about the authors and approvers of its records, by a token."""
    return (token.claims or {}).get("vouches") is True


class App:
    """The memory behind the tools, and whether its database is open.

    Args:
        settings: of the process.
        tokens_required: whether a request without a bearer token is refused.
    """

    def __init__(self, settings: Settings, *, tokens_required: bool = False) -> None:
        self.settings = settings
        self.tokens_required = tokens_required
        self.metrics: Metrics | None = None
        self.end: Callable[[], object] = lambda: None
        """Ends the process after its store was upgraded; set by the transport."""
        self.trouble: str | None = None
        """Why the database is not open; None if it is open, or if the first attempt has not ended."""
        self._connection = uuid4().hex[:12]
        self._database = Database(settings, source="mcp")
        if tokens_required:
            self._database.share_out()
        attach(self._database, settings)
        self._database.watch(self._noticed)
        self._called_at = monotonic()
        self._ending = False
        self._embedder = create_provider(settings)
        self._memory = Memory(self._database, self._embedder)
        self._tasks: TaskGroup | None = None
        self.beside = Tasks()
        """Tasks beside the requests, at the longest until the server ends."""
        self._attempt: anyio.Event | None = None
        self._open = False
        self._unusable = False
        self._closing = False
        self.recalled = Recorder()

    async def memory(self) -> Memory:
        """Return the memory for this request, which acts for the tenant of its token.

        Raises:
            IdentityRequired: tokens are required and the request has none.
            PgmemError: the database answers but cannot be used, for instance because it has another schema.
        """
        token, store = self._token(), await self.store()
        scope = self._database.scope if token is None else holder(token)
        if (by := speaker.get()) is not None:
            scope = replace(
                scope,
                agent_id=scope.agent_id or by.client,
                session_id=scope.session_id or self._conversation(by),
            )
        return store if scope == self._database.scope else store.acting_as(scope)

    def _conversation(self, by: Speaker) -> str:
        """The conversation of a call: that of the client's hooks, else the connection; empty if unknown."""
        if by.beside:
            found = conversations.current(self.settings.data_dir, by.client) if by.client else None
            return found or f"{by.client or 'mcp'}:{self._connection}"
        return f"{by.client or 'mcp'}:{by.session}" if by.session else ""

    def serverless(self) -> Memory:
        """The memory for a request that asks no server, whatever the state of its database.

        Raises:
            IdentityRequired: tokens are required and the request has none.
        """
        self._token()
        return self._memory

    def _token(self) -> AccessToken | None:
        token = get_access_token()
        if token is None and self.tokens_required:
            raise IdentityRequired("Send a bearer token; the administrator of this store issues them.")
        return token

    async def store(self) -> Memory:
        """Return the memory of this process, after waiting some seconds for its database to open.

        If it does not open in time, saves go to the outbox and all other calls raise DatabaseUnavailable.

        Raises:
            PgmemError: the database answers but cannot be used, for instance because it has another schema.
        """
        if not self._open:
            attempt = self._try()
            # Only the first call waits for a server that is known to be down; the attempt continues in the background.
            with anyio.move_on_after(_PATIENCE if self.trouble is None or self._unusable else _PROBE_S):
                await attempt.wait()
            if self._unusable:
                raise PgmemError(self.trouble)
        return self._memory

    def leave(self) -> None:
        """Leave the embedded server at once; for a process that gets a signal to end."""
        if self._attempt is None and self._database.server is not None:
            self._database.server.close()

    def _try(self) -> anyio.Event:
        """Open the database in the background, unless an attempt is running; the event is set when it ends."""
        if self._attempt is None:
            assert self._tasks is not None, "the lifespan runs the attempts"
            self._attempt = anyio.Event()
            self._tasks.start_soon(self._open_database, self._attempt)
        return self._attempt

    async def _open_database(self, attempt: anyio.Event) -> None:
        try:
            try:
                await self._open_once()
            except DatabaseUnavailable:
                if self.settings.dsn is not None or self._closing:
                    raise
                # The last other process left the embedded server and stopped it just now: the next open starts it.
                await self._database.close()
                await self._open_once()
            self._open, self.trouble, self._unusable = True, None, False
        except PgmemError as error:
            # Logged once, though each call tries again; not logged while closing, when the server may have stopped.
            if str(error) != self.trouble and not self._closing:
                log.warning("%s", summary(error))
            self.trouble = str(error)
            self._unusable = not isinstance(error, DatabaseUnavailable | EmbeddedServerError)
        except Exception as error:
            # Any exception is caught, because a server that exits leaves its client without a reason.
            self.trouble = f"The database cannot be opened: {type(error).__name__}: {error}"
            self._unusable = True
            if not self._closing:
                log.exception("The database cannot be opened.")
        finally:
            self._attempt = None
            attempt.set()

    async def _open_once(self) -> None:
        await self._database.open()
        await self._memory.register_embedder()
        await self._memory.replay_outbox()
        if self.settings.store:
            values = {row.name: row.value for row in await self._memory.list_settings()}
            for message in overruled(self.settings.store, values).values():
                log.warning("%s", message)

    def _noticed(self, _event: object) -> None:
        """Note the time of a call; the first that finds the store upgraded ends this process when it is idle."""
        self._called_at = monotonic()
        if self._database.is_outdated and not self._ending and self._tasks is not None:
            self._ending = True
            log.warning("the store was upgraded: this server exits when it is idle, to be restarted")
            self._tasks.start_soon(self._end_when_idle)

    async def _end_when_idle(self) -> None:
        latest = monotonic() + _LATEST_S
        while True:
            left = min(self._called_at + _IDLE_S, latest) - monotonic()
            if left <= 0 and self._database.is_idle:
                break
            await anyio.sleep(max(left, 0.05))
        self.end()

    async def work(self) -> None:
        """Run the worker inside the server: a round of maintenance every `worker_interval_s`."""
        said = False
        while True:
            await anyio.sleep(self.settings.worker_interval_s)
            if self._open:
                if self._database.is_front and not said:
                    said = True
                    log.info(
                        "the store is a front: its cells have workers, and this server only sends its outbox"
                    )
                try:
                    done = await self._memory.maintain()
                    if self.metrics is not None:
                        self.metrics.worked(done)
                except (DatabaseUnavailable, SchemaOutdated) as error:
                    if not self._closing:
                        log.warning("the worker did not run and will retry: %s", summary(error))
                except Exception:
                    if not self._closing:
                        log.exception("The worker failed and will retry.")

    # For probes and metrics

    async def trouble_now(self) -> str | None:
        """Return why requests cannot be served now, without details that only an operator may see; None if they can."""
        if self._open:
            return await self._memory.trouble_now()
        self._try()
        return (
            "the database cannot be used: see the log" if self._unusable else "the database is not open yet"
        )

    async def backlog(self) -> Backlog:
        """Return the counts of pending work in the store."""
        return await self._memory.backlog()

    def outbox_depth(self) -> int:
        """Return how many saves are queued on this machine."""
        return self._memory.outbox_depth()

    def keeps_saves(self) -> bool:
        """Return whether the outbox can be written, judged by the nearest of its folders that exists."""
        folder = self.settings.outbox_dir
        nearest = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
        return nearest.is_dir() and os.access(nearest, os.W_OK)

    def replica_behind_s(self) -> float | None:
        """Return by how many seconds reads may be behind; None without a replica."""
        return self._memory.replica_behind_s()

    def measure(self, metrics: Metrics) -> None:
        """Count the calls and saves of this server in `metrics`."""
        self.metrics = metrics
        self._memory.watch(metrics.record)

    async def close(self) -> None:
        """End the tasks beside the requests, and close the embedding provider and the database."""
        try:
            await self.beside.end()
            await to_its_end(self._embedder.aclose())
        finally:
            await self._database.close()


@asynccontextmanager
async def lifespan(app: App) -> AsyncIterator[App]:
    """Open the database in the background, so that `initialize` is answered at once, and run the worker."""
    try:
        async with anyio.create_task_group() as tasks:
            app._tasks = tasks
            app._try()
            tasks.start_soon(app.work)
            tasks.start_soon(app.recalled.work)
            try:
                yield app
            finally:
                app._closing = True
                with anyio.move_on_after(_PROBE_S, shield=True):
                    await app.recalled.write()
                tasks.cancel_scope.cancel()
    finally:
        await app.close()  # after the tasks, because one of them may still open the database in a thread
