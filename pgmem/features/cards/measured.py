"""A coverage file as data: which tests run which lines of a file, from coverage.py with contexts or from lcov."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from pathlib import Path

_TEST = re.compile(r"^(?P<path>[^:|]+\.\w+)::")


def read(root: Path) -> dict[str, dict[str, float]]:
    """For each file the share of its covered lines that each test file runs; empty where nothing was measured."""
    found = _coverage(root / ".coverage", root.resolve())
    for place in ("lcov.info", "coverage/lcov.info"):
        if not found and (root / place).is_file():
            found = _lcov((root / place).read_text(errors="replace"), root.resolve())
    return found


def _relative(path: str, root: Path) -> str | None:
    place = Path(path)
    if not place.is_absolute():
        return place.as_posix()
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else None


def _shares(lines: dict[str, dict[str, set[int]]]) -> dict[str, dict[str, float]]:
    made = {}
    for path, tests in lines.items():
        whole = len(set().union(*tests.values()))
        made[path] = {test: round(len(own) / whole, 3) for test, own in tests.items() if own and test != path}
    return made


def _coverage(file: Path, root: Path) -> dict[str, dict[str, float]]:
    """The database of coverage.py, if it has contexts that name tests."""
    if not file.is_file() or file.is_symlink():
        return {}
    lines: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    try:
        with sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True) as database:
            rows = database.execute(
                "select f.path, c.context, l.numbits from line_bits l join file f on f.id = l.file_id"
                " join context c on c.id = l.context_id where c.context <> ''"
            )
            for path, context, bits in rows:
                match, inside = _TEST.match(context), _relative(path, root)
                if match and inside:
                    own = lines[inside][match["path"]]
                    own.update(
                        8 * n + bit for n, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1
                    )
    except (sqlite3.Error, TypeError):
        return {}
    return _shares(lines)


def _lcov(text: str, root: Path) -> dict[str, dict[str, float]]:
    """An lcov file, if its records name the tests."""
    lines: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    test, path = "", None
    for line in text.splitlines():
        kind, _, value = line.partition(":")
        if kind == "TN":
            test = value.strip()
        elif kind == "SF":
            path = _relative(value.strip(), root)
        elif kind == "DA" and path and "." in test:
            number, _, count = value.partition(",")
            if count.partition(",")[0].strip() not in ("", "0"):
                lines[path][test].add(int(number))
    return _shares(lines)
