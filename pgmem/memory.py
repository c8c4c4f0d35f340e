"""The public door: every engine over one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from pgmem.database.pool import Attached, Database
from pgmem.embeddings import create_provider
from pgmem.embeddings.protocol import EmbeddingProvider
from pgmem.engines.analysis import AnalysisRouter
from pgmem.engines.cards import CardsEngine
from pgmem.engines.governance import GovernanceEngine
from pgmem.engines.graph import GraphEngine
from pgmem.engines.hygiene import HygieneEngine
from pgmem.engines.moving import MovingEngine
from pgmem.engines.reflection import ReflectionEngine
from pgmem.engines.retrieval import RetrievalEngine
from pgmem.engines.scope import ScopeEngine
from pgmem.engines.temporal import TemporalEngine
from pgmem.engines.tenancy import TenancyEngine
from pgmem.engines.upkeep import UpkeepEngine
from pgmem.models import MemoryScope
from pgmem.settings import Settings, load
from pgmem.telemetry import attach

__all__ = ["Memory"]


class Memory(
    ScopeEngine,
    RetrievalEngine,
    UpkeepEngine,
    GovernanceEngine,
    GraphEngine,
    TemporalEngine,
    TenancyEngine,
    MovingEngine,
    CardsEngine,
    HygieneEngine,
    AnalysisRouter,
    ReflectionEngine,
):
    """All verbs as methods. Each call is one transaction of its own, unless made `on` a caller's connection.

    ```python
    async with Memory.connect() as memory:
        await memory.save_session("Set up the service", "shop")
        await memory.save_decision("Use PostgreSQL", "One system for all.", "shop")
        bundle = await memory.retrieve_context("shop", "project")
    ```
    """

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, settings: Settings | None = None, *, scope: MemoryScope | None = None, source: str = "sdk"
    ) -> AsyncIterator[Memory]:
        """Open the database of the settings (unset: the embedded server) for the length of a `with` block.

        Raises:
            DatabaseUnavailable: the database of `PGMEM_DSN` does not answer; there is no falling back.
            SchemaOutdated: it holds another schema; the message names `pgmem init`.
        """
        settings = settings or load()
        database = Database(settings, scope, source)
        attach(database, settings)
        embedder = create_provider(settings.embedding_settings())
        await database.open()
        memory = cls(database, embedder)
        try:
            await memory.register_embedder()
            await memory.replay_outbox(within_s=5)
            yield memory
        finally:
            await embedder.aclose()
            await database.close()

    @classmethod
    def on(
        cls,
        connection: AsyncConnection[Any],
        scope: MemoryScope | None = None,
        source: str = "sdk",
        embedder: EmbeddingProvider | None = None,
    ) -> Memory:
        """The verbs on a connection of the caller's: inside its transaction, committed by its owner."""
        return cls(Attached(connection, scope, source), embedder)

    def acting_as(
        self,
        scope: MemoryScope | None = None,
        *,
        source: str | None = None,
        made_at: datetime | None = None,
    ) -> Memory:
        """The same store for another user, agent or session (None: the same).

        Args:
            scope: who acts.
            source: the way in that is stamped on what is written, and decides how far it is trusted.
            made_at: when what is written was made, if that was earlier.
        """
        database = self._database
        return type(self)(
            database.acting_as(scope or database.scope, source=source, made_at=made_at), self._embedder
        )
