"""pgmem's stores in the shapes that the contract suite of the seed's own system expects; it adds no behaviour.

The suite lies outside the repository, in the folder that PGMEM_UPSTREAM names.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pgmem.database.database import Database
from pgmem.errors import MemoryNotFound
from pgmem.features.stores.create import NullVectorStore, PgGraphStore, PgStore
from pgmem.models import MemoryScope
from pgmem.settings import load
from tests.upstream import folder

T = TypeVar("T")

_SHOWN = ("status", "valid_from", "valid_to", "confidence", "source", "trust_level", "archived_at")

NOT_IN_THE_SEED = {
    "test_insight_lifecycle_and_dismissed_titles_alias": "get_pending_insights and get_dismissed_titles",
    "test_get_approved_titles": "get_approved_titles",
    "test_lookup_node_label_returns_str_or_none": "lookup_node_label",
    "test_lookup_node_label_is_case_insensitive": "lookup_node_label",
    "test_count_labels_excludes_insights": "count_labels",
}
"""The tests of calls that the seed document does not name, each with its call; see docs/decisions."""


def contracts(name: str) -> dict[str, Any]:
    """The tests of a file of the suite, and their fixtures; those of NOT_IN_THE_SEED and its stores are left out."""
    suite = folder("engrama-contracts")
    _stand_in()
    spec = importlib.util.spec_from_file_location(f"engrama_contracts_{name}", suite / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__") and name not in ("store", "store_pair", "pytest", *NOT_IN_THE_SEED)
    }


def _stand_in() -> None:
    """The modules of the other system that the suite imports, with the names it takes from them."""
    names = ("engrama", "engrama.core", "engrama.core.scope", "engrama.backends", "engrama.backends.sqlite")
    for name in names:
        sys.modules.setdefault(name, ModuleType(name))
    sys.modules["engrama.core.scope"].MemoryScope = MemoryScope  # type: ignore[attr-defined]
    sqlite = sys.modules["engrama.backends.sqlite"]
    sqlite.SqliteGraphStore = _NoGraph  # type: ignore[attr-defined]
    sqlite.SqliteVecStore = _NoVectors  # type: ignore[attr-defined]


class AsyncShapes:
    """The asynchronous store: nodes are flat mappings, and a missing end of a relation is an empty one."""

    def __init__(self, dsn: str, folder: Path, dimensions: int = 0) -> None:
        database = Database(load(dsn=dsn, data_dir=folder))
        self.vectors = PgStore(database, f"contract-{dimensions}", dimensions) if dimensions else None
        self.graph = self.vectors or PgGraphStore(database)
        self.ids = False

    async def act_for(self, scope: Any) -> None:
        if scope is not None:
            await self.graph.set_scope(MemoryScope(org_id=scope.org_id, user_id=scope.user_id))

    async def close(self) -> None:
        await self.graph.aclose()

    def _flat(self, node: Mapping[str, Any]) -> dict[str, Any]:
        shown = {name: node[name] for name in _SHOWN if node.get(name) is not None}
        return {**shown, **node["properties"], **({"_id": node["id"]} if self.ids else {})}

    async def merge_node(
        self, label: str, key_field: str, key: str, properties: Mapping[str, Any], embedding: Any = None
    ) -> dict[str, Any]:
        own = {name: value for name, value in properties.items() if name not in ("org_id", "user_id")}
        if "org_id" in properties:
            await self.act_for(MemoryScope(org_id=properties["org_id"], user_id=properties["user_id"]))
        node = await self.graph.merge_node(label, key_field, key, own, embedding)
        return {"node": self._flat(node), "created": node["created"]}

    async def get_node(self, label: str, key_field: str, key: str) -> dict[str, Any] | None:
        node = await self.graph.get_node(label, key_field, key)
        return None if node is None else self._flat(node)

    async def delete_node(self, label: str, key_field: str, key: str, soft: bool = True) -> bool:
        return await self.graph.delete_node(label, key_field, key, soft)

    async def merge_relation(
        self,
        from_label: str,
        from_key: str,
        from_value: str,
        rel_type: str,
        to_label: str,
        to_key: str,
        to_value: str,
        scope: Any = None,
    ) -> dict[str, Any]:
        await self.act_for(scope)
        try:
            made = await self.graph.merge_relation(
                from_label, from_key, from_value, rel_type, to_label, to_key, to_value
            )
        except MemoryNotFound:
            return {}
        return {**made, "from_name": from_value, "to_name": to_value, "from_obsidian_path": None}

    async def get_neighbours(
        self, label: str, key_field: str, key: str, hops: int = 1, limit: int = 50, scope: Any = None
    ) -> list[dict[str, Any]]:
        await self.act_for(scope)
        found = []
        for near in await self.graph.get_neighbours(label, key_field, key, hops, limit):
            node = await self.graph.get_node(near["label"], "id", near["id"])
            assert node is not None
            via = [
                step if isinstance(step, str) else step.get("rel_type", step.get("rel"))
                for step in near["path"]
            ]
            found.append(
                {
                    "label": near["label"],
                    "name": near["key"],
                    "via": [str(rel).lstrip("<") for rel in via],
                    "properties": node["properties"],
                    "neighbour": {"name": near["key"]},
                }
            )
        return found

    async def get_node_with_neighbours(
        self, label: str, key_field: str, key: str, hops: int = 1, scope: Any = None
    ) -> dict[str, Any] | None:
        node = await self.get_node(label, key_field, key)
        if node is None:
            return None
        return {
            "node": node,
            "neighbours": await self.get_neighbours(label, key_field, key, hops, scope=scope),
        }

    async def fulltext_search(self, query: str, limit: int = 10, scope: Any = None) -> list[dict[str, Any]]:
        await self.act_for(scope)
        return [{**row, "name": row["key"]} for row in await self.graph.fulltext_search(query, limit)]

    async def health_check(self) -> dict[str, Any]:
        return await self.graph.health_check()


class Shapes:
    """The same for callers that do not await; a node is a record under `n`."""

    def __init__(self, inner: AsyncShapes) -> None:
        self.inner = inner
        inner.ids = True
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._conn = None

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(60)

    def close(self) -> None:
        self.run(self.inner.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def merge_node(self, *arguments: Any, **more: Any) -> list[dict[str, Any]]:
        return [{"n": self.run(self.inner.merge_node(*arguments, **more))["node"]}]

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        return lambda *arguments, **more: self.run(call(*arguments, **more))


class VectorShapes:
    """The vectors of the same store; `count_embeddings` and `search_similar` are other names."""

    def __init__(self, shapes: Shapes) -> None:
        store = shapes.inner.vectors
        assert store is not None
        self._shapes, self._store = shapes, store
        self.dimensions = store.dimensions

    def ensure_index(self) -> None:
        """The store makes it by itself."""

    def store_vectors(self, items: Sequence[tuple[str, Sequence[float]]]) -> int:
        return self._shapes.run(self._store.store_vectors(items))

    def search_vectors(
        self, vector: Sequence[float], limit: int = 10, scope: Any = None
    ) -> list[dict[str, Any]]:
        self._shapes.run(self._shapes.inner.act_for(scope))
        return self._shapes.run(self._store.search_vectors(vector, limit))

    search_similar = search_vectors

    def delete_vectors(self, ids: Sequence[str]) -> int:
        return self._shapes.run(self._store.delete_vectors(ids))

    def count(self) -> int:
        return self._shapes.run(self._store.count())

    count_embeddings = count

    def store_vector_by_key(self, label: str, key_field: str, key: str, vector: Sequence[float]) -> bool:
        node = self._shapes.run(self._store.get_node(label, key_field, key))
        return node is not None and self.store_vectors([(node["id"], vector)]) == 1


class _NoGraph:
    """The objects of a test that needs no graph."""

    _conn = None

    def __init__(self, path: Path) -> None:
        del path

    def close(self) -> None:
        """Nothing is open."""


class _NoVectors:
    """A vector store of no dimensions: NullVectorStore, for callers that do not await."""

    def __init__(self, connection: object, dimensions: int) -> None:
        del connection
        assert dimensions == 0
        self._store = NullVectorStore()

    def store_vectors(self, items: Sequence[tuple[str, Sequence[float]]]) -> int:
        return asyncio.run(self._store.store_vectors(items))

    def search_vectors(self, vector: Sequence[float]) -> list[dict[str, Any]]:
        return asyncio.run(self._store.search_vectors(vector))

    def count(self) -> int:
        return asyncio.run(self._store.count())
