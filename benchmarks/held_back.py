"""How well cards predict a change: they are made up to a commit, and tested on the commits after it.

The last 200 commits that touch at least two files are held back. For each of their files the question is which others
the commit touches: the first five that change with it, and the first three of its tests. Baselines answer the same
questions: files that changed in the same commits most often, files with the same name, and the files that changed most
often. Precision at k is the share of k answers that are right; who gives fewer answers leaves the rest wrong. A sweep
of more than 30 files is excluded.

A store is filled from the repository at that commit, and asked the same: `what_changes` of each file, and `which_files`
of the messages of the newest 30 of these commits, where BM25 over the texts of the files is the baseline.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from benchmarks.databases import Progress, filled_database
from benchmarks.reviews import measure_reviews
from pgmem.errors import InvalidArgument
from pgmem.features.cards import scan
from pgmem.features.cards.companions import Companions
from pgmem.features.cards.covering import Covering, name_matches, stem
from pgmem.features.cards.facts import learned
from pgmem.features.cards.files import DOCUMENTS
from pgmem.features.cards.history import MASS, Timeline
from pgmem.features.cards.parsing import parse
from pgmem.server.embedded import temporary_server
from pgmem.settings import load
from pgmem.sync import Memory as SyncMemory
from pgmem.workspace.git import Commit, Git, GitUnavailable

HELD_BACK = 200
FILES, TESTS = 5, 3
AT_MOST = 10
TEXTS = 30
IDLE = [
    one
    for part in json.loads(Path(__file__).with_name("prompts.json").read_text(encoding="utf-8"))["sets"]
    for one in part["idle"]
]
"""Prompts that are about nothing in a repository."""
_WORD = re.compile(r"[a-z][a-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Answers:
    """The predictions of one method for a file: the files that change with it, and its tests, best first."""

    files: Callable[[str], list[str]]
    tests: Callable[[str], list[str]]


def measure(
    root: Path, progress: Progress, dsn: str | None = None, *, held_back: int = HELD_BACK, skip: int = 0
) -> dict[str, Any]:
    """Precision of what changes together at 5 and of tests at 3, for cards and for the baselines.

    Args:
        root: the repository.
        progress: called with the name of a step, its finished units and their total.
        dsn: a server where databases can be created; None: an embedded one in a temporary directory.
        held_back: how many commits of at least two files are asked about.
        skip: how many such commits after those are left out, to ask about older ones.

    Returns:
        {repository, base, commits, questions: {files, tests}, precision: {what_changes, cards, co_change, name,
        most_changed: {files, tests}}, recall_at_10: {what_changes, cards, co_change}, within_five: {which_files, bm25,
        clear, clear_right, idle, of}, reviews: what `measure_reviews` gives, best_possible: {files, tests}, ratio:
        {files, tests}}, where ratio is that of cards to the best baseline, and clear what a prompt would bring.

    Raises:
        InvalidArgument: the history is too short.
    """
    try:
        git = Git(root)
        log = [commit for commit in git.log() if commit.changes]
        asked, base = _held_back(log, held_back, skip)
        tree = _tree(git, root, base)
        before = list(git.log(base))
    except GitUnavailable as error:
        raise InvalidArgument(f"{root}: {error}.") from error
    parsed = {}
    for number, (path, data) in enumerate(tree.items(), 1):
        parsed[path] = parse(path, data)
        progress("reading", number, len(tree))
    made = learned({path: row for path, row in parsed.items() if row}, list(tree), before, {})
    ways = _ways(list(tree), made.timeline, made.covering, made.companions)
    answers, within, reviews = _from_store(root, base, dsn, asked, tree, progress)
    ways["what_changes"] = _Answers(*answers)
    return {
        "repository": root.resolve().name,
        "base": base,
        "commits": len(asked),
        **_asked(
            asked, frozenset(tree), made.covering, ways, {p for p, row in parsed.items() if row.get("source")}
        ),
        "within_five": within,
        "reviews": reviews,
    }


def _tree(git: Git, root: Path, commit: str) -> dict[str, bytes]:
    """The files of a commit, up to 2 MB each, by path."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "-z", commit], cwd=root, check=True, capture_output=True, text=True
    )
    paths = [entry.partition("\t")[2] for entry in listed.stdout.split("\0") if entry.startswith("100")]
    found = git.contents([f"{commit}:{path}" for path in paths])
    return {name.partition(":")[2]: data for name, data in found.items()}


_Way = Callable[[str], list[str]]


def _from_store(
    root: Path,
    base: str,
    dsn: str | None,
    asked: list[Commit],
    tree: Mapping[str, bytes],
    progress: Progress,
) -> tuple[tuple[_Way, _Way], dict[str, int], dict[str, float]]:
    """The answers of a store filled at a commit: files that change with a file, its tests, files of texts, reviews."""
    there = frozenset(tree)
    paths = sorted({path for one in asked for _, *names in one.changes for path in names} & there)
    with temporary_server(dsn) as (server, folder), filled_database(server, 10) as database:
        copy = folder / "copy"
        for command in (
            ["clone", "-q", "--no-checkout", str(root.resolve()), str(copy)],
            ["-C", str(copy), "checkout", "-q", "-B", "main", base],
        ):
            subprocess.run(["git", *command], check=True, capture_output=True)
        settings = load(dsn=database, data_dir=folder / "data", embedding_provider="none")
        with SyncMemory.connect(settings) as memory:
            memory.save_session("Hold back", "held")
            memory.refresh_from_run(scan(copy), "held")
            found = {}
            for number, path in enumerate(paths, 1):
                found[path] = memory.what_changes("held", [path], AT_MOST)
                progress("asking the store", number, len(paths))
            reviews = measure_reviews(memory, "held", asked, found, there)
            texts = [one for one in asked if len(one.changes) <= AT_MOST and _sources(one) & there][:TEXTS]
            ranked = Bm25(tree)
            right = Counter(
                which
                for one in texts
                for which, files in (
                    ("which_files", [f.path for f in memory.which_files("held", one.message, FILES).files]),
                    ("bm25", ranked.best(one.message, FILES)),
                )
                if _sources(one).intersection(files)
            )
            for one in texts:
                clear = memory.which_files("held", one.subject, 3, clear=True).files
                right["clear"] += bool(clear)
                right["clear_right"] += bool(_sources(one).intersection(f.path for f in clear))
            right["idle"] = sum(bool(memory.which_files("held", one, 3, clear=True).files) for one in IDLE)
    return (
        (
            lambda path: [one.path for one in found[path].files],
            lambda path: [one.path for one in found[path].tests],
        ),
        {
            **{way: right[way] for way in ("which_files", "bm25", "clear", "clear_right", "idle")},
            "of": len(texts),
        },
        reviews,
    )


def _sources(commit: Commit) -> set[str]:
    """The files of a commit that a text may be about: no list of changes, no lock file."""
    return {path for _, path, _ in commit.changes if not path.endswith((*DOCUMENTS, ".lock"))}


class Bm25:
    """The files of a tree ranked for a text by the words that both hold, with the usual constants."""

    def __init__(self, tree: Mapping[str, bytes]) -> None:
        self._counts = {
            path: Counter(_WORD.findall(f"{path} {data.decode(errors='replace')}".lower()))
            for path, data in tree.items()
        }
        self._length = {path: counts.total() for path, counts in self._counts.items()}
        self._mean = sum(self._length.values()) / max(1, len(self._length))
        self._files = Counter(word for counts in self._counts.values() for word in counts)

    def best(self, text: str, most: int) -> list[str]:
        """The first files."""
        scores: defaultdict[str, float] = defaultdict(float)
        total = len(self._counts)
        for word in set(_WORD.findall(text.lower())):
            if (files := self._files[word]) == 0:
                continue
            rare = log(1 + (total - files + 0.5) / (files + 0.5))
            for path, counts in self._counts.items():
                if count := counts[word]:
                    scores[path] += (
                        rare * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * self._length[path] / self._mean))
                    )
        return [path for path, _ in sorted(scores.items(), key=lambda row: (-row[1], row[0]))[:most]]


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

    together: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, paths in timeline.changes():
        for path in paths:
            together[path].update(other for other in paths if other != path)

    def changed_with(path: str) -> list[str]:
        return sorted(together[path], key=lambda other: (-together[path][other], other))[:AT_MOST]

    return {
        "cards": _Answers(
            lambda path: [one.path for one in companions.companions(path, AT_MOST)],
            lambda path: [one.path for one in companions.tests(path, TESTS)],
        ),
        "co_change": _Answers(
            changed_with, lambda path: [other for other in changed_with(path) if other in covering.tests]
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
    recall: defaultdict[str, float] = defaultdict(float)
    for commit in asked:
        touched = {name for _, path, before in commit.changes for name in (path, before) if name} & there
        if len(commit.changes) > MASS:
            continue
        for path in sorted(touched):
            others = touched - {path}
            tests = others & covering.tests if path in sources and not covering.is_test(path) else set()
            for part, wanted, most in (("files", others, FILES), ("tests", tests, TESTS)):
                if not wanted:
                    continue
                questions[part] += 1
                possible[part] += min(most, len(wanted))
                for way, answers in ways.items():
                    said = (answers.files if part == "files" else answers.tests)(path)
                    right[way, part] += len(wanted & set(said[:most]))
                    if part == "files":
                        recall[way] += len(wanted & set(said[:AT_MOST])) / len(wanted)
    at = {"files": FILES, "tests": TESTS}

    def share(count: int, part: str) -> float:
        return round(count / max(1, questions[part] * at[part]), 3)

    precision = {way: {part: share(right[way, part], part) for part in at} for way in ways}
    return {
        "questions": dict(questions),
        "precision": precision,
        "recall_at_10": {
            way: round(recall[way] / max(1, questions["files"]), 3)
            for way in ("what_changes", "cards", "co_change")
        },
        "best_possible": {part: share(possible[part], part) for part in at},
        "ratio": {
            part: round(
                right["cards", part]
                / max(1, *(right[way, part] for way in ("co_change", "name", "most_changed"))),
                2,
            )
            for part in at
        },
    }
