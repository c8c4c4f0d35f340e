"""The interface of an embedding provider, and its exceptions.

EmbeddingError              a text could not be embedded: the memory is saved without its vector
└── EmbeddingConfigError    a setting is wrong: raised at start, names the setting
"""

from __future__ import annotations

import logging
from typing import Protocol, cast, runtime_checkable

from pgmem.errors import PgmemError

log = logging.getLogger("pgmem")


class EmbeddingError(PgmemError):
    """The provider could not make a vector.

    The message is safe to log and to show to an agent: it holds no key, no credentials of an address, no body of an
    answer and no text that was to be embedded.

    Attributes:
        transient: whether the same call may succeed later without a changed setting, because the server is down, busy
            or slow, or the model is still loading.
        retry_after: seconds that the server asked to wait; None if it did not.
    """

    def __init__(self, message: str, *, transient: bool = False, retry_after: float | None = None) -> None:
        """Set the message, and whether and when to try again."""
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


class EmbeddingConfigError(EmbeddingError, ValueError):
    """An embedding setting is missing, unknown or contradicts the model. The message names the setting."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Turns texts into vectors. Independent of any vendor of language models.

    A provider that also has a `model` says under which name its vectors are stored; see `named`.

    Attributes:
        dimensions: length of every vector; 0 if the provider makes none.
    """

    dimensions: int

    async def embed(self, text: str) -> list[float]:
        """Embed one text.

        Returns:
            A vector of `dimensions` floats and length 1; `[]` if the text is blank or the provider is `none`. Search
            is then by full text only.

        Raises:
            EmbeddingError: no vector could be made.
        """
        ...

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        """Embed many texts.

        Returns:
            One entry for each text, in the same order, as `embed` returns it.

        Raises:
            EmbeddingError: at least one vector could not be made; none is returned.
        """
        ...

    async def health_check(self) -> bool:
        """Return whether `embed` would work now. Never raises. Loads a local model that is not loaded yet."""
        ...


class NamedProvider(EmbeddingProvider, Protocol):
    """A provider that names its vectors.

    Attributes:
        model: name that is stored with each vector, `provider:model`. Only vectors of one name can be compared.
    """

    model: str


class _Named:
    """A provider without a name, under one that is given."""

    def __init__(self, provider: EmbeddingProvider, model: str) -> None:
        self.model = model
        self.dimensions = provider.dimensions
        self.embed = provider.embed
        self.embed_batch = provider.embed_batch
        self.health_check = provider.health_check


def named(provider: EmbeddingProvider, model: str | None = None) -> NamedProvider:
    """Return a provider with the name that its vectors are stored under.

    Args:
        provider: of a caller. One that has a `model` is returned as it is.
        model: the name of one that has none; None takes the name of its class, which the log says.
    """
    if hasattr(provider, "model"):
        return cast(NamedProvider, provider)
    if model is None:
        model = type(provider).__name__
        log.warning(
            "the provider %s has no model: its vectors are stored as %s, together with those of every other model of "
            "this class; an attribute `model` names them",
            model,
            model,
        )
    return _Named(provider, model)
