"""What the server holds while it runs: the memory, opened beside `initialize` and never before its answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup
from mcp.server.auth.middleware.auth_context import get_access_token

from pgmem.database.pool import Database
from pgmem.embeddings import create_provider
from pgmem.errors import DatabaseUnavailable, EmbeddedServerError, IdentityRequired, PgmemError, summary
from pgmem.memory import Memory
from pgmem.models import Backlog, MemoryScope
from pgmem.settings import Settings
from pgmem.telemetry import attach

if TYPE_CHECKING:
    from pgmem.telemetry.metrics import Metrics

__all__ = ["App", "lifespan"]

log = logging.getLogger("pgmem")

# Longer than a first start with its schema takes, shorter than a client waits for a tool.
_PATIENCE = 20.0


class App:
    """The memory behind the tools, and whether its database is open yet."""

    def __init__(self, settings: Settings, *, tokens_required: bool = False) -> None:
        self.settings = settings
        self.tokens_required = tokens_required
        self.metrics: Metrics | None = None
        self.trouble: str | None = None
        """Why the database is not open; None when it is, or when the first try has not ended."""
        self._database = Database(settings, source="mcp")
        attach(self._database, settings)
        self._embedder = create_provider(settings.embedding_settings())
        self._memory = Memory(self._database, self._embedder)
        self._tasks: TaskGroup | None = None
        self._attempt: anyio.Event | None = None
        self._open = False
        self._unusable = False

    async def memory(self) -> Memory:
        """The memory for this request: that of its token's tenant, never of its arguments.

        Raises:
            IdentityRequired: tokens are required and the request has none.
            PgmemError: the database answers but cannot be used, as when it holds no schema or another one.
        """
        token = get_access_token()
        if token is None:
            if self.tokens_required:
                raise IdentityRequired("Send a bearer token; the keeper of this store issues them.")
            return await self.store()
        claims = token.claims or {}
        scope = MemoryScope(
            org_id=str(claims["org_id"]), user_id=str(claims["user_id"]), agent_id=str(claims["name"])
        )
        return (await self.store()).acting_as(scope)

    async def store(self) -> Memory:
        """The memory of this process, with its database open if it opens in time.

        A save works without: it waits in the outbox. Everything else answers that the database is away.

        Raises:
            PgmemError: the database answers but cannot be used, as when it holds no schema or another one.
        """
        if not self._open:
            attempt = self._try()
            with anyio.move_on_after(_PATIENCE):
                await attempt.wait()
            if self._unusable:
                raise PgmemError(self.trouble)
        return self._memory

    def leave(self) -> None:
        """Let go of the embedded server at once: for a process that is told to end."""
        if self._attempt is None and self._database.server is not None:
            self._database.server.close()

    def _try(self) -> anyio.Event:
        """Open the database in the background, unless that is under way; the event is the end of the try."""
        if self._attempt is None:
            assert self._tasks is not None, "the lifespan runs the tries"
            self._attempt = anyio.Event()
            self._tasks.start_soon(self._open_database, self._attempt)
        return self._attempt

    async def _open_database(self, attempt: anyio.Event) -> None:
        try:
            await self._database.open()
            await self._memory.register_embedder()
            await self._memory.replay_outbox()
            self._open, self.trouble, self._unusable = True, None, False
        except (DatabaseUnavailable, EmbeddedServerError) as error:
            self.trouble, self._unusable = str(error), False
            log.warning("%s", summary(error))
        except PgmemError as error:
            self.trouble, self._unusable = str(error), True
            log.warning("%s", summary(error))
        except Exception as error:
            # Whatever it is: a server that ends in the middle of a conversation tells its client nothing.
            self.trouble, self._unusable = (
                f"The database cannot be opened: {type(error).__name__}: {error}",
                True,
            )
            log.exception("The database cannot be opened.")
        finally:
            self._attempt = None
            attempt.set()

    async def work(self) -> None:
        """The worker inside the server: a round of upkeep every `worker_interval_s`."""
        while True:
            await anyio.sleep(self.settings.worker_interval_s)
            if self._open:
                try:
                    done = await self._memory.maintain()
                    if self.metrics is not None:
                        self.metrics.worked(done)
                except DatabaseUnavailable as error:
                    log.warning("the worker has to wait: %s", summary(error))
                except Exception:
                    log.exception("The worker could not do its round; it tries again.")

    # What probes ask

    async def trouble_now(self) -> str | None:
        """Why requests cannot be served now, in words for anybody; None when they can."""
        if self._open:
            return await self._memory.trouble_now()
        self._try()
        return (
            "the database cannot be used: see the log" if self._unusable else "the database is not open yet"
        )

    async def backlog(self) -> Backlog:
        """What waits in the store."""
        return await self._memory.backlog()

    def outbox_depth(self) -> int:
        """How many saves wait on this machine."""
        return self._memory.outbox_depth()

    def replica_behind_s(self) -> float | None:
        """Seconds that reads may be behind; None without a replica."""
        return self._memory.replica_behind_s()

    def measure(self, metrics: Metrics) -> None:
        """Let metrics count what this server does."""
        self.metrics = metrics
        self._memory.watch(metrics.tell)

    async def close(self) -> None:
        """Let go of the database and of the embedding provider."""
        await self._embedder.aclose()
        await self._database.close()


@asynccontextmanager
async def lifespan(app: App) -> AsyncIterator[App]:
    """Runs the opening beside the server; `initialize` is answered meanwhile."""
    async with anyio.create_task_group() as tasks:
        app._tasks = tasks
        app._try()
        tasks.start_soon(app.work)
        try:
            yield app
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await app.close()
