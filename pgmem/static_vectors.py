"""Static word vectors of wordllama: their files, their vocabulary, and the vector of a text without numpy.

An installation of pgmem holds wordllama's two files. wordllama is not imported: its loader looks for the tokenizer in a
folder that its wheel lacks, and its import configures the root logger. The provider `static` reads the matrix through
numpy. A hook of an editor embeds a few sentences and imports nothing heavy.
"""

from __future__ import annotations

import heapq
import json
import mmap
import operator
import re
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent / "embeddings" / "wordllama"  # see hatch_build.py
MODEL = "static:l2_supercat_256"
"""The name of these vectors in a store."""

_WORD = re.compile("▁*[^▁]+|▁+")
"""A word with the spaces before it. No piece of the vocabulary has a space after a letter: words are cut one by one."""


class Pieces:
    """The vocabulary of a `tokenizer.json` that joins pairs by rank and writes characters that it lacks as bytes."""

    def __init__(self, file: Path) -> None:
        """Read the vocabulary, which takes 0.05 s.

        Args:
            file: JSON as the library tokenizers writes it, of a model BPE with `byte_fallback` and spaces as `▁`.
        """
        model = json.loads(file.read_text(encoding="utf-8"))["model"]
        self._ids: dict[str, int] = model["vocab"]
        self._ranks: dict[str, int] = dict(zip(model["merges"], count(), strict=False))
        self._of_word = lru_cache(maxsize=20_000)(self._cut)

    def __call__(self, text: str) -> list[int]:
        """Return the numbers of the pieces of a text; an empty text has none."""
        # Half a surrogate pair has no UTF-8 and counts as a question mark.
        whole = text.encode("utf-8", "replace").decode()
        spaced = "▁" + whole.replace(" ", "▁") if text else ""
        return [number for word in _WORD.findall(spaced) for number in self._of_word(word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Join the pair of the lowest rank, the leftmost of equal ones, until no pair has a rank."""
        parts: list[str] = []
        for letter in word:
            known = letter in self._ids
            parts += [letter] if known else [f"<0x{byte:02X}>" for byte in letter.encode()]
        after = [*range(1, len(parts)), -1]
        before = list(range(-1, len(parts) - 1))
        waiting = [
            (rank, at, *pair)
            for at, pair in enumerate(pairwise(parts))
            if (rank := self._ranks.get(" ".join(pair))) is not None
        ]
        heapq.heapify(waiting)
        while waiting:
            _, at, left, right = heapq.heappop(waiting)
            other = after[at]
            if parts[at] != left or other < 0 or parts[other] != right:
                continue  # one of the two has been joined with another since
            parts[at], parts[other] = left + right, ""
            after[at] = after[other]
            if after[at] >= 0:
                before[after[at]] = at
            for begin in (before[at], at):
                end = after[begin] if begin >= 0 else -1
                if end >= 0 and (rank := self._ranks.get(f"{parts[begin]} {parts[end]}")) is not None:
                    heapq.heappush(waiting, (rank, begin, parts[begin], parts[end]))
        return tuple(self._ids[part] for part in parts if part)


class Matrix(NamedTuple):
    """Where the vectors lie: rows of half-precision numbers, one for each word piece."""

    file: Path
    begin: int
    rows: int
    columns: int


def files() -> tuple[Path, Path]:
    """Return the paths of the weights and the vocabulary.

    Raises:
        FileNotFoundError: the installation has none.
    """
    found = _HERE / "l2_supercat_256.safetensors", _HERE / "l2_supercat_tokenizer_config.json"
    if not all(path.is_file() for path in found):
        raise FileNotFoundError(
            "This installation of pgmem lacks the vectors of the provider static; install pgmem again with pip."
        )
    return found


@cache
def matrix(weights: Path) -> Matrix:
    """Find the matrix of a safetensors file: 8 bytes with the length of a JSON header, the header, the numbers.

    Raises:
        ValueError: it holds other numbers than half precision.
    """
    with weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(length))["embedding.weight"]
    if tensor["dtype"] != "F16":
        raise ValueError(
            "the vectors of the provider static hold other numbers; install pgmem again with pip"
        )
    return Matrix(weights, 8 + length + tensor["data_offsets"][0], *tensor["shape"])


def vectors(texts: Sequence[str]) -> list[list[float]]:
    """Return the vector of each text: the mean of its pieces, of length 1.

    Raises:
        FileNotFoundError: wordllama's files are missing.
    """
    found = _sums(texts)
    lengths = [_length(each) or 1.0 for each in found]
    return [[value / length for value in each] for each, length in zip(found, lengths, strict=True)]


def _length(vector: Sequence[float]) -> float:
    return float(sum(map(operator.mul, vector, vector)) ** 0.5)


def _sums(texts: Sequence[str]) -> list[list[float]]:
    weights, vocabulary = files()
    at, cut = matrix(weights), pieces(vocabulary)
    row, mapped = struct.Struct(f"<{at.columns}e"), _mapped(at.file)

    def read(number: int) -> tuple[float, ...]:
        return row.unpack_from(mapped, at.begin + number * row.size)

    found = [[*map(read, cut(text))] for text in texts]
    # Most words are one piece.
    return [[*rows[0]] if len(rows) == 1 else [*map(sum, zip(*rows, strict=True))] for rows in found]


@cache
def pieces(vocabulary: Path) -> Pieces:
    """Return the vocabulary, which is read once."""
    return Pieces(vocabulary)


@cache
def _mapped(file: Path) -> mmap.mmap:
    """The weights as memory that processes share; it is never closed."""
    with file.open("rb") as opened:
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
