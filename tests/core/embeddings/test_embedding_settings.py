"""The provider of each setting, and the message of a wrong one."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import SecretStr

from pgmem.embeddings import (
    EmbeddingConfigError,
    EmbeddingError,
    EmbeddingProvider,
    EmbeddingSettings,
    create_provider,
)
from pgmem.settings import load, variable

KEY = "sk-very-secret"


@pytest.mark.parametrize(
    ("config", "model", "dimensions"),
    [
        ({}, "static:l2_supercat_256", 256),
        ({"EMBEDDING_PROVIDER": "none"}, "none", 0),
        ({"EMBEDDING_PROVIDER": "static"}, "static:l2_supercat_256", 256),
        ({"EMBEDDING_PROVIDER": "ollama"}, "ollama:nomic-embed-text", 768),
        (
            {
                "EMBEDDING_PROVIDER": "ollama",
                "EMBEDDING_MODEL": "nomic-embed-text",
                "EMBEDDING_DIMENSIONS": "768",
                "OLLAMA_URL": "http://localhost:11434",
            },
            "ollama:nomic-embed-text",
            768,
        ),
        (
            {"EMBEDDING_PROVIDER": "ollama", "EMBEDDING_MODEL": "mine:7b", "EMBEDDING_DIMENSIONS": "99"},
            "ollama:mine:7b",
            99,
        ),
        ({"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": KEY}, "openai:text-embedding-3-small", 1536),
        (
            {
                "EMBEDDING_PROVIDER": "openai",
                "OPENAI_API_KEY": SecretStr(KEY),
                "EMBEDDING_MODEL": "text-embedding-3-large",
                "EMBEDDING_DIMENSIONS": 1024,
            },
            "openai:text-embedding-3-large@1024",
            1024,
        ),
        ({"EMBEDDING_PROVIDER": "fastembed"}, "fastembed:BAAI/bge-small-en-v1.5", 384),
        ({"EMBEDDING_PROVIDER": "sentence_transformer"}, "sentence_transformer:all-MiniLM-L6-v2", 384),
    ],
)
def test_settings_name_a_provider_with_its_model_and_dimensions(
    config: dict[str, object], model: str, dimensions: int
) -> None:
    provider = create_provider(config)
    assert isinstance(provider, EmbeddingProvider)
    assert (provider.model, provider.dimensions) == (model, dimensions)


def test_a_settings_object_works_like_a_mapping() -> None:
    assert create_provider(EmbeddingSettings(embedding_provider="none")).model == "none"


def test_other_names_and_empty_values_are_ignored() -> None:
    config = {"PATH": "/bin", "provider": "nonsense", "EMBEDDING_MODEL": " ", "EMBEDDING_DIMENSIONS": ""}
    assert create_provider(config).model == "static:l2_supercat_256"


def test_an_empty_variable_of_embeddings_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in EmbeddingSettings.model_fields:
        monkeypatch.setenv(variable(name), " ")
        monkeypatch.setenv(name.upper(), "")
    assert create_provider(load()).model == "static:l2_supercat_256"


def test_none_ignores_what_belongs_to_other_providers() -> None:
    config = {
        "EMBEDDING_PROVIDER": "none",
        "EMBEDDING_MODEL": "nomic-embed-text",
        "EMBEDDING_DIMENSIONS": "768",
        "OLLAMA_URL": "not an address",
    }
    assert create_provider(config).dimensions == 0


def test_an_unknown_provider_is_refused_with_the_list_of_those_that_exist() -> None:
    with pytest.raises(ValueError, match="EMBEDDING_PROVIDER") as caught:
        create_provider({"EMBEDDING_PROVIDER": "word2vec"})
    assert isinstance(caught.value, EmbeddingError)
    for name in ("none", "ollama", "openai", "sentence_transformer", "fastembed", "static"):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"EMBEDDING_DIMENSIONS": "many"}, "EMBEDDING_DIMENSIONS"),
        ({"EMBEDDING_DIMENSIONS": "0"}, "EMBEDDING_DIMENSIONS"),
        ({"EMBEDDING_DIMENSIONS": "768"}, "EMBEDDING_DIMENSIONS"),
        ({"EMBEDDING_TIMEOUT": "0"}, "EMBEDDING_TIMEOUT"),
        ({"EMBEDDING_TIMEOUT": "nan"}, "EMBEDDING_TIMEOUT"),
        ({"EMBEDDING_TIMEOUT": "7200"}, "^EMBEDDING_TIMEOUT: "),
        ({"PGMEM_EMBEDDING_TIMEOUT": "7200"}, "^PGMEM_EMBEDDING_TIMEOUT: "),
        ({"EMBEDDING_DIMENSIONS": "5000"}, "^EMBEDDING_DIMENSIONS: "),
        ({"EMBEDDING_MODEL": "nomic-embed-text"}, "EMBEDDING_MODEL"),
        ({"EMBEDDING_PROVIDER": "ollama", "EMBEDDING_MODEL": "mine"}, "EMBEDDING_DIMENSIONS"),
        ({"EMBEDDING_PROVIDER": "ollama", "EMBEDDING_DIMENSIONS": "512"}, "EMBEDDING_DIMENSIONS"),
        ({"EMBEDDING_PROVIDER": "ollama", "OLLAMA_URL": "localhost:11434"}, "OLLAMA_URL"),
        ({"EMBEDDING_PROVIDER": "ollama", "OLLAMA_URL": "ftp://localhost"}, "OLLAMA_URL"),
        ({"EMBEDDING_PROVIDER": "ollama", "OLLAMA_URL": "http://"}, "OLLAMA_URL"),
        ({"EMBEDDING_PROVIDER": "openai"}, "OPENAI_API_KEY"),
        ({"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": KEY + "\nx"}, "OPENAI_API_KEY"),
        ({"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": 7}, "OPENAI_API_KEY"),
        (
            {"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": KEY, "EMBEDDING_DIMENSIONS": "2000"},
            "EMBEDDING_DIMENSIONS",
        ),
        (
            {"EMBEDDING_PROVIDER": "openai", "OPENAI_BASE_URL": f"http://u:{KEY}@h/v1?api-version=1"},
            "OPENAI_BASE_URL",
        ),
        ({"EMBEDDING_PROVIDER": "openai", "OPENAI_BASE_URL": f"http://u:{KEY}@h:port"}, "OPENAI_BASE_URL"),
        (
            {
                "EMBEDDING_PROVIDER": "openai",
                "OPENAI_API_KEY": KEY,
                "OPENAI_BASE_URL": "http://u:p@localhost/v1",
            },
            "OPENAI_BASE_URL",
        ),
        ({"EMBEDDING_PROVIDER": "fastembed", "EMBEDDING_MODEL": "./no-such-folder"}, "EMBEDDING_MODEL"),
        ({"EMBEDDING_PROVIDER": "fastembed", "EMBEDDING_MODEL": "someone/new-model"}, "EMBEDDING_DIMENSIONS"),
        ({"EMBEDDING_PROVIDER": "sentence_transformer", "EMBEDDING_MODEL": "."}, "EMBEDDING_MODEL"),
    ],
)
def test_a_wrong_setting_fails_at_start_with_its_name_and_without_its_value(
    config: dict[str, object], name: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with pytest.raises(EmbeddingConfigError, match=name) as caught:
        create_provider(config)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_key_and_addresses_stay_out_of_repr() -> None:
    settings = EmbeddingSettings.model_validate(
        {
            "EMBEDDING_PROVIDER": "openai",
            "EMBEDDING_MODEL": "mine",
            "EMBEDDING_DIMENSIONS": "8",
            "OPENAI_BASE_URL": f"https://user:{KEY}@example.com/v1",
            "OLLAMA_URL": f"http://user:{KEY}@localhost",
        }
    )
    assert KEY not in repr(settings)
    assert KEY not in repr(create_provider(settings))


@pytest.mark.parametrize(
    "provider", ["none", "static", "ollama", "openai", "fastembed", "sentence_transformer"]
)
def test_building_a_provider_imports_nothing_heavy(provider: str) -> None:
    program = (
        "import sys; from pgmem.embeddings import create_provider;"
        f"create_provider({{'EMBEDDING_PROVIDER': {provider!r}, 'OPENAI_API_KEY': 'k'}});"
        "heavy = 'numpy tokenizers safetensors onnxruntime wordllama fastembed sentence_transformers torch';"
        "print(*set(heavy.split()) & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
