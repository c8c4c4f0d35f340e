"""Check what a provider made, and bring every vector to length 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pgmem.embeddings.protocol import EmbeddingError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Rows = NDArray[numpy.float32]
    """An array of shape (texts, dimensions)."""

__all__ = ["unit_rows", "unit_vectors"]

_ZERO = 1e-12
"""A vector shorter than this has no direction; cosine distance to it is undefined."""


def unit_vectors(rows: object, *, count: int, dimensions: int, who: str) -> list[list[float]]:
    """Check vectors that came as JSON and scale each to length 1.

    Args:
        rows: what the server sent where `count` lists of `dimensions` finite numbers should be.
        count: how many texts were sent.
        dimensions: how long each vector must be.
        who: the model's name, for the message.

    Raises:
        EmbeddingError: says which of these does not hold, and for which vector.
    """
    if not isinstance(rows, list):
        raise EmbeddingError(f"{who}: the answer holds no list of vectors")
    if len(rows) != count:
        raise EmbeddingError(f"{who}: {len(rows)} vectors came for {count} texts")
    return [_unit_vector(row, dimensions, f"{who}: vector {n} of {count}") for n, row in enumerate(rows, 1)]


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


def unit_rows(rows: Rows, *, count: int, dimensions: int, who: str) -> list[list[float]]:
    """Do what `unit_vectors` does for an array of shape (count, dimensions) made in this process."""
    import numpy as np

    if rows.ndim != 2 or rows.shape[0] != count:
        raise EmbeddingError(f"{who}: the model made an array of shape {rows.shape} for {count} texts")
    if rows.shape[1] != dimensions:
        size = rows.shape[1]
        raise EmbeddingError(
            f"{who}: the model makes {size} dimensions, not {dimensions} (EMBEDDING_DIMENSIONS)"
        )
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(norms).all():
        raise EmbeddingError(f"{who}: a vector holds a number that is not finite")
    if (norms < _ZERO).any():
        raise EmbeddingError(f"{who}: a vector is zero: it has no direction")
    unit: list[list[float]] = (rows / norms).tolist()
    return unit
