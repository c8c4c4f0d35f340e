"""`pgmem history`, `decay`, `forget`, `revert`: versions of memories, decay of confidence, deletion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from pgmem.cli.options import Project, Store, Yes, cells, store_command, terminal
from pgmem.neutral import visible

if TYPE_CHECKING:
    from pgmem.models import Decay, Expiry

Label = Annotated[str, typer.Argument(help="The label, such as Decision or Technology.")]
Key = Annotated[str | None, typer.Argument(help="Its name, exact title or id.")]
Token = Annotated[
    str | None, typer.Option("--governance-token", help="A governance token, which a global memory needs.")
]


@store_command
def history(
    store: Store,
    label: Label,
    key: Annotated[str, typer.Argument(help="Its name, exact title or id.")],
    project: Project = None,
) -> None:
    """Show every version of a memory, oldest first."""
    found = store.run(lambda m: m.memory_history(label, key, project)).versions
    if store.print_json(found):
        return
    table = Table("version", "known from", "until", "status", "true from", "to", "properties")
    for state in found:
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
    label: Annotated[str | None, typer.Argument(help="The label, such as Decision.")] = None,
    key: Key = None,
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
    if older_than is None and (label is None or key is None):
        raise typer.BadParameter("name a LABEL and a KEY, or give --older-than DAYS")
    if not dry_run and not yes:
        if older_than is None:
            store.run(lambda m: m.get_node(str(label), str(key), project))  # before it is asked about
        which = visible(f"{label} “{key}”") if older_than is None else f"all unchanged for {older_than} days"
        typer.confirm(
            f"Delete {which} permanently? This cannot be undone." if purge else f"Hide {which} everywhere?",
            abort=True,
        )
    if older_than is None:
        one = store.run(lambda m: m.forget(str(label), str(key), purge, project, governance_token))
        if not store.print_json(one):
            typer.echo(f"{one.label} {one.title}: {one.status}.")
        return
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
    label: Label,
    key: Annotated[str, typer.Argument(help="Its name, exact title or id.")],
    version: Annotated[int, typer.Argument(help="The version to restore; pgmem history lists them.")],
    governance_token: Token = None,
    project: Project = None,
) -> None:
    """Restore an earlier version of a memory, as a new version."""
    done = store.run(
        lambda m: m.revert(label, key, version, project, governance_token),
    )
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
