"""Stores that a caller brings: those of the documentation, and how create_stores takes and refuses them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pgmem.errors import InvalidArgument
from pgmem.models import MemoryScope
from pgmem.stores import (
    GraphStore,
    HybridSearchEngine,
    NullGraphStore,
    NullVectorStore,
    PgGraphStore,
    VectorStore,
    create_stores,
)
from tests.features.stores.test_seed_protocol import FourMembers

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
OWN = {"GRAPH_BACKEND": "networkx", "VECTOR_BACKEND": "array", "EMBEDDING_DIMENSIONS": 3}


@pytest.fixture
def array(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import array_store  # type: ignore[import-not-found]

    yield array_store.ArrayVectorStore
    sys.modules.pop("array_store")


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphStore]:
    pytest.importorskip("networkx", reason="of the extra test")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import networkx_store  # type: ignore[import-not-found]

    made, _ = create_stores(
        {**OWN, "VECTOR_BACKEND": "none"}, {"networkx": networkx_store.NetworkXGraphStore}
    )
    yield made
    sys.modules.pop("networkx_store")


async def test_the_graph_store_of_the_documentation_keeps_its_protocol(graph: GraphStore) -> None:
    assert isinstance(graph, GraphStore)
    made = await graph.merge_node("Tool", "name", "hammer", {"description": "strikes nails"})
    again = await graph.merge_node("Tool", "name", "hammer", {"weight": 2})
    assert (made["created"], again["created"]) == (True, False)
    found = await graph.get_node("Tool", "name", "hammer")
    assert found is not None
    assert (found["description"], found["weight"]) == ("strikes nails", 2)
    assert await graph.get_node("Tool", "id", "hammer") is None
    for name in ("saw", "plank"):
        await graph.merge_node("Tool", "name", name, {"description": "cuts" if name == "saw" else "is cut"})
    for left, right in (("hammer", "saw"), ("saw", "plank")):
        joined = await graph.merge_relation("Tool", "name", left, "RELATED_TO", "Tool", "name", right)
        again = await graph.merge_relation("Tool", "name", left, "RELATED_TO", "Tool", "name", right)
        assert (joined["created"], again["created"]) == (True, False)
    around = await graph.get_neighbours("Tool", "name", "plank", hops=2)
    assert [(node["key"], node["depth"]) for node in around] == [("saw", 1), ("hammer", 2)]
    assert [hit["key"] for hit in await graph.fulltext_search("what cuts?")] == ["saw"]
    assert [await graph.delete_node("Tool", "name", "saw") for _ in range(2)] == [True, False]
    assert await graph.fulltext_search("cuts") == []
    assert await graph.delete_node("Tool", "name", "saw", soft=False)
    assert await graph.get_node("Tool", "name", "saw") is None
    assert (await graph.health_check())["status"] == "ok"
    with pytest.raises(NotImplementedError):
        await graph.run_cypher("match (n) return n")
    with pytest.raises(NotImplementedError):
        await graph.set_scope(MemoryScope(user_id="ada"))


async def test_the_vector_store_of_the_documentation_keeps_its_protocol(array: Any) -> None:
    graph, store = create_stores({**OWN, "GRAPH_BACKEND": "none"}, {"array": array})
    assert isinstance(graph, NullGraphStore)
    assert isinstance(store, VectorStore)
    assert (
        await store.store_vectors(
            [("Tool/east", [1, 0, 0]), ("Tool/up", [0, 0, 2]), ("Tool/east", [3, 4, 0])]
        )
        == 3
    )
    assert await store.count() == 2
    (near, _) = await store.search_vectors([1, 0, 0])
    assert (near["label"], near["key"], near["score"]) == ("Tool", "east", pytest.approx(0.6))
    for wrong in ([0, 0, 0], [1, 2], [1, 0, float("nan")]):
        with pytest.raises(ValueError, match="send 3 finite numbers"):
            await store.store_vectors([("Tool/north", wrong)])
    assert await store.delete_vectors(["Tool/up", "Tool/none"]) == 1


async def test_a_node_that_vectors_alone_find_has_the_title_of_its_key(array: Any) -> None:
    class Named(NullGraphStore):
        async def get_node(self, label: str, key_field: str, key_value: str) -> dict[str, Any] | None:
            return (
                {"name": "hammer", "trust_level": 1.0}
                if (key_field, key_value) == ("name", "hammer")
                else None
            )

    vector = array({"EMBEDDING_DIMENSIONS": 256})
    await vector.store_vectors([("Tool/hammer", [1.0, *[0.0] * 255])])
    (hit,) = await HybridSearchEngine(Named(), vector, FourMembers()).search("a thing for nails")
    assert (hit.title, hit.name, hit.trust) == ("hammer", ("name", "hammer"), 1.0)


def test_one_name_for_both_is_one_object() -> None:
    class Both(NullGraphStore, NullVectorStore):
        def __init__(self, config: object) -> None:
            self.config = config

    config = {"GRAPH_BACKEND": "own", "VECTOR_BACKEND": "own"}
    graph, vector = create_stores(config, {"own": Both})
    assert isinstance(graph, Both)
    assert isinstance(vector, Both)
    assert graph is vector
    assert graph.config is config


def test_one_store_may_be_pgmem_s(dsn: str, tmp_path: Path, array: Any) -> None:
    graph, vector = create_stores(
        {
            "PGMEM_DSN": dsn,
            "PGMEM_DATA_DIR": str(tmp_path),
            "EMBEDDING_PROVIDER": "none",
            "VECTOR_BACKEND": "array",
        },
        {"array": array},
    )
    assert isinstance(graph, PgGraphStore)
    assert isinstance(vector, array)


def test_a_store_that_lacks_methods_is_refused_with_their_names() -> None:
    with pytest.raises(
        InvalidArgument,
        match="The backend 'own' is not a VectorStore: SimpleNamespace lacks dimensions, store_vectors",
    ):
        create_stores(
            {"GRAPH_BACKEND": "none", "VECTOR_BACKEND": "own"}, {"own": lambda _: SimpleNamespace(count=1)}
        )


def test_an_unknown_backend_is_refused_with_those_that_are_brought() -> None:
    with pytest.raises(InvalidArgument, match="GRAPH_BACKEND='kuzu'. Known: postgres, none, networkx"):
        create_stores({"GRAPH_BACKEND": "kuzu"}, {"networkx": lambda _: NullGraphStore()})
