"""Forms of transcripts that no reader of this release knows: noted once, for the log and for `pgmem doctor`.

A file each, in hooks/met of the data directory, made in one step: so that a new release of a client is reported once,
and not at each event.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pgmem import plain_files
from pgmem.release import release

_MOST = 200  # files: a damaged transcript makes no more


class Met(NamedTuple):
    """A form, the sentence of the account with file and line, and the day when it was met first."""

    form: str
    where: str
    day: str


def note(data_dir: Path, form: str, where: str) -> bool:
    """Note a form; whether this is the first time in this release of pgmem.

    Args:
        data_dir: the data directory.
        form: as the account counts it.
        where: the sentence of the account.
    """
    folder = data_dir / "hooks" / "met"
    name = hashlib.sha256(f"{release()}\n{form}".encode(errors="replace")).hexdigest()[:24]
    kept = {"release": release(), "form": form, "where": where, "day": time.strftime("%Y-%m-%d")}
    try:
        plain_files.make_private_folder(folder.parent)
        plain_files.make_private_folder(folder)
        if sum(1 for _ in folder.iterdir()) >= _MOST:
            return False
        plain_files.create(folder / f"{name}.json", json.dumps(kept).encode(), durable=False)
    except OSError:  # it is there already, or the disk is full
        return False
    return True


def all_met(data_dir: Path) -> Iterator[Met]:
    """Yield the forms that this release has met; those of an earlier one may be known by now."""
    try:
        files = sorted((data_dir / "hooks" / "met").glob("*.json"))
    except OSError:
        return
    for file in files:
        try:
            found = json.loads(plain_files.read(file, 10_000))
        except (OSError, ValueError):
            continue
        if isinstance(found, dict) and found.get("release") == release():
            yield Met(*(str(found.get(name, "")) for name in Met._fields))
