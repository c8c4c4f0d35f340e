"""What a graph store and a vector store are: the one seam between search and where memory is kept.

A node is named by label, the property that names it, and its value; `id` names it in every store. Answers are
plain mappings, so that a store can be written over any database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pgmem.models import MemoryScope, SchemaDefinition

__all__ = ["GraphStore", "VectorStore"]


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
        """Create a node, or update the one of that name, with its vector if given; the node as it stands."""
        ...

    async def get_node(self, label: str, key_field: str, key_value: str) -> dict[str, Any] | None:
        """The node of that name, with id, label, key, title, status and properties; None where none is."""
        ...

    async def delete_node(self, label: str, key_field: str, key_value: str, soft: bool = True) -> bool:
        """Archive a node (soft), or delete it with all that hangs on it; whether there was one to delete."""
        ...

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
        """Join two nodes; the same again changes nothing. The relation, with `created`."""
        ...

    async def get_neighbours(
        self, label: str, key_field: str, key_value: str, hops: int = 1, limit: int = 50
    ) -> list[dict[str, Any]]:
        """The nodes within some hops, nearest first: id, label, key, title, depth and the path."""
        ...

    async def fulltext_search(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """Nodes by their words, best first: `[{node, score, label, key}]`; a node holds its `id`."""
        ...

    async def run_cypher(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """A query in the store's own graph language.

        Raises:
            NotImplementedError: the store knows none.
        """
        ...

    async def init_schema(self, schema: SchemaDefinition) -> None:
        """Make labels and relations known; what is known already stays."""
        ...

    async def health_check(self) -> dict[str, Any]:
        """`status` (ok or unavailable), `backend`, and what is known of its version. Never raises."""
        ...

    async def get_node_history(self, label: str, key_field: str, key_value: str) -> list[dict[str, Any]]:
        """The states a node was in, oldest first: properties, valid_from, valid_to, ingested_at."""
        ...

    async def decay_scores(self, max_age_days: int = 90, decay_rate: float = 0.01) -> int:
        """Let the confidence of nodes decay that nobody has touched for so long; how many that concerns."""
        ...

    async def set_scope(self, scope: MemoryScope) -> None:
        """Whose memory every later call is about."""
        ...


@runtime_checkable
class VectorStore(Protocol):
    """Vectors of nodes, and the nearest to one.

    Attributes:
        dimensions: length of every vector kept here; 0 when none are.
    """

    dimensions: int

    async def store_vectors(self, items: Sequence[tuple[str, Sequence[float]]]) -> int:
        """Keep vectors, `[(node_id, embedding)]`; how many were kept."""
        ...

    async def search_vectors(
        self, query_embedding: Sequence[float], limit: int = 10, scope: MemoryScope | None = None
    ) -> list[dict[str, Any]]:
        """The nearest nodes, best first: `[{node_id, score, label, key}]`, the score a cosine."""
        ...

    async def delete_vectors(self, node_ids: Sequence[str]) -> int:
        """Forget the vectors of nodes; how many there were."""
        ...

    async def count(self) -> int:
        """How many vectors are kept."""
        ...
