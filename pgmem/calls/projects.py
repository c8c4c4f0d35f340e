"""Projects: the one that a repository has, wherever it is checked out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from pgmem.models import OpenedProject
from pgmem.workspace.identity import Identity, chosen_project, identify

if TYPE_CHECKING:
    from pgmem.calls.caller import Caller


async def project_of(caller: Caller, folder: Path, *, create: bool = False) -> str:
    """Return the project of a folder: the one that PGMEM_PROJECT or a trusted `.pgmem.toml` names, else its own.

    A repository is known by its remote, the roots of its history and its folder, which may have any name.

    Args:
        caller: who looks the project up.
        folder: any folder of a work tree; one outside of any is known by its place.
        create: make the project of a repository that has none; else the name is returned that it would have.
    """
    return (await opened(caller, folder, create=create)).project_id


async def opened(
    caller: Caller, folder: Path, *, create: bool = False, answer: bool | None = None
) -> OpenedProject:
    """Return the project of a folder, as `project_of`, with the one that a person is asked about.

    Args:
        caller: who looks the project up.
        folder: any folder of a work tree; one outside of any is known by its place.
        create: make the project of a repository that has none.
        answer: a person's answer to the question about a project; the project is made then.
    """
    known = await anyio.to_thread.run_sync(_read, folder)
    if isinstance(known, str):
        return OpenedProject(project_id=known, created=False, matched=True, asks=None)
    return await caller.one(
        "open_project", OpenedProject, {**known._asdict(), "create": create, "answer": answer}
    )


def _read(folder: Path) -> str | Identity:
    chosen = chosen_project(folder)
    return identify(folder) if chosen is None else chosen
