"""Checks of `pgmem doctor`: unsafe entries of an earlier release in settings, and unknown forms in transcripts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pgmem.data_folder import data_dir
from pgmem.doctor.database import Finding, look
from pgmem.features.editor import met
from pgmem.features.editor.catalog import CLIENTS, Change, changes, is_own, starts_unsafely
from pgmem.features.editor.connect import content


def examine_clients(home: Path, folder: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at the settings of the user and of a project.

    Args:
        home: where clients keep the settings of the user.
        folder: whose settings a client would use besides.
        environment: the variables that move the settings of clients, and PYTHONPATH.
    """
    projects = (None,) if folder.resolve() == home.resolve() else (None, folder.resolve())
    for client in CLIENTS:
        for project in projects:
            files: dict[Path, list[Change]] = {}
            for change in changes(client, home, project, environment):
                if project is None or change.file.is_relative_to(
                    project
                ):  # some clients have no settings of a project
                    files.setdefault(change.file, []).append(change)
            for file, entries in files.items():
                found = content(file)
                if not any(starts_unsafely(_entries(found, change)) for change in entries):
                    continue
                yield look(
                    "clients",
                    f"{file} starts pgmem so that a folder named pgmem in any repository runs in its place",
                    f"run pgmem connect {client}{f' --folder {project}' if project else ''}",
                )
    for form, where, day in met.all_met(data_dir(environment.get("PGMEM_DATA_DIR"))):
        yield look(
            "transcripts",
            f"{form} is not known to this release of pgmem, first met on {day} ({where})",
            "upgrade pgmem; the rest of the session is kept, and pgmem import --from takes this up later",
        )
    python_path = environment.get("PYTHONPATH")
    if python_path and not all(map(os.path.isabs, python_path.split(os.pathsep))):
        yield look(
            "python_path",
            "PYTHONPATH has an empty or relative entry: programs in Python, such as pgmem, run modules of the"
            " folder that they are started in",
            "name whole paths in PYTHONPATH, and no empty one at its ends",
        )


def _entries(found: Any, change: Change) -> Any:
    """Return the entries of pgmem in a file at the place of a change."""
    for key in change.path:
        found = found.get(key) if isinstance(found, dict) else None
    if change.is_item:
        return [item for item in found if is_own(item)] if isinstance(found, list) else None
    return found
