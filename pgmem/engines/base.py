"""What every engine has: the database it calls, and who embeds."""

from __future__ import annotations

from pgmem.database.pool import Database
from pgmem.embeddings.none import NullProvider
from pgmem.embeddings.protocol import EmbeddingProvider

__all__ = ["Engine"]


class Engine:
    """Stateless: it holds the way to the database and to the embedding provider, and nothing else."""

    def __init__(self, database: Database, embedder: EmbeddingProvider | None = None) -> None:
        self._database = database
        self._embedder: EmbeddingProvider = embedder or NullProvider()
