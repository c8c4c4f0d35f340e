"""Counts from the history of a repository about its current files; this module reads no file.

Renames are followed over the whole history in one pass: walking from the newest commit back, a rename says under which
name of today everything older counts. Ages count from the newest commit, not from now, so that the same history always
gives the same facts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from math import log2
from typing import Any

from pgmem.features.cards import merges
from pgmem.workspace.git import Commit

DAY = 86400
HALF_LIFE = 730 * DAY
"""A commit counts half after this time: files that changed together long ago say less about the next change."""
_MOST_WORK = 1_000
_MOST_EXPLAINING = 2_000
_LINE = 500
MASS = 30
"""A commit of more files than this is a sweep: it says nothing about which files belong together."""

_FORMATTING = re.compile(
    r"^(?:style|format|lint|prettier|black|ruff|isort|typos?)\b|^chore(?:\([^)]*\))?:\s*(?:format|lint|prettier)|"
    r"\b(?:autofix|auto-fix|reformat\w*|re-format\w*|run (?:black|prettier|isort|ruff)|apply (?:black|ruff|formatting)|"
    r"copyright year|code style|trailing whitespace)\b",
    re.IGNORECASE,
)
_FIX = re.compile(
    r"^\W*(?:\w+[:/] )?(?:hot)?fix(?:e[sd])?\b|\bfix(?:e[sd])?\b.*#\d+|\bbug ?fix|\bregression\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|never|must(?: not|n't)?|workaround|work around|revert(?:ed|s)?|do not|don't|otherwise|"
    r"so that|on purpose|deliberately|intentionally|breaks? when|unsafe|backwards? compatib\w+"
    r"|since|cause[sd]?|prevent(?:s|ed|ing)?|avoid(?:s|ed|ing)?)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"^\W*(?:add|adjust|allow|bump|change|clean|convert|cover|creat|delet|document|drop|enabl|extract|fix|implement|improv"
    r"|introduc|link|mak|mov|provid|put|refactor|refin|remov|renam|replac|rewrit|set|simplif|split|support|test|tid|tweak"
    r"|updat|us)(?:e|y|s|es|ed|ing|ies|ied|d)?\b",
    re.IGNORECASE,
)
"""A sentence that describes the change, which shows that itself."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_TRAILER = re.compile(
    r"^[A-Z][\w-]+(?:-by)?: \S|^(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|see|ref[s]?)\b.{0,12}#\d+\W*$", re.I
)
_BOT = re.compile(
    r"\[bot\]|\bbot$|^(?:dependabot|renovate|pre-commit-ci|github-actions|greenkeeper|snyk-bot|pyup-bot|github$"
    r"|(?:github )?copilot|claude|cursor|codex|devin|gemini|aider|amp|chatgpt|openai|windsurf|jules|junie)\b",
    re.I,
)
"""Programs, by the name of an author: they know no file."""
_NOBODY = frozenset(("", "unknown", "root", "your name"))
_NO_FIX = re.compile(
    r"\b(?:docs?|change ?log|typos?|lint\w*|ci|tests?|typing|types?|mypy|pyright|flake\w*|warnings?|bump|build|spelling"
    r"|readme|comments?|merge|revert\w*|ruff|pylint|eslint|biome)\b",
    re.I,
)
_RELEASE = re.compile(
    r"^(?:chore(?:\([^)]*\))?: )?(?:(?:release|bump|version|publish|prepare)\W+)*"
    r"(?:version |to |release )*v?\d+\.\d+[\w.+-]*$",
    re.I,
)
_UNDONE = re.compile(r'^(?:\w+(?:\([^)]*\))?: )?Revert:? ["“](.*)["”]', re.IGNORECASE)
_UNDONE_NUMBER = re.compile(r"\breverts? (?:PR |pull request |[\w.-]+/[\w.-]+)?#(\d+)\b", re.IGNORECASE)
_AGAIN = re.compile(r'^Re-?(?:apply|land):? ["“]?(.*?)["”]?$', re.IGNORECASE)
_TAKES_BACK = re.compile(r"\breverts commit ([0-9a-f]{7,64})\b", re.IGNORECASE)
_NO_PROSE = re.compile(
    r"^(?:#|- \[|\||>|```|<|https?://\S+$|[*+-] \S+$|Conflicts:|\(cherry picked|This reverts commit)"
)
_SUBJECT = re.compile(
    r"^(?:(?:feat|fix|test|docs|chore|refactor|perf|style|ci|build)(?:\([^)]*\))?!?: |Revert [\"“])", re.I
)
"""The subject of a commit that was squashed into another."""
_EXPLAINED = 500
"""Characters of a message that explains a change."""
_GONE = 730 * DAY
"""Who has committed nothing for this time before the newest commit is asked no more."""


def month(at: int) -> str:
    """Return the month of a time in seconds since 1970, such as 2026-03."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m")


def is_sweep(commit: Commit) -> bool:
    """Whether a commit says nothing about files that belong together: formatting, or a change of very many files."""
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
    """The explanation in the message of a commit, with the file that it is about."""

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
        sweeps: commits that are sweeps whatever they hold, as .git-blame-ignore-revs names them.
    """

    def __init__(
        self, commits: Iterable[Commit], files: Collection[str], sweeps: Collection[str] = ()
    ) -> None:
        self.renames: dict[str, str] = {}
        """Names of before by the name of today."""
        self.newest = 0
        self._files: defaultdict[str, _Rows] = defaultdict(list)
        self._commits: _Rows = []
        self._sweeps: set[str] = set()
        self._names: dict[str, str] = {}
        self._seen: dict[str, int] = {}
        there = frozenset(files)
        for commit in commits:
            self.newest = max(self.newest, commit.at)
            if commit.id in sweeps or is_sweep(commit):
                self._sweeps.add(commit.id)
            for name, address in commit.authors:
                # Who commits from several addresses, or under several names from one, is one person.
                person = self._names.setdefault(
                    address or name, self._names.setdefault(name.casefold(), name)
                )
                self._seen[person] = max(self._seen.get(person, 0), commit.at)
            touched = []
            for status, path, before in commit.changes:
                today = self.renames.get(path, path)
                if status == "R" and before != today:
                    self.renames[before] = today
                # A file that was split left its name to one part: the older commits are the history of both.
                touched += [one for one in (today, path) if one in there]
            row = (commit, tuple(dict.fromkeys(touched)))
            self._commits.append(row)
            for path in row[1]:
                self._files[path].append(row)
        self.renames = {old: new for old, new in self.renames.items() if new in there and old not in there}

    @property
    def is_long(self) -> bool:
        """Whether there is more than the first commit."""
        return len(self._commits) > 1

    def commits(self, path: str) -> list[Commit]:
        """The commits that changed a file, newest first."""
        return [commit for commit, _ in self._files.get(path, ())]

    def added(self, sources: Set[str], newest: int = 200) -> dict[str, Any] | None:
        """The folder in which most of the newest commits to sources add a file, as for a list of changes; from 30 %."""
        folders: Counter[str] = Counter()
        of = 0
        for commit, paths in self._commits:
            if of < newest and commit.id not in self._sweeps and not sources.isdisjoint(paths):
                of += 1
                folders.update(
                    {path.rpartition("/")[0] for status, path, _ in commit.changes if status == "A"}
                )
        for folder, count in folders.most_common(1):
            if folder and of >= 20 and count >= 0.3 * of:
                return {"folder": folder, "share": round(count / of, 2)}
        return None

    def own(self, path: str) -> int:
        """The number of commits of a file without sweeps; shares are fractions of it."""
        return sum(commit.id not in self._sweeps for commit in self.commits(path))

    def changes(self, path: str | None = None) -> Iterator[tuple[float, tuple[str, ...]]]:
        """Weight and files of the commits of one file, or of all, newest first, without sweeps.

        A commit counts less with its age, and less the more files it changed.
        """
        for commit, paths in self._commits if path is None else self._files.get(path, ()):
            if commit.id not in self._sweeps:
                age = max(0, self.newest - commit.at)
                yield 0.5 ** (age / HALF_LIFE) / log2(1 + max(2, len(commit.changes))), paths

    def owners(self, path: str, most: int = 3) -> list[Owner]:
        """Who knows a file best: commits, the newer the more, without sweeps; co-authors count.

        Nobody is named for fewer than three commits or a twentieth of them, who has left, or who is a program; and no
        one, where one person has made nearly all commits of the repository.
        """
        commits: Counter[str] = Counter()
        known: defaultdict[str, float] = defaultdict(float)
        last: dict[str, int] = {}
        of = 0
        for commit in self.commits(path):
            if commit.id in self._sweeps:
                continue
            of += 1
            for one in {self._names[address or name] for name, address in commit.authors}:
                commits[one] += 1
                known[one] += 0.5 ** (max(0, self.newest - commit.at) / HALF_LIFE)
                last[one] = max(last.get(one, 0), commit.at)
        if set(commits) == {self._everywhere}:
            return []
        named = [
            one
            for one, count in commits.items()
            if count >= max(3, of / 20)
            and self._seen[one] >= self.newest - _GONE
            and not _BOT.search(one)
            and one.casefold() not in _NOBODY
        ]
        named.sort(key=lambda one: (-known[one], one))
        return [Owner(one, commits[one], of, last[one]) for one in named[:most]]

    @cached_property
    def _everywhere(self) -> str | None:
        """The author of at least nine of ten commits."""
        made = Counter(
            self._names[commit.authors[0][1] or commit.authors[0][0]] for commit, _ in self._commits
        )
        return next((key for key, count in made.most_common(1) if 10 * count >= 9 * made.total()), None)

    @cached_property
    def reverting(self) -> dict[str, str]:
        """The commits that take another one back which has not come again since: the subject of that, by their id."""
        found: dict[str, str] = {}
        again: set[str] = set()
        subjects = {commit.id: merges.bare(commit.subject) for commit, _ in self._commits}
        numbered = {
            number: subjects[one.id]
            for one, _ in self._commits
            if (number := merges.number_at_end(one.subject))
        }
        ids = sorted(subjects)
        for commit, _ in self._commits:  # newest first
            bare = subjects[commit.id]
            if match := _AGAIN.search(bare):
                again.add(merges.bare(match[1]))
            named = next(
                (known for name in _TAKES_BACK.findall(commit.message) if (known := _known(ids, name))), None
            )
            match = _UNDONE.search(bare)
            undone = merges.bare(match[1]) if match else subjects[named] if named else None
            if undone is None and (match := _UNDONE_NUMBER.search(commit.message[:_LINE])):
                undone = numbered.get(match[1])
            if undone is not None and bare not in again:
                # The revert of a revert brings back; a commit that was made again under its name is present, too.
                if inner := _UNDONE.search(undone):
                    again.update((undone, merges.bare(inner[1])))
                elif undone not in again and len(commit.changes) <= MASS:
                    found[commit.id] = undone
            again.add(bare)
        return found

    def reverts(self, path: str) -> list[Commit]:
        """The reverting commits of a file, newest first."""
        return [one for one in self.commits(path) if one.id in self.reverting]

    def fixes(self, path: str) -> list[Commit]:
        """The commits of a file that repair something, newest first."""
        return [
            one
            for one in self.commits(path)
            if _FIX.search(one.subject)
            and not _NO_FIX.search(one.subject)
            and one.id not in self._sweeps
            and merges.bare(one.subject) not in self._undone
        ]

    @cached_property
    def _undone(self) -> set[str]:
        return set(self.reverting.values())

    def work(self, unmerged: Collection[str] = (), newest: int = 300, of_file: int = 5) -> list[Work]:
        """The newest pieces of work, and the newest few of each file, with the files of today that each changed.

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
        found_work: list[Work] = []
        given: Counter[str] = Counter()
        for piece in self._described(pieces, files):
            if len(found_work) < newest or any(given[path] < of_file for path in piece.paths):
                found_work.append(piece)
                given.update(piece.paths)
                if len(found_work) == _MOST_WORK:
                    break
        return found_work

    def _described(
        self, pieces: Iterable[tuple[Commit, list[Commit]]], files: Mapping[str, tuple[str, ...]]
    ) -> Iterator[Work]:
        ids = sorted(files)
        for last, commits in pieces:
            own = [
                one
                for one in commits
                if one.id not in self._sweeps
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

    @cached_property
    def explaining(self) -> dict[str, str]:
        """The newest commits whose message explains something: the text, by their id."""
        found: dict[str, str] = {}
        for commit, paths in self._commits:
            if len(found) == _MOST_EXPLAINING:
                break
            if (
                paths
                and not _BOT.search(commit.authors[0][0])
                and commit.id not in self.reverting
                and merges.bare(commit.subject) not in self._undone
                and (text := explanation(commit.message))
            ):
                found[commit.id] = text
        return found

    def reasons(
        self, files: Collection[str], sizes: Mapping[str, Mapping[str, int]], most: int = 3
    ) -> list[Reason]:
        """The explanations in messages, the newest for each file first.

        A message is about the file of its commit with the most changed lines, and about others with half as many;
        where the lines are unknown, about the one that changes most seldom.

        Args:
            files: those that messages may be about.
            sizes: by commit and path how many lines changed.
            most: how many for a file.
        """
        found: list[Reason] = []
        given: defaultdict[str, list[str]] = defaultdict(list)
        texts = self.explaining
        for commit, paths in self._commits:
            own = [path for path in paths if path in files]
            if commit.id not in texts or not own:
                continue
            lines = {self.renames.get(path, path): count for path, count in sizes.get(commit.id, {}).items()}
            if lines:
                own.sort(key=lambda path: (-lines.get(path, 0), path))
                about = [path for path in own[:3] if 2 * lines.get(path, 0) >= lines.get(own[0], 0)]
            else:
                about = [min(own, key=lambda path: (len(self._files[path]), path))]
            for path in about:
                if (
                    len(given[path]) < most and texts[commit.id] not in given[path]
                ):  # one that was picked comes twice
                    given[path].append(texts[commit.id])
                    subject = " ".join(commit.subject.split())[:100]
                    found.append(Reason(path, texts[commit.id], subject, commit.id, commit.at))
        return found


def _known(ids: list[str], name: str) -> str | None:
    """The commit that a message means by the first letters of its id."""
    place = bisect_left(ids, name)
    return ids[place] if place < len(ids) and ids[place].startswith(name) else None


def explanation(message: str) -> str | None:
    """The explanation in the body of a message, at most 500 characters; lists, code, quotes and trailers are left out.

    A long one is shown from its first paragraph that gives a reason.
    """
    paragraphs: list[list[str]] = [[]]
    fenced = False
    for line in message.splitlines()[1:200]:
        text = line.strip()[:_LINE]
        fenced ^= text.startswith("```")
        if (
            fenced
            or not text
            or line.startswith(("    ", "\t"))
            or _NO_PROSE.search(text)
            or _TRAILER.search(text)
        ):
            paragraphs.append([])
        elif text[:2] in ("* ", "- ", "+ "):
            paragraphs.append([] if _SUBJECT.search(text[2:]) else [text[2:]])
        elif _SUBJECT.search(text):
            paragraphs.append([])
        else:
            paragraphs[-1].append(text)
    texts = [" ".join(" ".join(lines).split()) for lines in paragraphs]
    # A heading, or a list of the subjects of squashed commits, explains nothing.
    texts = [
        text
        for text in texts
        if len(text) >= 60 and text.count(" ") >= 8 and (text[-1] in ".!?:;)`" or len(text) >= 100)
    ]
    whole = " ".join(texts)
    if not whole or (not _REASON.search(whole) and all(_DONE.search(one) for one in _SENTENCE.split(whole))):
        return None
    if len(whole) > _EXPLAINED:
        first = next((place for place, text in enumerate(texts) if _REASON.search(text)), 0)
        texts = texts[first:]
    said = " ".join(texts)
    while len(said) > _EXPLAINED:
        end = said[:_EXPLAINED].rfind(". ")
        said = said[: end + 1] if end > 100 else said[:_EXPLAINED].rpartition(" ")[0] + " …"
    return said
