"""What every engine has: the database it calls, and who embeds."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import anyio

from pgmem.database.pool import Database
from pgmem.embeddings.none import NullProvider
from pgmem.embeddings.protocol import EmbeddingError, EmbeddingProvider
from pgmem.embeddings.text import save_text, text_hash

__all__ = ["Engine"]

log = logging.getLogger("pgmem")


class Engine:
    """Stateless: it holds the way to the database and to the embedding provider, and nothing else."""

    def __init__(self, database: Database, embedder: EmbeddingProvider | None = None) -> None:
        self._database = database
        self._embedder: EmbeddingProvider = embedder or NullProvider()

    async def _embedding(self, verb: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The vector of a save, made before its transaction; a provider that fails costs the vector and nothing else."""
        text = save_text(verb, params) if self._embedder.dimensions else None
        if text is None:
            return {}
        try:
            with anyio.fail_after(self._database.settings.embedding_patience_s):
                vector = await self._embedder.embed(text)
        except (EmbeddingError, TimeoutError) as error:
            log.warning("saved without a vector, the worker embeds: %s", error)
            return {}
        if not vector:
            return {}
        return {
            "embedding": vector,
            "embedding_model": self._embedder.model,
            "embedding_text_hash": text_hash(text),
        }
