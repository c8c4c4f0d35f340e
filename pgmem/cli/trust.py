"""`pgmem trust`: say that a folder is of a project that it names, or whose name, remote or repository it has."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgmem.cli.options import Store, Yes, exit_on_error, plain_command, require_person, stop
from pgmem.escaping import visible

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import OpenedProject


@plain_command
def trust(
    store: Store,
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="The folder. Default: the current one.")
    ] = Path(),
    undo: Annotated[bool, typer.Option("--undo", help="Take the trust back.")] = False,
    yes: Yes = False,
) -> None:
    """Let a folder be of the project that it asks for, whose memory then appears in the folder's sessions.

    A folder asks by a .pgmem.toml, by a .git that leads to another repository, or by no more than the name, the
    remote or the first commit of a project that has a memory.
    """
    from pgmem.workspace import trust as trusted
    from pgmem.workspace.identity import borrowed, named_project

    if os.environ.get("PGMEM_PROJECT", "").strip():
        stop("PGMEM_PROJECT names the project of every folder, so none asks for one.")
    found = named_project(folder)
    says = "{} names the project {!r}."
    if found is None and (found := borrowed(folder)) is not None:
        says = "{} has a .git that leads to a repository which does not list it ({})."
        if not undo and trusted.is_trusted(*found):
            found = None  # the store may ask too
    if found is not None:
        place, project = found
        if undo:
            exit_on_error(lambda: trusted.forget(place, project))
            typer.echo("It is not trusted any more.")
            return
        typer.echo(says.format(visible(str(place)), visible(project)))
        if not yes:
            typer.confirm("Show the memory of that project in the sessions of this folder?", abort=True)
        exit_on_error(lambda: trusted.trust(place, project))
        typer.echo("It is trusted.")
        return
    opened = store.run(_opened(folder))
    asked = opened.asks
    if undo:
        if asked is not None or not opened.matched:
            stop(f"{folder.absolute()} is trusted for no project.")
        after = store.run(_opened(folder, answer=False))
        typer.echo(
            f"It is not trusted any more: its project is {visible(after.project_id)!r}."
            if after.project_id != opened.project_id
            else f"It is of the project {visible(after.project_id)!r} without an answer of yours."
        )
        return
    if asked is None:
        stop(f"Nothing in {folder.absolute()} names a project but its own, {visible(opened.project_id)!r}.")
    typer.echo(
        f"{visible(str(folder.absolute()))} has the name, the remote or the first commit of the project "
        f"{visible(asked)!r}, and not both remote and history to prove it."
    )
    require_person(store)
    answer = yes or typer.confirm("Show the memory of that project in the sessions of this folder?")
    after = store.run(_opened(folder, answer=answer))
    if not answer:
        typer.echo(f"It keeps its own project, {visible(after.project_id)!r}, and is not asked about again.")
        raise typer.Exit(1)
    kept = (
        f" What was saved here until now stays in {visible(opened.project_id)!r}." if opened.matched else ""
    )
    typer.echo(f"It is trusted.{kept}")


def _opened(folder: Path, *, answer: bool | None = None) -> Callable[[Memory], Awaitable[OpenedProject]]:
    from pgmem.calls import projects

    async def opened(memory: Memory) -> OpenedProject:
        return await projects.opened(memory.caller, folder, answer=answer)

    return opened
