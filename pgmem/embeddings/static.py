"""Static word vectors of wordllama: no download, no server, no neural network.

A text's vector is the mean of its tokens' vectors, scaled to length 1.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pgmem import static_vectors
from pgmem.embeddings.base import dimensions_of
from pgmem.embeddings.local import LocalProvider, require
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError
from pgmem.embeddings.vectors import unit_vectors

if TYPE_CHECKING:
    from pgmem.embeddings.local import Encoder
    from pgmem.embeddings.vectors import Rows

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
        super().__init__(model=static_vectors.MODEL, dimensions=size, timeout=timeout)
        self._asked = False

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        # The import of numpy takes longer than a first question may wait: a second one begins it, and waits no longer.
        is_loaded = self._loading is not None and self._loading.done()
        if not is_loaded and sum(map(len, texts)) <= self.inline_characters:
            with suppress(FileNotFoundError, ValueError):  # which the load explains
                found = static_vectors.vectors(texts)
                if self._asked:
                    self._start()
                self._asked = True
                return unit_vectors(found, count=len(texts), dimensions=self.dimensions, model=self.model)
        return await super()._embed(texts)

    def _load(self) -> Encoder:
        np = require("numpy", "static")
        try:
            weights, vocabulary = static_vectors.files()
            at = static_vectors.matrix(weights)
        except (FileNotFoundError, ValueError) as error:
            raise EmbeddingError(str(error)) from error
        # Mapped: 16 MB that processes share.
        table = np.asarray(np.memmap(at.file, "<f2", "r", at.begin, (at.rows, at.columns)))
        pieces = static_vectors.pieces(vocabulary)
        columns = at.columns

        def encode(texts: list[str]) -> Rows:
            sums: Rows = np.empty((len(texts), columns), dtype=np.float32)
            for row, text in enumerate(
                texts
            ):  # of the length of a vector nothing is kept: a sum does as well
                np.add.reduce(table[pieces(text[:_LONGEST])], axis=0, dtype=np.float32, out=sums[row])
            return sums

        return encode
