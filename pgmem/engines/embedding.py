"""EmbeddingEngine: vectors for what waits for one, models side by side, and the index over them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import sql

from pgmem.embeddings.protocol import EmbeddingError
from pgmem.engines.base import Engine
from pgmem.errors import PgmemError, TierMissing, summary

__all__ = ["EmbeddingEngine"]

log = logging.getLogger("pgmem")
_BATCH = 64


class EmbeddingEngine(Engine):
    """No transaction is open while the provider is asked: texts are claimed, embedded, stored."""

    @property
    def embedding_model(self) -> str:
        """The model of this process, as vectors are kept under it."""
        return self._embedder.model

    async def register_embedder(self) -> bool:
        """Make this process's model known to the store; the first one becomes active. False where nothing is embedded."""
        if self._embedder.dimensions == 0:
            return False
        try:
            await self._database.rows(
                "register_model", name=self._embedder.model, dimensions=self._embedder.dimensions
            )
        except TierMissing:
            return False
        except PgmemError as error:
            log.warning("vectors of %s are not kept: %s", self._embedder.model, error)
            return False
        return True

    async def embed_waiting(
        self,
        most: int | None = None,
        progress: Callable[[int], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Embed texts that wait for a vector of this process's model, until none or `most` are left; how many were stored.

        Any number of workers may run at once: each text is claimed by one, and a claim that dies is free after 5 minutes.
        `stop` is asked between batches.

        Raises:
            EmbeddingError: the provider fails for good; what it had claimed waits for the next run.
        """
        stored = 0
        while (most is None or stored < most) and not (stop is not None and stop()):
            claimed = await self._database.rows("claim_embeddings", model=self._embedder.model, limit=_BATCH)
            if not claimed:
                break
            done = await self._store(claimed, await self._embed([row["text"] for row in claimed]))
            stored += done
            if progress is not None:
                progress(done)
        return stored

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        try:
            return await self._embedder.embed_batch(texts)
        except EmbeddingError as error:
            if error.transient or len(texts) == 1:
                raise
        # One text the model refuses must not hold back the others.
        vectors: list[list[float]] = []
        for text in texts:
            try:
                vectors.append(await self._embedder.embed(text))
            except EmbeddingError as error:
                log.warning("a text is not embedded: %s", summary(error))
                vectors.append([])
        return vectors

    async def _store(self, claimed: list[Any], vectors: list[list[float]]) -> int:
        items = [
            {
                "node_seq": row["node_seq"],
                "kind": row["kind"],
                "text_hash": row["text_hash"],
                "vector": vector,
            }
            for row, vector in zip(claimed, vectors, strict=True)
            if vector
        ]
        if not items:
            return 0
        rows = await self._database.rows("store_vectors", model=self._embedder.model, items=items)
        return int(rows[0]["store_vectors"])

    async def queue_embeddings(self, everything: bool = False) -> int:
        """Queue every text that has no vector of this process's model (or every text); how many wait."""
        await self.register_embedder()
        rows = await self._database.rows("queue_embeddings", 600, model=self._embedder.model, all=everything)
        return int(rows[0]["queue_embeddings"])

    async def embedding_status(self) -> list[dict[str, Any]]:
        """The models of this store, their vectors, and how many texts wait for one."""
        return [dict(row) for row in await self._database.rows("embedding_status")]

    async def activate_model(self, name: str) -> None:
        """Let search use this model from the next query on."""
        await self._database.rows("activate_model", name=name)

    async def drop_model(self, name: str) -> int:
        """Delete a model that is not active and its vectors; how many."""
        return int((await self._database.rows("drop_model", 600, name=name))[0]["drop_model"])

    async def refresh_statistics(self, everything: bool = False) -> int:
        """Recount the words of the scopes that have changed; scopes recounted."""
        rows = await self._database.rows("refresh_statistics", 600, all=everything)
        return int(rows[0]["refresh_statistics"])

    async def index_vectors(self) -> int:
        """Make the indexes that are worth it and put new vectors into them; how many are left for the next call.

        The index is built concurrently, on a connection of its own: it cannot be in a transaction.
        """
        row = (await self._database.rows("index_vectors", 600))[0]
        if row["wanted"]:
            dsn = self._database.dsn
            async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
                for statement in row["wanted"]:
                    await connection.execute(sql.SQL(statement))
            row = (await self._database.rows("index_vectors", 600))[0]
        while row["left_over"]:
            row = (await self._database.rows("index_vectors", 600))[0]
        return int(row["left_over"])
