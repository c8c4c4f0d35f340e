"""Embedding providers: they turn texts into vectors.

`create_provider(config)` reads the settings and builds a provider. Building one opens no connection and loads no model,
so a server starts at once; the first text pays for it. Each provider is in the module of its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from pydantic import ValidationError

from pgmem.embeddings.base import BaseProvider
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError, EmbeddingProvider
from pgmem.settings import EmbeddingSettings, variables

__all__ = [
    "BaseProvider",
    "EmbeddingConfigError",
    "EmbeddingError",
    "EmbeddingProvider",
    "EmbeddingSettings",
    "create_provider",
]


def create_provider(config: Mapping[str, object] | EmbeddingSettings) -> BaseProvider:
    """Build the provider that the settings name.

    Args:
        config: the settings, such as a `Settings`, or a mapping such as `os.environ` with EMBEDDING_PROVIDER,
            EMBEDDING_MODEL, EMBEDDING_DIMENSIONS, EMBEDDING_TIMEOUT, OLLAMA_URL, OPENAI_BASE_URL, OPENAI_API_KEY, each
            also with PGMEM_ before it. Other names of a mapping are ignored.

    Returns:
        An `EmbeddingProvider` that can also be closed.

    Raises:
        EmbeddingConfigError: a setting is unknown, missing or contradicts the model; the message names it.
    """
    settings = config if isinstance(config, EmbeddingSettings) else _read(config)
    model, size, timeout = settings.embedding_model, settings.embedding_dimensions, settings.embedding_timeout
    match (
        settings.embedding_provider
    ):  # the module of a provider, with its own imports, is imported only if it is used
        case "none":
            from pgmem.embeddings.none import NullProvider

            return NullProvider()
        case "static":
            from pgmem.embeddings import static

            return static.StaticProvider(model or static.DEFAULT_MODEL, size, timeout=timeout)
        case "ollama":
            from pgmem.embeddings import ollama

            return ollama.OllamaProvider(
                model or ollama.DEFAULT_MODEL, size, url=settings.ollama_url, timeout=timeout
            )
        case "openai":
            from pgmem.embeddings import openai

            return openai.OpenAIProvider(
                model or openai.DEFAULT_MODEL,
                size,
                url=settings.openai_base_url,
                key=settings.openai_api_key,
                timeout=timeout,
            )
        case "fastembed":
            from pgmem.embeddings.fastembed import FastEmbedProvider

            return FastEmbedProvider(model, size, timeout=timeout)
        case "sentence_transformer":
            from pgmem.embeddings.sentence_transformer import SentenceTransformerProvider

            return SentenceTransformerProvider(model, size, timeout=timeout)
        case unknown:
            assert_never(unknown)


def _read(config: Mapping[str, object]) -> EmbeddingSettings:
    """Read the settings from a mapping by the names of their variables; the error names one, never its value."""
    try:
        return EmbeddingSettings.model_validate(
            {name: value for name, value in config.items() if value is not None}, by_name=False
        )
    except ValidationError as error:
        wrong = "; ".join(
            f"{_given_as(str(problem['loc'][0]), config)}: {problem['msg']}"
            for problem in error.errors(include_input=False)
        )
    # Outside the handler, because the context of the exception would hold the values.
    raise EmbeddingConfigError(wrong)


def _given_as(name: str, config: Mapping[str, object]) -> str:
    """The name under which a mapping holds a setting; `name` is the first of those that are read."""
    return next(each for each in variables(name.removeprefix("PGMEM_").lower()) if each in config)
