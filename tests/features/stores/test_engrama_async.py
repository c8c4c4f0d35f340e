"""The asynchronous contract of a graph store, from the suite of the seed's own system."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.features.stores.engrama import AsyncShapes, contracts

globals().update(contracts("test_async_graphstore_contract"))

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(dsn: str, tmp_path: Path) -> AsyncIterator[Any]:
    """The store of the suite, as its proxy stamps the scope on each call."""
    shapes = AsyncShapes(dsn, tmp_path)
    yield globals()["_ScopedAsyncStoreProxy"](shapes, globals()["_TEST_SCOPE"])
    await shapes.close()
