"""Facts that are derived from all files of a repository and its history."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pgmem.cards import decisions, python
from pgmem.cards.companions import Companions
from pgmem.cards.covering import Covering, is_test
from pgmem.cards.files import GENERATED, VENDORED
from pgmem.cards.history import Timeline, Work, month
from pgmem.cards.imports import Imports
from pgmem.cards.source import Source
from pgmem.workspace.git import Commit

_REVERTED = re.compile(r'^Revert "(.*)"$')


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
    modules = [path for path in sources if not is_test(path) and not GENERATED.search(path)]
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
    """The facts about each file that come from other files and from the history.

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
        if not VENDORED.search(path):
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
    """The facts about a file; used_by is None if it is not a module."""
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
            {"name": one.name, "commits": one.commits, "of": one.of, "last": month(one.last)}
            for one in timeline.owners(path)
        ],
        "reverts": [_summary(one) for one in timeline.reverts(path)[:5]],
        "fixes": [_summary(one) for one in timeline.fixes(path)[:5]],
        "fix_count": len(timeline.fixes(path)),
        "unreleased": {"since": release[0], "commits": len(since)} if release and since else None,
    }


def _summary(commit: Commit) -> dict[str, str]:
    subject = _REVERTED.sub(r"\1", " ".join(commit.subject.split()))
    return {"commit": commit.id, "subject": subject[:120], "on": month(commit.at)}


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
