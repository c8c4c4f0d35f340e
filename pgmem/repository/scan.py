"""A repository as a report: modules, imports, tests, documents, git. The same files give the same report."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pgmem.errors import InvalidArgument
from pgmem.repository import plain, python
from pgmem.repository.git import Git, GitUnavailable, History

__all__ = ["SCHEMA", "fingerprint", "scan"]

SCHEMA = "pgmem.repository/1"
"""The schema of a report; `refresh_from_run` refuses any other."""

_MOST_BYTES = 2_000_000
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc")
_PASSED_OVER = frozenset(
    ("__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist", "htmlcov", "target")
)
_TEST = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
_BUILT = re.compile(r"\.min\.\w+$|\.d\.ts$")
_WORD = re.compile(r"[\w./-]+")
_HEADING = re.compile(r"^(?:#+|=+)\s+(.+?)\s*#*$")

Progress = Callable[[int, int], None]


def scan(root: Path, on_file: Progress | None = None) -> dict[str, Any]:
    """Read a repository and report what its cards are made from. It is read, never changed, imported or run.

    Args:
        root: the folder; in a git work tree, what git ignores is left out.
        on_file: told after each file how many are done, and of how many.

    Raises:
        InvalidArgument: there is no such folder.
    """
    found, git, skipped = _files(root)
    sources = dict(_read(root, found, skipped, on_file))
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in sources.items()}
    history = History()
    if git is not None:
        try:
            history = git.history(digests)
        except (GitUnavailable, OSError) as error:
            skipped.append(f"git history: {error}; hot spots and commits are left out")

    parsed = {}
    packages = frozenset(path.rpartition("/")[0] for path in sources if path.endswith("/__init__.py"))
    names = {path: python.module_name(path, packages) for path in sources if path.endswith(".py")}
    for path in names:
        try:
            parsed[path] = python.read(sources[path])
        except python.Unreadable as error:
            skipped.append(f"{path}: cannot be parsed ({error}); only its name is kept")
            parsed[path] = python.Module(doc=None, imports=(), exports=())
    known: dict[str, str] = {}
    for path, name in names.items():
        if not _TEST.search(path):
            known.setdefault(name, path)

    known.update((path, path) for path in sources if _is_plain(path))

    modules, tests = [], []
    for path, module in parsed.items():
        name = names[path]
        entry: dict[str, Any] = {"path": path, "module": name}
        imports = python.resolve(path, name, module, known)
        if _TEST.search(path):
            tests.append({**entry, "anchors": imports, **_committed(path, history)})
            continue
        private = any(part.startswith("_") and part != "__main__" for part in name.split("."))
        entry |= {"doc": module.doc, "imports": imports, "exports": [] if private else list(module.exports)}
        modules.append({**entry, "changes": history.changes.get(path, 0), **_committed(path, history)})
    for path in filter(_is_plain, sources):
        entry = {"path": path, "module": path, "doc": plain.read(sources[path]), "imports": [], "exports": []}
        modules.append({**entry, "changes": history.changes.get(path, 0), **_committed(path, history)})
    documents = [
        {**_document(path, data, known), **_committed(path, history)}
        for path, data in sources.items()
        if path.endswith(_DOCUMENTS)
    ]
    return {
        "schema": SCHEMA,
        "complete": True,
        "fingerprint": _fingerprint(digests, git),
        "commit": git.commit if git else None,
        "files": digests,
        "modules": modules,
        "tests": tests,
        "documents": [document for document in documents if document["names"]],
        "skipped": skipped,
    }


def fingerprint(root: Path) -> str:
    """What a report of this repository would be known by, without making one.

    Raises:
        InvalidArgument: there is no such folder.
    """
    found, git, skipped = _files(root)
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in _read(root, found, skipped, None)}
    return _fingerprint(digests, git)


def _fingerprint(digests: Mapping[str, str], git: Git | None) -> str:
    sums = hashlib.sha256((git.commit if git else "").encode())
    for path, digest in digests.items():
        sums.update(f"\0{path}\0{digest}".encode(errors="surrogateescape"))
    return sums.hexdigest()


def _files(root: Path) -> tuple[list[str], Git | None, list[str]]:
    """The files to read, by git where it is, and what had to be left out."""
    if not root.is_dir():
        raise InvalidArgument(f"{root} is no folder; name the root of a repository.")
    skipped: list[str] = []
    git = None
    try:
        git = Git(root)
        found = git.files()
    except GitUnavailable as error:
        git = None
        skipped.append(f"git: {error}; history, hot spots and commits are left out")
        found = _walk(root)
    return [path for path in found if path.endswith((".py", *_DOCUMENTS)) or _is_plain(path)], git, skipped


def _is_plain(path: str) -> bool:
    """Whether a file is a module of another language: a source that is neither a test nor built from one."""
    return path.endswith(plain.SUFFIXES) and not plain.is_test(path) and not _BUILT.search(path)


def _walk(root: Path) -> list[str]:
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _PASSED_OVER and not name.startswith(".")]
        here = Path(folder).relative_to(root)
        found += [(here / name).as_posix() for name in files if not name.startswith(".")]
    return sorted(found)


def _read(
    root: Path, paths: list[str], skipped: list[str], on_file: Progress | None
) -> list[tuple[str, bytes]]:
    """The bytes of each file that can be read; links, huge files and odd names are left out and said so."""
    read = []
    for number, path in enumerate(paths, 1):
        file = root / path
        try:
            if not path.isprintable() or len(path) > 500:
                skipped.append(f"{path[:80]!r}: not a printable name")
            elif not file.is_symlink() and file.is_file():
                if file.stat().st_size > _MOST_BYTES:
                    skipped.append(f"{path}: larger than {_MOST_BYTES} bytes")
                else:
                    read.append((path, file.read_bytes()))
        except OSError as error:
            skipped.append(f"{path}: {error.strerror}")
        if on_file is not None:
            on_file(number, len(paths))
    return read


def _committed(path: str, history: History) -> dict[str, str]:
    commit = history.last_commit.get(path)
    return {"last_commit": commit} if commit else {}


def _document(path: str, data: bytes, known: Mapping[str, str]) -> dict[str, Any]:
    """A document: its title, and the modules it names by path or by dotted name."""
    text = data.decode(errors="replace")
    files = set(known.values())
    named = set()
    for word in set(_WORD.findall(text)):
        word = word.strip("./-")
        if word in files:
            named.add(word)
        elif "." in word:
            parts = word.split(".")
            for length in range(len(parts), 1, -1):
                if file := known.get(".".join(parts[:length])):
                    named.add(file)
                    break
    return {"path": path, "title": _title(text), "names": sorted(named)}


def _title(text: str) -> str | None:
    lines = text.splitlines()[:40]
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if match := _HEADING.match(line):
            return match[1]
        if line.strip() and len(below) >= 3 and set(below.strip()) in ({"="}, {"-"}, {"~"}):
            return line.strip()
    return None
