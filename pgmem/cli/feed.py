"""`pgmem follow`: the changes of a store as they come."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pgmem.cli.options import Project, Store, shown, store_command
from pgmem.escaping import for_json, visible

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import Change


@store_command
def follow(
    store: Store,
    project: Project = None,
    after: Annotated[
        str,
        typer.Option(
            "--after",
            help="Go on after this cursor; start: from the oldest change that is kept. Default: from now on.",
        ),
    ] = "now",
) -> None:
    """Print each change of a memory, a relation, a review or a project as it is committed, until Ctrl-C.

    With --json each line is an object; its cursor is where another run goes on with --after.
    """

    async def run(memory: Memory) -> None:
        start = None if after == "start" else after
        async for change in memory.follow(start, project_id=project, content=not store.as_json):
            typer.echo(
                for_json(json.dumps(asdict(change), default=str, ensure_ascii=False))
                if store.as_json
                else line(change)
            )

    store.run(run)


def line(change: Change) -> str:
    """A change as a terminal shows it."""
    record = change.record or {}
    title = record.get("title") or record.get("arguments")
    if isinstance(title, dict):
        title = title.get("title")
    what = f"{change.label} {title or change.id}"
    if change.other_id is not None and change.subject == "edge":
        what = f"{change.id} {change.label} {change.other_id}"
    where = f"  ({visible(change.project)})" if change.project and change.project != title else ""
    return f"{shown(change.at.astimezone())[11:16]}  {change.kind:<10}  {visible(what)}{where}"
