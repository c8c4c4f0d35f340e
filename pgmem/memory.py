"""The public Python API: the verbs over one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import cached_property
from math import inf
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from psycopg import AsyncConnection

from pgmem.calls import following, projects
from pgmem.calls.caller import Caller
from pgmem.calls.methods import Verbs
from pgmem.calls.replay import replay_outbox
from pgmem.database.attached import Attached
from pgmem.database.closing import to_its_end
from pgmem.database.database import Database
from pgmem.embeddings import create_provider
from pgmem.embeddings.protocol import EmbeddingProvider
from pgmem.errors import MemoryNotOpen
from pgmem.features.cards.methods import CardsVerbs
from pgmem.models import MemoryScope
from pgmem.settings import Settings, load
from pgmem.telemetry import attach
from pgmem.worker import embedding, maintenance, transfer

if TYPE_CHECKING:
    from pgmem.calls.admin import Admin

__all__ = ["Memory", "Opening"]


class Memory(CardsVerbs, Verbs):  # the methods of features, then those of the core
    """The verbs as methods. Each call is its own transaction, except on a connection of the caller (`on`).

    ```python
    async with Memory.connect() as memory:
        await memory.save_session("Set up the service", "shop")
        await memory.save_decision("Use PostgreSQL", "One system for all.", "shop")
        bundle = await memory.retrieve_context("shop", "project")
    ```
    """

    def __init__(self, database: Database, embedder: EmbeddingProvider | None = None) -> None:
        super().__init__(Caller(database, embedder))

    follow = following.follow
    export_lines = transfer.export_lines
    import_lines = transfer.import_lines
    import_memories = transfer.import_memories
    forget_notes = transfer.forget_notes
    register_embedder = embedding.register_embedder
    embedder_trouble = embedding.embedder_trouble
    embed_waiting = embedding.embed_waiting
    queue_embeddings = embedding.queue_embeddings
    refresh_statistics = embedding.refresh_statistics
    index_vectors = embedding.index_vectors
    maintain = maintenance.maintain
    trouble_now = maintenance.trouble_now
    examine = maintenance.examine
    watch = maintenance.watch
    outbox_depth = maintenance.outbox_depth
    replica_behind_s = maintenance.replica_behind_s
    embedding_model = property(embedding.embedding_model)

    async def replay_outbox(self, within_s: float = inf) -> int:
        """Send the saves in the outbox, in order for each tenant and project; returns how many were recorded.

        Stops when the database does not answer or was upgraded since it was opened. A save older than `outbox_days`, or
        one that the database refuses, is recorded as failed. No save makes this raise.

        Args:
            within_s: begin no further save after this many seconds; the others stay in the outbox.
        """
        return await replay_outbox(self.caller, within_s)

    @cached_property
    def admin(self) -> Admin:
        """The verbs of operators: settings, tenants, tokens, upkeep and the decisions of people."""
        from pgmem.calls.admin import Admin

        return Admin(self)

    @classmethod
    def connect(
        cls, settings: Settings | str | None = None, *, scope: MemoryScope | None = None, source: str = "sdk"
    ) -> Opening:
        """Open the database of the settings for an `async with` block.

        Args:
            settings: the settings, or a DSN (postgresql://…) to use with those of the environment; None reads the
                environment; without `PGMEM_DSN`, the embedded server is started.
            scope: the caller; None takes the one of the settings.
            source: the way in that is stamped on writes and decides how far they are trusted.

        Raises:
            DatabaseUnavailable: the database of `PGMEM_DSN` does not answer; no other one is tried.
            SchemaOutdated: the database holds another schema; the message names `pgmem init`.
        """
        return Opening(cls._opened(settings, scope, source))

    @classmethod
    @asynccontextmanager
    async def _opened(
        cls, settings: Settings | str | None, scope: MemoryScope | None, source: str
    ) -> AsyncIterator[Memory]:
        if not isinstance(settings, Settings):
            settings = load(dsn=settings)
        database = Database(settings, scope, source)
        attach(database, settings)
        embedder = create_provider(settings)
        memory = cls(database, embedder)
        try:
            await database.open()
            await memory.register_embedder()
            await memory.replay_outbox(within_s=5)
            yield memory
        finally:
            database.retire()
            try:
                await to_its_end(embedder.aclose())
            finally:
                await database.close()

    @classmethod
    def on(
        cls,
        connection: AsyncConnection[Any],
        scope: MemoryScope | None = None,
        source: str = "sdk",
        embedder: EmbeddingProvider | None = None,
    ) -> Memory:
        """Return a memory whose verbs run on the caller's connection, in its transaction, which the caller commits."""
        return cls(Attached(connection, scope, source), embedder)

    @property
    def dsn(self) -> str:
        """The DSN of the store, for your own connection; an embedded server runs as long as this memory is open."""
        return self.caller.database.dsn

    async def project_of(self, folder: Path, *, create: bool = False) -> str:
        """Return the project of a folder: the one that PGMEM_PROJECT or a trusted `.pgmem.toml` names, else its own.

        Args:
            folder: any folder of a work tree; one outside of any is known by its path.
            create: make the project of a repository that has none; else the name is returned that it would have.
        """
        return await projects.project_of(self.caller, folder, create=create)

    def acting_as(
        self, scope: MemoryScope | None = None, *, source: str | None = None, made_at: datetime | None = None
    ) -> Memory:
        """Return a memory over the same database for another user, agent or session.

        Args:
            scope: the caller; None keeps it.
            source: the way in that is stamped on writes and decides how far they are trusted; None keeps it.
            made_at: when the writes were made, if that was earlier; None means now.
        """
        database = self.caller.database
        acting = database.acting_as(scope or database.scope, source=source, made_at=made_at)
        other = type(self)(acting, self.caller.embedder)
        other.caller.logged = self.caller.logged
        return other


class Opening(AbstractAsyncContextManager["Memory"]):
    """A memory that `async with` opens; nothing is open before."""

    def __init__(self, opened: AbstractAsyncContextManager[Memory]) -> None:
        self._opened = opened

    async def __aenter__(self) -> Memory:
        return await self._opened.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._opened.__aexit__(kind, error, traceback)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise MemoryNotOpen(
                f"Open the memory first: `async with Memory.connect() as memory:`, then memory.{name}."
            )
