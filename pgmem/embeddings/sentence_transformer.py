"""Sentence encoders that sentence-transformers and torch run."""

from __future__ import annotations

from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Final, Protocol

from pgmem.embeddings.base import dimensions_of, known
from pgmem.embeddings.local import LocalProvider, as_folder, hub_is_offline, require, weights_digest
from pgmem.embeddings.onnx_folder import hidden_size
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError

if TYPE_CHECKING:
    from pgmem.embeddings.local import Encoder
    from pgmem.embeddings.vectors import Rows

    class _Model(Protocol):
        def encode(self, texts: list[str], *, batch_size: int, show_progress_bar: bool) -> Rows: ...


DEFAULT_MODEL: Final = "all-MiniLM-L6-v2"
_EXTRA: Final = "sentence-transformer"

_DIMENSIONS: Final = {
    "all-MiniLM-L6-v2": 384,
    "all-MiniLM-L12-v2": 384,
    "all-mpnet-base-v2": 768,
    "paraphrase-multilingual-MiniLM-L12-v2": 384,
    "paraphrase-multilingual-mpnet-base-v2": 768,
}


class SentenceTransformerProvider(LocalProvider):
    """Runs a model of sentence-transformers in this process.

    A model of the hub is downloaded once (never with HF_HUB_OFFLINE=1). A folder is read in place; its vectors are
    stored under the folder's name and a digest of the weights, without the path.
    """

    def __init__(
        self, model: str = DEFAULT_MODEL, dimensions: int | None = None, *, timeout: float = 30.0
    ) -> None:
        """Set the model; nothing is imported, loaded or downloaded yet.

        Args:
            model: a name on the hub, or a folder.
            dimensions: length of the vectors; required if neither pgmem nor the folder's config.json has it.
            timeout: seconds a call waits for the model to load.

        Raises:
            EmbeddingConfigError: the folder does not exist or holds no model, or the length is unknown or wrong.
        """
        self._name = model
        folder = as_folder(model)
        native = known(_DIMENSIONS, model.removeprefix("sentence-transformers/"))
        if folder is not None:
            if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
                raise EmbeddingConfigError("EMBEDDING_MODEL: the folder needs modules.json or config.json")
            self._name = str(folder)
            model = f"{folder.resolve().name}-{weights_digest(folder)}"
            native = hidden_size(folder)
        size = dimensions_of(model, dimensions, native)
        super().__init__(model=f"sentence_transformer:{model}", dimensions=size, timeout=timeout)

    def _load(self) -> Encoder:
        library = require("sentence_transformers", provider="sentence_transformer", extra=_EXTRA)
        offline = hub_is_offline()
        try:
            model = self._open(library, offline=offline)
        except Exception as exc:
            why = "has no such model in its cache (HF_HUB_OFFLINE is set)" if offline else "could not load it"
            raise EmbeddingError(
                f"{self.model}: sentence-transformers {why}; EMBEDDING_MODEL may be a folder",
                transient=not offline,
            ) from exc
        turn = Lock()  # its tokenizers fail with "Already borrowed" if two threads use them at once

        def encode(texts: list[str]) -> Rows:
            with turn:
                return model.encode(texts, batch_size=32, show_progress_bar=False)

        return encode

    def _open(self, library: ModuleType, *, offline: bool) -> _Model:
        """Read the model from the cache, or from the hub if the cache lacks it.

        By default the library asks the hub each time, which takes minutes of retries without a network.
        """
        try:
            model: _Model = library.SentenceTransformer(self._name, local_files_only=True)
        except Exception:
            if offline:
                raise
            model = library.SentenceTransformer(self._name)
        return model
