"""`pgmem follow` and `pgmem sync`: the changes of a store as they come, and stores in step."""

from __future__ import annotations

import re
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import anyio
import typer

from pgmem.cli.options import DryRun, Project, Store, shown, stop, store_command
from pgmem.documents import json_line
from pgmem.escaping import counted, for_json, visible

if TYPE_CHECKING:
    from pgmem.features.feed.exchange import Exchanged, Progress
    from pgmem.memory import Memory
    from pgmem.models import Change

_MOST_SHOWN = 20


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
        async with aclosing(memory.follow(start, project_id=project, content=not store.as_json)) as changes:
            async for change in changes:
                typer.echo(for_json(json_line(asdict(change))[:-1]) if store.as_json else line(change))

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


@store_command
def sync(
    store: Store,
    other: Annotated[
        str | None,
        typer.Argument(
            metavar="WITH",
            help="A DSN, the address of a server (https://…), or a folder that another program copies.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="A file with the token for a server. Default: PGMEM_SYNC_TOKEN."),
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", help="Repeat at this interval: 30s, 5m, 1h.", metavar="TIME")
    ] = None,
    dry_run: DryRun = False,
    outstanding: Annotated[
        bool, typer.Option("--outstanding", help="Only list what was refused and is offered again each time.")
    ] = False,
    dismiss: Annotated[
        str | None,
        typer.Option(
            "--dismiss", metavar="ID|all", help="Only give up what was refused: one change by its id, or all."
        ),
    ] = None,
) -> None:
    """Bring this store and another one in step: the changes of each go to the other.

    A memory that changed on both sides keeps both versions in its history; the later one wins. A run that was
    stopped continues where it was. A refused change is offered again each time; while one is, the exit code
    is 1.
    """
    if outstanding or dismiss is not None:
        store.run(lambda memory: _outstanding(memory, dismiss, store))
        return
    if other is None:
        stop("Name the other store: pgmem sync WITH, a DSN, the address of a server or a folder.", 2)
    pause = None if every is None else seconds(every)

    async def run(memory: Memory) -> None:
        from pgmem.cli.options import progress
        from pgmem.errors import DatabaseUnavailable
        from pgmem.features.feed.connecting import exchange

        secret = token_file.read_text().strip() if token_file else None
        while True:
            try:
                with progress("exchanging") as report:
                    shown: Progress = lambda what, count: report(count, 0) if what else None  # noqa: E731
                    done = await exchange(memory, other, secret, dry_run=dry_run, progress=shown)
                _say(done, store, dry_run=dry_run)
            except DatabaseUnavailable as error:
                if pause is None:
                    raise
                typer.echo(f"pgmem: {error} It is tried again.", err=True)
            else:
                waiting = len(done.outstanding)
            if pause is None:
                if waiting:
                    raise typer.Exit(1)
                return
            await anyio.sleep(pause)

    store.run(run)


async def _outstanding(memory: Memory, dismiss: str | None, store: Store) -> None:
    """List changes that were refused in exchanges, or give it up."""
    if dismiss is not None:
        one = None if dismiss == "all" else is_uuid(dismiss)
        gone = await memory.dismiss_outstanding(one, all=dismiss == "all")
        if not store.print_json({"dismissed": gone}):
            typer.echo(f"{counted(gone, 'change is', 'changes are')} not offered again.")
        return
    found = await memory.list_outstanding()
    if store.print_json([asdict(each) for each in found]):
        return
    for each in found:
        typer.echo(visible(f"{each.id}  refused {each.direction} {counted(each.tries, 'time')}, first on "
                           f"{each.since.astimezone():%Y-%m-%d}: {each.title or ''}: {each.reason}"))  # fmt: skip
    if not found:
        typer.echo("Nothing is outstanding.")


def is_uuid(text: str) -> UUID:
    """The id in a text."""
    try:
        return UUID(text)
    except ValueError:
        stop(f"--dismiss {text}: send the id of a change, as pgmem sync --outstanding shows it, or all.", 2)


def seconds(text: str) -> float:
    """The seconds of an interval such as 30s, 5m or 1h."""
    match = re.fullmatch(r"(\d{1,6})([smh])", text)
    if match is None or match[1].strip("0") == "":
        stop(f"--every {text}: send a number and s, m or h, such as 5m.", 2)
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def _say(done: Exchanged, store: Store, *, dry_run: bool) -> None:
    shown_rows = [{"side": side, **asdict(arrival)} for side, arrival in done.shown]
    if store.print_json(
        {
            "here": dict(done.here),
            "there": dict(done.there),
            "shown": shown_rows,
            "anew": done.anew,
            "outstanding": len(done.outstanding),
            "builds": done.builds,
        }
    ):
        return
    would = "would be " if dry_run else ""
    for side, counts in (("here", done.here), ("there", done.there)):
        said = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()) if outcome != "present")
        typer.echo(f"{side}: {would}{said}" if said else f"{side}: nothing new")
    if done.builds:
        typer.echo(visible(done.builds))
    if done.anew:
        typer.echo(visible(f"Everything was compared, because {done.anew}; a relation that was removed meanwhile on "
                           "one side may be on both again."))  # fmt: skip
    for side, arrival in done.shown[:_MOST_SHOWN]:
        reason = f": {arrival.reason}" if arrival.reason else ""
        typer.echo(visible(f"  {arrival.outcome} {side}: {arrival.title or ''} {arrival.id or ''}{reason}"))
    if len(done.shown) > _MOST_SHOWN:
        typer.echo(f"  and {len(done.shown) - _MOST_SHOWN} more; --json has all.")
    if done.outstanding:
        count = counted(len(done.outstanding), "change is", "changes are")
        if any(each.direction == "there" and "a person decides" in each.reason for each in done.outstanding):
            typer.echo("The other store takes what persons decided here with a token that vouches for them: a reviewer "
                       "of it issues one with pgmem token issue --for sync --vouches.")  # fmt: skip
        typer.echo(f"{count} outstanding and offered again at each sync: pgmem sync --outstanding lists them, "
                   "pgmem sync --dismiss ID|all gives them up.")  # fmt: skip
