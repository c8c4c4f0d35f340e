"""Stores: the storage of nodes and vectors, behind two protocols.

`create_stores(config)` reads GRAPH_BACKEND (postgres, none) and VECTOR_BACKEND (pgvector, none), and the backends
that a caller brings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, overload

from pgmem.database.database import Database
from pgmem.embeddings import create_provider
from pgmem.errors import InvalidArgument
from pgmem.features.stores.null import NullGraphStore, NullVectorStore
from pgmem.features.stores.postgres import PgGraphStore, PgStore, PgVectorStore
from pgmem.features.stores.protocol import GraphStore, VectorStore
from pgmem.settings import load

__all__ = [
    "Backends",
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


Backends: TypeAlias = Mapping[str, Callable[[Mapping[str, object]], Any]]
"""The maker of the store of a name that GRAPH_BACKEND or VECTOR_BACKEND may have, of the whole mapping."""


@overload
def create_stores(
    config: Mapping[str, object],
) -> tuple[PgGraphStore | NullGraphStore, PgVectorStore | NullVectorStore]: ...


@overload
def create_stores(config: Mapping[str, object], backends: Backends) -> tuple[GraphStore, VectorStore]: ...


def create_stores(
    config: Mapping[str, object], backends: Backends | None = None
) -> tuple[GraphStore, VectorStore]:
    """Make the two stores that a mapping such as `os.environ` names; the first call opens the database.

    If both are in PostgreSQL, they are one object over one pool; so are both of one name of `backends`. The vectors in
    PostgreSQL are those of the embedding provider of the mapping; with EMBEDDING_PROVIDER=none there are none.

    Args:
        config: GRAPH_BACKEND (postgres), VECTOR_BACKEND (pgvector), PGMEM_DSN, PGMEM_DATA_DIR,
            DEFAULT_ORG_ID, DEFAULT_USER_ID and the settings of the embedding provider.
        backends: of the caller, by name, such as `{"networkx": NetworkXGraphStore}`; each is called with `config`.

    Raises:
        InvalidArgument: an unknown backend, or a store that lacks methods of its protocol; the message lists them.
        EmbeddingConfigError: a setting of the embedding provider is invalid.
    """
    brought = backends or {}
    graph = _backend(config, "GRAPH_BACKEND", brought)
    vector = _backend(config, "VECTOR_BACKEND", brought)
    made = {name: brought[name](config) for name in (graph, vector) if name in brought}
    own_graph = _checked(made.get(graph), GraphStore, graph)
    own_vector = _checked(made.get(vector), VectorStore, vector)
    if own_graph and own_vector:
        return own_graph, own_vector
    ours = _ours(config, "none" if own_graph else graph, "none" if own_vector else vector)
    return own_graph or ours[0], own_vector or ours[1]


def _ours(
    config: Mapping[str, object], graph: str, vector: str
) -> tuple[PgGraphStore | NullGraphStore, PgVectorStore | NullVectorStore]:
    """The two stores of pgmem that are named postgres, pgvector or none."""
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


def _checked(store: Any, protocol: type, backend: str) -> Any:
    if store is None or isinstance(store, protocol):
        return store
    asked = [*protocol.__annotations__, *(name for name in vars(protocol) if not name.startswith("_"))]
    missing = [name for name in dict.fromkeys(asked) if not hasattr(store, name)]
    raise InvalidArgument(
        f"The backend {backend!r} is not a {protocol.__name__}: {type(store).__name__} lacks {', '.join(missing)}."
    )


def _backend(config: Mapping[str, object], name: str, brought: Backends) -> str:
    known = (*_BACKENDS[name], *brought)
    given = str(config.get(name) or known[0]).strip()
    if given in brought:
        return given
    given = given.lower()
    if name == "VECTOR_BACKEND" and given == "postgres":
        given = "pgvector"
    if given not in known:
        raise InvalidArgument(f"Unknown backend {name}={given!r}. Known: {', '.join(known)}.")
    return given
