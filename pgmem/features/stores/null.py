"""Stores that keep nothing, for a system without graph or vectors and for tests without a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgmem.features.stores.protocol import GraphStore, VectorStore
from pgmem.models import MemoryScope, SchemaDefinition


class _Unopened:
    async def aclose(self) -> None:
        """Do nothing, because nothing is open."""


class NullGraphStore(_Unopened, GraphStore):
    """A `GraphStore` without nodes."""

    async def run_cypher(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Refuse the query.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("GRAPH_BACKEND=none has no Cypher.")

    async def init_schema(self, schema: SchemaDefinition) -> None:
        """Do nothing."""

    async def set_scope(self, scope: MemoryScope) -> None:
        """Do nothing."""


class NullVectorStore(_Unopened, VectorStore):
    """A `VectorStore` without vectors."""
