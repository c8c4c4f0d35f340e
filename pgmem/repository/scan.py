"""Report a repository: modules, imports, tests, documents, history. The same files give the same report.

A reading has three steps. The files are listed, and those that changed are read and parsed (`_Files`). What follows
from all of them and the history together, such as who imports whom and what changes with what, is worked out once for
a commit and a set of imports (`facts`). At last the report is put together, whole or only what differs from one that
was given before.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pgmem.errors import InvalidArgument
from pgmem.repository import decisions, languages, measured, plain, python
from pgmem.repository.cache import Cache
from pgmem.repository.companions import Companions
from pgmem.repository.covering import Covering, is_test
from pgmem.repository.git import Commit, Git, GitUnavailable
from pgmem.repository.history import Timeline, Work
from pgmem.repository.imports import Imports
from pgmem.repository.source import Import, Source, Unreadable

SCHEMA = "pgmem.repository/1"
"""The schema of a report; `refresh_from_run` refuses any other."""

_READER = "6"
"""Part of the fingerprint: a reader that sees more reads every repository again."""
_MAX_BYTES = 2_000_000
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc")
_IGNORED = frozenset(
    ("__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist", "htmlcov", "target")
)
_VENDORED = re.compile(
    r"(^|/)(?:_?vendor(?:ed)?|third[-_]?party|node_modules|bower_components|site-packages|Pods|Carthage)/"
)
"""Code of others: it is known to be there, and a scan has nothing to say of it."""
_GENERATED = re.compile(r"\.min\.\w+$|\.d\.ts$|_pb2(?:_grpc)?\.pyi?$")
_SAYS_GENERATED = re.compile(
    r"@generated\b"
    r"|\b(?:code|file|automatically|auto-?|is) ?generated\b.{0,200}?\b(?:do not|don't) (?:edit|modify|change)"
    r"|\b(?:do not|don't) (?:edit|modify)\b.{0,200}?\bgenerated\b",
    re.IGNORECASE | re.DOTALL,
)
_COMMENTS = re.compile(rb"(?:\s*(?:#|//|--|;|%)[^\n]*\n|\s*/\*.*?\*/|\s*<!--.*?-->)+", re.DOTALL)
_SHEBANG = re.compile(rb"#!\s*\S*?(?:env\s+(?:-S\s+)?)?(\w+)[\d.]*(?:\s|$)")
_ABSOLUTE = re.compile(r"/|~(/|$)|[A-Za-z]:")
_WORD = re.compile(r"[\w./-]+")
_HEADING = re.compile(r"^(?:#+|=+)\s+(.+?)\s*#*$")
_REVERTED = re.compile(r'^Revert "(.*)"$')
_OTHERS = re.compile(
    r"\.(?:toml|json|jsonc|ya?ml|cfg|ini|fish|css|scss|less|html|xml|gradle|graphql|tf|nix|lock|in|mk|cmake|pyi"
    r"|ipynb|mdx|erb|ejs|haml|j2|jinja2?|tmpl|bzl|csproj|gemspec|asm|s)$"
    r"|(^|/)(?:[\w-]+|go\.mod|\.[\w-]*rc)$"
)
"""Files that are not parsed, and of which the history says what changes with them."""
_BLAMED = 40
_SHARED_DOC = 3
"""A text that so many files begin with, as that of a licence, describes none of them."""
_SENT = 3
_WORK = ""
"""Where the digest of the work stands among those of the files."""
_RECENT = 100
"""Most parsed files that the cache keeps beside the others."""

Progress = Callable[[int, int], None]


def scan(root: Path, on_file: Progress | None = None, cache_dir: Path | None = None) -> dict[str, Any]:
    """Read a repository, and report the facts that its cards are made from. Nothing is changed, imported or run.

    Args:
        root: the directory; in a git work tree, ignored files are left out.
        on_file: called after each file with the number of finished files and the total.
        cache_dir: where what was read is kept for the next time; None: nowhere.

    Returns:
        {schema, complete, fingerprint, commit, branch, files, modules, tests, documents, facts, notes, renames,
        work, skipped}; paths are relative.

    Raises:
        InvalidArgument: there is no such directory.
    """
    return Reading(root, cache_dir, on_file).report()


def fingerprint(root: Path, cache_dir: Path | None = None) -> str:
    """The fingerprint of a repository's report, without making the report.

    Raises:
        InvalidArgument: there is no such directory.
    """
    return Reading(root, cache_dir).fingerprint


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
        key = _digest([sorted(waiting), git.ends({branch for branch, _ in waiting})])
        if cache.load("settled").get("key") == key:
            return []
        made = git.settled(waiting)
    except GitUnavailable:
        return []
    if not made:
        cache.store("settled", {"key": key})
    return made


class Reading:
    """A repository as it is now.

    Args:
        root: the directory.
        cache_dir: where what was read is kept for the next time; None: nowhere.
        on_file: called after each file with the number of finished files and the total.

    Raises:
        InvalidArgument: there is no such directory.
    """

    def __init__(self, root: Path, cache_dir: Path | None = None, on_file: Progress | None = None) -> None:
        if not root.is_dir():
            raise InvalidArgument(f"{root} is no directory; name the root of a repository.")
        self._root = root
        self._cache = Cache(cache_dir, root)
        self._on_file = on_file
        self._skipped: list[str] = []
        self.git: Git | None = None
        """None where there is no git, or no history yet."""
        try:
            self.git = Git(root)
            self._listed, no_files = self.git.files()
            self._skipped += no_files
        except GitUnavailable as error:
            self.git = None
            self._skipped.append(f"git: {error}; history, hot spots and commits are left out")
            self._listed = _walk(root)
        self._files = _read(
            root, [path for path in self._listed if _is_read(path)], self._cache.load("files"), self._skipped
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

    def report(self, base: str | None = None) -> dict[str, Any]:
        """The report, or what differs from the report with a fingerprint, if the cache knows that.

        A report of differences has `complete` false, `base` with that fingerprint, and `removed` with the paths that
        are gone.
        """
        parsed = self._parsed()
        commit = self.git.commit if self.git else None
        known = self._facts(parsed)
        entries = _entries(parsed, known, {path: row["digest"] for path, row in self._files.items()})
        sent = self._cache.load("sent")
        digests = {path: _digest(entry)[:16] for path, entry in entries.items()}
        digests[_WORK] = _digest(known["work"])
        before = sent.get(base) if base is not None else None
        self._cache.store("sent", {**dict(list(sent.items())[1 - _SENT :]), self.fingerprint: digests})
        report: dict[str, Any] = {
            "schema": SCHEMA,
            "complete": before is None,
            "fingerprint": self.fingerprint,
            "commit": commit,
            "branch": self.branch,
            "renames": known["renames"],
        }
        if before is None or before.get(_WORK) != digests[_WORK]:
            report["work"] = known["work"]
        if before is not None:
            report["base"] = base
            report["removed"] = sorted(before.keys() - entries.keys() - {_WORK})
            entries = {path: entry for path, entry in entries.items() if before.get(path) != digests[path]}
        return {**report, **_gathered(entries), "skipped": self._skipped}

    def _parsed(self) -> dict[str, dict[str, Any]]:
        """What every file says of itself; those of another digest than the cache knows are parsed."""
        kept = {**self._cache.load("parsed"), **(recent := self._cache.load("recent"))}
        made: dict[str, Any] = {}
        with _uncollected():
            self._parse(kept, made)
        # A few changed files are kept beside the others, because writing all of them takes longer than an answer may.
        if made and len(recent) + len(made) <= _RECENT:
            self._cache.store("recent", {**recent, **made})
        elif made:
            self._cache.store("parsed", {path: {**kept, **made}[path] for path in self._files})
            self._cache.store("recent", {})
        self._cache.store("files", {path: [row["stat"], row["digest"]] for path, row in self._files.items()})
        return {path: row["parsed"] for path, row in self._files.items()}

    def _parse(self, kept: Mapping[str, Any], made: dict[str, Any]) -> None:
        """Give each file what it says of itself, as the cache holds it or from a parser."""
        for number, (path, row) in enumerate(self._files.items(), 1):
            known = kept.get(path)
            if known is None or known["digest"] != row["digest"]:
                said = parse(path, row.pop("data", None) or (self._root / path).read_bytes())
                known = made[path] = {"digest": row["digest"], "parsed": said, "face": _digest(_face(said))}
            row["face"], row["parsed"] = known["face"], known["parsed"]
            if (error := known["parsed"].get("error")) is not None:
                self._skipped.append(f"{path}: cannot be parsed ({error}); only its name is kept")
            if self._on_file is not None:
                self._on_file(number, len(self._files))

    def _facts(self, parsed: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """What follows from all files and the history; from the cache if neither imports nor commits changed."""
        commit = self.git.commit if self.git else ""
        faces = [(path, row["face"]) for path, row in self._files.items()]
        packages = _packages(self._root, self._listed)
        owners = {
            path: _owner_text(self._root, path) for path in decisions.OWNER_FILES if path in self._listed
        }
        coverage = [
            (path, (self._root / path).stat().st_mtime_ns)
            for path in (".coverage", "lcov.info", "coverage/lcov.info")
            if (self._root / path).is_file()
        ]
        unmerged = self.git.unmerged() if self.git else []
        release = self._release()
        name = release[0] if release else None
        key = _digest([commit, faces, owners, coverage, _digest(self._listed), unmerged, name, packages])
        kept = self._cache.load("facts")
        if kept.get("key") == key:
            self._skipped += kept["skipped"]
            found: dict[str, Any] = kept["found"]
            return found
        skipped: list[str] = []
        log = self._log(skipped)
        made = facts(
            parsed,
            self._listed,
            log,
            measured.read(self._root),
            owners,
            packages,
            frozenset(unmerged),
            release,
        )
        self._ages(parsed, made)
        self._skipped += skipped
        self._cache.store("facts", {"key": key, "found": made, "skipped": skipped})
        return made

    def _release(self) -> tuple[str, frozenset[str]] | None:
        try:
            return self.git.release() if self.git else None
        except GitUnavailable:  # of a shallow clone the tags may lie before its first commit
            return None

    def _log(self, skipped: list[str]) -> list[Commit]:
        """The commits, newest first; only those that the cache does not hold are read from git."""
        if self.git is None:
            return []
        kept = self._cache.load("commits")
        old = [_commit(row) for row in kept.get("commits", ())]
        head = str(kept.get("head", ""))
        try:
            if head == self.git.commit:
                return old
            if not old or not self.git.is_ancestor(head):
                old = []
            log = [*self.git.log(known=[head] if old else []), *old]
            if self.git.is_shallow():
                skipped.append(
                    "git history: the clone is shallow; what is older than its first commit is not known"
                )
        except (GitUnavailable, OSError) as error:
            skipped.append(f"git history: {error}; hot spots and commits are left out")
            return []
        self._cache.store("commits", {"head": self.git.commit, "commits": [_row(commit) for commit in log]})
        return log

    def _ages(self, parsed: Mapping[str, dict[str, Any]], made: dict[str, Any]) -> None:
        """Add to the marks of the code the month in which each line was written."""
        if self.git is None:
            return
        marked = [path for path, row in parsed.items() if row.get("marks") and not is_test(path)]
        marked.sort(key=lambda path: -made["facts"].get(path, {}).get("commits", 0))
        for path in marked[:_BLAMED]:
            made["facts"].setdefault(path, {})["blame"] = {
                text: _month(at)
                for text, at in self.git.written(path, [m["text"] for m in parsed[path]["marks"]])
            }


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles, which walks the growing syntax trees again and again and finds nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def parse(path: str, data: bytes) -> dict[str, Any]:
    """What a file says of itself, as JSON holds it.

    Returns:
        {source, generated, tested, marks, title, words, decision, rules, error}, without what the file does not have;
        tested: it holds its own tests, as files of Rust do.
    """
    if _VENDORED.search(path):
        return {}
    suffix = path.rpartition(".")[2]
    if path.endswith(_DOCUMENTS):
        text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        words = {word.strip("./-") for word in _WORD.findall(text)}
        made: dict[str, Any] = {
            "title": _title(text),
            "words": sorted(w for w in words if "." in w or "/" in w),
        }
        if (record := decisions.decision(path, text)) is not None:
            made["decision"] = asdict(record)
        if rules := decisions.rules(path, text):
            made["rules"] = rules
        return made
    made = {"source": None}
    if "." not in path.rpartition("/")[2]:
        # A program without a suffix says in its first line what runs it.
        runs = _SHEBANG.match(data[:200])
        suffix = "" if runs is None else "py" if runs[1].startswith(b"python") else "sh"
    if suffix == "ipynb":
        return {"source": Source(doc=plain.notebook(data)).as_json()}
    if suffix != "py" and f".{suffix}" not in plain.SUFFIXES:
        return {}
    head = _COMMENTS.match(data[:2000])
    if head is not None and _SAYS_GENERATED.search(head[0].decode(errors="replace")):
        made["generated"] = True
    try:
        if b"\0" in data[:8000]:
            raise Unreadable("a binary file")
        if suffix == "py":
            source = python.read(data, symbols=not is_test(path))
        elif languages.available(suffix):
            source = languages.read(suffix, data)
        elif suffix in ("sh", "bash", "zsh", "bats"):
            source = Source(doc=plain.read(data), imports=tuple(map(Import, plain.mentions(data))))
        else:
            source = Source(doc=plain.read(data))
        made["source"] = source.as_json()
    except Unreadable as error:
        made["error"] = str(error)
    except RecursionError:
        made["error"] = "nested too deeply"
    if suffix == "rs" and b"#[cfg(test)]" in data:
        made["tested"] = True
    if marks := decisions.marks(data):
        made["marks"] = [asdict(mark) for mark in marks]
    return made


@dataclass(frozen=True, slots=True)
class Learned:
    """What follows from all files and the history together."""

    modules: list[str]
    names: dict[str, str]
    """Dotted names of the Python files by path."""
    imports: Imports
    timeline: Timeline
    covering: Covering
    companions: Companions


def learned(
    parsed: Mapping[str, dict[str, Any]],
    files: list[str],
    log: list[Commit],
    coverage: Mapping[str, Mapping[str, float]],
    packages: Mapping[str, Mapping[str, str]] | None = None,
) -> Learned:
    """Learn from all files and the history together.

    Args:
        parsed: what `parse` gave, by path.
        files: all paths, also of files that are not parsed.
        log: the commits, newest first.
        coverage: for each file the share of its lines that each test runs.
        packages: for each kind of manifest the names of packages by their folder.
    """
    sources = {
        path: Source.from_json(row["source"]) if row["source"] else Source()
        for path, row in parsed.items()
        if "source" in row
    }
    folders = frozenset(path.rpartition("/")[0] for path in sources if path.endswith("/__init__.py"))
    names = {path: python.module_name(path, folders) for path in sources if path.endswith(".py")}
    imports = Imports(sources, names, packages or {})
    timeline = Timeline(log, files)
    covering = Covering(sources, {path: imports.used(path) for path in sources if is_test(path)})
    modules = [path for path in sources if not is_test(path) and not _GENERATED.search(path)]
    return Learned(modules, names, imports, timeline, covering, Companions(timeline, covering, coverage))


def facts(
    parsed: Mapping[str, dict[str, Any]],
    files: list[str],
    log: list[Commit],
    coverage: Mapping[str, Mapping[str, float]],
    owners: Mapping[str, str],
    packages: Mapping[str, Mapping[str, str]],
    unmerged: Collection[str] = (),
    release: tuple[str, frozenset[str]] | None = None,
) -> dict[str, Any]:
    """What a report says of each file beside what the file says itself.

    Args:
        parsed: what `parse` gave, by path.
        files: all paths, also of files that are not parsed.
        log: the commits, newest first.
        coverage: for each file the share of its lines that each test runs.
        owners: contents of the CODEOWNERS files.
        packages: for each kind of manifest the names of packages by their folder.
        unmerged: commits that are not in the default branch.
        release: the newest release, with the commits since.

    Returns:
        {names, modules, imports, covering, documents, facts, reasons, renames, work}: dotted names and imported files
        by path; files that each test covers; modules that each document names; tests, companions, owners, reverts,
        fixes and dependents by path; sentences that give reasons; names of before by the name of today; the newest
        commits that are pieces of work.
    """
    known = learned(parsed, files, log, coverage, packages)
    modules, imports, timeline = known.modules, known.imports, known.timeline
    written = {path for path in modules if not parsed[path].get("generated")}
    return {
        "names": known.names,
        "modules": modules,
        "imports": {path: imports.direct(path) for path in modules},
        "covering": {
            test: sorted(imports.used(test))
            for test, row in parsed.items()
            if is_test(test) and "source" in row
        },
        "documents": _documents(parsed, known),
        "facts": _by_path(parsed, known, list(decisions.code_owners(owners)), release),
        "reasons": [asdict(one) for one in timeline.reasons(written)],
        "renames": timeline.renames,
        "work": [_work(one) for one in timeline.work(unmerged)],
    }


def _documents(parsed: Mapping[str, dict[str, Any]], known: Learned) -> dict[str, list[str]]:
    """The modules that each document names, by its path."""
    is_module = frozenset(known.modules)
    by_name = {name: path for path, name in reversed(known.names.items()) if path in is_module}
    by_name.update((path, path) for path in known.modules)
    is_file = frozenset(by_name.values())
    return {path: _named(row["words"], by_name, is_file) for path, row in parsed.items() if "words" in row}


def _by_path(
    parsed: Mapping[str, dict[str, Any]],
    known: Learned,
    owners: list[tuple[str, tuple[str, ...]]],
    release: tuple[str, frozenset[str]] | None,
) -> dict[str, dict[str, Any]]:
    """Tests, companions, owners, reverts, fixes and dependents of each file that the repository did not copy in."""
    dependents: dict[str, list[str]] = {path: [] for path in known.modules}
    for path in known.modules:
        for target in known.imports.used(path):
            if target in dependents:
                dependents[target].append(path)
    made = {}
    for path, row in parsed.items():
        if not _VENDORED.search(path):
            used_by = dependents.get(path)
            fact = _facts_of(path, known, used_by, release)
            if used_by is not None and row.get("tested"):
                fact["tests"].insert(0, {"path": path, "score": 1.0, "why": ["in the file itself"]})
            fact["code_owners"] = list(decisions.owners_of(path, owners))
            made[path] = {name: value for name, value in fact.items() if value}
    return made


def _work(piece: Work) -> dict[str, Any]:
    return {
        "commit": piece.id,
        "at": piece.at,
        "subject": piece.title[:200],
        "paths": list(piece.paths[:30]),
        "commits": list(piece.commits),
        "reverts": list(piece.reverts),
    }


def _facts_of(
    path: str, known: Learned, used_by: list[str] | None, release: tuple[str, frozenset[str]] | None
) -> dict[str, Any]:
    """What is known of a file; used_by is None for one that is no module."""
    fact = _history_of(path, known.timeline, known.companions, release)
    if used_by is not None:
        tests = known.companions.tests(path)
        fact["tests"] = [{"path": one.path, "score": one.score, "why": list(one.why)} for one in tests]
        fact["dependents"] = sorted(used_by)[:20]
        fact["dependent_count"] = len(used_by)
    return fact


def _history_of(
    path: str, timeline: Timeline, companions: Companions, release: tuple[str, frozenset[str]] | None
) -> dict[str, Any]:
    commits = timeline.commits(path)
    if not commits:
        return {}
    together = companions.supported(path)
    since = [one for one in commits if one.id in release[1]] if release else []
    return {
        "last_commit": commits[0].id,
        "commits": len(commits),
        "changes": timeline.recent(path),
        "companions": [
            {"path": one.path, "commits": one.commits, "of": one.of, "score": round(one.score, 3)}
            for one in together
        ],
        "owners": [
            {"name": one.name, "commits": one.commits, "of": one.of, "last": _month(one.last)}
            for one in timeline.owners(path)
        ],
        "reverts": [_told(one) for one in timeline.reverts(path)[:5]],
        "fixes": [_told(one) for one in timeline.fixes(path)[:5]],
        "fix_count": len(timeline.fixes(path)),
        "unreleased": {"since": release[0], "commits": len(since)} if release and since else None,
    }


def _told(commit: Commit) -> dict[str, str]:
    subject = _REVERTED.sub(r"\1", " ".join(commit.subject.split()))
    return {"commit": commit.id, "subject": subject[:120], "on": _month(commit.at)}


def _entries(
    parsed: Mapping[str, dict[str, Any]], known: Mapping[str, Any], digests: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """For each path the parts of the report that are about it."""
    modules = set(known["modules"])
    docs = Counter(row["source"]["doc"] for row in parsed.values() if row.get("source"))
    entries: dict[str, dict[str, Any]] = {}
    for path, row in parsed.items():
        entry: dict[str, Any] = {"digest": digests[path]}
        fact = known["facts"].get(path, {})
        commit = {"last_commit": fact["last_commit"]} if "last_commit" in fact else {}
        if "words" in row:
            named = known["documents"][path]
            entry["documents"] = (
                [{"path": path, "title": row["title"], "names": named, **commit}] if named else []
            )
        elif path in modules:
            entry["modules"] = [_module(path, row, known, fact, docs)]
        elif is_test(path):
            name = {"module": known["names"][path]} if path in known["names"] else {}
            entry["tests"] = [{"path": path, **name, "anchors": known["covering"].get(path, []), **commit}]
        entry["notes"] = [*_written(path, row, known), *_marked(path, row, fact)]
        entry["fact"] = {name: value for name, value in fact.items() if name not in ("last_commit", "blame")}
        entries[path] = entry
    for reason in known["reasons"]:
        if reason["path"] in entries:
            entries[reason["path"]]["notes"].append(_reason(reason))
    return entries


def _gathered(entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    parts: dict[str, list[Any]] = {"modules": [], "tests": [], "documents": [], "notes": []}
    for entry in entries.values():
        for name, found in parts.items():
            found += entry.get(name, [])
    return {
        "files": {path: entry["digest"] for path, entry in entries.items()},
        **parts,
        "facts": {path: entry["fact"] for path, entry in entries.items() if entry["fact"]},
    }


def _module(
    path: str,
    row: Mapping[str, Any],
    known: Mapping[str, Any],
    fact: Mapping[str, Any],
    docs: Mapping[str | None, int],
) -> dict[str, Any]:
    source = row["source"] or {}
    doc = source.get("doc")
    name = known["names"].get(path, path)
    private = any(part.startswith("_") and part != "__main__" for part in name.split(".")) and name != path
    entry: dict[str, Any] = {
        "path": path,
        "module": name,
        "doc": doc if docs[doc] < _SHARED_DOC else None,
        "imports": known["imports"].get(path, []),
        "exports": [] if private else list(source.get("exports", ())),
        "changes": fact.get("changes", 0),
        "symbols": source.get("symbols", {}),
    }
    return {**entry, "last_commit": fact["last_commit"]} if "last_commit" in fact else entry


def _written(path: str, row: Mapping[str, Any], known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The notes of a document: the decision that it records, and the rules that it states."""
    notes = []
    named = [name for name in known.get("documents", {}).get(path, []) if name != path][:20]
    if record := row.get("decision"):
        state = {"accepted": "active", "superseded": "superseded"}.get(record["state"], "draft")
        if record["state"] != "rejected":
            after = {"superseded_by": record["superseded_by"]} if record["superseded_by"] else {}
            note = _note(path, "architecture_decision", state, record["statement"], "decision", named)
            notes.append({**note, "details": after, "evidence": [{"kind": "doc", "ref": path}]})
    notes += [
        {
            **_note(path, "protocol_rule", "draft", rule, f"rule:{_digest(rule)[:12]}", []),
            "evidence": [{"kind": "doc", "ref": path}],
        }
        for rule in row.get("rules", ())
    ]
    return notes


def _marked(path: str, row: Mapping[str, Any], fact: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The note of the marks in a file, the first three with line and month, or of what a generated file is."""
    if row.get("generated"):
        text = f"{path} is generated: change what it is made from."
        return [_note(path, "risk_note", "active", text, "generated", [])]
    if not row.get("marks") or is_test(path):
        return []
    blame = fact.get("blame", {})
    lines = []
    for mark in row["marks"][:3]:
        since = f", {blame[mark['text']]}" if mark["text"] in blame else ""
        text = f"{mark['text']} {mark['rest']}".rstrip(" .:;,")
        lines.append(f"{mark['word']} (line {mark['line']}{since}): {text}.")
    more = f" {len(row['marks']) - 3} more." if len(row["marks"]) > 3 else ""
    return [_note(path, "risk_note", "active", " ".join(lines) + more, "todo", [])]


def _reason(reason: Mapping[str, Any]) -> dict[str, Any]:
    text = f"{reason['text']} ({reason['subject']}, {_month(reason['at'])})"
    return {
        **_note(
            reason["path"], "change_rationale", "draft", text, f"reason:{_digest(reason['text'])[:12]}", []
        ),
        "evidence": [{"kind": "git_commit", "ref": reason["commit"]}],
    }


def _note(
    path: str, record_type: str, status: str, statement: str, facet: str, names: list[str]
) -> dict[str, Any]:
    text = "".join(letter for letter in statement if letter.isprintable())[:900]
    return {
        "path": path,
        "type": record_type,
        "status": status,
        "statement": text.encode(errors="replace").decode(),
        "facet": facet,
        "names": names,
    }


def _face(parsed: Mapping[str, Any]) -> list[Any]:
    """What other files can see of a file: if it stays, nothing that follows from all files changes."""
    source = parsed.get("source") or {}
    return [
        source.get("imports"),
        source.get("exports"),
        source.get("namespace"),
        parsed.get("words"),
        [(mark["text"], mark["rest"]) for mark in parsed.get("marks", ())],
        parsed.get("generated"),
        parsed.get("tested"),
    ]


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest()


def _month(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m")


def _row(commit: Commit) -> list[Any]:
    return [commit.id, commit.at, commit.authors, commit.message, commit.changes, commit.parents]


def _commit(row: list[Any]) -> Commit:
    return Commit(row[0], row[1], tuple(map(tuple, row[2])), row[3], tuple(map(tuple, row[4])), tuple(row[5]))


def _owner_text(root: Path, path: str) -> str:
    file = root / path
    return file.read_text(errors="replace")[:200_000] if file.is_file() and not file.is_symlink() else ""


_MANIFESTS = {
    "go.mod": re.compile(r"^module\s+(\S+)", re.MULTILINE),
    "Cargo.toml": re.compile(r"^\[package\][^\[]*?^name\s*=\s*\"([^\"]+)\"", re.MULTILINE | re.DOTALL),
    "package.json": re.compile(r"^(?: {0,4}|\t)\"name\"\s*:\s*\"([^\"]+)\"", re.MULTILINE),
}
"""Files that say how others import what is in their folder, with where the name is."""


def _packages(root: Path, files: Iterable[str]) -> dict[str, dict[str, str]]:
    """Names of the packages of each kind of manifest, by the folder that each lies in."""
    found: dict[str, dict[str, str]] = {kind: {} for kind in _MANIFESTS}
    for path in files:
        folder, _, kind = path.rpartition("/")
        file = root / path
        if kind in _MANIFESTS and not _VENDORED.search(path) and file.is_file() and not file.is_symlink():
            text = file.read_text(errors="replace")[:100_000]
            if match := _MANIFESTS[kind].search(text):
                found[kind][folder] = match[1]
    return found


def _is_read(path: str) -> bool:
    if path.endswith((".py", *_DOCUMENTS)) or _OTHERS.search(path):
        return True
    return path.endswith(plain.SUFFIXES) and not _GENERATED.search(path)


def _walk(root: Path) -> list[str]:
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _IGNORED and not name.startswith(".")]
        here = Path(folder).relative_to(root)
        found += [(here / name).as_posix() for name in files if not name.startswith(".")]
    return sorted(found)


def _read(
    root: Path, paths: list[str], kept: Mapping[str, Any], skipped: list[str]
) -> dict[str, dict[str, Any]]:
    """Each file with its stat and digest, and its content unless the cache knows what that says.

    Odd names and large or unreadable files are skipped with a line.
    """
    rows: dict[str, dict[str, Any]] = {}
    whole = cache(os.path.realpath)
    top = whole(root)
    # A file may change again without a change of its times while they are as new as now.
    settled = time.time_ns() - 2_000_000_000
    for path in paths:
        if trouble := _odd(path):
            skipped.append(f"{path[:80]!r}: {trouble}")
            continue
        file = os.path.join(root, path)
        try:
            status = os.lstat(file)
            # A directory on the way can be a link too: the index may list files beyond it.
            folder = path.rpartition("/")[0]
            if whole(os.path.dirname(file)) != (os.path.join(top, folder) if folder else top):
                skipped.append(f"{path}: behind a link")
                continue
            if (status.st_mode & 0o170000) != 0o100000:
                continue
            if status.st_size > _MAX_BYTES:
                skipped.append(f"{path}: larger than {_MAX_BYTES} bytes")
                continue
            stat = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
            row = kept.get(path)
            if row is not None and row[0] == stat and stat[1] < settled:
                rows[path] = {"stat": stat, "digest": row[1]}
                continue
            data = Path(file).read_bytes()
        except OSError as error:
            skipped.append(f"{path}: {error.strerror}")
            continue
        rows[path] = {"stat": stat, "digest": hashlib.sha256(data).hexdigest(), "data": data}
    return rows


def _odd(path: str) -> str | None:
    """Why no card can be about a file of this name, or None; the SQL function clean_path has the same rules."""
    if not path.isprintable() or len(path) > 500:
        return "not a printable name"
    if path != path.strip() or _ABSOLUTE.match(path) or "\\" in path or ".." in path.split("/"):
        return "a name that stands for another path; rename the file"
    return None


def _named(words: Iterable[str], known: Mapping[str, str], files: Collection[str]) -> list[str]:
    """The modules that a document names by path or dotted name."""
    named = set()
    for word in words:
        if word in files:
            named.add(word)
        elif "." in word:
            parts = word.split(".")
            for length in range(len(parts), 1, -1):
                if file := known.get(".".join(parts[:length])):
                    named.add(file)
                    break
    return sorted(named)


def _title(text: str) -> str | None:
    lines = text.splitlines()[:40]
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if match := _HEADING.match(line):
            return match[1]
        if line.strip() and len(below) >= 3 and set(below.strip()) in ({"="}, {"-"}, {"~"}):
            return line.strip()
    return None
