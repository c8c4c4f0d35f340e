"""Embedding providers: they turn texts into vectors.

`create_provider(config)` reads the settings and builds a provider. Building one opens no connection and loads no model,
so a server starts at once; the first text pays for it. Each provider is in the module of its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from pgmem.embeddings.base import BaseProvider
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError, EmbeddingProvider
from pgmem.embeddings.settings import EmbeddingSettings

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
        config: the settings, or a mapping such as `os.environ` with EMBEDDING_PROVIDER, EMBEDDING_MODEL,
            EMBEDDING_DIMENSIONS, EMBEDDING_TIMEOUT, OLLAMA_URL, OPENAI_BASE_URL, OPENAI_API_KEY.

    Returns:
        An `EmbeddingProvider` that can also be closed.

    Raises:
        EmbeddingConfigError: a setting is unknown, missing or contradicts the model; the message names it.
    """
    settings = config if isinstance(config, EmbeddingSettings) else EmbeddingSettings.from_mapping(config)
    size, timeout = settings.dimensions, settings.timeout
    match settings.provider:  # the module of a provider, and what it imports, is imported only if it is used
        case "none":
            from pgmem.embeddings.none import NullProvider

            return NullProvider()
        case "static":
            from pgmem.embeddings import static

            return static.StaticProvider(settings.model or static.DEFAULT_MODEL, size, timeout=timeout)
        case "ollama":
            from pgmem.embeddings import ollama

            return ollama.OllamaProvider(
                settings.model or ollama.DEFAULT_MODEL, size, url=settings.ollama_url, timeout=timeout
            )
        case "openai":
            from pgmem.embeddings import openai

            return openai.OpenAIProvider(
                settings.model or openai.DEFAULT_MODEL,
                size,
                url=settings.openai_base_url,
                key=settings.openai_api_key,
                timeout=timeout,
            )
        case "fastembed":
            from pgmem.embeddings.fastembed import FastEmbedProvider

            return FastEmbedProvider(settings.model, size, timeout=timeout)
        case "sentence_transformer":
            from pgmem.embeddings.sentence_transformer import SentenceTransformerProvider

            return SentenceTransformerProvider(settings.model, size, timeout=timeout)
        case unknown:
            assert_never(unknown)
