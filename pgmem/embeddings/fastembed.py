"""Sentence encoders as ONNX models: one that fastembed downloads, or one in a local folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pgmem.embeddings.local import require
from pgmem.embeddings.named import NamedModelProvider, hub_is_offline
from pgmem.embeddings.onnx_folder import load_folder, model_file

if TYPE_CHECKING:
    from pgmem.embeddings.local import Encoder
    from pgmem.embeddings.vectors import Rows

_DEFAULT: Final = "BAAI/bge-small-en-v1.5"

_DIMENSIONS: Final = {
    "BAAI/bge-small-en-v1.5": 384,
    "BAAI/bge-base-en-v1.5": 768,
    "BAAI/bge-large-en-v1.5": 1024,
    "sentence-transformers/all-MiniLM-L6-v2": 384,
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2": 384,
    "nomic-ai/nomic-embed-text-v1.5": 768,
    "mixedbread-ai/mxbai-embed-large-v1": 1024,
    "intfloat/multilingual-e5-large": 1024,
    "snowflake/snowflake-arctic-embed-s": 384,
    "snowflake/snowflake-arctic-embed-m": 768,
    "snowflake/snowflake-arctic-embed-l": 1024,
    "thenlper/gte-base": 768,
    "thenlper/gte-large": 1024,
}


class FastEmbedProvider(NamedModelProvider):
    """Runs an ONNX model: one that fastembed downloads, or a folder with model.onnx and tokenizer.json."""

    provider = "fastembed"
    default = _DEFAULT
    sizes = _DIMENSIONS

    def _require_model(self, folder: Path) -> None:
        model_file(folder)

    def _load(self) -> Encoder:
        if self._folder is not None:
            return load_folder(self._folder)
        np = require("numpy", "fastembed")
        fastembed = require("fastembed", "fastembed")
        try:
            model = fastembed.TextEmbedding(self._name, cache_dir=_cache(), local_files_only=hub_is_offline())
        except Exception as exc:
            raise self._not_loaded("fastembed", "a folder that holds an ONNX model") from exc

        def encode(texts: list[str]) -> Rows:
            rows: Rows = np.stack(list(model.embed(texts, batch_size=32)))
            return rows

        return encode


def _cache() -> str:
    """Return the folder for models: the user's cache, because fastembed's default is a folder that all users share."""
    return os.environ.get("FASTEMBED_CACHE_PATH") or str(Path.home() / ".cache" / "fastembed")
