"""`pgmem retrieve` and `pgmem search`: what is kept, as an agent gets it."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.table import Column, Table
from rich.text import Text

from pgmem.cli.options import Door, Project, at_the_store, cells, terminal

__all__ = ["retrieve", "search"]

Scope = Literal["global", "project", "focus"]


@at_the_store
def retrieve(
    door: Door,
    project: Annotated[str, typer.Argument(help="The project.")],
    scope: Annotated[Scope, typer.Option(help="Where to begin.")] = "project",
    focus: Annotated[str | None, typer.Option(help="A focus area of the project.")] = None,
    category: Annotated[
        list[str] | None, typer.Option(help="Only this label; may be given more than once.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Only what holds one of these words.")] = None,
) -> None:
    """Load the context of a project: focus, project, global, newest first."""
    bundle = door.ask(lambda m: m.retrieve_context(project, scope, focus, category, topic))
    if door.told(bundle):
        return
    console = terminal()
    if bundle.items:
        table = Table("scope", "label", "title", "age", Column("id", no_wrap=True))
        table.title = Text(f"{project}: {bundle.retrieval_status}")
        for item in bundle.items:
            table.add_row(*cells(item["scope"], item["label"], item["title"], item["freshness"], item["id"]))
        console.print(table)
    else:
        console.print(Text(f"{project}: {bundle.retrieval_status} (scope {bundle.scope_state})"))
    if bundle.next_step:
        console.print(Text(bundle.next_step, "dim"))


@at_the_store
def search(
    door: Door,
    query: Annotated[str, typer.Argument(help="Words or a question.")],
    project: Project = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many.")] = 10,
    label: Annotated[
        list[str] | None, typer.Option(help="Only this label; may be given more than once.")
    ] = None,
) -> None:
    """Find memories by words or a question, best first."""
    found = door.ask(lambda m: m.search_memory(query, limit, project, labels=label))
    if door.told(found):
        return
    console = terminal()
    if found.results:
        table = Table("score", "label", "title", "summary", "project")
        for result in found.results:
            score = f"{result.score:.3f}"
            table.add_row(*cells(score, result.label, result.title, result.summary, result.project))
        console.print(table)
    else:
        console.print("Nothing found.")
    mode = found.search_mode
    console.print(Text(f"{mode.mode}{': ' + mode.reason if mode.reason else ''}", "dim"))
