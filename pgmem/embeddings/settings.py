"""The settings of an embedding provider, under the names users write in their environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from pgmem.embeddings.protocol import EmbeddingConfigError

__all__ = ["OLLAMA_URL", "OPENAI_URL", "EmbeddingSettings", "ProviderName"]

OLLAMA_URL: Final = "http://localhost:11434"
OPENAI_URL: Final = "https://api.openai.com/v1"

ProviderName = Literal["none", "ollama", "openai", "sentence_transformer", "fastembed", "static"]

_FIELDS: Final = {
    "EMBEDDING_PROVIDER": "provider",
    "EMBEDDING_MODEL": "model",
    "EMBEDDING_DIMENSIONS": "dimensions",
    "EMBEDDING_TIMEOUT": "timeout",
    "OLLAMA_URL": "ollama_url",
    "OPENAI_BASE_URL": "openai_base_url",
    "OPENAI_API_KEY": "openai_api_key",
}
_NAMES: Final = {field: name for name, field in _FIELDS.items()}


class EmbeddingSettings(BaseModel):
    """Which provider embeds, with which model, and where it is asked.

    Addresses and key stay out of `repr`. `provider="none"` ignores all the rest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    provider: ProviderName = Field(
        default="static",
        description="Who makes the vectors; none: full text only.",
    )
    model: str | None = Field(
        default=None,
        description="Name of a model, or a folder that holds one; unset: the provider's default.",
    )
    dimensions: int | None = Field(
        default=None,
        ge=1,
        le=16_000,
        description="Length of the vectors; needed only for a model that pgmem does not know.",
    )
    timeout: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description="Seconds to wait for one answer of a server, or for a local model to load.",
    )
    ollama_url: str = Field(
        default=OLLAMA_URL,
        repr=False,
        description="Where Ollama listens.",
    )
    openai_base_url: str = Field(
        default=OPENAI_URL,
        repr=False,
        description="Base address of OpenAI's API or of one that speaks it.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        repr=False,
        description="Sent as a bearer token.",
    )

    @classmethod
    def from_mapping(cls, config: Mapping[str, object]) -> Self:
        """Read the settings from a mapping such as `os.environ`; other names and empty values count as unset.

        Raises:
            EmbeddingConfigError: a value does not fit; the message names the setting, never the value.
        """
        given = {field: _stripped(config.get(name)) for name, field in _FIELDS.items()}
        try:
            return cls.model_validate({field: value for field, value in given.items() if value is not None})
        except ValidationError as error:
            wrong = "; ".join(
                f"{_NAMES[str(problem['loc'][0])]}: {problem['msg']}"
                for problem in error.errors(include_input=False)
            )
        raise EmbeddingConfigError(
            wrong
        )  # outside the handler: pydantic's error would come along with the values


def _stripped(value: object) -> object:
    return (value.strip() or None) if isinstance(value, str) else value
