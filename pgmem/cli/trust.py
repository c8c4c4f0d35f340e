"""`pgmem trust`: let the `.pgmem.toml` of a folder name its project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgmem.cli.options import Yes, exit_on_error, stop
from pgmem.escaping import visible


def trust(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="The folder. Default: the current one.")
    ] = Path(),
    undo: Annotated[bool, typer.Option("--undo", help="Take the trust back.")] = False,
    yes: Yes = False,
) -> None:
    """Let the .pgmem.toml of a folder name its project, whose memory then appears in the folder's sessions."""
    from pgmem.workspace import trust as trusted
    from pgmem.workspace.identity import named_project

    found = named_project(folder)
    if found is None:
        stop(f"No .pgmem.toml in {folder.absolute()}, or above it, names a project.")
    place, project = found
    if undo:
        exit_on_error(lambda: trusted.forget(place, project))
        typer.echo("It is not trusted any more.")
        return
    typer.echo(f"{visible(str(place))} names the project {visible(project)!r}.")
    if not yes:
        typer.confirm("Show the memory of that project in the sessions of this folder?", abort=True)
    exit_on_error(lambda: trusted.trust(place, project))
    typer.echo("It is trusted.")
