"""Generated texts, the same in every run: pseudo-words with the frequencies of a language."""

from __future__ import annotations

from bisect import bisect
from functools import cache
from itertools import accumulate
from random import Random

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_WORDS = 20_000
_STOP_WORDS = 50


@cache
def _words() -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The words, most frequent first, and their cumulative weights by Zipf's law with a flattened head."""
    chance = Random("pgmem words")
    found: dict[str, None] = {}
    while len(found) < _WORDS:
        syllables = chance.choice((2, 2, 3, 3, 4))
        found["".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(syllables))] = None
    return tuple(found), tuple(accumulate(1 / (rank + 3.7) for rank in range(_WORDS)))


class Corpus:
    """Titles of 4 to 10 words (7 on average) and bodies of 28."""

    def __init__(self, name: str) -> None:
        """Start the sequence of texts of this name; the same name gives the same texts."""
        self._chance = Random(name)

    def title(self) -> str:
        """The next title."""
        return self._take(self._chance.randint(4, 10))

    def body(self) -> str:
        """The next body."""
        return self._take(28)

    def question(self) -> str:
        """The next question: 5 to 9 words without the most common ones, which a language has as stop words."""
        return self._take(self._chance.randint(5, 9), _STOP_WORDS)

    def _take(self, count: int, least: int = 0) -> str:
        words, weights = _words()
        below = weights[least - 1] if least else 0.0
        return " ".join(
            words[bisect(weights, below + self._chance.random() * (weights[-1] - below))]
            for _ in range(count)
        )
