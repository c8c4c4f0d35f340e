"""Texts as numbers of word pieces, by byte pair encoding: what the vocabulary of the static vectors needs, and no more."""

from __future__ import annotations

import heapq
import json
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

_WORD = re.compile("▁*[^▁]+|▁+")
"""A word with the spaces before it. No piece of the vocabulary has a space after a letter, so words are cut one by one."""


class Pieces:
    """The vocabulary of a `tokenizer.json` that joins pairs by rank and writes characters that it lacks as bytes."""

    def __init__(self, file: Path) -> None:
        """Read the vocabulary, which takes 0.1 s.

        Args:
            file: JSON as the library tokenizers writes it, of a model BPE with `byte_fallback` and spaces as `▁`.
        """
        model = json.loads(file.read_text(encoding="utf-8"))["model"]
        self._ids: dict[str, int] = model["vocab"]
        self._ranks = {tuple(pair.split(" ")): rank for rank, pair in enumerate(model["merges"])}
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
            if (rank := self._ranks.get(pair)) is not None
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
                if end >= 0 and (rank := self._ranks.get((parts[begin], parts[end]))) is not None:
                    heapq.heappush(waiting, (rank, begin, parts[begin], parts[end]))
        return tuple(self._ids[part] for part in parts if part)
