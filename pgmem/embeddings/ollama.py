"""Embeddings from an Ollama server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar, Final

import anyio

from pgmem.embeddings.base import dimensions_of, known
from pgmem.embeddings.http import HttpProvider
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.embeddings.settings import OLLAMA_URL

__all__ = ["DEFAULT_MODEL", "OllamaProvider"]

DEFAULT_MODEL: Final = "nomic-embed-text"

_DIMENSIONS: Final = {
    "nomic-embed-text": 768,
    "nomic-embed-text-v2-moe": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "bge-m3": 1024,
    "embeddinggemma": 768,
}
"""Models of Ollama's library whose tags all have one size."""


class OllamaProvider(HttpProvider):
    """Asks `POST /api/embed`. Ollama cuts a text that is longer than the model reads."""

    url_setting = "OLLAMA_URL"
    hints: ClassVar[Mapping[int, str]] = {404: "get the model with `ollama pull`"}

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        dimensions: int | None = None,
        *,
        url: str = OLLAMA_URL,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Name the model and the server; nothing is asked yet.

        Args:
            model: as `ollama list` shows it.
            dimensions: length of its vectors; needed when pgmem does not know the model.
            url: where Ollama listens; may hold `user:password@`.
            timeout: seconds for one request, in which a first one may also load the model.
            sleep: waits so many seconds between attempts.

        Raises:
            EmbeddingConfigError: the size is unknown or contradicts the model, or the address is unusable.
        """
        size = dimensions_of(model, dimensions, known(_DIMENSIONS, model.partition(":")[0]))
        super().__init__(model=f"ollama:{model}", dimensions=size, url=url, timeout=timeout, sleep=sleep)
        self._name = model

    async def health_check(self) -> bool:
        """Say whether Ollama answers and has the model. Asks once; loads nothing. Never raises."""
        try:
            answer = await self._request("GET", "/api/tags")
        except EmbeddingError:
            return False
        models = answer.get("models") if isinstance(answer, dict) else None
        names = [each.get("name") for each in models or [] if isinstance(each, dict)]
        return self._name in names or f"{self._name}:latest" in names

    async def _ask(self, texts: list[str]) -> list[list[float]]:
        answer = await self._post("/api/embed", {"model": self._name, "input": texts})
        return self._checked(answer.get("embeddings") if isinstance(answer, dict) else None, len(texts))
