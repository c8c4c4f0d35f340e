"""LangGraph's own tests of its asynchronous PostgreSQL store, run against PgmemStore."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pgmem import Memory
from tests.features.integrations import langgraph_upstream as theirs
from tests.features.integrations.upstream import applying

pytestmark = pytest.mark.anyio

SUITE = "langgraph-store"
_module = theirs.suite("test_async_store")
globals().update(applying(SUITE, _module, without=("pytest", "store", "vector_store")))


@pytest.fixture(autouse=True)
async def _here(dsn: str, memory: Memory) -> None:
    theirs.Here.dsn, theirs.Here.memory = dsn, memory


@pytest.fixture
def fake_embeddings() -> Any:
    return _module.CharacterEmbeddings(dims=500)


@pytest.fixture
async def store(memory: Memory) -> AsyncIterator[theirs.AsyncShapes]:
    store = theirs.AsyncShapes(memory, ttl=dict(theirs.TTL))  # type: ignore[arg-type]
    await store.start_ttl_sweeper()
    yield store
    await store.stop_ttl_sweeper()


@pytest.fixture(params=["l2", "inner_product", "cosine"])
async def vector_store(
    request: pytest.FixtureRequest, fake_embeddings: Any, memory: Memory
) -> AsyncIterator[Any]:
    async with theirs.async_vector_store("vector", request.param, fake_embeddings) as store:
        yield store
