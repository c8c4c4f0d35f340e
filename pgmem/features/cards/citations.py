"""Whether files that memories rest on still say the same, by git alone: no file of the work tree is opened."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Literal

from pgmem.workspace.git import Git, GitUnavailable

State = Literal["FRESH", "STALE", "GONE", "UNCHECKABLE"]
_FILE = re.compile(
    r"(?P<path>[^\n\0]+?)(?::(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?)?(?:@(?P<commit>[0-9a-f]{7,64}))?"
)


def states(root: Path, cited: Iterable[tuple[str, datetime]]) -> list[State]:
    """Return the state of each file at the commit that is checked out.

    A file is `path`, `path:3`, `path:3-9`, each with or without `@commit`. Without a commit it is compared with the
    last one before the given time. Lines may have moved within the file. A file that git does not know is UNCHECKABLE.
    """
    try:
        git = Git(root)
        asked = [_parts(git, target, since) for target, since in cited]
        found = git.contents({name for part in asked if part for name in part[:2]})
    except GitUnavailable:
        return ["UNCHECKABLE" for _ in cited]
    return [
        "UNCHECKABLE" if part is None else _state(found.get(part[0]), found.get(part[1]), part[2])
        for part in asked
    ]


def _parts(git: Git, target: str, since: datetime) -> tuple[str, str, slice] | None:
    """The names of the file then and now, and its lines; None where git has no commit of it."""
    match = _FILE.fullmatch(target)
    if match is None:
        return None
    path = match["path"].removeprefix("./")
    commit = match["commit"] or git.last_change(path, since)
    first = int(match["first"] or 1)
    last = int(match["last"] or first) if match["first"] else None
    return None if commit is None else (f"{commit}:{path}", f"HEAD:{path}", slice(max(first - 1, 0), last))


def _state(then: bytes | None, now: bytes | None, lines: slice) -> State:
    if then is None:
        return "UNCHECKABLE"
    if now is None:
        return "GONE"
    said = [line.rstrip() for line in then.splitlines()][lines]
    if not said:
        return "FRESH" if then == now else "UNCHECKABLE"
    says = [line.rstrip() for line in now.splitlines()]
    if lines == slice(0, None):
        return "FRESH" if said == says else "STALE"
    return "FRESH" if any(says[at : at + len(said)] == said for at in range(len(says))) else "STALE"
