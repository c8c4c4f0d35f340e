"""The promises of the protocol of stores to a program that knows nothing else of pgmem."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgmem.embeddings.protocol import EmbeddingProvider
from pgmem.features.stores.create import PgGraphStore, PgStore, create_stores
from pgmem.features.stores.fusion import HybridConfig, HybridSearchEngine

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
    provider: EmbeddingProvider = FourMembers()  # type: ignore[assignment]
    found = await HybridSearchEngine(graph, vector, provider, HybridConfig()).search("silt")
    assert [hit.title for hit in found] == ["Silt"]
    await graph.aclose()


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
    provider: EmbeddingProvider = FourMembers()  # type: ignore[assignment]
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
