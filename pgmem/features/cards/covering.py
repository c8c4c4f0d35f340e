"""Which files are tests, and which files they name or import; `companions` joins that with the history."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from math import log

_FOLDER = re.compile(
    r"(^|/)(?:(?:[\w-]+-)?(?:tests?|specs?|e2e)|__(?:tests|mocks|fixtures|snapshots)__|test[-_]?data)/"
)
_FILE = re.compile(
    r"(^|/)(?:test_[^/]*|[^/]*_test|tests?|conftest)\.py$|[._-](?:test|spec)s?\.\w+$|\.bats$"
    r"|_(?:test|spec)\.(?:go|rb|rs|c|cc|cpp|exs|dart|lua)$"
    r"|(?:Test|Tests|TestCase|Spec|IT)\.(?:java|kt|scala|cs|php|swift)$|(^|/)(?:Test|test_)[^/]*\.(?:java|cs|cpp|cc|c|rb)$"
)
_HELPER = re.compile(
    r"(^|/)(?:conftest\.py|__init__\.py|__(?:snapshots|fixtures|mocks)__/.*|(?:fixtures?|mocks?|test[-_]?data)/.*"
    r"|[^/]*\.d\.ts)$"
)
_MARKS = re.compile(
    r"^(?:tests?[_-])|(?:[._-](?:tests?|specs?))$|(?:Tests?|TestCase|Spec|IT)$|^Test(?=[A-Z])"
)
_GENERIC = frozenset(
    ("index", "mod", "lib", "main", "__init__", "utils", "util", "types", "common", "helpers")
)
_NAME = 0.75
_IMPORT = 0.45


def is_test(path: str) -> bool:
    """Whether a path is that of a test or of something that only tests use."""
    return _FOLDER.search(path) is not None or _FILE.search(path) is not None


def _is_runnable(path: str) -> bool:
    return is_test(path) and not _HELPER.search(path)


def stem(path: str) -> str:
    """The name of a file without suffix and without the mark of a test, so that a test and its file have the same."""
    name = path.rpartition("/")[2]
    first = name.partition(".")[0] if not name.startswith(".") else name
    rest = name[len(first) :].rpartition(".")[0]
    whole = f"{first}{rest}" if rest not in (".test", ".spec", ".tests", ".specs") else first
    bare = _MARKS.sub("", whole)
    return (bare or whole).strip("_").casefold()


def _folders(path: str) -> list[str]:
    """The folders of a path without those that only say that tests or sources are below."""
    return [
        part.casefold()
        for part in path.split("/")[:-1]
        if part.casefold()
        not in ("src", "lib", "test", "tests", "__tests__", "spec", "specs", "java", "main", "unit")
    ]


def name_matches(path: str, tests: Collection[str]) -> dict[str, float]:
    """The tests whose name says that they test a file, each with how near it is from 0 to 1.

    The same name in the same folder is 1; the further apart their folders, the less. Names that every folder has, such
    as index, need the same folder.
    """
    own, folders = stem(path), _folders(path)
    found = {}
    for test in tests:
        other = stem(test)
        near = _folders(test)
        if other != own:
            # test_core_options and core, or jwt.test and jwt/index
            if (
                own in ("index", "mod", "__init__", "lib")
                and folders
                and other == folders[-1]
                and len(other) > 2
            ):
                found[test] = 0.7
            continue
        shared = len(set(folders) & set(near))
        apart = len(set(folders) ^ set(near))
        if folders == near or not apart:
            found[test] = 1.0
        elif own not in _GENERIC or (folders and near and folders[-1] == near[-1]):
            # A folder of tests often mirrors only the inner folders, or none.
            found[test] = 0.8 if not near or shared else 0.4
    return found


class Covering:
    """The files that tests say they cover, before history is asked.

    Args:
        files: all paths that are there.
        used: for each test the files that define its imports, with the names.
        defining: files that define tests, whatever their name.
    """

    def __init__(
        self,
        files: Collection[str],
        used: Mapping[str, Mapping[str, set[str]]],
        defining: Collection[str] = (),
    ) -> None:
        self._defining = frozenset(defining)
        self.tests = frozenset(path for path in files if _is_runnable(path) and "." in path) | self._defining
        self._used = used
        self._by_stem: defaultdict[str, list[str]] = defaultdict(list)
        self._importers: defaultdict[str, list[str]] = defaultdict(list)
        for test in sorted(self.tests):
            self._by_stem[stem(test)].append(test)
            for target in used.get(test, ()):
                self._importers[target].append(test)

    def is_test(self, path: str) -> bool:
        """Whether a file is a test, by its name or by its definitions."""
        return path in self._defining or is_test(path)

    def of(self, path: str) -> dict[str, tuple[float, tuple[str, ...]]]:
        """The tests that name or import a file, each with a number from 0 to 1 and the reason."""
        open_: defaultdict[str, float] = defaultdict(lambda: 1.0)
        why: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
        for test, near in self._named(path).items():
            open_[test] *= 1 - _NAME * near
            why[test] += ("name",)
        for test, (share, count) in self._imported(path).items():
            open_[test] *= 1 - _IMPORT * share
            why[test] += (f"imports {count} of its names" if count else "imports it",)
        return {test: (1 - open_[test], why[test]) for test in why if test != path}

    def _named(self, path: str) -> dict[str, float]:
        folder = path.rpartition("/")[0].rpartition("/")[2].casefold()
        return name_matches(path, [*self._by_stem[stem(path)], *self._by_stem[folder]])

    def _imported(self, path: str) -> dict[str, tuple[float, int]]:
        """For each test that imports from a file, how much it is about it: names taken, less those all tests take."""
        importers = self._importers.get(path, ())
        if not importers:
            return {}
        most = max(len(self._used[test][path]) for test in importers) or 1
        rare = log(1 + len(self.tests) / len(importers)) / log(1 + len(self.tests))
        found = {}
        for test in importers:
            taken = self._used[test]
            whole = sum(max(1, len(names)) for names in taken.values())
            count = len(taken[path])
            found[test] = (
                (0.35 + 0.65 * rare) * (0.5 * max(1, count) / max(most, 1) + 0.5 * max(1, count) / whole),
                count,
            )
        return found
