"""How well cards predict a change: they are made up to a commit, and tested on the commits after it.

The last 200 commits that touch at least two files are held back. For each of their files the question is which others
the commit touches: the first five that change with it, and the first three of its tests. Two baselines answer the same
questions: files with the same name, and the files that changed most often. Precision at k is the share of k answers
that are right; who gives fewer answers leaves the rest wrong. A sweep of more than 30 files is excluded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.databases import Progress
from pgmem.cards.companions import Companions
from pgmem.cards.covering import Covering, is_test, name_matches, stem
from pgmem.cards.facts import learned
from pgmem.cards.history import MASS, Timeline
from pgmem.cards.parsing import parse
from pgmem.errors import InvalidArgument
from pgmem.workspace.git import Commit, Git, GitUnavailable

HELD_BACK = 200
FILES, TESTS = 5, 3


@dataclass(frozen=True, slots=True)
class _Answers:
    """What one method predicts for a file: the files that change with it, and its tests, best first."""

    files: Callable[[str], list[str]]
    tests: Callable[[str], list[str]]


def measure(root: Path, progress: Progress, *, held_back: int = HELD_BACK, skip: int = 0) -> dict[str, Any]:
    """Precision of what changes together at 5 and of tests at 3, for cards and for both baselines.

    Args:
        root: the repository.
        progress: called with the name of a step, its finished units and their total.
        held_back: how many commits of at least two files are asked about.
        skip: how many such commits after those are left out, to ask about older ones.

    Returns:
        {repository, base, commits, questions: {files, tests}, precision: {cards, name, most_changed: {files, tests}},
        best_possible: {files, tests}, ratio: {files, tests}}, where ratio is that of cards to the better baseline.

    Raises:
        InvalidArgument: the history is too short.
    """
    try:
        git = Git(root)
        log = [commit for commit in git.log() if commit.changes]
        asked, base = _held_back(log, held_back, skip)
        tree = git.tree(base)
        before = list(git.log(base))
    except GitUnavailable as error:
        raise InvalidArgument(f"{root}: {error}.") from error
    parsed = {}
    for number, (path, data) in enumerate(tree.items(), 1):
        parsed[path] = parse(path, data)
        progress("reading", number, len(tree))
    made = learned({path: row for path, row in parsed.items() if row}, list(tree), before, {})
    ways = _ways(list(tree), made.timeline, made.covering, made.companions)
    return {
        "repository": root.resolve().name,
        "base": base,
        "commits": len(asked),
        **_asked(
            asked, frozenset(tree), made.covering, ways, {p for p, row in parsed.items() if row.get("source")}
        ),
    }


def _held_back(log: list[Commit], held_back: int, skip: int) -> tuple[list[Commit], str]:
    """The commits to ask about, newest first, and the commit before them."""
    found: list[Commit] = []
    for place, commit in enumerate(log):
        if len(commit.changes) < 2:
            continue
        found.append(commit)
        if len(found) == held_back + skip and place + 1 < len(log):
            return found[skip:], log[place + 1].id
    raise InvalidArgument(
        f"the history has only {len(found)} commits of two files; {held_back + skip} are needed."
    )


def _ways(
    files: list[str], timeline: Timeline, covering: Covering, companions: Companions
) -> dict[str, _Answers]:
    by_stem: defaultdict[str, list[str]] = defaultdict(list)
    for path in files:
        by_stem[stem(path)].append(path)
    most = sorted(files, key=lambda path: (-len(timeline.commits(path)), path))
    most_tests = [path for path in most if path in covering.tests]
    tests = sorted(covering.tests)

    def named(path: str) -> list[str]:
        near = name_matches(path, tests)
        return sorted(near, key=lambda test: (-near[test], test))

    return {
        "cards": _Answers(
            lambda path: [one.path for one in companions.companions(path, FILES)],
            lambda path: [one.path for one in companions.tests(path, TESTS)],
        ),
        "name": _Answers(lambda path: [one for one in by_stem[stem(path)] if one != path], named),
        "most_changed": _Answers(lambda path: [one for one in most if one != path], lambda _: most_tests),
    }


def _asked(
    asked: Collection[Commit],
    there: frozenset[str],
    covering: Covering,
    ways: dict[str, _Answers],
    sources: Collection[str],
) -> dict[str, Any]:
    """Ask every way about every file of every commit."""
    right: Counter[tuple[str, str]] = Counter()
    possible: Counter[str] = Counter()
    questions: Counter[str] = Counter()
    for commit in asked:
        touched = {name for _, path, before in commit.changes for name in (path, before) if name} & there
        if len(commit.changes) > MASS:
            continue
        for path in sorted(touched):
            others = touched - {path}
            tests = others & covering.tests if path in sources and not is_test(path) else set()
            for part, wanted, most in (("files", others, FILES), ("tests", tests, TESTS)):
                if not wanted:
                    continue
                questions[part] += 1
                possible[part] += min(most, len(wanted))
                for way, answers in ways.items():
                    said = (answers.files if part == "files" else answers.tests)(path)[:most]
                    right[way, part] += len(wanted & set(said))
    at = {"files": FILES, "tests": TESTS}

    def share(count: int, part: str) -> float:
        return round(count / max(1, questions[part] * at[part]), 3)

    precision = {way: {part: share(right[way, part], part) for part in at} for way in ways}
    return {
        "questions": dict(questions),
        "precision": precision,
        "best_possible": {part: share(possible[part], part) for part in at},
        "ratio": {
            part: round(right["cards", part] / max(1, right["name", part], right["most_changed", part]), 2)
            for part in at
        },
    }
