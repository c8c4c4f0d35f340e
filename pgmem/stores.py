"""The public names of pgmem.features.stores.create."""

from __future__ import annotations

from pgmem.features.stores.create import (
    GraphStore,
    NullGraphStore,
    NullVectorStore,
    PgGraphStore,
    PgStore,
    PgVectorStore,
    VectorStore,
    create_stores,
)

__all__ = [
    "GraphStore",
    "NullGraphStore",
    "NullVectorStore",
    "PgGraphStore",
    "PgStore",
    "PgVectorStore",
    "VectorStore",
    "create_stores",
]
