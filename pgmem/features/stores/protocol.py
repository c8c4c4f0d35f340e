"""The interfaces of a graph store and a vector store, over which `HybridSearchEngine` searches.

A node is named by its label, its key field and the value of that field. Where nodes have an `id`, that is a key field
too; else label and key are their identity. Results are plain mappings, so that a store can be implemented over any
database. A class that inherits a method has that of a store that keeps nothing.
"""

# ruff: noqa: ARG002 (a store that keeps nothing uses no argument)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pgmem.models import MemoryScope, SchemaDefinition


@runtime_checkable
class GraphStore(Protocol):
    """Nodes, relations, full text and time."""

    async def merge_node(
        self,
        label: str,
        key_field: str,
        key_value: str,
        properties: Mapping[str, Any],
        embedding: Sequence[float] | None = None,
    ) -> dict[str, Any]:
        """Create a node, or update the one of that name, with its vector if given; returns the node."""
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
        """Return the node of that name, an archived one too; None if there is none.

        It has id, label, key, title, status and properties.
        """
        return None

    async def delete_node(self, label: str, key_field: str, key_value: str, soft: bool = True) -> bool:
        """Archive a node (soft), or delete it with its relations; returns whether there was one."""
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
        """Join two nodes; the same call again changes nothing. Returns the relation, with `created`."""
        return {"from_id": None, "rel_type": rel_type, "to_id": None, "created": False}

    async def get_neighbours(
        self, label: str, key_field: str, key_value: str, hops: int = 1, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Return the nodes within some hops, nearest first: id, label, key, title, depth and path."""
        return []

    async def fulltext_search(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """Return nodes that match the query, best first: `[{node, score, label, key}]`; a node may have an `id`."""
        return []

    async def run_cypher(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run a query in the store's graph language.

        Raises:
            NotImplementedError: the store has none.
        """
        ...

    async def init_schema(self, schema: SchemaDefinition) -> None:
        """Add labels and relations; existing ones stay."""
        ...

    async def health_check(self) -> dict[str, Any]:
        """Return `status` (ok or unavailable), `backend`, and versions if they are known. Never raises."""
        return {"status": "ok", "backend": "none"}

    async def get_node_history(self, label: str, key_field: str, key_value: str) -> list[dict[str, Any]]:
        """Return the versions of a node, oldest first: properties, valid_from, valid_to, ingested_at."""
        return []

    async def decay_scores(self, max_age_days: int = 90, decay_rate: float = 0.01) -> int:
        """Let the confidence of nodes decay that were not updated for `max_age_days`; returns how many these are."""
        return 0

    async def set_scope(self, scope: MemoryScope) -> None:
        """Make all later calls for this scope."""
        ...


@runtime_checkable
class VectorStore(Protocol):
    """Vectors of nodes, and search for the nearest ones.

    Attributes:
        dimensions: length of every vector in the store; 0 if it keeps none.
    """

    dimensions: int = 0

    async def store_vectors(self, items: Sequence[tuple[str, Sequence[float]]]) -> int:
        """Store vectors, `[(node_id, embedding)]`; returns how many were stored."""
        return 0

    async def search_vectors(
        self, query_embedding: Sequence[float], limit: int = 10, scope: MemoryScope | None = None
    ) -> list[dict[str, Any]]:
        """Return the nearest nodes, best first: `[{node_id, score, label, key}]`; the score is the cosine."""
        return []

    async def delete_vectors(self, node_ids: Sequence[str]) -> int:
        """Delete the vectors of nodes; returns how many there were."""
        return 0

    async def count(self) -> int:
        """Return the number of vectors."""
        return 0
