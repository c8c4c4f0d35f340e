"""Report a repository: modules, imports, tests, documents, history. The same files give the same report.

A reading has three steps. The files are listed, and those that changed are read and parsed (`files`,
`parsing`). Facts of all of them and the history together, such as imports and companions, are worked out once
for a commit and a set of imports (`facts`). At last the report is put together (`report`), whole or only the
difference from one that was given before.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pgmem.errors import InvalidArgument
from pgmem.escaping import counted
from pgmem.features.cards import decisions, files, languages, measured
from pgmem.features.cards.cache import Cache, json_digest
from pgmem.features.cards.facts import Learned, facts, learned, taken_back
from pgmem.features.cards.parsing import face, parse
from pgmem.features.cards.report import entries_of, gathered
from pgmem.workspace.git import MOST_COMMITS, Commit, Git, GitUnavailable

SCHEMA = "pgmem.cards/1"
"""The schema of a report; `refresh_from_run` refuses any other."""

_READER = "11"
"""Part of the fingerprint: a reader that sees more reads every repository again."""
_REVERTS = 300
"""Newest reverting commits whose patches are read."""
_SENT = 3
_RECENT = 100
"""Most parsed files that the cache keeps beside the others."""

Progress = Callable[[int, int], None]


def scan(root: Path, on_file: Progress | None = None, cache_dir: Path | None = None) -> dict[str, Any]:
    """Read a repository, and report the facts that its cards are made from. Nothing is changed, imported or run.

    Args:
        root: the directory; in a git work tree, ignored files are left out.
        on_file: called after each file with the number of finished files and the total.
        cache_dir: the place of the cache; None: nowhere.

    Returns:
        {schema, complete, fingerprint, commit, branch, files, modules, tests, documents, facts, notes, renames,
        work, skipped}; paths are relative.

    Raises:
        InvalidArgument: the directory does not exist.
    """
    return Reading(root, cache_dir, on_file).report()


def standing(repository: Path | Reading) -> tuple[str | None, str | None]:
    """The branch of a repository and the commit that its cards wait for; None: the default branch, none, or no git."""
    try:
        git = repository.git if isinstance(repository, Reading) else Git(repository)
        return git.standing() if git else (None, None)
    except GitUnavailable:
        return None, None


def settled(
    root: Path, waiting: Collection[tuple[str, str]], cache_dir: Path | None = None
) -> list[dict[str, str | None]]:
    """The state of branches and commits that cards wait for, as `Git.settled` says; nothing without git.

    Args:
        root: the directory.
        waiting: branches with their commits.
        cache_dir: where it is kept that nothing became of them, until a branch moves.
    """
    cache = Cache(cache_dir, root)
    try:
        git = Git(root)
        key = json_digest([sorted(waiting), git.ends({branch for branch, _ in waiting})])
        if cache.load("settled").get("key") == key:
            return []
        made = git.settled(waiting)
    except GitUnavailable:
        return []
    if not made:
        cache.store("settled", {"key": key})
    return made


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles, which walks a growing cache or syntax tree again and again for nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Reading:
    """A repository as it is now.

    Args:
        root: the directory.
        cache_dir: the place of the cache; None: nowhere.
        on_file: called after each file with the number of finished files and the total.

    Raises:
        InvalidArgument: the directory does not exist.
    """

    def __init__(self, root: Path, cache_dir: Path | None = None, on_file: Progress | None = None) -> None:
        if not root.is_dir():
            raise InvalidArgument(f"{root} is not a directory; name the root of a repository.")
        self._root = root
        self._cache = Cache(cache_dir, root)
        self._on_file = on_file
        self._skipped: list[str] = []
        self._made: dict[str, Any] = {}
        """The facts of the files that were parsed now."""
        self.git: Git | None = None
        """None if git is missing or the repository has no commit."""
        try:
            self.git = Git(root)
            self._listed, no_files = self.git.files()
            self._skipped += no_files
        except GitUnavailable as error:
            self.git = None
            self._skipped.append(f"git: {error}; history and commits are skipped")
            self._listed = files.walk(root)
        self._listed = files.plain_names(self._listed, self._skipped)
        self._files = files.read(
            root,
            [path for path in self._listed if files.is_read(path)],
            self._cache.load("files"),
            self._skipped,
        )

    @cached_property
    def fingerprint(self) -> str:
        """The digest of everything that a report follows from."""
        sums = hashlib.sha256(f"{_READER}{self.git.commit if self.git else ''}".encode())
        for path, row in self._files.items():
            sums.update(f"\0{path}\0{row['digest']}".encode(errors="surrogateescape"))
        return sums.hexdigest()

    @property
    def branch(self) -> str | None:
        """The branch that is checked out; None: the default one, none, or no repository."""
        return self.git.branch if self.git else None

    @_uncollected()
    def report(self, base: str | None = None) -> dict[str, Any]:
        """The report, or its difference from the report with a fingerprint, if the cache knows that.

        A report of differences has `complete` false, `base` with that fingerprint, and `removed` with the paths that
        no longer exist.
        """
        known = self._facts()
        sent = self._cache.load("sent")
        before = sent.get(base) if base is not None else None
        was = before["files"] if before is not None else {}
        contents = {path: row["digest"] for path, row in self._files.items()}
        # With the facts of before, only files of another content have another part in the report.
        kept = was if before is not None and before["key"] == self._key else {}
        asked = [path for path, content in contents.items() if kept.get(path, "")[:16] != content[:16]]
        entries = entries_of(self._parsed(asked), known, contents)
        digests = {path: f"{contents[path][:16]}{json_digest(entry)[:16]}" for path, entry in entries.items()}
        digests = {path: digests.get(path) or kept[path] for path in contents}
        now = {"key": self._key, "files": digests, "work": json_digest(known["work"])}
        self._cache.store("sent", {**dict(list(sent.items())[1 - _SENT :]), self.fingerprint: now})
        report: dict[str, Any] = {
            "schema": SCHEMA,
            "complete": before is None,
            "fingerprint": self.fingerprint,
            "commit": self.git.commit if self.git else None,
            "branch": self.branch,
            "renames": known["renames"],
        }
        if before is None or before["work"] != now["work"]:
            report["work"] = known["work"]
        if before is not None:
            report["base"] = base
            report["removed"] = sorted(was.keys() - contents.keys())
            entries = {path: entry for path, entry in entries.items() if was.get(path) != digests[path]}
        return {**report, **gathered(entries), "skipped": self._skipped}

    def _parsed(self, paths: Collection[str]) -> dict[str, dict[str, Any]]:
        """The facts of some files; the large part of the cache is read only where it is needed."""
        known: Mapping[str, Any] = {**self._cache.load("recent"), **self._made}
        if not known.keys() >= set(paths):
            known = {**self._cache.load("parsed"), **known}
        found = {}
        for path in paths:
            digest, said = known.get(path, ("", {}))
            found[path] = (
                said if digest == self._files[path]["digest"] else self._said(path, self._files[path])
            )
        return found

    def _parse(self) -> None:
        """Parse the files of which the cache does not know the face, and keep their facts."""
        for number, (path, row) in enumerate(self._files.items(), 1):
            if "face" not in row:
                said = self._said(path, row)
                self._made[path] = [row["digest"], said]
                row["face"], row["error"] = json_digest(face(said)), said.get("error")
            if row["error"] is not None:
                self._skipped.append(f"{path}: cannot be parsed ({row['error']}); only its name is kept")
            if self._on_file is not None:
                self._on_file(number, len(self._files))
        if unread := sum(languages.is_missing(path.rpartition(".")[2]) for path in self._files):
            self._skipped.append(
                f"{counted(unread, 'file is', 'files are')} not parsed: install pgmem-agent[languages]"
            )
        recent = {**self._cache.load("recent"), **self._made}
        # A few changed files are kept beside the others, because writing all of them takes longer than an answer may.
        if len(recent) > _RECENT:
            parsed = self._parsed(self._files)
            self._cache.store(
                "parsed", {path: [self._files[path]["digest"], parsed[path]] for path in parsed}
            )
            recent = {}
        self._cache.store("recent", recent)
        self._cache.store(
            "files",
            {
                path: [row["stat"], row["digest"], row["face"], row["error"]]
                for path, row in self._files.items()
            },
        )

    def _said(self, path: str, row: dict[str, Any]) -> dict[str, Any]:
        """The facts of one file; whatever is wrong with it ends no reading."""
        try:
            return parse(path, row.pop("data", None) or (self._root / path).read_bytes())
        except Exception as error:
            return {"source": None, "error": type(error).__name__}

    def _facts(self) -> dict[str, Any]:
        """The facts of all files and the history; from the cache if neither imports nor commits changed."""
        self._parse()
        commit = self.git.commit if self.git else ""
        faces = [(path, row["face"]) for path, row in self._files.items()]
        packages = files.packages(self._root, self._listed)
        owners = {
            path: files.plain_text(self._root, path) for path in decisions.OWNER_FILES if path in self._listed
        }
        coverage = [
            (path, (self._root / path).stat().st_mtime_ns)
            for path in (".coverage", "lcov.info", "coverage/lcov.info")
            if (self._root / path).is_file()
        ]
        unmerged = self.git.unmerged() if self.git else []
        sweeps = files.plain_text(self._root, ".git-blame-ignore-revs").split()
        people = files.plain_text(self._root, ".mailmap")
        self._key = json_digest(
            [commit, faces, owners, coverage, json_digest(self._listed), unmerged, sweeps, people, packages]
        )
        kept = self._cache.load("facts")
        if kept.get("key") == self._key:
            self._skipped += kept["skipped"]
            found: dict[str, Any] = kept["found"]
            return found
        skipped: list[str] = []
        log = self._log(people, skipped)
        parsed = self._parsed(self._files)
        known = learned(parsed, self._listed, log, measured.read(self._root), packages, sweeps)
        sizes, back = self._looked_at(known)
        made = facts(parsed, known, owners, frozenset(unmerged), sizes, back)
        self._skipped += skipped
        self._cache.store("facts", {"key": self._key, "found": made, "skipped": skipped})
        return made

    def _looked_at(self, known: Learned) -> tuple[dict[str, dict[str, int]], set[tuple[str, str]]]:
        """The lines of commits that explain something, and the reverts that are still true, each commit read once."""
        if self.git is None:
            return {}, set()
        kept = self._cache.load("looked_at")
        explaining, reverting = known.timeline.explaining, list(known.timeline.reverting)[:_REVERTS]
        sizes = {one: kept.get("sizes", {}).get(one) for one in explaining}
        patches = {one: kept.get("patches", {}).get(one) for one in reverting}
        if unknown := [one for one, known_size in {**sizes, **patches}.items() if known_size is None]:
            sizes.update({one: {} for one in unknown if one in sizes})
            patches.update({one: {} for one in unknown if one in patches})
            sizes.update(self.git.sizes([one for one in unknown if one in sizes]))
            patches.update(self.git.patches([one for one in unknown if one in patches]))
            self._cache.store("looked_at", {"sizes": sizes, "patches": patches})

        def lines(path: str) -> set[str]:
            if path not in self._files:
                return set()
            with suppress(OSError):
                return {line.strip() for line in (self._root / path).read_text(errors="replace").splitlines()}
            return set()

        return sizes, set(taken_back(known.timeline, patches, cache(lines)))

    def _log(self, people: str, skipped: list[str]) -> list[Commit]:
        """The commits, newest first; only those that the cache does not hold are read from git."""
        if self.git is None:
            return []
        kept = self._cache.load("commits")
        old = [_commit(row) for row in kept.get("commits", ())]
        head = str(kept.get("head", ""))
        if people != kept.get("people"):  # who is one person is said anew of all commits
            old, head = [], ""
        if head == self.git.commit:
            return old
        try:
            if not old or not self.git.is_ancestor(head):
                old = []
            since = [head] if old else []
            try:
                log = [*self.git.log(known=since), *old]
            except GitUnavailable:  # a partial clone has no contents to find similar ones by
                log = [*self.git.log(known=since, exact=True), *old]
                skipped.append("git history: contents are missing; only renames of unchanged files are known")
            if len(log) >= MOST_COMMITS:
                skipped.append(f"git history: the newest {MOST_COMMITS} commits are read")
            if self.git.is_shallow():
                skipped.append("git history: the clone is shallow; older commits are unknown")
        except (GitUnavailable, OSError) as error:
            skipped.append(f"git history: {error}; commits are skipped")
            return []
        rows = [_row(commit) for commit in log]
        self._cache.store("commits", {"head": self.git.commit, "people": people, "commits": rows})
        return log


def _row(commit: Commit) -> list[Any]:
    return [commit.id, commit.at, commit.authors, commit.message, commit.changes, commit.parents]


def _commit(row: list[Any]) -> Commit:
    return Commit(row[0], row[1], tuple(map(tuple, row[2])), row[3], tuple(map(tuple, row[4])), tuple(row[5]))
