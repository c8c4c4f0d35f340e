"""The settings of an embedding provider, and their environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from pgmem.embeddings.protocol import EmbeddingConfigError

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
    """The provider, its model and its address.

    Addresses and key are left out of `repr`. With `provider="none"` the other settings are ignored.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    provider: ProviderName = Field(
        default="static", description="Provider of embeddings; none: search by full text only."
    )
    model: str | None = Field(
        default=None,
        description="Name of a model, or a folder that holds one; if unset, the provider's default.",
    )
    dimensions: int | None = Field(
        default=None,
        ge=1,
        le=16_000,
        description="Length of the vectors; required only for a model that pgmem does not know.",
    )
    timeout: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description="Seconds to wait for one answer of a server, or for a local model to load.",
    )
    ollama_url: str = Field(default=OLLAMA_URL, repr=False, description="Address of Ollama.")
    openai_base_url: str = Field(
        default=OPENAI_URL, repr=False, description="Base address of OpenAI's API or of a compatible one."
    )
    openai_api_key: SecretStr | None = Field(default=None, repr=False, description="Sent as a bearer token.")

    @classmethod
    def from_mapping(cls, config: Mapping[str, object]) -> Self:
        """Read the settings from a mapping such as `os.environ`; other names are ignored, empty values count as unset.

        Raises:
            EmbeddingConfigError: a value is invalid; the message names the setting, never the value.
        """
        given = {field: _stripped(config.get(name)) for name, field in _FIELDS.items()}
        try:
            return cls.model_validate({field: value for field, value in given.items() if value is not None})
        except ValidationError as error:
            wrong = "; ".join(
                f"{_NAMES[str(problem['loc'][0])]}: {problem['msg']}"
                for problem in error.errors(include_input=False)
            )
        # Outside the handler, because the context of the exception would hold the values.
        raise EmbeddingConfigError(wrong)


def _stripped(value: object) -> object:
    return (value.strip() or None) if isinstance(value, str) else value
