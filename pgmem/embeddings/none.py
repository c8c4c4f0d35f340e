"""No embeddings: search is by full text only."""

from __future__ import annotations

from pgmem.embeddings.base import BaseProvider


class NullProvider(BaseProvider):
    """Makes no vectors: `dimensions` is 0, every vector is `[]`, and it is always healthy."""

    def __init__(self) -> None:
        """Set the name none and dimensions 0."""
        super().__init__(model="none", dimensions=0)

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        return [[] for _ in texts]
