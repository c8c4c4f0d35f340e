"""Counts from the history of a repository about its current files; this module reads no file.

Renames are followed over the whole history in one pass: walking from the newest commit back, a rename says under which
name of today everything older counts. Ages count from the newest commit, not from now, so that the same history always
gives the same facts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from math import log2

from pgmem.cards import merges
from pgmem.workspace.git import Commit

DAY = 86400
HOTSPOT_DAYS = 90
HALF_LIFE = 730 * DAY
"""A commit counts half after this time: what changed together long ago says less about the next change."""
MASS = 30
"""A commit of more files than this is a sweep: it says nothing about which files belong together."""

_FORMATTING = re.compile(
    r"^(?:style|format|lint|prettier|black|ruff|isort|typos?)\b|^chore(?:\([^)]*\))?:\s*(?:format|lint|prettier)|"
    r"\b(?:autofix|auto-fix|reformat\w*|re-format\w*|run (?:black|prettier|isort|ruff)|apply (?:black|ruff|formatting)|"
    r"copyright year|code style|trailing whitespace)\b",
    re.IGNORECASE,
)
_REVERT = re.compile(r"\brevert(?:s|ed|ing)?\b|\brolled? back\b", re.IGNORECASE)
_FIX = re.compile(
    r"^\W*(?:\w+[:/] )?(?:hot)?fix(?:e[sd])?\b|\bfix(?:e[sd])?\b.*#\d+|\bbug ?fix|\bregression\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|never|must(?: not|n't)?|workaround|work around|revert(?:ed|s)?|do not|don't|otherwise|"
    r"so that|on purpose|deliberately|intentionally|breaks? when|unsafe|backwards? compatib\w+)\b",
    re.IGNORECASE,
)
_TRAILER = re.compile(
    r"^[A-Z][\w-]+(?:-by)?: \S|^(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|see|ref[s]?)\b.{0,12}#\d+\W*$", re.I
)
_BOT = re.compile(
    r"\[bot\]|^(?:dependabot|renovate|pre-commit-ci|github-actions|greenkeeper|snyk-bot|pyup-bot)\b", re.I
)
_NOBODY = frozenset(("", "unknown", "root", "your name"))
_HASH = re.compile(r"\b[0-9a-f]{12,40}\b")
_NO_FIX = re.compile(
    r"\b(?:docs?|change ?log|typos?|lint\w*|ci|tests?|typing|mypy|flake\w*|spelling|readme|comments?)\b", re.I
)
_RELEASE = re.compile(
    r"^(?:chore(?:\([^)]*\))?: )?(?:(?:release|bump|version|publish|prepare)\W+)*"
    r"(?:version |to |release )*v?\d+\.\d+[\w.+-]*$",
    re.I,
)
_UNDONE = re.compile(r'^Revert "(.*)"')
_TAKES_BACK = re.compile(r"\breverts commit ([0-9a-f]{7,64})\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")


def month(at: int) -> str:
    """Return the month of a time in seconds since 1970, such as 2026-03."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m")


def is_sweep(commit: Commit) -> bool:
    """Whether a commit says nothing about what belongs together: formatting, or a change of very many files."""
    return len(commit.changes) > MASS or _FORMATTING.search(commit.subject) is not None


@dataclass(frozen=True, slots=True)
class Owner:
    """A person who has worked on a file: commits, and the time of the last one in seconds since 1970."""

    name: str
    commits: int
    of: int
    last: int


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence of a commit message that gives a reason or a rule, with the file it is about."""

    path: str
    text: str
    subject: str
    commit: str
    at: int


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work that is done: a commit, or the merge of a pull request."""

    id: str
    at: int
    """Seconds since 1970."""
    title: str
    paths: tuple[str, ...]
    """The files of today that it changed, the first changed first."""
    commits: tuple[str, ...]
    """The commits that the merge brought in; empty for a commit alone."""
    reverts: tuple[str, ...]
    """The commits that it takes back, as its messages say."""


_Rows = list[tuple[Commit, tuple[str, ...]]]
"""Commits, newest first, with the files of today that each changed."""


class Timeline:
    """The commits of a repository by the files of today.

    Args:
        commits: newest first.
        files: the paths that are there now.
    """

    def __init__(self, commits: Iterable[Commit], files: Collection[str]) -> None:
        self.renames: dict[str, str] = {}
        """Names of before by the name of today."""
        self.newest = 0
        self._files: defaultdict[str, _Rows] = defaultdict(list)
        self._commits: _Rows = []
        there = frozenset(files)
        for commit in commits:
            self.newest = max(self.newest, commit.at)
            touched = []
            for status, path, before in commit.changes:
                today = self.renames.get(path, path)
                if status == "R" and before != today:
                    self.renames[before] = today
                if today in there:
                    touched.append(today)
            row = (commit, tuple(dict.fromkeys(touched)))
            self._commits.append(row)
            for path in row[1]:
                self._files[path].append(row)
        self.renames = {old: new for old, new in self.renames.items() if new in there and old not in there}

    def commits(self, path: str) -> list[Commit]:
        """The commits that changed a file, newest first."""
        return [commit for commit, _ in self._files.get(path, ())]

    def recent(self, path: str) -> int:
        """How often a file changed in the 90 days before the newest commit."""
        since = self.newest - HOTSPOT_DAYS * DAY
        return sum(commit.at >= since for commit in self.commits(path))

    def own(self, path: str) -> int:
        """The number of commits of a file without sweeps; shares are fractions of it."""
        return sum(not is_sweep(commit) for commit in self.commits(path))

    def changes(self, path: str | None = None) -> Iterator[tuple[float, tuple[str, ...]]]:
        """Weight and files of the commits of one file, or of all, newest first, without sweeps.

        A commit counts less with its age, and less the more files it changed.
        """
        for commit, paths in self._commits if path is None else self._files.get(path, ()):
            if not is_sweep(commit):
                age = max(0, self.newest - commit.at)
                yield 0.5 ** (age / HALF_LIFE) / log2(1 + max(2, len(commit.changes))), paths

    def owners(self, path: str, most: int = 3) -> list[Owner]:
        """Who knows a file best: commits, the newer the more, without sweeps and programs; co-authors count.

        Where one person has made nearly all commits of the repository, that they made those of a file says nothing.
        """
        commits: Counter[str] = Counter()
        known: defaultdict[str, float] = defaultdict(float)
        last: dict[str, int] = {}
        names: dict[str, str] = {}
        of = 0
        for commit in self.commits(path):
            if is_sweep(commit):
                continue
            of += 1
            for name, address in commit.authors:
                if _BOT.search(name) or name.casefold() in _NOBODY:
                    continue
                key = names.setdefault(address or name, name)
                commits[key] += 1
                known[key] += 0.5 ** (max(0, self.newest - commit.at) / HALF_LIFE)
                last[key] = max(last.get(key, 0), commit.at)
        if set(names) == {self._everywhere}:
            return []
        ranked = sorted(commits, key=lambda key: (-known[key], key))
        return [Owner(key, commits[key], of, last[key]) for key in ranked[:most]]

    @cached_property
    def _everywhere(self) -> str | None:
        """The address of the author of at least nine of ten commits."""
        made = Counter(commit.authors[0][1] or commit.authors[0][0] for commit, _ in self._commits)
        return next((key for key, count in made.most_common(1) if 10 * count >= 9 * made.total()), None)

    def reverts(self, path: str) -> list[Commit]:
        """The reverting commits of a file, newest first, without those that were reverted themselves."""
        found = [
            one for one in self.commits(path) if _REVERT.search(one.subject) and len(one.changes) <= MASS
        ]
        undone = {merges.bare(match[1]) for one in found if (match := _UNDONE.search(one.subject))}
        both = {subject for subject in undone if any(merges.bare(one.subject) == subject for one in found)}
        return [
            one
            for one in found
            if merges.bare(one.subject) not in both
            and not ((match := _UNDONE.search(one.subject)) and merges.bare(match[1]) in both)
        ]

    def fixes(self, path: str) -> list[Commit]:
        """The commits of a file that repair something, newest first."""
        return [
            one
            for one in self.commits(path)
            if _FIX.search(one.subject)
            and not _REVERT.search(one.subject)
            and not _NO_FIX.search(one.subject)
            and not is_sweep(one)
        ]

    def work(self, unmerged: Collection[str] = (), most: int = 300) -> list[Work]:
        """The newest pieces of work, with the files of today that each changed.

        The commits of one pull request are one piece, where a merge names them. Sweeps, releases, the commits of
        programs and those of other branches are none.
        """
        rows = [row for row in self._commits if row[0].id not in unmerged]
        files = {commit.id: paths for commit, paths in rows}

        def fits(commits: list[Commit]) -> bool:
            return len({path for one in commits for path in files[one.id]}) <= MASS

        found = merges.requests([commit for commit, _ in rows], fits)
        requests = {merge.id: (merge, commits) for merge, commits in found}
        inside = {commit.id for _, commits in requests.values() for commit in commits}
        alone = ((commit, [commit]) for commit, _ in rows if commit.id not in inside)
        pieces = (requests.get(commit.id, (commit, commits)) for commit, commits in alone)
        return list(islice(self._described(pieces, files), most))

    def _described(
        self, pieces: Iterable[tuple[Commit, list[Commit]]], files: Mapping[str, tuple[str, ...]]
    ) -> Iterator[Work]:
        ids = sorted(files)
        for last, commits in pieces:
            own = [
                one
                for one in commits
                if not is_sweep(one)
                and not _BOT.search(one.authors[0][0])
                and not _RELEASE.search(one.subject[:200])
            ]
            paths = tuple(dict.fromkeys(path for one in reversed(own) for path in files[one.id]))
            if paths:
                named = (name for one in [last, *commits] for name in _TAKES_BACK.findall(one.message))
                yield Work(
                    last.id,
                    last.at,
                    merges.title(last, commits),
                    paths,
                    tuple(one.id for one in commits if one is not last),
                    tuple(dict.fromkeys(known for name in named if (known := _known(ids, name)))),
                )

    def reasons(self, is_source: Collection[str], most: int = 3) -> list[Reason]:
        """Sentences with because, never, must, revert or workaround in messages, the newest for each file first.

        A sentence is about the source file of its commit that changes most seldom: what changes with everything
        is about nothing.
        """
        found: list[Reason] = []
        seen: set[str] = set()
        given: Counter[str] = Counter()
        for commit, paths in self._commits:
            sources = [path for path in paths if path in is_source]
            if not sources or len(commit.changes) > 10 or _BOT.search(commit.authors[0][0]):
                continue
            about = min(sources, key=lambda path: (len(self._files[path]), path))
            for text in _sentences(commit.message):
                if text.casefold() not in seen and given[about] < most:
                    seen.add(text.casefold())
                    given[about] += 1
                    found.append(
                        Reason(about, text, " ".join(commit.subject.split())[:80], commit.id, commit.at)
                    )
        return found


def _known(ids: list[str], name: str) -> str | None:
    """The commit that a message means by the first letters of its id."""
    place = bisect_left(ids, name)
    return ids[place] if place < len(ids) and ids[place].startswith(name) else None


def _sentences(message: str) -> list[str]:
    """The sentences of a message that give a reason or a rule; lists, code, quotes and trailers are left out."""
    lines = []
    for line in message.splitlines()[1:]:
        text = line.strip()
        if line.startswith(("    ", "\t", ">", "|", "```")) or _TRAILER.search(text):
            lines.append("")
        elif text.startswith(("* ", "- ", "+ ")):
            lines += ["", text[2:]]
        else:
            lines.append(text)
    found = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            fits = (
                40 <= len(sentence) <= 300
                and sentence[-1] in ".!)`"
                and (sentence[0].isupper() or sentence[0] == "`")
            )
            if fits and _REASON.search(sentence) and not _HASH.search(sentence):
                found.append(sentence)
    return found
