"""The stores that the conformance suite runs against, each with its abilities."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgmem.database.database import Database
from pgmem.features.stores.create import (
    GraphStore,
    NullGraphStore,
    NullVectorStore,
    PgGraphStore,
    PgStore,
    PgVectorStore,
    VectorStore,
)
from pgmem.settings import load

MODEL, DIMENSIONS = "test:three", 3


@dataclass(frozen=True)
class Stores:
    """A pair of stores; `keep` says whether they keep anything."""

    graph: GraphStore
    vector: VectorStore
    keep: bool


@pytest.fixture(params=["one object", "two objects", "none"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """Every implementation; one that keeps nothing needs no database."""
    if request.param == "none":
        yield Stores(NullGraphStore(), NullVectorStore(), keep=False)
        return
    database = Database(load(dsn=request.getfixturevalue("dsn"), data_dir=tmp_path))
    if request.param == "one object":
        both = PgStore(database, MODEL, DIMENSIONS)
        yield Stores(both, both, keep=True)
    else:
        yield Stores(PgGraphStore(database, MODEL), PgVectorStore(database, MODEL, DIMENSIONS), keep=True)
    await database.close()


@pytest.fixture
async def store(dsn: str, tmp_path: Path) -> AsyncIterator[PgStore]:
    """Both stores in one object."""
    store = PgStore(Database(load(dsn=dsn, data_dir=tmp_path)), MODEL, DIMENSIONS)
    yield store
    await store.aclose()
