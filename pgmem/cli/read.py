"""`pgmem retrieve` and `pgmem search`: what is kept, as an agent gets it."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from pgmem.cli.options import AsJson, DataDir, Dsn, EnvFile, Project, emit, settings_of, with_memory

__all__ = ["retrieve", "search"]

Scope = Literal["global", "project", "focus"]


def retrieve(
    project: Annotated[str, typer.Argument(help="The project.")],
    scope: Annotated[Scope, typer.Option(help="Where to begin.")] = "project",
    focus: Annotated[str | None, typer.Option(help="A focus area of the project.")] = None,
    category: Annotated[
        list[str] | None, typer.Option(help="Only this label; may be given more than once.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Only what holds one of these words.")] = None,
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    as_json: AsJson = False,
) -> None:
    """Load the context of a project: focus, project, global, newest first."""
    settings = settings_of(dsn, env_file, data_dir)
    bundle = with_memory(settings, lambda m: m.retrieve_context(project, scope, focus, category, topic))
    if as_json:
        emit(bundle)
        return
    console = Console()
    if bundle.items:
        table = Table("scope", "label", "title", "age", "id", title=f"{project}: {bundle.retrieval_status}")
        for item in bundle.items:
            table.add_row(item["scope"], item["label"], item["title"], item["freshness"], item["id"])
        console.print(table)
    else:
        console.print(f"{project}: {bundle.retrieval_status} (scope {bundle.scope_state})")
    console.print(bundle.next_step or "", style="dim")


def search(
    query: Annotated[str, typer.Argument(help="Words or a question.")],
    project: Project = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many.")] = 10,
    label: Annotated[
        list[str] | None, typer.Option(help="Only this label; may be given more than once.")
    ] = None,
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    as_json: AsJson = False,
) -> None:
    """Find memories by words or a question, best first."""
    settings = settings_of(dsn, env_file, data_dir)
    found = with_memory(settings, lambda m: m.search_memory(query, limit, project, labels=label))
    if as_json:
        emit(found)
        return
    console = Console()
    if found.results:
        table = Table("score", "label", "title", "summary", "project")
        for result in found.results:
            table.add_row(
                f"{result.score:.3f}", result.label, result.title, result.summary or "", result.project or ""
            )
        console.print(table)
    else:
        console.print("Nothing found.")
    mode = found.search_mode
    console.print(f"{mode.mode}{': ' + mode.reason if mode.reason else ''}", style="dim")
