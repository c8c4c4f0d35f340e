"""`pgmem retrieve` and `pgmem search`: memories as agents get them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Column
from rich.text import Text

from pgmem.cli.options import (
    Project,
    Store,
    Which,
    most,
    named,
    of_tenants,
    store_command,
    table,
    terminal,
    typed,
)

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import ContextBundle, Neighbours, SearchResult, SearchResults

Scope = Literal["global", "project", "focus"]


@store_command
def retrieve(
    store: Store,
    project: Annotated[str, typer.Argument(help="The project.")],
    scope: Annotated[Scope, typer.Option(help="The innermost scope to read.")] = "project",
    focus: Annotated[str | None, typer.Option(help="A focus area of the project.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="Only this label; repeatable.")] = None,
    topic: Annotated[str | None, typer.Option(help="Only memories that contain one of these words.")] = None,
) -> None:
    """Show the context of a project: its focus, project and global memories, newest first."""

    async def run(memory: Memory) -> tuple[ContextBundle, str]:
        found = await memory.retrieve_context(project, scope, focus, category, topic)
        shown = found.standing or found.items or store.as_json
        return found, "" if shown else await of_tenants(memory, store.settings)

    bundle, theirs = store.run(run)
    if store.print_json(bundle):
        return
    console = terminal()
    if bundle.standing or bundle.items:
        headings = ("scope", "label", "title", "age", Column("id", no_wrap=True))
        rows = [
            (item.scope, label, item.title, item.freshness, item.id)
            for items, mark in ((bundle.standing, " (standing)"), (bundle.items, ""))
            for item in items
            for label in (f"{item.label}{mark}",)
        ]
        console.print(table(headings, rows, title=Text(f"{project}: {bundle.retrieval_status}")))
    else:
        who = "/".join(filter(None, (store.settings.org_id, store.settings.user_id)))
        asked = f", asked as {who}" if who else ""
        console.print(Text(f"{project}: {bundle.retrieval_status} (scope {bundle.scope_state}){asked}"))
    if theirs or bundle.next_step:
        console.print(Text(theirs or typed(bundle.next_step or ""), "dim"))


@store_command
def search(
    store: Store,
    query: Annotated[str, typer.Argument(help="Words or a question.")],
    project: Project = None,
    limit: Annotated[int, most("memories")] = 10,
    label: Annotated[list[str] | None, typer.Option(help="Only this label; repeatable.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every part of each score.")] = False,
    min_relevance: Annotated[
        float | None, typer.Option(min=0, max=1, help="Minimum relevance of a result.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=100, max=1_000_000, help="Maximum number of tokens of all results.")
    ] = None,
) -> None:
    """Find memories by words or a question, best first."""

    async def run(memory: Memory) -> tuple[SearchResults, str]:
        found = await memory.search_memory(
            query,
            limit,
            project,
            labels=label,
            explain=explain,
            min_relevance=min_relevance,
            max_tokens=max_tokens,
        )
        return found, "" if found.results or store.as_json else await of_tenants(memory, store.settings)

    found, theirs = store.run(run)
    if store.print_json(found):
        return
    console = terminal()
    if found.results:
        rows = []
        for result in found.results:
            figures = (f"{result.score:.3f}", "" if result.relevance is None else f"{result.relevance:.2f}")
            rows.append((*figures, result.label, result.title, result.summary, result.project))
        console.print(table(("score", "relevance", "label", "title", "summary", "project"), rows))
        if explain:
            _print_parts(found.results)
    else:
        console.print("Nothing found.")
    if theirs or found.next_step:
        console.print(Text(theirs or typed(found.next_step or "")))
    if found.left_out:
        console.print(
            Text(f"{found.left_out} more were left out: over the limit, or repeats of these.", "dim")
        )
    mode = found.search_mode
    if mode.reason:
        console.print(Text(f"{mode.mode}: {mode.reason}", "dim"))


_PARTS = tuple(
    "base question session prior instruction time date source graph trust gate cosine bm25".split()
)


def _print_parts(results: Sequence[SearchResult]) -> None:
    """A row for each result with the parts of its score."""
    rows = []
    for place, result in enumerate(results, start=1):
        parts = result.explanation or {}
        figures = ("" if parts.get(part) is None else f"{parts[part]:.3f}" for part in _PARTS)
        rows.append((place, *figures))
    terminal().print(table(("", *_PARTS), rows, title="Parts of each score", title_justify="left"))


@store_command
def neighbours(
    store: Store,
    which: Which,
    project: Project = None,
    hops: Annotated[int, typer.Option(min=1, max=5, help="How many relations away at most.")] = 1,
    limit: Annotated[int, most("memories")] = 50,
) -> None:
    """Show the memories around one, nearest first, with the relations on the way."""

    async def run(memory: Memory) -> Neighbours:
        return await memory.neighbours(*await named(memory, which), hops, limit, project)

    found = store.run(run)
    if store.print_json(found):
        return
    if not found.nodes:
        terminal().print("It has no relations.")
        return
    headings = ("hops", "relations", "label", "title", "status", Column("id", no_wrap=True))
    rows = ((n.depth, " ".join(n.path), n.label, n.title, n.status, n.id) for n in found.nodes)
    terminal().print(table(headings, rows))


@store_command
def calibrate(
    store: Store,
    foreign_share: Annotated[
        float, typer.Option(min=0.0, max=0.5, help="How many foreign queries may count as answered.")
    ] = 0.1,
    apply: Annotated[bool, typer.Option("--apply", help="Write the thresholds to the settings.")] = False,
) -> None:
    """Measure at which relevance a search of this store counts as answered: own titles in other projects."""
    from pgmem.worker.calibration import calibrate as measure

    found = store.run(lambda m: measure(m, foreign_share, apply))
    if store.print_json(found):
        return
    console = terminal()
    console.print(
        f"{found.queries} titles: answered_yes {found.answered_yes:.3f}, answered_no {found.answered_no:.3f}"
    )
    console.print(
        f"answered: {found.own_answered:.0%} of own titles, {found.foreign_answered:.0%} of foreign ones"
    )
    if not found.applied:
        console.print(Text("Nothing was changed; --apply writes these to the settings.", "dim"))
