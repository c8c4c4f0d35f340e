"""`pgmem review`: the saves that wait for a person, one by one."""

from __future__ import annotations

import getpass
from typing import Annotated, Literal
from uuid import UUID

import typer
from rich.panel import Panel
from rich.text import Text

from pgmem.cli.options import Door, Project, at_the_store, emit, terminal
from pgmem.models import Review

__all__ = ["review"]

CHOICES: dict[str, Literal["new", "supersede", "drop"]] = {"n": "new", "s": "supersede", "d": "drop"}


@at_the_store
def review(
    door: Door,
    project: Project = None,
    save_id: Annotated[UUID | None, typer.Option(help="Decide this one, with --outcome.")] = None,
    outcome: Annotated[
        Literal["new", "supersede", "drop"] | None, typer.Option(help="What becomes of it.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Who decides; else the name you are logged in by.")] = None,
) -> None:
    """Decide decisions that resemble another too much to be new and too little to replace it."""
    who = by or getpass.getuser()
    if save_id is not None:
        if outcome is None:
            typer.echo("pgmem: --save-id needs --outcome new, supersede or drop.", err=True)
            raise typer.Exit(2)
        emit(door.ask(lambda m: m.resolve_review(save_id, outcome, who)))
        return
    waiting = door.ask(lambda m: m.list_reviews(project))
    if door.told(waiting):
        return
    console = terminal()
    if not waiting:
        console.print("Nothing waits for review.")
    for item in waiting:
        console.print(_panel(item))
        answer = (
            typer.prompt("[n]ew, [s]upersede the old one, [d]rop, [l]ater", default="l").strip().lower()[:1]
        )
        if choice := CHOICES.get(answer):
            result = door.ask(lambda m, i=item, c=choice: m.resolve_review(i.save_id, c, who))  # type: ignore[misc]
            typer.echo(f"{result.status}: {result.message or result.dedup_outcome}")


def _panel(item: Review) -> Panel:
    text = Text.assemble(
        *(("new   ", "bold"), f"{item.title}\n      {item.rationale}\n\n"),
        *(("kept  ", "bold"), f"{item.candidate_title}\n      {item.candidate_rationale}"),
    )
    title = Text(f"{item.project}: titles {item.score or 0:.0%} alike")
    return Panel(text, title=title, subtitle=str(item.save_id))
