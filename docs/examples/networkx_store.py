import re
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx

from pgmem.models import MemoryScope, SchemaDefinition
from pgmem.stores import GraphStore


def words(text: object) -> set[str]:
    return set(re.findall(r"\w+", str(text).lower()))


class NetworkXGraphStore(GraphStore):
    """Nodes by label and key in the memory of a program. It has no history and no decay: those are GraphStore's own."""

    def __init__(self, _: Mapping[str, object]) -> None:
        self.nodes = nx.MultiDiGraph()

    def _found(self, label: str, key_field: str, key_value: str) -> tuple[str, str] | None:
        node = (label, key_value)
        return node if self.nodes.nodes.get(node, {}).get(key_field) == key_value else None

    def _shown(self, node: tuple[str, str]) -> dict[str, Any]:
        return {"status": "active", **self.nodes.nodes[node], "label": node[0], "key": node[1]}

    async def merge_node(
        self,
        label: str,
        key_field: str,
        key_value: str,
        properties: Mapping[str, Any],
        embedding: Sequence[float] | None = None,
    ) -> dict[str, Any]:
        if embedding is not None:
            raise ValueError("this store keeps no vectors: give them to a vector store")
        created = self._found(label, key_field, key_value) is None
        self.nodes.add_node((label, key_value), **{**properties, key_field: key_value, "status": "active"})
        return {**self._shown((label, key_value)), "created": created}

    async def get_node(self, label: str, key_field: str, key_value: str) -> dict[str, Any] | None:
        node = self._found(label, key_field, key_value)
        return None if node is None else self._shown(node)

    async def delete_node(self, label: str, key_field: str, key_value: str, soft: bool = True) -> bool:
        node = self._found(label, key_field, key_value)
        if node is None or (soft and self._shown(node)["status"] == "archived"):
            return False
        if soft:
            self.nodes.nodes[node]["status"] = "archived"
        else:
            self.nodes.remove_node(node)
        return True

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
        ends = self._found(from_label, from_key, from_value), self._found(to_label, to_key, to_value)
        if None in ends:
            raise KeyError(f"no node {from_value!r} or no node {to_value!r}")
        created = not self.nodes.has_edge(*ends, key=rel_type)
        self.nodes.add_edge(*ends, key=rel_type)
        return {"rel_type": rel_type, "created": created}

    async def get_neighbours(
        self, label: str, key_field: str, key_value: str, hops: int = 1, limit: int = 50
    ) -> list[dict[str, Any]]:
        if (start := self._found(label, key_field, key_value)) is None:
            return []
        near = nx.single_source_shortest_path_length(
            self.nodes.to_undirected(as_view=True), start, cutoff=hops
        )
        found = [{**self._shown(node), "depth": depth} for node, depth in near.items() if node != start]
        return [node for node in found if node["status"] == "active"][:limit]

    async def fulltext_search(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """A word counts for more, the fewer nodes have it."""
        live = [node for node in self.nodes if self._shown(node)["status"] == "active"]
        texts = {node: words(" ".join(map(str, self.nodes.nodes[node].values()))) for node in live}
        weights = {word: 1 / (1 + sum(word in text for text in texts.values())) for word in words(query)}
        scores = {node: sum(weights[word] for word in weights.keys() & text) for node, text in texts.items()}
        best = sorted((node for node in live if scores[node]), key=lambda node: -scores[node])[:limit]
        return [
            {"node": self._shown(node), "score": scores[node], "label": node[0], "key": node[1]}
            for node in best
        ]

    async def run_cypher(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        raise NotImplementedError("NetworkX has no Cypher")

    async def init_schema(self, schema: SchemaDefinition) -> None:
        """Labels and relations need no preparation."""

    async def health_check(self) -> dict[str, Any]:
        return {"status": "ok", "backend": "networkx", "version": nx.__version__}

    async def set_scope(self, scope: MemoryScope) -> None:
        if scope != MemoryScope():
            raise NotImplementedError("this store is of one person: make one for each")
