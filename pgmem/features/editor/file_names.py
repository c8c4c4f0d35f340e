"""The names by which a text may mean a file: its path, and the ends of it that no other file of the repository has."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

_MOST = 40
_LIST_S = 0.5


def names(root: Path, inside: str) -> list[str]:
    """Return the paths by which a text may mean a file, the longest first.

    They are the path from the root of its work tree, the same with the folders above it, and each end of the path that
    is neither a file from the root nor the end of another file of the repository: beside a CLAUDE.md at the root,
    CLAUDE.md does not mean that of a folder.

    Args:
        root: the work tree, or a folder outside of any.
        inside: the file from there; an absolute path is of a file elsewhere, which is meant by its whole path alone.
    """
    path = PurePosixPath(inside)
    if path.is_absolute():
        whole = [inside.lstrip("/")]
        own = os.path.realpath(root)
        return whole + ([inside[len(own) + 1 :]] if inside.startswith(own + "/") else [])
    parts = path.parts
    above = Path(os.path.realpath(root)).parts[1:]
    found = ["/".join((*above[place:], *parts)) for place in range(len(above))]
    found = [name for name in found if not (root / name).exists()] + [inside]
    if len(parts) > 1 and (others := _others(root, inside)) is not None:
        for place in range(1, len(parts)):
            end = "/".join(parts[place:])
            if not (root / end).exists() and not any(
                f"/{one}".endswith(f"/{end.casefold()}") for one in others
            ):
                found.append(end)
    return found[-_MOST:]


def _others(root: Path, inside: str) -> list[str] | None:
    """Return the other files of a repository that have the name of a file, in small letters; None if git lists none."""
    from pgmem.workspace.git import GitUnavailable, Repository

    name = re.sub(r"([\\\[\]*?])", r"\\\1", PurePosixPath(inside).name)
    try:
        listed = Repository(root).ask(
            *("ls-files", "-z", "--cached", "--others", "--exclude-standard"),
            *("--", f":(top,icase,glob)**/{name}"),
            timeout_s=_LIST_S,
        )
    except (GitUnavailable, OSError):
        return None
    return [one.casefold() for one in listed.split("\0") if one and one != inside]
