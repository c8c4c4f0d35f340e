"""`pgmem history`, `decay`, `forget`, `revert`: what was known, what fades, what is let go of."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from pgmem.cli.options import Door, Project, Yes, at_the_store, cells, terminal
from pgmem.models import Decay, Expiry

__all__ = ["decay", "forget", "history", "revert"]

Label = Annotated[str, typer.Argument(help="The label, such as Decision or Technology.")]
Key = Annotated[str | None, typer.Argument(help="Its name, exact title or id.")]
Token = Annotated[
    str | None, typer.Option("--governance-token", help="Approval, where the memory is global.")
]


@at_the_store
def history(
    door: Door,
    label: Label,
    key: Annotated[str, typer.Argument(help="Its name, exact title or id.")],
    project: Project = None,
) -> None:
    """Every state a memory was recorded in, oldest first."""
    found = door.ask(lambda m: m.memory_history(label, key, project)).versions
    if door.told(found):
        return
    table = Table("version", "known from", "until", "status", "true from", "to", "what it said")
    for state in found:
        times = (state.ingested_at, state.replaced_at)
        said = json.dumps(state.properties, ensure_ascii=False)
        table.add_row(*cells(state.version, *times, state.status, state.valid_from, state.valid_to, said))
    terminal().print(table)


@at_the_store
def decay(
    door: Door,
    rate: Annotated[float | None, typer.Option(min=0, help="Decay per day; from now on the store's.")] = None,
    max_age: Annotated[
        int | None, typer.Option(min=0, help="Days until it begins; from now on the store's.")
    ] = None,
    archive_below: Annotated[
        float | None, typer.Option(min=0, max=1, help="Archive what has sunk below this confidence.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
) -> None:
    """How many memories have faded; archive those below a threshold."""
    with _progress("Archiving") as step:
        done: Decay = door.ask(lambda m: m.decay_scores(max_age, rate, archive_below, dry_run, step))
    if door.told(done):
        return
    left = f", {done.remaining} would be archived" if dry_run and archive_below else ""
    typer.echo(f"{done.affected} memories have faded, {done.archived} archived{left}.")


@at_the_store
def forget(
    door: Door,
    label: Annotated[str | None, typer.Argument(help="The label, such as Decision.")] = None,
    key: Key = None,
    purge: Annotated[bool, typer.Option("--purge", help="Delete for good, with its history.")] = False,
    older_than: Annotated[
        int | None, typer.Option(min=0, help="Instead of one: all untouched for so many days.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --older-than: only count.")] = False,
    yes: Yes = False,
    governance_token: Token = None,
    project: Project = None,
) -> None:
    """Hide a memory everywhere, or purge it; or all that nobody has touched for some days."""
    if older_than is None and (label is None or key is None):
        raise typer.BadParameter("name a LABEL and a KEY, or give --older-than DAYS")
    if not dry_run and not yes:
        which = f"{label} “{key}”" if older_than is None else f"all untouched for {older_than} days"
        typer.confirm(
            f"Delete {which} for good? It cannot be undone." if purge else f"Hide {which} everywhere?",
            abort=True,
        )
    if older_than is None:
        one = door.ask(lambda m: m.forget(str(label), str(key), purge, project, governance_token))
        if not door.told(one):
            typer.echo(f"{one.label} {one.title}: {one.status}.")
        return
    with _progress("Purging" if purge else "Forgetting") as step:
        done: Expiry = door.ask(lambda m: m.forget_by_ttl(older_than, label, project, purge, dry_run, step))
    if door.told(done):
        return
    if dry_run:
        typer.echo(f"{done.remaining} memories would be {'purged' if purge else 'archived'}.")
    else:
        typer.echo(f"{done.affected} memories {'purged' if purge else 'archived'}.")


@at_the_store
def revert(
    door: Door,
    label: Label,
    key: Annotated[str, typer.Argument(help="Its name, exact title or id.")],
    version: Annotated[int, typer.Argument(help="The version to bring back; pgmem history lists them.")],
    governance_token: Token = None,
    project: Project = None,
) -> None:
    """Bring an earlier version of a memory back, as a new one."""
    done = door.ask(
        lambda m: m.revert(label, key, version, project, governance_token),
    )
    if not door.told(done):
        typer.echo(f"{done.label} {done.title}: version {done.version} says again what {version} said.")


class _progress:
    """A bar that moves with each batch; on a terminal only, and only when there is more than one."""

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
