"""Facts that are derived from all files of a repository and its history."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass
from typing import Any

from pgmem.features.cards import decisions, python
from pgmem.features.cards.companions import Companions
from pgmem.features.cards.covering import Covering, is_test
from pgmem.features.cards.files import DOCUMENTS, GENERATED, VENDORED, odd
from pgmem.features.cards.history import HALF_LIFE, Timeline, Work, explanation, month
from pgmem.features.cards.imports import IMPORTED, Imports
from pgmem.features.cards.source import Source
from pgmem.workspace.git import Commit

_TAKEN_BACK = re.compile(
    r"^\W*This reverts (?:commit|PR|pull request)\b[^.\n]*\.?|\S*/pull/\d+", re.IGNORECASE | re.MULTILINE
)
_COMPANIONS = 10
_SHARED_DOC = 3
"""A text that so many files begin with, as that of a licence, describes none of them."""
_ALIKE = 4
"""Characters from which a line of a patch says something."""
Patch = Mapping[str, tuple[list[str], list[str]]]


@dataclass(frozen=True, slots=True)
class Learned:
    """The facts that follow from all files and the history together."""

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
    packages: Mapping[str, str] | None = None,
    sweeps: Collection[str] = (),
) -> Learned:
    """Learn from all files and the history together.

    Args:
        parsed: the result of `parse`, by path.
        files: all paths, also of files that are not parsed.
        log: the commits, newest first.
        coverage: for each file the share of its lines that each test runs.
        packages: the folders of packages by the name in their package.json.
        sweeps: commits that are sweeps whatever they hold.
    """
    sources = {
        path: Source.from_json(row["source"]) if row["source"] else Source()
        for path, row in parsed.items()
        if "source" in row
    }
    folders = frozenset(path.rpartition("/")[0] for path in sources if path.endswith("/__init__.py"))
    names = {path: python.module_name(path, folders) for path in sources if path.endswith(".py")}
    imports = Imports(sources, names, packages or {})
    timeline = Timeline(log, files, sweeps)
    defining = {path for path, row in parsed.items() if row.get("test")}
    tests = [path for path in sources if path in defining or is_test(path)]
    covering = Covering(sources, {path: imports.used(path) for path in tests}, defining)
    modules = [path for path in sources if not covering.is_test(path) and not GENERATED.search(path)]
    return Learned(modules, names, imports, timeline, covering, Companions(timeline, covering, coverage))


def facts(
    parsed: Mapping[str, dict[str, Any]],
    known: Learned,
    owners: Mapping[str, str],
    unmerged: Collection[str],
    sizes: Mapping[str, Mapping[str, int]],
    taken_back: Collection[tuple[str, str]],
) -> dict[str, Any]:
    """The facts about each file that come from other files and from the history.

    Args:
        parsed: the result of `parse`, by path.
        known: facts that follow from all files and the history.
        owners: contents of the CODEOWNERS files.
        unmerged: commits that are not in the default branch.
        sizes: how many lines of each file a commit changed, for commits that explain something.
        taken_back: the reverting commits, with the files in which the reverted text no longer exists.

    Returns:
        {names, modules, imports, covering, deciding, rules, facts, reasons, renames, work, added, run, shared}: dotted
        names and imported files by path; files that each test covers; modules that each decision record names; rules
        with their folders; tests, companions, owners, reverts, fixes and dependents by path; explanations in
        messages; names of before by the name of today; the newest commits that are pieces of work; the folder
        in which most commits add a file; how the tests are run; descriptions that several files share.
    """
    modules, imports, timeline = known.modules, known.imports, known.timeline
    changed = {
        path
        for path, row in parsed.items()
        if not path.endswith(DOCUMENTS) and not known.covering.is_test(path) and not row.get("generated")
    }
    docs = Counter(row["source"]["doc"] for row in parsed.values() if row.get("source"))
    runs = sorted((*row["runs"], path) for path, row in parsed.items() if row.get("runs"))
    return {
        "names": known.names,
        "modules": modules,
        "imports": {path: imports.direct(path) for path in modules},
        "covering": {
            test: sorted(imports.used(test))
            for test, row in parsed.items()
            if known.covering.is_test(test) and "source" in row
        },
        "deciding": _deciding(parsed, known),
        "rules": _rules(parsed),
        "facts": _by_path(parsed, known, decisions.Owners(list(decisions.code_owners(owners))), taken_back),
        "reasons": [asdict(one) for one in timeline.reasons(changed, sizes)],
        "renames": {old: new for old, new in timeline.renames.items() if not odd(old)},
        "work": [_work(one) for one in timeline.work(unmerged)],
        "added": timeline.added(set(modules)),
        "run": runs[0][1] if runs else None,
        "shared": [doc for doc, count in docs.items() if doc and count >= _SHARED_DOC],
    }


def taken_back(
    timeline: Timeline, patches: Mapping[str, Patch], read: Callable[[str], Set[str]]
) -> list[tuple[str, str]]:
    """The reverting commits, with the files in which the code still is as they left it.

    Code that was taken back can come again under any name. So few of the lines that the commit removed may be in
    the file, and of those that it brought back most must be there.

    Args:
        timeline: the history.
        patches: the lines that each of the commits removed and added, by path.
        read: the lines of a file as it is now, without white space around them.
    """
    found = []
    for commit, patch in patches.items():
        for before, (removed, added) in patch.items():
            path = timeline.renames.get(before, before)
            lines = read(path)
            gone = {line for line in removed if len(line) >= _ALIKE} - set(added)
            back = {line for line in added if len(line) >= _ALIKE} - set(removed)
            if (
                lines
                and gone | back
                and 5 * len(gone & lines) <= len(gone)
                and 2 * len(back & lines) >= len(back)
            ):
                found.append((commit, path))
    return found


def _rules(parsed: Mapping[str, dict[str, Any]]) -> dict[str, list[tuple[str, list[str]]]]:
    """The rules of each guide with the folders or files that each names, else the folder of the guide; "" is all."""
    there = {part for path in parsed for part in (path, *_above(path))}
    return {
        path: [
            (text, [name for name in named if name in there and name != path] or [decisions.home(path)])
            for text, named in row["rules"]
        ]
        for path, row in parsed.items()
        if row.get("rules")
    }


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _deciding(parsed: Mapping[str, dict[str, Any]], known: Learned) -> dict[str, list[str]]:
    """The modules that each decision record names, by its path."""
    is_module = frozenset(known.modules)
    by_name = {name: path for path, name in reversed(known.names.items()) if path in is_module}
    by_name.update((path, path) for path in known.modules)
    is_file = frozenset(by_name.values())
    return {path: _named(row["words"], by_name, is_file) for path, row in parsed.items() if "words" in row}


def _by_path(
    parsed: Mapping[str, dict[str, Any]],
    known: Learned,
    owners: decisions.Owners,
    reverted: Collection[tuple[str, str]],
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
            fact = _facts_of(path, known, used_by, reverted)
            if used_by is not None and row.get("tested"):
                fact["tests"].insert(0, {"path": path, "score": 1.0, "why": ["in the file itself"]})
            fact["code_owners"] = list(owners.of(path))
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
    path: str, known: Learned, used_by: list[str] | None, reverted: Collection[tuple[str, str]]
) -> dict[str, Any]:
    """The facts about a file; used_by is None if it is not a module."""
    fact = _history_of(path, known.timeline, known.companions, reverted)
    if used_by is not None:
        tests = known.companions.tests(path)
        fact["tests"] = [
            {"path": one.path, "score": round(one.score, 2), "why": list(one.why)} for one in tests
        ]
        if path.endswith(IMPORTED):
            fact["dependents"] = sorted(used_by)[:20]
            fact["dependent_count"] = len(used_by)
    return fact


def _history_of(
    path: str, timeline: Timeline, companions: Companions, reverted: Collection[tuple[str, str]]
) -> dict[str, Any]:
    commits = timeline.commits(path)
    # A file without a history borrows the companions of its folder; the first commit of a repository says nothing.
    together = companions.companions(path, _COMPANIONS) if timeline.is_long else []
    fact: dict[str, Any] = {
        "companions": [
            {"path": one.path, "commits": one.commits, "of": one.of, "score": round(one.score, 3)}
            for one in together
        ]
    }
    if not commits:
        return fact
    fixes = timeline.fixes(path)
    return {
        **fact,
        "last_commit": commits[0].id,
        "commits": len(commits),
        "owners": [
            {"name": one.name, "commits": one.commits, "of": one.of, "last": month(one.last)}
            for one in timeline.owners(path)
        ],
        "reverts": [
            {**_summary(one, timeline.reverting[one.id]), "why": why}
            for one in timeline.reverts(path)
            # One that gives no reason says little, and less when the code it took back may have come in another form.
            if (one.id, path) in reverted
            and ((why := _why_back(one)) or one.at > timeline.newest - HALF_LIFE)
        ][:3],
        "fixes": [
            _summary(one, one.subject) for one in {one.subject: one for one in reversed(fixes)}.values()
        ][:-4:-1],
        "fix_count": len(fixes),
    }


def _summary(commit: Commit, subject: str) -> dict[str, str]:
    return {"commit": commit.id, "subject": " ".join(subject.split())[:120], "on": month(commit.at)}


def _why_back(commit: Commit) -> str:
    """The reason that a revert gives, at most 240 characters; empty without one."""
    words = " ".join(_TAKEN_BACK.sub("", commit.message.partition("\n")[2]).split())
    said = explanation(f"\n{words}") or (words if words.count(" ") > 3 and len(words) < 100 else "")
    return said if len(said) <= 240 else said[:239].rpartition(" ")[0] + " …"


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
