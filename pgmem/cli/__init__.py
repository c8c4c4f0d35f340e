"""The command line: one function per command, most of them one call of `Memory`."""

from __future__ import annotations

from typing import Annotated

import typer

from pgmem.cli.group import CONTEXT, Commands

__all__ = ["app"]

app = typer.Typer(
    name="pgmem",
    cls=Commands,
    help="The memory of AI agents in one PostgreSQL.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from pgmem.release import release

        typer.echo(f"pgmem {release()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the release.")
    ] = False,
) -> None:
    """The memory of AI agents in one PostgreSQL."""
