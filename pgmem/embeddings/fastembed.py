"""Sentence encoders as ONNX models: one that fastembed downloads, or one in a local folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pgmem.embeddings.base import dimensions_of, known
from pgmem.embeddings.local import LocalProvider, as_folder, hub_is_offline, require, weights_digest
from pgmem.embeddings.onnx_folder import hidden_size, load_folder, model_file
from pgmem.embeddings.protocol import EmbeddingError

if TYPE_CHECKING:
    from pgmem.embeddings.local import Encoder
    from pgmem.embeddings.vectors import Rows

DEFAULT_MODEL: Final = "BAAI/bge-small-en-v1.5"
_EXTRA: Final = "fastembed"

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


class FastEmbedProvider(LocalProvider):
    """Runs an ONNX model in this process.

    A model's name is passed to fastembed, which downloads the model once (never with HF_HUB_OFFLINE=1). A folder with
    model.onnx and tokenizer.json is run by onnxruntime directly; its vectors are stored under the folder's name and a
    digest of the weights, without the path.
    """

    def __init__(
        self, model: str = DEFAULT_MODEL, dimensions: int | None = None, *, timeout: float = 30.0
    ) -> None:
        """Set the model; nothing is imported, loaded or downloaded yet.

        Args:
            model: a name that fastembed knows, or a folder.
            dimensions: length of the vectors; required if neither pgmem nor the folder's config.json has it.
            timeout: seconds a call waits for the model to load.

        Raises:
            EmbeddingConfigError: the folder does not exist or is incomplete, or the length is unknown or wrong.
        """
        self._name = model
        self._folder = as_folder(model)
        native = known(_DIMENSIONS, model)
        if self._folder is not None:
            model_file(self._folder)
            model = f"{self._folder.resolve().name}-{weights_digest(self._folder)}"
            native = hidden_size(self._folder)
        size = dimensions_of(model, dimensions, native)
        super().__init__(model=f"fastembed:{model}", dimensions=size, timeout=timeout)

    def _load(self) -> Encoder:
        if self._folder is not None:
            return load_folder(self._folder, provider="fastembed", extra=_EXTRA)
        np = require("numpy", provider="fastembed", extra=_EXTRA)
        fastembed = require("fastembed", provider="fastembed", extra=_EXTRA)
        offline = hub_is_offline()
        try:
            model = fastembed.TextEmbedding(self._name, cache_dir=_cache(), local_files_only=offline)
        except Exception as exc:
            why = "has no such model in its cache (HF_HUB_OFFLINE is set)" if offline else "could not load it"
            raise EmbeddingError(
                f"{self.model}: fastembed {why}; EMBEDDING_MODEL may be a folder that holds an ONNX model",
                transient=not offline,
            ) from exc

        def encode(texts: list[str]) -> Rows:
            rows: Rows = np.stack(list(model.embed(texts, batch_size=32)))
            return rows

        return encode


def _cache() -> str:
    """Return the folder for models: the user's cache, because fastembed's default is a folder that all users share."""
    return os.environ.get("FASTEMBED_CACHE_PATH") or str(Path.home() / ".cache" / "fastembed")
