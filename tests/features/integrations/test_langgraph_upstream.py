"""LangGraph's own tests of its PostgreSQL store, run against PgmemStore."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pgmem.sync import Memory as SyncMemory
from tests.features.integrations import langgraph_upstream as theirs
from tests.features.integrations.upstream import applying

SUITE = "langgraph-store"
_module = theirs.suite("test_store")
globals().update(applying(SUITE, _module, without=("pytest", "store", "vector_store")))


@pytest.fixture(autouse=True)
def _here(dsn: str, sync_memory: SyncMemory) -> None:
    theirs.Here.dsn, theirs.Here.sync_memory = dsn, sync_memory


@pytest.fixture
def fake_embeddings() -> Any:
    return _module.CharacterEmbeddings(dims=500)


@pytest.fixture
def store(sync_memory: SyncMemory) -> Iterator[theirs.Shapes]:
    store = theirs.Shapes(sync_memory, ttl=dict(theirs.TTL))  # type: ignore[arg-type]
    store.start_ttl_sweeper()
    yield store
    store.stop_ttl_sweeper()


@pytest.fixture(
    params=[("l2", True), ("inner_product", True), ("cosine", True), ("cosine", False)],
    ids=lambda p: f"{p[0]}{'' if p[1] else '_no_ttl'}",
)
def vector_store(request: pytest.FixtureRequest, fake_embeddings: Any) -> Iterator[Any]:
    distance, has_ttl = request.param
    with theirs.vector_store("vector", distance, fake_embeddings, enable_ttl=has_ttl) as store:
        yield store
