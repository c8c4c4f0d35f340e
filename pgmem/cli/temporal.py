"""`pgmem history`, `decay`, `forget`, `revert`: versions of memories, decay of confidence, deletion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from pgmem.cli.options import Project, Store, Which, Yes, cells, named, store_command, terminal
from pgmem.neutral import visible

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import Decay, Expiry, Forgotten, History, Node, Reverted

Token = Annotated[
    str | None, typer.Option("--governance-token", help="A governance token, which a global memory needs.")
]


@store_command
def history(
    store: Store,
    which: Which,
    project: Project = None,
) -> None:
    """Show every version of a memory, oldest first."""

    async def run(memory: Memory) -> History:
        return await memory.memory_history(*await named(memory, which), project)

    versions = store.run(run).versions
    if store.print_json(versions):
        return
    table = Table("version", "known from", "until", "status", "true from", "to", "properties")
    for state in versions:
        times = (state.ingested_at, state.replaced_at)
        properties = json.dumps(state.properties, ensure_ascii=False)
        table.add_row(
            *cells(state.version, *times, state.status, state.valid_from, state.valid_to, properties)
        )
    terminal().print(table)


@store_command
def decay(
    store: Store,
    rate: Annotated[float | None, typer.Option(min=0, help="Decay per day, for this run alone.")] = None,
    max_age: Annotated[
        int | None, typer.Option(min=0, help="Days before decay begins, for this run alone.")
    ] = None,
    archive_below: Annotated[
        float | None, typer.Option(min=0, max=1, help="Archive memories below this confidence.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
) -> None:
    """Count memories whose confidence has decayed; archive those below a threshold."""
    with _progress("Archiving") as step:
        done: Decay = store.run(
            lambda m: m.decay_scores(max_age, rate, archive_below, dry_run, progress=step)
        )
    if store.print_json(done):
        return
    left = f", {done.remaining} would be archived" if dry_run and archive_below else ""
    typer.echo(f"{done.affected} memories have faded, {done.archived} archived{left}.")


@store_command
def forget(
    store: Store,
    which: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABEL] [KEY]",
            help="An id; or a label, such as Decision, and a name or exact title. With --older-than: a label, or none.",
        ),
    ] = None,
    purge: Annotated[bool, typer.Option("--purge", help="Delete permanently, with the history.")] = False,
    older_than: Annotated[
        int | None, typer.Option(min=0, help="Instead of one memory: all unchanged for so many days.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --older-than: only count.")] = False,
    yes: Yes = False,
    governance_token: Token = None,
    project: Project = None,
) -> None:
    """Hide a memory, or all that are unchanged for some days; or delete them permanently."""
    words = which or []
    if older_than is None and not words:
        raise typer.BadParameter("name an id, or a LABEL and a KEY, or give --older-than DAYS")
    if older_than is not None and len(words) > 1:
        raise typer.BadParameter("--older-than takes at most a LABEL")

    async def look(memory: Memory) -> Node:
        return await memory.get_node(*await named(memory, words), project)

    async def hide(memory: Memory) -> Forgotten:
        return await memory.forget(*await named(memory, words), purge, project, governance_token)

    if not dry_run and not yes:
        what = f"all unchanged for {older_than} days"
        if older_than is None:
            node = store.run(look)
            what = visible(f"{node.label} “{node.title}”")
        typer.confirm(
            f"Delete {what} permanently? This cannot be undone." if purge else f"Hide {what} everywhere?",
            abort=True,
        )
    if older_than is None:
        one = store.run(hide)
        if not store.print_json(one):
            typer.echo(f"{one.label} {one.title}: {one.status}.")
        return
    label = words[0] if words else None
    with _progress("Purging" if purge else "Forgetting") as step:
        done: Expiry = store.run(
            lambda m: m.forget_by_ttl(older_than, label, project, purge, dry_run, progress=step)
        )
    if store.print_json(done):
        return
    if dry_run:
        typer.echo(f"{done.remaining} memories would be {'purged' if purge else 'archived'}.")
    else:
        typer.echo(f"{done.affected} memories {'purged' if purge else 'archived'}.")


@store_command
def revert(
    store: Store,
    which: Annotated[
        list[str],
        typer.Argument(
            metavar="[LABEL] KEY VERSION",
            help="An id, or a label and a name or exact title; then the version, which pgmem history lists.",
        ),
    ],
    governance_token: Token = None,
    project: Project = None,
) -> None:
    """Restore an earlier version of a memory, as a new version."""
    *words, version = which
    if not words or not version.isdecimal():
        raise typer.BadParameter("name an id, or a LABEL and a KEY, then the number of the version")

    async def run(memory: Memory) -> Reverted:
        return await memory.revert(*await named(memory, words), int(version), project, governance_token)

    done = store.run(run)
    if not store.print_json(done):
        typer.echo(f"{done.label} {done.title}: version {done.version} restores version {version}.")


class _progress:
    """A progress bar for batches; on a terminal only, and only when there is more than one batch."""

    def __init__(self, what: str) -> None:
        console = terminal()
        self._bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task(what, total=None, visible=False)

    def __enter__(self) -> _progress:
        self._bar.start()
        return self

    def __call__(self, done: int, remaining: int) -> None:
        self._bar.update(self._task, completed=done, total=done + remaining, visible=True)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
