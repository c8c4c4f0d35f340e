"""Embedding: vectors for the texts in the queue, several models in one store, and the indexes of vectors.

Texts are claimed, embedded and stored; no transaction is open while the provider works.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import anyio
from psycopg import sql

from pgmem.calls.methods import Verbs
from pgmem.database.connection import opened
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.embeddings.text import vectors_of
from pgmem.errors import PgmemError, TierMissing, first_line, summary
from pgmem.escaping import counted

log = logging.getLogger("pgmem")
_BATCH = 64


def embedding_model(memory: Verbs) -> str:
    """The name of this process's model, under which its vectors are stored."""
    return memory.caller.embedder.model


async def register_embedder(memory: Verbs) -> bool:
    """Register this process's model in the store; the first model becomes the active one.

    The registry of labels is read as well, so that saves need not read it. A model that is new to the store is
    registered only if its provider answers, as texts would wait for its vectors for ever.

    Returns:
        Whether vectors are stored: False without a provider or pgvector, or if the store refuses the model.
    """
    if memory.caller.embedder.dimensions == 0:
        return False
    model: dict[str, Any] = {
        "name": memory.caller.embedder.model,
        "dimensions": memory.caller.embedder.dimensions,
    }
    try:
        known = await memory.caller.database.rows("register_model", **model, known_only=True)
        if known[0]["name"] is None:
            if (trouble := await embedder_trouble(memory)) is not None:
                log.warning("vectors of %s are not kept: %s", memory.caller.embedder.model, trouble)
                return False
            await memory.caller.database.rows("register_model", **model)
        await memory.caller.database.labels()
    except TierMissing:
        return False
    except PgmemError as error:
        log.warning("vectors of %s are not stored: %s", memory.caller.embedder.model, error)
        return False
    return True


async def embedder_trouble(memory: Verbs) -> str | None:
    """Return why the provider of this process cannot embed now; None if it can, or where nothing is embedded."""
    if memory.caller.embedder.dimensions == 0:
        return None
    try:
        with anyio.fail_after(memory.caller.database.settings.embedding_patience_s):
            if await memory.caller.embedder.health_check():
                return None
            await memory.caller.embedder.embed("ok")  # a health check does not say why
    except EmbeddingError as error:
        return first_line(error)
    except TimeoutError:
        return "the provider does not answer"
    return "the health check of the provider fails"


async def embed_waiting(
    memory: Verbs,
    most: int | None = None,
    progress: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> int:
    """Embed queued texts with this process's model, and return how many vectors were stored.

    Any number of workers may run at once: each text is claimed by one of them, and a claim expires after 5 minutes.

    Args:
        memory: whose texts they are.
        most: stop after about this many texts; None means all.
        progress: called after each batch with how many vectors were stored.
        stop: called between batches; if it returns True, the run ends.

    Raises:
        EmbeddingError: the provider fails; its claimed texts stay in the queue.
    """
    database, begun, stored = memory.caller.database, 0, 0
    storing: asyncio.Task[int] | None = None

    async def finished() -> None:
        nonlocal storing, stored
        if storing is not None:
            ending, storing = storing, None
            done = await ending
            stored += done
            if progress is not None:
                progress(done)

    try:
        while (most is None or begun < most) and not (stop is not None and stop()):
            claimed = await database.rows(
                "claim_embeddings", model=memory.caller.embedder.model, limit=_BATCH
            )
            if not claimed and storing is None:
                break
            vectors = await _embed(memory, [row["text"] for row in claimed]) if claimed else []
            await finished()  # texts that have changed meanwhile are in the queue again
            if claimed:
                begun += len(claimed)
                # The server stores these while this process embeds the next ones.
                storing = asyncio.create_task(_store(memory, claimed, vectors))
    finally:
        await finished()
    return stored


async def _embed(memory: Verbs, texts: list[str]) -> list[list[float]]:
    try:
        return await vectors_of(memory.caller.embedder, texts)
    except EmbeddingError as error:
        if error.transient or len(texts) == 1:
            raise
        if await embedder_trouble(memory) is not None:
            raise
    # A text that the model refuses must not keep the others from being embedded.
    vectors: list[list[float]] = []
    refused: list[EmbeddingError] = []
    for text in texts:
        try:
            vectors += await vectors_of(memory.caller.embedder, [text])
        except EmbeddingError as error:
            refused.append(error)
            vectors.append([])
    if refused:
        texts_are = counted(len(refused), "text is", "texts are")
        log.warning("%s not embedded: %s", texts_are, summary(refused[0]))
    return vectors


async def _store(memory: Verbs, claimed: list[Any], vectors: list[list[float]]) -> int:
    items = [
        {"node_seq": row["node_seq"], "text_hash": row["text_hash"], "vector": _text(vector)}
        for row, vector in zip(claimed, vectors, strict=True)
        if vector
    ]
    if not items:
        return 0
    rows = await memory.caller.database.rows("store_vectors", model=memory.caller.embedder.model, items=items)
    return int(rows[0]["store_vectors"])


def _text(vector: list[float]) -> str:
    """Return a vector as the text of a list, which costs a fifth of a list in JSON on both sides."""
    return f"[{','.join(['%.9g'] * len(vector))}]" % tuple(vector)


async def queue_embeddings(memory: Verbs, everything: bool = False) -> int:
    """Queue every text without a vector of this process's model, or every text; returns the length of the queue."""
    await register_embedder(memory)
    rows = await memory.caller.database.rows(
        "queue_embeddings", 600, model=memory.caller.embedder.model, all=everything
    )
    return int(rows[0]["queue_embeddings"])


async def refresh_statistics(memory: Verbs, everything: bool = False) -> int:
    """Recount the words of the scopes that changed, or of every scope; returns how many were recounted."""
    rows = await memory.caller.database.rows("refresh_statistics", 600, all=everything)
    return int(rows[0]["refresh_statistics"])


async def index_vectors(memory: Verbs, stop: Callable[[], bool] | None = None) -> int:
    """Build the indexes that are worth it and add new vectors to them; returns how many vectors are left over.

    An index is built concurrently, which needs a connection outside a transaction. Vectors that another worker has
    locked are left to it.

    Args:
        memory: whose vectors they are.
        stop: called between batches; if it returns True, the rest is left over.
    """
    row = (await memory.caller.database.rows("index_vectors", 600))[0]
    if row["wanted"]:
        dsn = memory.caller.database.dsn
        async with opened(dsn, autocommit=True) as connection:
            for statement in row["wanted"]:
                await connection.execute(sql.SQL(statement))
        row = (await memory.caller.database.rows("index_vectors", 600))[0]
    while row["left_over"] and row["done"] and not (stop is not None and stop()):
        row = (await memory.caller.database.rows("index_vectors", 600))[0]
    return int(row["left_over"])
