"""The contract of a graph store, from the suite of the seed's own system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.features.stores.engrama import AsyncShapes, Shapes, contracts

globals().update(contracts("test_graphstore_contract"))


@pytest.fixture
def store(dsn: str, tmp_path: Path) -> Iterator[Any]:
    """The store of the suite, as its proxy stamps the scope on each call."""
    shapes = Shapes(AsyncShapes(dsn, tmp_path))
    yield globals()["_ScopedSyncStoreProxy"](shapes, globals()["_TEST_SCOPE"])
    shapes.close()
