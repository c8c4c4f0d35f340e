"""`pgmem cards`: engineering memory, made from a repository, drafted by agents, decided by people."""

from __future__ import annotations

import getpass
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn
from rich.table import Table
from rich.text import Text

from pgmem.cli.options import Door, DryRun, at_the_store, cells, failing, terminal
from pgmem.memory import Memory
from pgmem.models import CardDecision, CardRefresh, MemoryAnswer
from pgmem.repository import scan

__all__ = ["app"]

app = typer.Typer(help="Engineering memory: cards about a code base.", no_args_is_help=True)

Root = Annotated[Path, typer.Option(help="The repository.", exists=True, file_okay=False)]
Project = Annotated[
    str | None,
    typer.Option("--project", "-p", help="The project; else the name of the repository's folder."),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many.")]
Card = Annotated[UUID, typer.Argument(metavar="ID", help="The card's id.")]
By = Annotated[str, typer.Option(help="Who decides.")]
Reason = Annotated[str | None, typer.Option(help="Why.")]
Sure = Annotated[
    bool, typer.Option("--i-know-what-im-doing", help="You are a person and have read the card.")
]
Here = Path()


@app.command()
@at_the_store
def init(
    door: Door,
    root: Root = Here,
    project: Project = None,
    dry_run: DryRun = False,
) -> None:
    """Make the cards of a repository; a project that is not there is opened."""
    name = _project(project, root)

    async def open_project(memory: Memory) -> None:
        if (await memory.get_scope_state(name)).scope_state == "uncertain":
            saved = await memory.save_session(f"Set up engineering memory for {name}", name)
            typer.echo(f"Project {name}: {saved.status}.", err=True)

    door.ask(open_project)
    _refresh(door, root, name, dry_run)


@app.command()
@at_the_store
def refresh(
    door: Door,
    root: Root = Here,
    project: Project = None,
    dry_run: DryRun = False,
) -> None:
    """Bring the cards of a repository up to date."""
    _refresh(door, root, _project(project, root), dry_run)


def _refresh(door: Door, root: Path, name: str, dry_run: bool) -> None:
    with Progress(SpinnerColumn(), *Progress.get_default_columns(), console=Console(stderr=True)) as progress:
        progress.disable = not progress.console.is_terminal
        reading = progress.add_task("reading", total=None)
        report = failing(
            lambda: scan(root, lambda done, total: progress.update(reading, completed=done, total=total))
        )
        writing = progress.add_task("storing", total=None)
        result = door.ask(lambda m: m.refresh_from_run(report, name, dry_run=dry_run))
        progress.update(writing, total=1, completed=1)
    if not door.told(result):
        _show_refresh(result, report)


def _show_refresh(result: CardRefresh, report: dict[str, Any]) -> None:
    console = terminal()
    for card in result.cards or []:
        console.print(Text.assemble((f"{card['type']:16}", "dim"), card["statement"]), soft_wrap=True)
    console.print(
        ", ".join(f"{len(report[part])} {part}" for part in ("modules", "tests", "documents"))
        + ": "
        + ", ".join(
            f"{count} {name.replace('_', ' ')}" for name, count in sorted(result.counts.items()) if count
        )
        + ("." if any(result.counts.values()) else "nothing to do.")
    )
    for left_out in result.skipped:
        console.print(Text(f"skipped: {left_out}", style="dim"))


@app.command()
@at_the_store
def status(
    door: Door,
    root: Root = Here,
    project: Project = None,
) -> None:
    """The cards in numbers, the last run, the sync policy."""
    answer = door.ask(lambda m: m.query_engineering_memory(_project(project, root), "status"))
    if door.told(answer.payload):
        return
    payload = answer.payload
    table = Table(show_header=False, box=None)
    table.add_row(*cells("cards", f"{payload['records']} of {payload['capacity']['max_records']}"))
    for group in ("records_by_status", "records_by_type"):
        for name, count in sorted(payload[group].items()):
            table.add_row(*cells(f"  {name}", count))
    for name, value in payload["sync"].items():
        table.add_row(*cells(name.replace("_", " "), value))
    terminal().print(table)


@app.command("for-path")
@at_the_store
def for_path(
    door: Door,
    path: Annotated[str, typer.Argument(help="A path of the repository.")],
    root: Root = Here,
    project: Project = None,
    limit: Limit = 20,
    stale: Annotated[bool, typer.Option("--stale", help="Stale cards too.")] = False,
) -> None:
    """The cards about a path, best first."""
    name = _project(project, root)
    _show(
        door,
        door.ask(
            lambda m: m.query_engineering_memory(
                name, "for_path", path=path, max_results=limit, include_stale=stale
            ),
        ),
    )


@app.command()
@at_the_store
def search(
    door: Door,
    query: Annotated[str, typer.Argument(help="Words.")],
    root: Root = Here,
    project: Project = None,
    limit: Limit = 20,
    match: Annotated[str, typer.Option(help="any or all of the words.")] = "any",
    active_only: Annotated[bool, typer.Option("--active-only", help="No drafts.")] = False,
) -> None:
    """Find cards by words, best first."""
    name = _project(project, root)
    _show(
        door,
        door.ask(
            lambda m: m.query_engineering_memory(
                name,
                "search",
                query=query,
                filters={"match_mode": match},
                max_results=limit,
                include_drafts=not active_only,
            ),
        ),
    )


@app.command()
@at_the_store
def stale(
    door: Door,
    root: Root = Here,
    project: Project = None,
    limit: Limit = 50,
) -> None:
    """The cards whose files have changed, and why they are stale."""
    name = _project(project, root)
    _show(door, door.ask(lambda m: m.query_engineering_memory(name, "stale", max_results=limit)))


@app.command()
@at_the_store
def coverage(
    door: Door,
    paths: Annotated[list[str], typer.Argument(help="Paths of the repository.")],
    root: Root = Here,
    project: Project = None,
) -> None:
    """Which paths an active card is about."""
    name = _project(project, root)
    answer = door.ask(lambda m: m.query_engineering_memory(name, "coverage", scope=paths))
    if door.told(answer.payload):
        return
    table = Table("path", "covered")
    for row in answer.payload["paths"]:
        table.add_row(*cells(row["path"], "yes" if row["covered"] else "no"))
    console = terminal()
    console.print(table)
    console.print(f"{answer.payload['record_coverage']['coverage_percent']} %")


@app.command()
@at_the_store
def review(
    door: Door,
    root: Root = Here,
    project: Project = None,
    by: Annotated[str | None, typer.Option(help="Who decides; else the name you are logged in by.")] = None,
    sure: Sure = False,
) -> None:
    """Walk through the drafts, one by one: approve, reject, or leave for later."""
    name = _project(project, root)
    who = by or getpass.getuser()
    answer = door.ask(
        lambda m: m.query_engineering_memory(name, "drafts", max_results=100, detail_level="full"),
    )
    drafts = answer.payload["records"]
    if door.told(drafts):
        return
    if not sure and not sys.stdin.isatty():
        _refuse("review is for a person at a terminal; elsewhere say --i-know-what-im-doing.")
    console = terminal()
    if not drafts:
        console.print("No draft waits.")
    for number, card in enumerate(drafts, 1):
        console.print(_panel(card, f"{number} of {answer.payload['total_count']}"))
        choice = typer.prompt("[a]pprove, [r]eject, [l]ater, [q]uit", default="l").strip().lower()[:1]
        if choice == "q":
            break
        card_id = UUID(card["id"])
        if choice == "a":
            done = door.ask(lambda m, i=card_id: m.approve_card(i, who))  # type: ignore[misc]
            typer.echo(f"{done.status}, {done.confidence}")
        elif choice == "r":
            why = typer.prompt("Why", default="") or None
            done = door.ask(lambda m, i=card_id, w=why: m.reject_card(i, who, w))  # type: ignore[misc]
            typer.echo(done.status)


@app.command()
@at_the_store
def approve(
    door: Door,
    card_id: Card,
    sure: Sure = False,
    by: By = "human",
    reason: Reason = None,
    supersedes: Annotated[
        list[UUID] | None, typer.Option(help="A card this one replaces; may be given more than once.")
    ] = None,
) -> None:
    """Approve a draft or stale card: it is active and verified."""
    _require_person(sure)
    _decided(door, door.ask(lambda m: m.approve_card(card_id, by, reason, supersedes or ())))


@app.command()
@at_the_store
def reject(
    door: Door,
    card_id: Card,
    sure: Sure = False,
    by: By = "human",
    reason: Reason = None,
) -> None:
    """Reject a draft."""
    _require_person(sure)
    _decided(door, door.ask(lambda m: m.reject_card(card_id, by, reason)))


@app.command()
@at_the_store
def archive(
    door: Door,
    card_id: Card,
    sure: Sure = False,
    by: By = "human",
    reason: Reason = None,
) -> None:
    """Take a card out of use."""
    _require_person(sure)
    _decided(door, door.ask(lambda m: m.archive_card(card_id, by, reason)))


@app.command()
@at_the_store
def vacuum(
    door: Door,
    root: Root = Here,
    project: Project = None,
    dry_run: DryRun = False,
) -> None:
    """Remove cards whose days in their state are over (settings card_days_*)."""
    name = _project(project, root)
    done = door.ask(lambda m: m.vacuum_cards(name, dry_run=dry_run))
    if door.told(done):
        return
    verb = "would be removed" if dry_run else "removed"
    counts = ", ".join(f"{count} {state}" for state, count in sorted(done.removed.items())) or "no cards"
    typer.echo(f"{counts} {verb}, {done.receipts} receipts.")


def _project(project: str | None, root: Path) -> str:
    return project or root.resolve().name


def _require_person(sure: bool) -> None:
    if not sure:
        _refuse("agents draft, people decide: a person adds --i-know-what-im-doing.")


def _refuse(message: str) -> None:
    typer.echo(f"pgmem: {message}", err=True)
    raise typer.Exit(2)


def _decided(door: Door, card: CardDecision) -> None:
    if not door.told({name: value for name, value in asdict(card).items() if value is not None}):
        typer.echo(f"{card.card_id}: {card.status}{', ' + card.confidence if card.confidence else ''}")


def _show(door: Door, answer: MemoryAnswer) -> None:
    if door.told(answer.payload):
        return
    console = terminal()
    if not answer.payload["records"]:
        console.print("No cards.")
        return
    table = Table("score", "type", "status", "statement", "id")
    for card in answer.payload["records"]:
        state = f"{card['status']}: {card['stale_reason']}" if card.get("stale_reason") else card["status"]
        table.add_row(*cells(card.get("relevance_score"), card["type"], state, card["statement"], card["id"]))
    console.print(table)
    left = answer.payload["total_count"] - answer.payload["record_count"]
    if left > 0:
        console.print(f"{left} more.", style="dim")


def _panel(card: dict[str, Any], place: str) -> Panel:
    evidence = [f"{item['kind']} {item['ref']}" for item in card.get("evidence", [])] or ["no evidence"]
    text = Text.assemble(
        (card["statement"], "bold"),
        f"\n\n{card['path']}\n",
        ("; ".join(evidence), "dim"),
    )
    return Panel(text, title=f"{card['type']}, {place}", subtitle=card["id"])
