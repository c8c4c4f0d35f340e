"""The public names of pgmem.features.stores."""

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
from pgmem.features.stores.fusion import Hit, HybridConfig, HybridSearchEngine, Ranking

__all__ = [
    "GraphStore",
    "Hit",
    "HybridConfig",
    "HybridSearchEngine",
    "NullGraphStore",
    "NullVectorStore",
    "PgGraphStore",
    "PgStore",
    "PgVectorStore",
    "Ranking",
    "VectorStore",
    "create_stores",
]
