"""Which files change with a file, and which tests cover it: one score from 0 to 1 for both.

The score estimates the chance that the next commit of a file changes the other file too. Its base are the commits that
both share. A file with few commits borrows from similar files: from companions of its folder, from files of
every commit, and from the tests that name or import it.

`python -m benchmarks cards` measures the estimate against commits that it has not seen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from pgmem.features.cards.covering import Covering
from pgmem.features.cards.history import Timeline

_FROM_FOLDER = 1.5
_FROM_ALL = 0.7
"""The weight of borrowed knowledge beside the weighted commits of the file itself."""
_FROM_TESTS = 0.8
_MEASURED = 0.6
_LEAST = 0.05
_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Companion:
    """A file that changes with another: the score, and in how many of its commits it did."""

    path: str
    score: float
    commits: int
    of: int


@dataclass(frozen=True, slots=True)
class Test:
    """A test of a file: the score, and its reason as a text."""

    path: str
    score: float
    why: tuple[str, ...]


class Companions:
    """The files of a repository by the file that they change with.

    Args:
        timeline: the history; one without commits where there is none.
        covering: the files that the tests name and import.
        measured: for each file the share of its lines that each test runs, as a coverage file says.
    """

    def __init__(
        self,
        timeline: Timeline,
        covering: Covering,
        measured: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self._timeline = timeline
        self._covering = covering
        self._measured = measured or {}
        self._all: defaultdict[str, float] = defaultdict(float)
        self._folders: defaultdict[tuple[str, str, bool], defaultdict[str, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        self._wholes: defaultdict[tuple[str, str, bool], float] = defaultdict(float)
        whole = 0.0
        for weight, paths in timeline.changes():
            if len(paths) < 2:
                continue
            whole += weight
            for path in paths:
                self._all[path] += weight
            for kind in {self._kind(path) for path in paths}:
                self._wholes[kind] += weight
                for path in paths:
                    self._folders[kind][path] += weight
        for path in self._all:
            self._all[path] /= whole or 1.0
        self._commonest = sorted(self._all, key=lambda path: (-self._all[path], path))[:_CANDIDATES]
        self._usual = [
            path
            for path in sorted(covering.tests & self._all.keys(), key=lambda path: (-self._all[path], path))[
                :1
            ]
            if timeline.own(path) >= 5
        ]
        """The test that most commits change: a guess where a file has a thin history."""
        self._near: dict[tuple[str, str, bool], list[str]] = {}
        self._tested: dict[str, dict[str, float]] | None = None
        self._scores: dict[str, dict[str, tuple[float, int]]] = {}

    def companions(self, path: str, most: int = 5) -> list[Companion]:
        """The files that are likely to change with a file, the likeliest first."""
        of = self._timeline.own(path)
        found = [
            Companion(other, score, count, of)
            for other, (score, count) in self._scored(path).items()
            if score >= _LEAST
        ]
        return sorted(found, key=lambda one: (-one.score, one.path))[:most]

    def tests(self, path: str, most: int = 5) -> list[Test]:
        """The tests of a file, the likeliest first."""
        signs = self._covering.of(path)
        measured = self._measured.get(path, {})
        scored = self._scored(path)
        own = self._timeline.own(path)
        found = []
        for test in {*signs, *measured, *(other for other in scored if other in self._covering.tests)}:
            score, count = scored.get(test, (0.0, 0))
            share = measured.get(test, 0.0)
            why = signs[test][1] if test in signs else ()
            if count and own > 1:  # the commit that a repository begins with says nothing
                why += (f"changed with it in {count} of {own} commits",)
            if share:
                why += (f"runs {round(100 * share)} % of its lines",)
            if not why and own < 5 and test in self._usual:
                why = ("the test that changes most",)
            if why:
                found.append(Test(test, round(1 - (1 - score) * (1 - _MEASURED * share), 3), why))
        found.sort(key=lambda one: (-one.score, one.path))
        return [one for one in found[:most] if one.score >= max(0.02, found[0].score / 15)]

    def _scored(self, path: str) -> dict[str, tuple[float, int]]:
        """Each file that may change with a file, with its score and the number of commits that both share."""
        if (known := self._scores.get(path)) is not None:
            return known
        counts: Counter[str] = Counter()
        weights: defaultdict[str, float] = defaultdict(float)
        whole = _FROM_FOLDER + _FROM_ALL
        for weight, paths in self._timeline.changes(path):
            whole += weight
            for other in paths:
                counts[other] += 1
                weights[other] += weight
        kind = self._kind(path)
        tests = self._tests_of(path)
        folder: Mapping[str, float] = self._folders.get(kind, {})
        beside = self._wholes.get(kind, 1.0)
        found = {}
        for other in {*counts, *tests, *self._commonest, *self._usual, *self._nearest(kind)} - {path}:
            common = min(self._all.get(other, 0.0), 0.9)
            borrowed = _FROM_ALL * (1 - (1 - common) * (1 - _FROM_TESTS * tests.get(other, 0.0)))
            borrowed += _FROM_FOLDER * folder.get(other, 0.0) / beside
            found[other] = ((weights[other] + borrowed) / whole, counts[other])
        self._scores[path] = found
        return found

    def _nearest(self, kind: tuple[str, str, bool]) -> list[str]:
        if kind not in self._near:
            folder: Mapping[str, float] = self._folders.get(kind, {})
            self._near[kind] = sorted(folder, key=lambda path: (-folder[path], path))[:_CANDIDATES]
        return self._near[kind]

    def _tests_of(self, path: str) -> dict[str, float]:
        """The tests of a file, or the files of a test, as they say themselves."""
        if not self._covering.is_test(path):
            return {test: score for test, (score, _) in self._covering.of(path).items()}
        if self._tested is None:
            self._tested = defaultdict(dict)
            for file in self._all:
                if not self._covering.is_test(file):
                    for test, (score, _) in self._covering.of(file).items():
                        self._tested[test][file] = score
        return self._tested.get(path, {})

    def _kind(self, path: str) -> tuple[str, str, bool]:
        """The group of a path: its folder, its suffix, and whether it is a test."""
        folder, _, name = path.rpartition("/")
        return folder, name.rpartition(".")[2], self._covering.is_test(path)
