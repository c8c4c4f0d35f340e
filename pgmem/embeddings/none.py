"""No embeddings: memory is found by full text only."""

from __future__ import annotations

from pgmem.embeddings.base import BaseProvider

__all__ = ["NullProvider"]


class NullProvider(BaseProvider):
    """Makes no vectors: `dimensions` is 0, every answer is `[]`, and it is always healthy."""

    def __init__(self) -> None:
        """Take nothing: there is nothing to set."""
        super().__init__(model="none", dimensions=0)

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        return [[] for _ in texts]
