"""Static word vectors of wordllama: no download, no server, no neural network.

A text's vector is the mean of its tokens' vectors, scaled to length 1. The wheel of pgmem holds wordllama's two files; a
checkout reads them from wordllama's own wheel, which is not imported: its loader looks for the tokenizer in a folder
that the wheel lacks, and its import configures the root logger.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pgmem.embeddings.base import dimensions_of
from pgmem.embeddings.local import LocalProvider, require
from pgmem.embeddings.pieces import Pieces
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError

if TYPE_CHECKING:
    from pgmem.embeddings.local import Encoder
    from pgmem.embeddings.vectors import Rows

_HERE: Final = Path(__file__).parent / "wordllama"
DEFAULT_MODEL: Final = "l2_supercat_256"
_DIMENSIONS: Final = 256
_LONGEST: Final = 100_000
"""Characters of a text that are read. Tokenizing them takes 0.1 s, and more than in proportion for longer texts."""


class StaticProvider(LocalProvider):
    """wordllama's `l2_supercat` vectors: 32 000 tokens, 256 dimensions, 16 MB of memory."""

    inline_characters = 2_000

    def __init__(
        self, model: str = DEFAULT_MODEL, dimensions: int | None = None, *, timeout: float = 30.0
    ) -> None:
        """Set the model; nothing is imported or read yet.

        Args:
            model: `l2_supercat_256`, the only one.
            dimensions: 256, or None.
            timeout: seconds that a call waits for the files to be read.

        Raises:
            EmbeddingConfigError: another model or another length is given.
        """
        if model != DEFAULT_MODEL:
            raise EmbeddingConfigError(f"EMBEDDING_MODEL: the provider static has only {DEFAULT_MODEL}")
        size = dimensions_of(model, dimensions, _DIMENSIONS)
        super().__init__(model=f"static:{model}", dimensions=size, timeout=timeout)

    def _load(self) -> Encoder:
        weights, vocabulary = _files()
        np = require("numpy", provider="static", extra="static")
        table, pieces = _table(np, weights), Pieces(vocabulary)

        def encode(texts: list[str]) -> Rows:
            tokens = (pieces(text[:_LONGEST]) for text in texts)
            means: Rows = np.stack([table[each].mean(axis=0, dtype=np.float32) for each in tokens])
            return means

        return encode


def _table(np: Any, weights: Path) -> Any:
    """Map the matrix of a safetensors file: 8 bytes with the length of a JSON header, the header, the numbers."""
    with weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(length))["embedding.weight"]
    if tensor["dtype"] != "F16":
        raise EmbeddingError("the installed wordllama holds other numbers; install version 0.2.2.post0")
    # Half precision, and mapped: 16 MB that processes share.
    begin = 8 + length + tensor["data_offsets"][0]
    return np.memmap(weights, dtype="<f2", mode="r", offset=begin, shape=tuple(tensor["shape"]))


def _files() -> tuple[Path, Path]:
    """Return the paths of the weights and the vocabulary: in this wheel, or in wordllama's."""
    spec = importlib.util.find_spec("wordllama")
    for folder in (str(_HERE), *((spec and spec.submodule_search_locations) or ())):
        weights = next(Path(folder).rglob("l2_supercat_256.safetensors"), None)
        vocabulary = next(Path(folder).rglob("l2_supercat_tokenizer_config.json"), None)
        if weights and vocabulary:
            return weights, vocabulary
    raise EmbeddingError(
        "this installation of pgmem lacks the vectors of the provider static: pip install wordllama==0.2.2.post0"
    )
