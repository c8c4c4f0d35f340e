"""The promises of the protocol of stores to a program that knows nothing else of pgmem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector, SparseVector, Vector

from pgmem import Memory
from pgmem.embeddings.protocol import EmbeddingProvider
from pgmem.features.stores.create import NullGraphStore, NullVectorStore, PgGraphStore, PgStore, create_stores
from pgmem.features.stores.fusion import HybridConfig, HybridSearchEngine
from pgmem.models import MemoryScope

pytestmark = pytest.mark.anyio


class FourMembers:
    """A provider with the four members that the protocol names."""

    dimensions = 256

    async def embed(self, text: str) -> list[float]:
        return [1.0] + [0.0] * 255

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [await self.embed(text) for text in texts]

    async def health_check(self) -> bool:
        return True


async def test_a_provider_of_four_members_searches(dsn: str, tmp_path: Path, vectors: None) -> None:
    graph, vector = create_stores(
        {"PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(tmp_path), "EMBEDDING_PROVIDER": "static"}
    )
    assert isinstance(graph, PgStore)
    await graph.merge_node("Technology", "name", "Silt", {"name": "Silt", "summary": "sinks"})
    provider: EmbeddingProvider = FourMembers()
    found = await HybridSearchEngine(graph, vector, provider, HybridConfig()).search("silt")
    assert [hit.title for hit in found] == ["Silt"]
    await graph.aclose()


async def test_a_provider_of_four_members_embeds_what_a_memory_saves_and_asks(
    dsn: str, vectors: None
) -> None:
    provider: EmbeddingProvider = FourMembers()
    assert isinstance(provider, EmbeddingProvider)
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        memory = Memory.on(connection, embedder=provider)
        await memory.register_embedder()
        await memory.save_session("Dredge the canal", "canal")
        await memory.save_context("Silt sinks within a week", "canal")
        (found,) = (await memory.search_memory("mud", project_id="canal", labels=["Context"])).results
        assert (found.title, found.vector is not None) == ("Silt sinks within a week", True)
        models = await (
            await connection.execute("select name from pgmem.embedding_model where active")
        ).fetchall()
        assert models == [("FourMembers",)]


@pytest.mark.parametrize(
    "made", [list, Vector, HalfVector, SparseVector, np.array], ids=lambda made: str(made.__name__)
)
async def test_a_vector_of_a_caller_may_be_pgvector_s_or_an_array(
    dsn: str, tmp_path: Path, vectors: None, made: Callable[[list[float]], Any]
) -> None:
    graph, store = create_stores(
        {"PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(tmp_path), "EMBEDDING_PROVIDER": "static"}
    )
    assert isinstance(graph, PgStore)
    assert isinstance(store, PgStore)
    for name, place in (("Silt", 0), ("Sluice", 1)):
        vector = made([float(number == place) for number in range(256)])
        node = await graph.merge_node("Technology", "name", name, {"name": name}, vector)
        assert await store.store_vectors([(node["id"], vector)]) == 1
    found = await store.search_vectors(made([1.0] + [0.0] * 255))
    assert [(hit["key"], round(hit["score"], 3)) for hit in found] == [("Silt", 1.0), ("Sluice", 0.0)]
    await graph.aclose()


class BareGraph(NullGraphStore):
    """A store whose nodes have a name and a description, and no id."""

    nodes: tuple[dict[str, Any], ...] = (
        {"name": "Silt", "description": "sinks", "trust_level": 1.0},
        {"name": "Sluice", "description": "drains silt"},
        {"name": "Barge", "description": "carries silt"},
    )

    async def fulltext_search(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        return [
            {"node": node, "score": 3.0 - place, "label": "Thing", "key": node["name"]}
            for place, node in enumerate(self.nodes)
        ]

    async def get_node(self, label: str, key_field: str, key_value: str) -> dict[str, Any] | None:
        assert key_field in ("name", "id")
        return next((node for node in self.nodes if node["name"] == key_value), None)

    async def get_neighbours(
        self, label: str, key_field: str, key_value: str, hops: int = 1, limit: int = 50
    ) -> list[dict[str, Any]]:
        assert (label, key_field) == ("Thing", "name")
        near = {"Silt": "Sluice", "Sluice": "Silt"}.get(key_value)
        return [
            {**node, "label": "Thing", "key": node["name"]} for node in self.nodes if node["name"] == near
        ]


class BareVectors(NullVectorStore):
    """A store of vectors that names a node by its label and key, under a separate id."""

    dimensions = 256

    async def search_vectors(
        self, query_embedding: Sequence[float], limit: int = 10, scope: MemoryScope | None = None
    ) -> list[dict[str, Any]]:
        return [
            {"node_id": "v2", "score": 0.9, "label": "Thing", "key": "Sluice"},
            {"node_id": "v1", "score": 0.5, "label": "Thing", "key": "Silt"},
        ]


async def test_nodes_without_an_id_are_merged_by_their_label_and_key() -> None:
    ranked = await HybridSearchEngine(BareGraph(), BareVectors(), FourMembers()).search("silt")
    assert ranked.search_mode.mode == "hybrid"
    assert {(hit.title, hit.node_id) for hit in ranked} == {
        ("Silt", "v1"),
        ("Sluice", "v2"),
        ("Barge", "Thing/Barge"),
    }
    of = {hit.title: hit for hit in ranked}
    assert of["Sluice"].final_score == pytest.approx(0.6 * 1 + 0.4 * 0.5 + 0.15 * 0.3 + 0.1 * 0.5)
    assert of["Silt"].final_score == pytest.approx(0.6 * 0 + 0.4 * 1 + 0.15 * 0.3 + 0.1 * 1)
    assert of["Barge"].graph_boost == 0


async def test_given_weights_are_all_of_a_score(dsn: str, tmp_path: Path, vectors: None) -> None:
    """alpha, beta and gamma as they are given, or their defaults: no weight of the store's own ranking is added."""
    graph, vector = create_stores(
        {"PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(tmp_path), "EMBEDDING_PROVIDER": "static"}
    )
    assert isinstance(graph, PgStore)
    silt = [1.0] + [0.0] * 255
    for name, summary, embedding in (
        ("Sluice", "Never lend the key of the silt sluice", None),
        ("Silt", "silt sinks", silt),
    ):
        await graph.merge_node("Technology", "name", name, {"name": name, "summary": summary}, embedding)
    provider: EmbeddingProvider = FourMembers()
    found = await HybridSearchEngine(graph, vector, provider, HybridConfig()).search("silt")
    assert [hit.title for hit in found] == ["Silt", "Sluice"]
    for hit in found:
        assert hit.final_score == pytest.approx(
            0.6 * hit.vector_score
            + 0.4 * hit.fulltext_score
            + 0.15 * min(hit.graph_boost, 0.3)
            + 0.1 * hit.trust
        )
    await graph.aclose()


async def test_a_node_of_a_store_has_its_scope(dsn: str, tmp_path: Path) -> None:
    graph, _ = create_stores(
        {
            "PGMEM_DSN": dsn,
            "PGMEM_DATA_DIR": str(tmp_path),
            "EMBEDDING_PROVIDER": "none",
            "DEFAULT_ORG_ID": "acme",
            "DEFAULT_USER_ID": "alice",
        }
    )
    await graph.merge_node("Technology", "name", "Silt", {"name": "Silt"})
    node = await graph.get_node("Technology", "name", "Silt")
    assert node is not None
    assert (node["org_id"], node["user_id"]) == ("acme", "alice")
    assert {"agent_id", "session_id"} <= set(node)
    assert isinstance(graph, PgGraphStore)
    await graph.aclose()
