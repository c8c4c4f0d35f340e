"""The files of a repository: their paths, which of them are read, and the names by which they import each other."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pgmem.features.cards import plain

_MAX_BYTES = 2_000_000
DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".mdc", ".cursorrules")
_IGNORED = frozenset(
    ("__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist", "htmlcov", "target")
)
VENDORED = re.compile(
    r"(^|/)(?:_?vendor(?:ed)?|third[-_]?party|node_modules|bower_components|site-packages|Pods|Carthage)/"
)
"""Code of others: it is known to be there, and a scan has nothing to say of it."""
GENERATED = re.compile(r"\.min\.\w+$|\.d\.ts$|_pb2(?:_grpc)?\.pyi?$")
_ABSOLUTE = re.compile(r"/|~(/|$)|[A-Za-z]:")
_OTHERS = re.compile(
    r"\.(?:toml|json|jsonc|ya?ml|cfg|ini|fish|css|scss|less|html|xml|gradle|graphql|tf|nix|lock|in|mk|cmake|pyi"
    r"|ipynb|mdx|erb|ejs|haml|j2|jinja2?|tmpl|bzl|csproj|gemspec|asm|s)$"
    r"|(^|/)(?:[\w-]+|go\.mod|\.[\w-]*rc)$"
)
"""Files that are not parsed, whose companions the history shows."""


def plain_text(root: Path, path: str) -> str:
    """The beginning of a file's text; empty where it is not a plain file."""
    file = root / path
    return file.read_text(errors="replace")[:200_000] if file.is_file() and not file.is_symlink() else ""


_PACKAGE = re.compile(r"^(?: {0,4}|\t)\"name\"\s*:\s*\"([^\"]+)\"", re.MULTILINE)


def packages(root: Path, files: Iterable[str]) -> dict[str, str]:
    """The folders of the packages that others import by the name in a package.json, by that name."""
    manifests = (path for path in files if f"/{path}".endswith("/package.json") and not VENDORED.search(path))
    named = ((path.rpartition("/")[0], _PACKAGE.search(plain_text(root, path))) for path in manifests)
    return {match[1]: folder for folder, match in named if match}


def is_read(path: str) -> bool:
    """Whether a report says anything of a file of this name."""
    if path.endswith((".py", *DOCUMENTS)) or _OTHERS.search(path):
        return True
    return path.endswith(plain.SUFFIXES) and not GENERATED.search(path)


def walk(root: Path) -> list[str]:
    """The files of a directory without git, but for hidden and made ones."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _IGNORED and not name.startswith(".")]
        here = Path(folder).relative_to(root)
        found += [(here / name).as_posix() for name in files if not name.startswith(".")]
    return sorted(found)


def plain_names(paths: Iterable[str], skipped: list[str]) -> list[str]:
    """The paths that a card can be about; each other one is skipped with a line."""
    kept = []
    for path in paths:
        if trouble := odd(path):
            skipped.append(f"{path[:80]!r}: {trouble}")
        else:
            kept.append(path)
    return kept


def read(
    root: Path, paths: list[str], kept: Mapping[str, Any], skipped: list[str]
) -> dict[str, dict[str, Any]]:
    """Each file with its stat and digest, and its content unless the cache knows its facts.

    Large or unreadable files are skipped with a line.
    """
    rows: dict[str, dict[str, Any]] = {}
    whole = cache(os.path.realpath)
    top = whole(root)
    # A file may change again without a change of its times while they are as new as now.
    settled = time.time_ns() - 2_000_000_000
    for path in paths:
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
                rows[path] = {"stat": stat, "digest": row[1], "face": row[2], "error": row[3]}
                continue
            data = Path(file).read_bytes()
        except OSError as error:
            skipped.append(f"{path}: {error.strerror}")
            continue
        rows[path] = {"stat": stat, "digest": hashlib.sha256(data).hexdigest(), "data": data}
        if row is not None and row[1] == rows[path]["digest"]:
            rows[path] |= {"face": row[2], "error": row[3]}
    return rows


def odd(path: str) -> str | None:
    """Why no card can be about a file of this name, or None; the SQL function clean_path has the same rules."""
    if not path.isprintable() or len(path) > 500:
        return "not a printable name"
    if path != path.strip() or _ABSOLUTE.match(path) or "\\" in path or ".." in path.split("/"):
        return "a name that stands for another path; rename the file"
    return None
