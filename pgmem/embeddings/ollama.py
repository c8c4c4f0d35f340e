"""Embeddings from an Ollama server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar, Final

import anyio

from pgmem.embeddings.base import dimensions_of, known
from pgmem.embeddings.http import HttpProvider
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.settings import OLLAMA_URL

DEFAULT_MODEL: Final = "nomic-embed-text"

_DIMENSIONS: Final = {
    "nomic-embed-text": 768,
    "nomic-embed-text-v2-moe": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "bge-m3": 1024,
    "embeddinggemma": 768,
}
"""Models of Ollama's library, with vectors of the same length for every tag."""


class OllamaProvider(HttpProvider):
    """Calls `POST /api/embed`. Ollama truncates a text that is too long for the model."""

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
        """Set the model and the server; no request is made yet.

        Args:
            model: the name that `ollama list` shows.
            dimensions: length of its vectors; required if pgmem does not know the model.
            url: the address of Ollama; may hold `user:password@`.
            timeout: seconds for one request; the first one may include loading the model.
            sleep: called with the seconds to wait between attempts.

        Raises:
            EmbeddingConfigError: the length is unknown or contradicts the model, or the address is invalid.
        """
        size = dimensions_of(model, dimensions, known(_DIMENSIONS, model.partition(":")[0]))
        super().__init__(model=f"ollama:{model}", dimensions=size, url=url, timeout=timeout, sleep=sleep)
        self._name = model

    async def health_check(self) -> bool:
        """Return whether Ollama answers and has the model, by one request that loads nothing. Never raises."""
        try:
            answer = await self._request("GET", "/api/tags")
        except EmbeddingError:
            return False
        models = answer.get("models") if isinstance(answer, dict) else None
        names = [each.get("name") for each in models or [] if isinstance(each, dict)]
        return self._name in names or f"{self._name}:latest" in names

    async def _request_vectors(self, texts: list[str]) -> list[list[float]]:
        answer = await self._post("/api/embed", {"model": self._name, "input": texts})
        return self._checked(answer.get("embeddings") if isinstance(answer, dict) else None, len(texts))
