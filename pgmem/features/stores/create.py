"""Stores: the storage of nodes and vectors, behind two protocols.

`create_stores(config)` reads GRAPH_BACKEND (postgres, none) and VECTOR_BACKEND (pgvector, none).
"""

from __future__ import annotations

from collections.abc import Mapping

from pgmem.database.database import Database
from pgmem.embeddings import create_provider
from pgmem.errors import InvalidArgument
from pgmem.features.stores.null import NullGraphStore, NullVectorStore
from pgmem.features.stores.postgres import PgGraphStore, PgStore, PgVectorStore
from pgmem.features.stores.protocol import GraphStore, VectorStore
from pgmem.settings import load

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

_BACKENDS = {"GRAPH_BACKEND": ("postgres", "none"), "VECTOR_BACKEND": ("pgvector", "none")}


def create_stores(
    config: Mapping[str, object],
) -> tuple[PgGraphStore | NullGraphStore, PgVectorStore | NullVectorStore]:
    """Make the two stores that a mapping such as `os.environ` names; the first call opens the database.

    If both are in PostgreSQL, they are one object over one pool. The vectors are those of the embedding provider of the
    mapping; with EMBEDDING_PROVIDER=none there are none.

    Args:
        config: GRAPH_BACKEND (postgres), VECTOR_BACKEND (pgvector), PGMEM_DSN, PGMEM_DATA_DIR,
            DEFAULT_ORG_ID, DEFAULT_USER_ID and the settings of the embedding provider.

    Raises:
        InvalidArgument: an unknown backend; the message lists the known ones.
        EmbeddingConfigError: a setting of the embedding provider is invalid.
    """
    graph = _backend(config, "GRAPH_BACKEND")
    vector = _backend(config, "VECTOR_BACKEND")
    if (graph, vector) == ("none", "none"):
        return NullGraphStore(), NullVectorStore()
    settings = load(
        dsn=config.get("PGMEM_DSN"),
        data_dir=config.get("PGMEM_DATA_DIR"),
        org_id=config.get("DEFAULT_ORG_ID"),
        user_id=config.get("DEFAULT_USER_ID"),
        # The mapping has named them, whatever the environment says.
        graph_backend="postgres",
        vector_backend="pgvector",
    )
    database = Database(settings)
    provider = create_provider(config)
    if graph == "none":
        return NullGraphStore(), (
            PgVectorStore(database, provider.model, provider.dimensions)
            if provider.dimensions
            else NullVectorStore()
        )
    if vector == "none" or provider.dimensions == 0:
        return PgGraphStore(database), NullVectorStore()
    store = PgStore(database, provider.model, provider.dimensions)
    return store, store


def _backend(config: Mapping[str, object], name: str) -> str:
    known = _BACKENDS[name]
    given = str(config.get(name) or known[0]).strip().lower()
    if name == "VECTOR_BACKEND" and given == "postgres":
        given = "pgvector"
    if given not in known:
        raise InvalidArgument(f"Unknown backend {name}={given!r}. Known: {', '.join(known)}.")
    return given
