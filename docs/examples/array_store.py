from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pgmem.models import MemoryScope
from pgmem.stores import VectorStore


class ArrayVectorStore(VectorStore):
    """Vectors in one array, compared one by one. The id of a node is its label and its key: Tool/hammer."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self.dimensions = int(str(config.get("EMBEDDING_DIMENSIONS") or 256))
        self.ids: list[str] = []
        self.array = np.zeros((0, self.dimensions), np.float32)

    async def store_vectors(self, items: Sequence[tuple[str, Sequence[float]]]) -> int:
        for node_id, vector in items:
            row = np.asarray(vector, np.float32)
            length = float(np.linalg.norm(row))
            if row.shape != (self.dimensions,) or not length > 0 or not np.isfinite(length):
                raise ValueError(f"{node_id}: send {self.dimensions} finite numbers, not all of them 0")
            await self.delete_vectors([node_id])
            self.ids.append(node_id)
            self.array = np.vstack([self.array, row / length])
        return len(items)

    async def search_vectors(
        self, query_embedding: Sequence[float], limit: int = 10, scope: MemoryScope | None = None
    ) -> list[dict[str, Any]]:
        if scope not in (None, MemoryScope()):
            raise NotImplementedError("this store is of one person: make one for each")
        asked = np.asarray(query_embedding, np.float32)
        cosines = self.array @ (asked / np.linalg.norm(asked))
        found = []
        for place in np.argsort(-cosines, kind="stable")[:limit]:
            label, _, key = self.ids[place].partition("/")
            found.append(
                {"node_id": self.ids[place], "score": float(cosines[place]), "label": label, "key": key}
            )
        return found

    async def delete_vectors(self, node_ids: Sequence[str]) -> int:
        kept = [place for place, node_id in enumerate(self.ids) if node_id not in set(node_ids)]
        gone = len(self.ids) - len(kept)
        self.ids, self.array = [self.ids[place] for place in kept], self.array[kept]
        return gone

    async def count(self) -> int:
        return len(self.ids)
