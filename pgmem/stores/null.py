"""Stores that keep nothing, for a system without graph or vectors and for tests without a database."""

# ruff: noqa: ARG002 (a store that keeps nothing uses no argument)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pgmem.models import MemoryScope, SchemaDefinition


class NullGraphStore:
    """A `GraphStore` without nodes."""

    async def aclose(self) -> None:
        """Do nothing, because nothing is open."""

    async def merge_node(
        self,
        label: str,
        key_field: str,
        key_value: str,
        properties: Mapping[str, Any],
        embedding: Sequence[float] | None = None,
    ) -> dict[str, Any]:
        """Return the node as it was given; it is not kept."""
        return {
            "id": None,
            "label": label,
            "key": key_value,
            "title": key_value,
            "status": "active",
            "properties": {**properties, key_field: key_value},
            "created": False,
        }

    async def get_node(self, label: str, key_field: str, key_value: str) -> dict[str, Any] | None:
        """Return None, because there is no node."""
        return None

    async def delete_node(self, label: str, key_field: str, key_value: str, soft: bool = True) -> bool:
        """Return False, because there is no node."""
        return False

    async def merge_relation(
        self,
        from_label: str,
        from_key: str,
        from_value: str,
        rel_type: str,
        to_label: str,
        to_key: str,
        to_value: str,
    ) -> dict[str, Any]:
        """Return the relation as it was given; it is not kept."""
        return {"from_id": None, "rel_type": rel_type, "to_id": None, "created": False}

    async def get_neighbours(
        self, label: str, key_field: str, key_value: str, hops: int = 1, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Return no neighbours."""
        return []

    async def fulltext_search(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """Return no nodes."""
        return []

    async def run_cypher(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Refuse the query.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("GRAPH_BACKEND=none has no Cypher.")

    async def init_schema(self, schema: SchemaDefinition) -> None:
        """Do nothing."""

    async def health_check(self) -> dict[str, Any]:
        """Return ok."""
        return {"status": "ok", "backend": "none"}

    async def get_node_history(self, label: str, key_field: str, key_value: str) -> list[dict[str, Any]]:
        """Return no versions."""
        return []

    async def decay_scores(self, max_age_days: int = 90, decay_rate: float = 0.01) -> int:
        """Return 0, because nothing decays."""
        return 0

    async def set_scope(self, scope: MemoryScope) -> None:
        """Do nothing."""


class NullVectorStore:
    """A `VectorStore` without vectors."""

    dimensions = 0

    async def aclose(self) -> None:
        """Do nothing, because nothing is open."""

    async def store_vectors(self, items: Sequence[tuple[str, Sequence[float]]]) -> int:
        """Return 0; no vector is stored."""
        return 0

    async def search_vectors(
        self, query_embedding: Sequence[float], limit: int = 10, scope: MemoryScope | None = None
    ) -> list[dict[str, Any]]:
        """Return no nodes."""
        return []

    async def delete_vectors(self, node_ids: Sequence[str]) -> int:
        """Return 0, because there are no vectors."""
        return 0

    async def count(self) -> int:
        """Return 0."""
        return 0
