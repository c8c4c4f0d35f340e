"""The base class of the providers: blank texts, batches, and a health check that never raises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError


class BaseProvider(ABC):
    """An `EmbeddingProvider` whose subclasses see only texts that can be embedded."""

    def __init__(self, *, model: str, dimensions: int) -> None:
        """Set the name that is stored with each vector, and the length of the vectors."""
        self.model = model
        self.dimensions = dimensions

    def __repr__(self) -> str:
        """Return class, model and dimensions; never an address or a key."""
        return f"<{type(self).__name__} model={self.model!r} dimensions={self.dimensions}>"

    @abstractmethod
    async def _embed(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are not blank and are valid Unicode; returns a vector of length 1 for each, in order."""

    async def embed(self, text: str) -> list[float]:
        """Embed one text: `dimensions` floats of length 1, or `[]` for a blank text.

        Raises:
            EmbeddingError: no vector could be made.
        """
        return (await self.embed_batch([text]))[0]

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        """Embed many texts: one vector each, in order, `[]` where the text is blank.

        Raises:
            EmbeddingError: at least one vector could not be made; none is returned.
        """
        wanted = [index for index, text in enumerate(texts) if text.strip()]
        answer: list[list[float]] = [[] for _ in texts]
        if not wanted:
            return answer
        if not all(_is_unicode(texts[index]) for index in wanted):
            raise EmbeddingError(f"{self.model}: a text is not valid Unicode (half of a surrogate pair)")
        vectors = await self._embed([texts[index] for index in wanted])
        for index, vector in zip(wanted, vectors, strict=True):
            answer[index] = vector
        return answer

    async def health_check(self) -> bool:
        """Return whether `embed` would work now, by embedding a word. Never raises."""
        try:
            return len(await self.embed("ok")) == self.dimensions
        except EmbeddingError:
            return False

    async def aclose(self) -> None:  # noqa: B027  (not abstract: only providers with connections need it)
        """Close the connections. The provider may be used again afterwards."""

    async def __aenter__(self) -> Self:
        """Return the provider; it closes at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the provider."""
        await self.aclose()


def batches(texts: list[str], size: int) -> Iterator[list[str]]:
    """Split a list into lists of at most `size` texts, in order."""
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def dimensions_of(model: str, given: int | None, native: int | None) -> int:
    """Return the length of a model's vectors, from the setting or the known length of the model.

    Args:
        model: the model's name, for the message.
        given: EMBEDDING_DIMENSIONS, or None.
        native: the length according to pgmem or the model's own files; None if unknown.

    Raises:
        EmbeddingConfigError: the length is unknown, or the two disagree.
    """
    size = native if given is None else given
    if size is None:
        raise EmbeddingConfigError(f"EMBEDDING_DIMENSIONS: not known for the model {model!r}, set it")
    if native is not None and size != native:
        raise EmbeddingConfigError(f"EMBEDDING_DIMENSIONS: {size} given, but {model!r} has {native}")
    return size


def known(table: Mapping[str, int], model: str) -> int | None:
    """Look up a model's dimensions, ignoring case; None if the table lacks it."""
    return next((size for name, size in table.items() if name.lower() == model.lower()), None)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
