"""Embeddings from OpenAI, or from any server with its `POST /embeddings`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar, Final

import anyio
from pydantic import SecretStr

from pgmem.embeddings.base import dimensions_of, known
from pgmem.embeddings.http import HttpProvider
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError
from pgmem.settings import OPENAI_URL

DEFAULT_MODEL: Final = "text-embedding-3-small"

_DIMENSIONS: Final = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
_SHORTENABLE: Final = "text-embedding-3-"


class OpenAIProvider(HttpProvider):
    """Calls `POST {url}/embeddings` with a bearer token.

    For the `text-embedding-3` models, `dimensions` may be smaller than the model's own. The server then shortens the
    vectors, and the stored name has the length (`openai:text-embedding-3-large@1024`), because vectors of different
    lengths cannot be compared.
    """

    url_setting = "OPENAI_BASE_URL"
    hints: ClassVar[Mapping[int, str]] = {
        400: "the model's name may be wrong, or a text too long for the model",
        401: "check OPENAI_API_KEY",
        403: "check OPENAI_API_KEY",
        404: "check OPENAI_BASE_URL and EMBEDDING_MODEL",
    }

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        dimensions: int | None = None,
        *,
        key: SecretStr | None = None,
        url: str = OPENAI_URL,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Set the model and the server; no request is made yet.

        Args:
            model: the name that the server uses.
            dimensions: length of the vectors; required if pgmem does not know the model.
            key: sent as a bearer token; api.openai.com requires one.
            url: base address; that of OpenAI ends with `/v1`.
            timeout: seconds for one request.
            sleep: called with the seconds to wait between attempts.

        Raises:
            EmbeddingConfigError: the length is unknown or does not fit the model, the key is missing, or the address
                is invalid.
        """
        native = known(_DIMENSIONS, model)
        shorter = native is not None and dimensions is not None and dimensions < native
        self._shortened = shorter and model.startswith(_SHORTENABLE)
        size = dimensions_of(model, dimensions, None if self._shortened else native)
        stored = f"openai:{model}@{size}" if self._shortened else f"openai:{model}"
        super().__init__(model=stored, dimensions=size, url=url, key=key, timeout=timeout, sleep=sleep)
        self._name = model
        if self._key is None and self._url.host == "api.openai.com":
            raise EmbeddingConfigError("OPENAI_API_KEY: api.openai.com needs one")

    async def health_check(self) -> bool:
        """Return whether one word can be embedded, by one request. Never raises. OpenAI bills a token for it."""
        try:
            self._vectors(await self._request("POST", "/embeddings", self._body(["ok"])), 1)
        except EmbeddingError:
            return False
        return True

    async def _request_vectors(self, texts: list[str]) -> list[list[float]]:
        return self._vectors(await self._post("/embeddings", self._body(texts)), len(texts))

    def _body(self, texts: list[str]) -> dict[str, object]:
        body: dict[str, object] = {"model": self._name, "input": texts}
        return {**body, "dimensions": self.dimensions} if self._shortened else body

    def _vectors(self, answer: object, count: int) -> list[list[float]]:
        """Return the vectors in the order of the texts, by the `index` of each; without it, as they come."""
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
            raise EmbeddingError(f"{self.model}: the answer holds no list of vectors")
        given = [each["index"] for each in data if "index" in each]
        if given and len(data) == count:
            if not all(type(index) is int for index in given) or sorted(given) != list(range(count)):
                raise EmbeddingError(f"{self.model}: the answer does not say which vector is whose")
            data = sorted(data, key=lambda each: int(each["index"]))
        return self._checked([each.get("embedding") for each in data], count)
