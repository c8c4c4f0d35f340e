"""The contract of a vector store, from the suite of the seed's own system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.features.stores.engrama import AsyncShapes, Shapes, VectorShapes, contracts

globals().update(contracts("test_sqlite_vector"))


@pytest.fixture
def store_pair(vectors: None, dsn: str, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """Graph and vectors over one connection, as the proxies of the suite stamp the scope."""
    shapes = Shapes(AsyncShapes(dsn, tmp_path, 4))
    scope = globals()["_TEST_SCOPE"]
    yield globals()["_ScopedGraph"](shapes, scope), globals()["_ScopedVec"](VectorShapes(shapes), scope)
    shapes.close()
