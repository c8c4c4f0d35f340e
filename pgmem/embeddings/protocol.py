"""What an embedding provider is, and what it raises.

EmbeddingError              a text could not be embedded: the memory is saved without its vector
└── EmbeddingConfigError    a setting is wrong: raised at start, names the setting
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pgmem.errors import PgmemError

__all__ = ["EmbeddingConfigError", "EmbeddingError", "EmbeddingProvider"]


class EmbeddingError(PgmemError):
    """The provider could not make a vector.

    The message is safe to log and to show to an agent: it never holds a key, the credentials of an
    address, an answer's body, or the text that was to be embedded.

    Attributes:
        transient: True when the same call may succeed later without a changed setting (the server is
            down, busy or slow; the model is still loading). False when asking again cannot help.
        retry_after: seconds the server asked to be left alone, or None when it did not say.
    """

    def __init__(self, message: str, *, transient: bool = False, retry_after: float | None = None) -> None:
        """Take the message and what is known about trying again."""
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


class EmbeddingConfigError(EmbeddingError, ValueError):
    """An embedding setting is missing, unknown or contradicts the model. The message names the setting."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Turns texts into vectors. Independent of any vendor of language models.

    Attributes:
        dimensions: length of every vector this provider makes; 0 when it makes none.
        model: name kept beside each vector, `provider:model`. Vectors are comparable only under one name.
    """

    dimensions: int
    model: str

    async def embed(self, text: str) -> list[float]:
        """Embed one text.

        Returns:
            A vector of `dimensions` floats and length 1, or `[]` when there is nothing to embed: the
            text is blank, or the provider is `none`. `[]` means: full text only.

        Raises:
            EmbeddingError: no vector could be made.
        """
        ...

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        """Embed many texts.

        Returns:
            One entry per text, in the same order, each as `embed` would answer.

        Raises:
            EmbeddingError: at least one vector could not be made; none is returned.
        """
        ...

    async def health_check(self) -> bool:
        """Say whether `embed` would work now. Never raises. Loads a local model that is not loaded yet."""
        ...
