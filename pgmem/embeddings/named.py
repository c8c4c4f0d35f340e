"""Models by their names on a hub, or by the folders that hold them."""

from __future__ import annotations

import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from pgmem.embeddings.base import dimensions_of, known
from pgmem.embeddings.local import LocalProvider
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError

_WEIGHTS: Final = {".onnx", ".onnx_data", ".safetensors", ".bin"}


class NamedModelProvider(LocalProvider):
    """Runs a model in this process.

    A model of the hub is downloaded once (never with HF_HUB_OFFLINE=1). A folder is read in place; its vectors are
    stored under the folder's name and a digest of the weights, without the path.
    """

    provider: ClassVar[str]
    """The name of the provider, which is stored with each vector."""
    sizes: ClassVar[Mapping[str, int]]
    """Lengths of the vectors of models on the hub."""

    default: ClassVar[str]
    """The model that is used if none is named."""

    def __init__(
        self, model: str | None = None, dimensions: int | None = None, *, timeout: float = 30.0
    ) -> None:
        """Set the model; nothing is imported, loaded or downloaded yet.

        Args:
            model: a name on the hub, or a folder; None takes the default.
            dimensions: length of the vectors; required if neither pgmem nor the folder's config.json has it.
            timeout: seconds a call waits for the model to load.

        Raises:
            EmbeddingConfigError: the folder does not exist or is incomplete, or the length is unknown or wrong.
        """
        model = model or self.default
        self._name = model
        self._folder = _as_folder(model)
        native = known(self.sizes, model)
        if self._folder is not None:
            self._require_model(self._folder)
            model = f"{self._folder.resolve().name}-{_weights_digest(self._folder)}"
            size = read_json(self._folder / "config.json").get("hidden_size")
            native = size if isinstance(size, int) else None
        length = dimensions_of(model, dimensions, native)
        super().__init__(model=f"{self.provider}:{model}", dimensions=length, timeout=timeout)

    @abstractmethod
    def _require_model(self, folder: Path) -> None:
        """Raise EmbeddingConfigError if a folder lacks a file of a model."""

    def _not_loaded(self, library: str, folder: str) -> EmbeddingError:
        offline = hub_is_offline()
        why = "has no such model in its cache (HF_HUB_OFFLINE is set)" if offline else "could not load it"
        message = f"{self.model}: {library} {why}; EMBEDDING_MODEL may be {folder}"
        return EmbeddingError(message, transient=not offline)


def hub_is_offline() -> bool:
    """Return whether HF_HUB_OFFLINE is set, read as the libraries of Hugging Face read it."""
    return os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "TRUE", "YES", "ON"}


def _as_folder(model: str) -> Path | None:
    """Return the folder that a model setting names.

    Returns:
        The folder; None if `model` is a name on the hub, such as `BAAI/bge-small-en-v1.5`.

    Raises:
        EmbeddingConfigError: `model` looks like a path, and the folder does not exist.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or model.startswith(("~", ".", "\\")):
        raise EmbeddingConfigError("EMBEDDING_MODEL: the folder does not exist")
    return None


def _weights_digest(folder: Path) -> str:
    """Return eight hex digits that distinguish model folders of the same name.

    Only the size, the first and the last 64 KiB of each weights file are read, which takes milliseconds.
    """
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.suffix in _WEIGHTS):
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(65_536)
            file.seek(max(0, size - 65_536))
            tail = file.read(65_536)
        digest.update(f"{path.relative_to(folder).as_posix()}:{size}:".encode() + head + tail)
    return digest.hexdigest()[:8]


def read_json(path: Path) -> dict[str, object]:
    """Return the object of a JSON file; an empty one if there is none."""
    try:
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
