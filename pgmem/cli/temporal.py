"""`pgmem history`, `decay`, `forget`, `revert`: versions of memories, decay of confidence, deletion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from pgmem.cli.options import Yes, named, progress, typed
from pgmem.cli.verbs import Call, verb_command
from pgmem.escaping import counted, visible

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import Decay, Expiry, Node


@verb_command(
    "decay_scores",
    options={"max_age_days": ("--max-age", "--max-age-days"), "decay_rate": ("--rate", "--decay-rate")},
)
def decay(call: Call) -> None:
    """Count memories whose confidence has decayed; archive those below a threshold."""
    with progress("Archiving") as report:
        done: Decay = call.run(progress=_of_all(report))
    store, dry_run, archive_below = call.store, call.sent.get("dry_run"), call.sent.get("archive_below")
    store.for_people(done)
    left = f", {done.remaining} would be archived" if dry_run and archive_below else ""
    typer.echo(
        f"{counted(done.affected, 'memory has', 'memories have')} faded, {done.archived} archived{left}."
    )


@verb_command("confirm", "id")
def confirm(call: Call) -> None:
    """Record that an old memory still holds: it is no longer stale, and its confidence is as it was given."""
    done = call.answer()
    typer.echo(f"{done.label} {visible(done.title)}: confirmed.")


@verb_command("forget", without=("label", "key"))
def forget(
    call: Call,
    which: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABEL] [KEY]",
            help="An id; or a label, such as Decision, and a name or exact title. With --older-than: a label, or none.",
        ),
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option(min=0, help="Forget everything that has not changed for this many days."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --older-than: only count.")] = False,
    yes: Yes = False,
) -> None:
    """Hide a memory, or all that are unchanged for some days; or delete them permanently."""
    store, words = call.store, which or []
    purge, project = call.sent.get("purge", False), call.sent.get("project_id")
    if older_than is None and not words:
        raise typer.BadParameter("name an id, or a LABEL and a KEY, or give --older-than DAYS")
    if older_than is not None and len(words) > 1:
        raise typer.BadParameter("--older-than takes at most a LABEL")

    async def look(memory: Memory) -> Node:
        return await memory.get_node(*await named(memory, words), project)

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
        one = replace(call, which=words).answer()
        typer.echo(f"{one.label} {one.title}: {one.status}.")
        for other in one.same:
            where = f" in {visible(other.project)}" if other.project else ""
            typer.echo(f"  the same{where}, {other.status}: {visible(other.title)} ({other.id})")
        for resting in one.rests:
            typer.echo(f"  rests on it: {resting.label} {visible(resting.title)} ({resting.id})")
        if one.next_step:
            typer.echo(typed(one.next_step), err=True)
        return
    label = words[0] if words else None
    with progress("Purging" if purge else "Forgetting") as report:
        done: Expiry = store.run(
            lambda m: m.forget_by_ttl(older_than, label, project, purge, dry_run, progress=_of_all(report))
        )
    store.for_people(done)
    count = counted(done.remaining if dry_run else done.affected, "memory", "memories")
    typer.echo(f"{count} {'would be ' if dry_run else ''}{'purged' if purge else 'archived'}.")


@verb_command("revert", without=("label", "key", "version"))
def revert(
    call: Call,
    which: Annotated[
        list[str],
        typer.Argument(
            metavar="[LABEL] KEY VERSION",
            help="An id, or a label and a name or exact title; then the version, which pgmem history lists.",
        ),
    ],
) -> None:
    """Restore an earlier version of a memory, as a new version."""
    *words, version = which
    if not words or not version.isdecimal():
        raise typer.BadParameter("name an id, or a LABEL and a KEY, then the number of the version")
    done = replace(call.but(version=int(version)), which=words).answer()
    typer.echo(f"{done.label} {done.title}: version {done.version} restores version {version}.")


def _of_all(report: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """A report of progress by done and total from one by done and remaining."""
    return lambda done, remaining: report(done, done + remaining)
