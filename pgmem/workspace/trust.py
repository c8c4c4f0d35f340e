"""The `.pgmem.toml` files that a person trusts: each by its place and the project that it names.

Such a file comes with a clone and can name any project of the person, whose memory then appears in that repository's
sessions. So it counts only after `pgmem trust`; a file that names another project, or lies elsewhere, is another one.
The list is the person's own, beside the settings of other programs, and no data folder of pgmem holds it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import platformdirs

from pgmem import plain_files

_MOST_BYTES = 4_000_000


def is_trusted(place: Path, project: str) -> bool:
    """Whether a person trusts that the file at a place names a project."""
    return _digest(place, project) in _read()


def trust(place: Path, project: str) -> None:
    """Let the file at a place name a project from now on.

    Raises:
        OSError: the list cannot be written.
    """
    _write({**dict.fromkeys(_read()), _digest(place, project): None})


def forget(place: Path, project: str) -> None:
    """Take the trust back.

    Raises:
        OSError: the list cannot be written.
    """
    digest = _digest(place, project)
    _write(dict.fromkeys(line for line in _read() if line != digest))


def _digest(place: Path, project: str) -> str:
    return hashlib.sha256(
        f"{os.path.realpath(place)}\0{project}".encode(errors="surrogateescape")
    ).hexdigest()


def _list() -> Path:
    return Path(platformdirs.user_config_dir("pgmem")) / "trusted"


def _read() -> list[str]:
    try:
        return plain_files.read(_list(), _MOST_BYTES).decode().split()
    except (OSError, UnicodeDecodeError):
        return []


def _write(lines: dict[str, None]) -> None:
    path = _list()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    plain_files.replace(path, "".join(f"{line}\n" for line in lines).encode())
