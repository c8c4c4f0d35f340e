"""Sentence encoders that sentence-transformers and torch run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from pgmem.embeddings.local import require
from pgmem.embeddings.named import NamedModelProvider, hub_is_offline
from pgmem.embeddings.protocol import EmbeddingConfigError

if TYPE_CHECKING:
    from pgmem.embeddings.local import Encoder
    from pgmem.embeddings.vectors import Rows

    class _Model(Protocol):
        def encode(self, texts: list[str], *, batch_size: int, show_progress_bar: bool) -> Rows: ...


_DEFAULT: Final = "all-MiniLM-L6-v2"

_DIMENSIONS: Final = {
    "all-MiniLM-L6-v2": 384,
    "all-MiniLM-L12-v2": 384,
    "all-mpnet-base-v2": 768,
    "paraphrase-multilingual-MiniLM-L12-v2": 384,
    "paraphrase-multilingual-mpnet-base-v2": 768,
}


class SentenceTransformerProvider(NamedModelProvider):
    """Runs a model of sentence-transformers."""

    provider = "sentence_transformer"
    default = _DEFAULT
    sizes: ClassVar[Mapping[str, int]] = {
        **_DIMENSIONS,
        **{f"sentence-transformers/{name}": size for name, size in _DIMENSIONS.items()},
    }

    def _require_model(self, folder: Path) -> None:
        if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
            raise EmbeddingConfigError("EMBEDDING_MODEL: the folder needs modules.json or config.json")

    def _load(self) -> Encoder:
        library = require("sentence_transformers", "sentence_transformer")
        try:
            model = self._open(library)
        except Exception as exc:
            raise self._not_loaded("sentence-transformers", "a folder") from exc
        turn = Lock()  # its tokenizers fail with "Already borrowed" if two threads use them at once

        def encode(texts: list[str]) -> Rows:
            with turn:
                return model.encode(texts, batch_size=32, show_progress_bar=False)

        return encode

    def _open(self, library: ModuleType) -> _Model:
        """Read the model from the cache, or from the hub if the cache lacks it.

        By default the library asks the hub each time, which takes minutes of retries without a network.
        """
        name = str(self._folder or self._name)
        try:
            model: _Model = library.SentenceTransformer(name, local_files_only=True)
        except Exception:
            if hub_is_offline():
                raise
            model = library.SentenceTransformer(name)
        return model
