"""Checks of the vectors of a provider, and their scaling to length 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from pgvector import HalfVector, SparseVector, Vector

from pgmem.embeddings.protocol import EmbeddingError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Rows = NDArray[numpy.float32]
    """An array of shape (texts, dimensions)."""

_ZERO = 1e-12
"""A shorter vector has no direction, and cosine distance to it is undefined."""


def listed(vector: Sequence[float] | Vector | HalfVector | SparseVector | Any) -> list[float]:
    """Return a vector of a caller as a list: of pgvector, an array of numpy, or any numbers in order."""
    if isinstance(vector, Vector | HalfVector | SparseVector):
        return vector.to_list()
    if hasattr(vector, "__array_interface__"):
        return Vector(cast(Any, vector)).to_list()
    return [float(number) for number in vector]


def unit_vectors(rows: object, *, count: int, dimensions: int, model: str) -> list[list[float]]:
    """Check vectors that came as JSON and scale each to length 1.

    Args:
        rows: the answer of the server: `count` lists of `dimensions` finite numbers.
        count: the number of texts that were sent.
        dimensions: the length of each vector.
        model: the model's name, for the message.

    Raises:
        EmbeddingError: the answer is not that; the message names the vector.
    """
    if not isinstance(rows, list):
        raise EmbeddingError(f"{model}: the answer holds no list of vectors")
    if len(rows) != count:
        raise EmbeddingError(f"{model}: {len(rows)} vectors came for {count} texts")
    return [_unit_vector(row, dimensions, f"{model}: vector {n} of {count}") for n, row in enumerate(rows, 1)]


def _unit_vector(row: object, dimensions: int, which: str) -> list[float]:
    if not isinstance(row, list) or not all(type(x) in (int, float) for x in row):
        raise EmbeddingError(f"{which} is not a list of numbers")
    if len(row) != dimensions:
        raise EmbeddingError(f"{which} has {len(row)} dimensions, not {dimensions} (EMBEDDING_DIMENSIONS)")
    try:
        norm = math.hypot(*row)
    except OverflowError:
        norm = math.inf
    if not math.isfinite(norm):
        raise EmbeddingError(f"{which} holds a number that is not finite")
    if norm < _ZERO:
        raise EmbeddingError(f"{which} is zero: it has no direction")
    return [x / norm for x in row]


def unit_rows(rows: Rows, *, count: int, dimensions: int, model: str) -> list[list[float]]:
    """Check and scale an array of shape (count, dimensions) as `unit_vectors` does a list."""
    import numpy as np

    if rows.ndim != 2 or rows.shape[0] != count:
        raise EmbeddingError(f"{model}: the model made an array of shape {rows.shape} for {count} texts")
    if rows.shape[1] != dimensions:
        size = rows.shape[1]
        raise EmbeddingError(
            f"{model}: the model makes {size} dimensions, not {dimensions} (EMBEDDING_DIMENSIONS)"
        )
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(norms).all():
        raise EmbeddingError(f"{model}: a vector holds a number that is not finite")
    if (norms < _ZERO).any():
        raise EmbeddingError(f"{model}: a vector is zero: it has no direction")
    unit: list[list[float]] = (rows / norms).tolist()
    return unit
