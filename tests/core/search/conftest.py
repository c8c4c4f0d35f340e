"""Memories with a provider whose vectors a test decides, on this test's database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from pgmem import Memory
from pgmem.database.database import Database
from pgmem.embeddings import BaseProvider, EmbeddingError
from pgmem.settings import load
from tests.core.embeddings.server import EmbeddingServer


class Table(BaseProvider):
    """Makes the vector that a table has for a word of the text; without such a word, the last axis."""

    def __init__(self, vectors: dict[str, list[float]], model: str = "test:table") -> None:
        super().__init__(model=model, dimensions=len(next(iter(vectors.values()))))
        self.vectors = vectors
        self.down = False
        self.asked: list[str] = []

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        if self.down:
            raise EmbeddingError("nobody answers", transient=True)
        self.asked += texts
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> list[float]:
        named = (vector for word, vector in self.vectors.items() if word in text)
        return next(named, [0.0] * (self.dimensions - 1) + [1.0])


@pytest.fixture
async def database(dsn: str, tmp_path: Path) -> AsyncIterator[Database]:
    """This test's database, open."""
    database = Database(load(dsn=dsn, data_dir=tmp_path, prepare=True, retry_wait_s=0.0))
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def plain(database: Database) -> Memory:
    """A memory that embeds nothing."""
    return Memory(database)


Open = Callable[[BaseProvider], Memory]


@pytest.fixture
def with_provider(database: Database) -> Open:
    """`with_provider(table)`: a memory that embeds by this provider."""
    return lambda provider: Memory(database, provider)


@pytest.fixture
def provider_server() -> Iterator[EmbeddingServer]:
    """A server that speaks Ollama's protocol and counts its requests."""
    with EmbeddingServer() as server:
        yield server
