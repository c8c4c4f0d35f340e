"""`pgmem cards`: engineering memory, read from a repository, drafted by agents, approved by people."""

from __future__ import annotations

import getpass
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn
from rich.syntax import Syntax
from rich.table import Column, Table
from rich.text import Text

from pgmem.cli import options
from pgmem.cli.options import DryRun, Store, cells, exit_on_error, store_command, terminal
from pgmem.errors import InvalidArgument
from pgmem.repository import scan
from pgmem.repository.git import Git, GitUnavailable
from pgmem.settings import Settings

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import Card as CardRecord
    from pgmem.models import CardDecision, CardRefresh, MemoryAnswer, PathDigest

app = typer.Typer(help="Engineering memory: cards about a code base.", no_args_is_help=True)

Root = Annotated[Path, typer.Option(help="Root of the repository.", exists=True, file_okay=False)]
Project = Annotated[
    str | None,
    typer.Option("--project", "-p", help="The project. Default: the one that the repository has."),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many to show.")]
Card = Annotated[str, typer.Argument(metavar="ID", help="The card's id, or its first 8 letters.")]
By = Annotated[str, typer.Option(help="The name to record as the decider.")]
Reason = Annotated[str | None, typer.Option(help="The reason to record.")]
Sure = Annotated[
    bool, typer.Option("--i-know-what-im-doing", help="Confirm that you are a person and have read the card.")
]
Here = Path()


@app.command()
@store_command
def init(
    store: Store,
    root: Root = Here,
    project: Project = None,
    dry_run: DryRun = False,
) -> None:
    """Create the cards of a repository, and its project if it does not exist."""
    name = project or store.run(lambda m: m.project_of(root, create=not dry_run))

    async def open_project(memory: Memory) -> None:
        if not dry_run and (await memory.get_scope_state(name)).scope_state == "uncertain":
            saved = await memory.save_session(f"Set up engineering memory for {name}", name)
            typer.echo(f"Project {name}: {saved.status}.", err=True)

    store.run(open_project)
    _refresh(store, root, name, dry_run)


@app.command()
@store_command
def refresh(
    store: Store,
    root: Root = Here,
    project: Project = None,
    dry_run: DryRun = False,
) -> None:
    """Update the cards of a repository."""
    _refresh(store, root, _project(store, project, root), dry_run)


def _refresh(store: Store, root: Path, name: str, dry_run: bool) -> None:
    with Progress(SpinnerColumn(), *Progress.get_default_columns(), console=Console(stderr=True)) as progress:
        progress.disable = not progress.console.is_terminal
        reading = progress.add_task("reading", total=None)

        def on_file(done: int, total: int) -> None:
            progress.update(reading, completed=done, total=total)

        report = exit_on_error(lambda: scan(root, on_file, None if dry_run else store.settings.data_dir))
        writing = progress.add_task("storing", total=None)
        result = _at(store, root, name).run(lambda m: m.refresh_from_run(report, name, dry_run=dry_run))
        progress.update(writing, total=1, completed=1)
    if not store.print_json(result):
        _show_refresh(result, report)


def _show_refresh(result: CardRefresh, report: dict[str, Any]) -> None:
    console = terminal()
    for card in result.cards or []:
        console.print(Text.assemble((f"{card.type:16}", "dim"), card.statement), soft_wrap=True)
    console.print(
        ", ".join(f"{len(report[part])} {part}" for part in ("modules", "tests", "documents"))
        + ": "
        + ", ".join(
            f"{count} {name.replace('_', ' ')}" for name, count in sorted(result.counts.items()) if count
        )
        + ("." if any(result.counts.values()) else "nothing to change.")
    )
    for skipped in result.skipped:
        console.print(Text(f"skipped: {skipped}", style="dim"))


@app.command()
@store_command
def status(
    store: Store,
    root: Root = Here,
    project: Project = None,
) -> None:
    """Show the number of cards, the last refresh and the sync policy."""
    name = _project(store, project, root)
    answer = _at(store, root, name).run(lambda m: m.query_engineering_memory(name, "status"))
    if store.print_json(answer.payload):
        return
    payload = answer.payload
    table = Table(show_header=False, box=None)
    limit = (payload.capacity or {}).get("max_records")
    elsewhere = payload.records_elsewhere or 0
    table.add_row(*cells("cards", f"{(payload.record_count or 0) + elsewhere} of {limit}"))
    for group in (payload.records_by_status, payload.records_by_type):
        for name, count in sorted((group or {}).items()):
            table.add_row(*cells(f"  {name}", count))
    if elsewhere:
        table.add_row(*cells("  of other branches", elsewhere))
    for name, value in asdict(payload.sync).items() if payload.sync else ():
        if value is not None:
            table.add_row(*cells(name.replace("_", " "), value))
    terminal().print(table)


@app.command("for-path")
@store_command
def for_path(
    store: Store,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Paths of the repository.")],
    root: Root = Here,
    project: Project = None,
    limit: Limit = 20,
    stale: Annotated[bool, typer.Option("--stale", help="Include stale cards.")] = False,
    cards: Annotated[bool, typer.Option("--cards", help="List the cards behind the digest.")] = False,
) -> None:
    """Show what memory knows about files before they are changed, best first."""
    name = _project(store, project, root)
    found = _at(store, root, name).run(
        lambda m: m.get_relevant_memory(
            name, paths, max_records=limit, include_stale=stale, detail_level="full" if cards else "compact"
        )
    )
    if store.print_json(found):
        return
    if cards:
        _show_cards(found.records or [], found.total_count or 0)
        return
    console = terminal()
    for digest in found.digests or ():
        _show_digest(console, digest)
    if found.truncated:
        console.print("More paths than one answer holds; ask for fewer.", style="dim")


def _show_digest(console: Console, digest: PathDigest) -> None:
    console.print(Text(digest.path, style="bold"), soft_wrap=True)
    for card in digest.cards:
        mark = f" [may be outdated: {card.stale.replace('_', ' ')}]" if card.stale else ""
        kind = card.kind.replace("_", " ")
        statement = card.statement.removeprefix("Changes with ").removeprefix("Tests: ")
        console.print(
            Text.assemble((f"  {kind:12} ", "dim"), statement, (mark, "yellow"), (f"  {card.id}", "dim")),
            soft_wrap=True,
        )
    if not digest.cards:
        console.print("  No card is about it.", style="dim")
    counts = ((digest.more, "more"), (digest.hidden_stale, "stale"), (digest.hidden_drafts, "drafts"))
    if hidden := ", ".join(f"{count} {word}" for count, word in counts if count):
        console.print(f"  not shown: {hidden} (--cards, --stale)", style="dim")


@app.command()
@store_command
def why(
    store: Store,
    card_id: Annotated[str, typer.Argument(metavar="ID", help="The card's id, or its first 8 letters.")],
    root: Root = Here,
    project: Project = None,
) -> None:
    """Show the evidence and the history of a card, and the changes that may have made it outdated."""
    name = _project(store, project, root)
    answer = store.run(lambda m: m.query_engineering_memory(name, "get", record_id=card_id))
    card = answer.payload.record
    if card is None:
        _refuse(answer.payload.message or "no such card.")
        return
    changes = _changes(card, root)
    revisions = [asdict(step) for step in answer.payload.revisions or ()]
    if store.print_json({"record": asdict(card), "revisions": revisions, "changes": changes}):
        return
    console = terminal()
    console.print(_panel(card, card.status))
    if card.stale_reason:
        console.print(
            Text(f"May be outdated: {_REASONS.get(card.stale_reason, card.stale_reason)}", style="yellow")
        )
    if card.contradiction:
        console.print(Text(f"The repository now says: {card.contradiction}"))
    for step in answer.payload.revisions or ():
        console.print(
            Text(
                f"{step.at:%Y-%m-%d %H:%M}  {step.action} by {step.by}"
                + (f": {step.reason}" if step.reason else "")
            )
        )
    if changes:
        console.print(Syntax(changes, "diff", background_color="default"))


_REASONS = {
    "subject_fingerprint_drift": "what it is about has changed since it was written or approved.",
    "symbol_gone": "the symbol that it is about is no longer there.",
    "refresh_content_contradiction": "the repository now says something else.",
    "scope_files_changed": "a finished change touched its file.",
    "missing_from_refresh": "the last scan no longer found it.",
}


def _changes(card: CardRecord, root: Path) -> str:
    """The diff of the card's file since the commit that it was written at, as far as it is committed."""
    commits = [item["ref"] for item in card.evidence or () if item["kind"] == "git_commit"]
    if not (card.stale_reason and commits and card.path):
        return ""
    try:
        return Git(root).diff(commits[0], card.path)
    except GitUnavailable:
        return ""


@app.command()
@store_command
def pr(
    store: Store,
    commits: Annotated[str, typer.Argument(metavar="BASE..HEAD", help="The commits of the change.")],
    root: Root = Here,
    project: Project = None,
    form: Annotated[str, typer.Option("--format", help="markdown or text.")] = "markdown",
) -> None:
    """Write a review comment: what memory knows of the changed files, and what usually changes with them."""
    if form not in ("markdown", "text"):
        _refuse("--format is markdown or text.")
    name = _project(store, project, root)
    changed = exit_on_error(lambda: _changed(root, commits))
    digests: list[PathDigest] = []
    for first in range(0, len(changed), 50):
        page = changed[first : first + 50]
        found = store.run(lambda m, p=page: m.get_relevant_memory(name, p))  # type: ignore[misc]
        while True:
            digests += found.digests or []
            if not found.continuation:
                break
            cursor = found.continuation
            found = store.run(lambda m, c=cursor: m.get_relevant_memory(name, cursor=c))  # type: ignore[misc]
    if not store.print_json({"changed": changed, "digests": [asdict(one) for one in digests]}):
        typer.echo(comment(changed, digests, markdown=form == "markdown"))


def _changed(root: Path, commits: str) -> list[str]:
    try:
        return Git(root).changed(commits)
    except GitUnavailable as error:
        raise InvalidArgument(f"{commits}: {error}; send two commits, such as main..HEAD.") from error


def comment(changed: list[str], digests: list[PathDigest], *, markdown: bool) -> str:
    """A review comment about the files of a change."""
    bold, code = ("**", "`") if markdown else ("", "")
    lines = [f"{bold}What memory knows of this change{bold} ({len(changed)} files)", ""]
    known = [digest for digest in digests if digest.cards]
    for digest in known:
        lines += [f"{bold}{code}{digest.path}{code}{bold}", ""]
        for card in digest.cards:
            if card.kind in ("role", "surface", "owners", "unproven"):
                continue
            mark = f" {bold}(may be outdated: {card.stale.replace('_', ' ')}){bold}" if card.stale else ""
            lines.append(f"- {_KINDS.get(card.kind, '')}{card.statement}{mark} [{card.id}]")
        lines.append("")
    stale = [card for digest in known for card in digest.cards if card.kind in ("approved", "decision")]
    if stale:
        lines += [f"{bold}Check whether these still hold{bold}", ""]
        lines += [f"- {card.statement} [{card.id}]" for card in stale]
        lines.append("")
    missing = _left_alone(changed, known)
    if missing:
        lines += [f"{bold}Usually changed together, but not here{bold}", ""]
        lines += [
            f"- {code}{other}{code}: with {code}{path}{code} in {share}" for other, path, share in missing
        ]
        lines.append("")
    if not known:
        lines.append("No card is about these files.")
    return "\n".join(lines).rstrip()


def _left_alone(changed: list[str], digests: list[PathDigest]) -> list[tuple[str, str, str]]:
    """Files that change with those of the change in at least a fifth of the commits, and are not part of it."""
    found: dict[str, tuple[str, str, str]] = {}
    for digest in digests:
        if digest.path.endswith(_DOCUMENTS):
            continue  # a list of changes is changed with everything
        for card in digest.cards:
            if card.kind == "changes_with":
                for other, share, percent in _SHARED.findall(card.statement):
                    if other not in changed and int(percent) >= 20:
                        found.setdefault(other, (other, digest.path, share))
    return list(found.values())


_KINDS = {"approved": "Approved: ", "decision": "Decided: "}
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc")
_SHARED = re.compile(r"(\S+) \((\d+ of \d+ commits), (\d+) %\)")


@app.command()
@store_command
def search(
    store: Store,
    query: Annotated[str, typer.Argument(help="The words to search for.")],
    root: Root = Here,
    project: Project = None,
    limit: Limit = 20,
    match: Annotated[str, typer.Option(help="Match any or all of the words.")] = "any",
    active_only: Annotated[bool, typer.Option("--active-only", help="Leave out drafts.")] = False,
) -> None:
    """Find cards by words, best first."""
    name = _project(store, project, root)
    _show(
        store,
        _at(store, root, name).run(
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
@store_command
def trajectories(
    store: Store,
    query: Annotated[
        str | None, typer.Argument(help="What kind of change, in words. Default: the newest.")
    ] = None,
    path: Annotated[str | None, typer.Option(help="Only work on this file or below this folder.")] = None,
    root: Root = Here,
    project: Project = None,
    limit: Limit = 20,
) -> None:
    """Tell how such a change was made before: what each piece of work did, one line each."""
    name = _project(store, project, root)
    answer = store.run(
        lambda m: m.query_engineering_memory(name, "trajectories", query=query, path=path, max_results=limit)
    )
    if store.print_json(answer.payload):
        return
    console = terminal()
    found = answer.payload.trajectories or []
    for one in found:
        console.print(Text(one.line), soft_wrap=True)
    if not found:
        console.print("No earlier work fits.")
    if (left := (answer.payload.total_count or 0) - len(found)) > 0:
        console.print(f"{left} more (--limit).", style="dim")


@app.command()
@store_command
def stale(
    store: Store,
    root: Root = Here,
    project: Project = None,
    limit: Limit = 50,
) -> None:
    """Show the cards whose files have changed, and why they are stale."""
    name = _project(store, project, root)
    _show(
        store,
        _at(store, root, name).run(lambda m: m.query_engineering_memory(name, "stale", max_results=limit)),
    )


@app.command()
@store_command
def coverage(
    store: Store,
    paths: Annotated[list[str], typer.Argument(help="Paths of the repository.")],
    root: Root = Here,
    project: Project = None,
) -> None:
    """Show which paths an active card covers."""
    name = _project(store, project, root)
    answer = _at(store, root, name).run(lambda m: m.query_engineering_memory(name, "coverage", scope=paths))
    if store.print_json(answer.payload):
        return
    table = Table("path", "covered")
    for row in answer.payload.paths or ():
        table.add_row(*cells(row.path, "yes" if row.covered else "no"))
    console = terminal()
    console.print(table)
    if answer.payload.record_coverage:
        console.print(f"{answer.payload.record_coverage.coverage_percent} %")


@app.command()
@store_command
def review(
    store: Store,
    root: Root = Here,
    project: Project = None,
    by: options.By = None,
    sure: Sure = False,
) -> None:
    """Decide on the drafts, one by one: approve, reject or later."""
    name = _project(store, project, root)
    decider = by or getpass.getuser()
    answer = store.run(
        lambda m: m.query_engineering_memory(
            name, "drafts", max_results=100, detail_level="full", branch="*"
        ),
    )
    drafts = answer.payload.records or []
    if store.print_json(drafts):
        return
    if not sure and not sys.stdin.isatty():
        _refuse("review needs a terminal; elsewhere add --i-know-what-im-doing.")
    console = terminal()
    if not drafts:
        console.print("No draft is pending.")
    for number, card in enumerate(drafts, 1):
        console.print(_panel(card, f"{number} of {answer.payload.total_count}"))
        choice = typer.prompt("[a]pprove, [r]eject, [l]ater, [q]uit", default="l").strip().lower()[:1]
        if choice == "q":
            break
        card_id = card.id
        if choice == "a":
            done = store.run(lambda m, i=card_id: m.approve_card(i, decider))  # type: ignore[misc]
            typer.echo(f"{done.status}, {done.confidence}")
        elif choice == "r":
            reason = typer.prompt("Reason", default="") or None
            done = store.run(lambda m, i=card_id, r=reason: m.reject_card(i, decider, r))  # type: ignore[misc]
            typer.echo(done.status)


@app.command()
@store_command
def merged(
    store: Store,
    branch: Annotated[str, typer.Argument(help="The branch.")],
    root: Root = Here,
    project: Project = None,
) -> None:
    """Share the cards of a branch whose merge git cannot see, such as a squash."""
    name = _project(store, project, root)
    done = store.run(lambda m: m.settle_branches(name, [{"branch": branch}]))
    if not store.print_json(done):
        typer.echo(f"{done.shared} cards are shared now.")


@app.command()
@store_command
def approve(
    store: Store,
    card_id: Card,
    sure: Sure = False,
    by: By = "human",
    reason: Reason = None,
    supersedes: Annotated[
        list[UUID] | None, typer.Option(help="A card that this one replaces; repeatable.")
    ] = None,
) -> None:
    """Approve a draft or stale card; it becomes active and verified."""
    _decide(store, card_id, sure, lambda m, card: m.approve_card(card, by, reason, supersedes or ()))


@app.command()
@store_command
def reject(
    store: Store,
    card_id: Card,
    sure: Sure = False,
    by: By = "human",
    reason: Reason = None,
) -> None:
    """Reject a draft."""
    _decide(store, card_id, sure, lambda m, card: m.reject_card(card, by, reason))


@app.command()
@store_command
def archive(
    store: Store,
    card_id: Card,
    sure: Sure = False,
    by: By = "human",
    reason: Reason = None,
) -> None:
    """Archive a card, so that it is no longer used."""
    _decide(store, card_id, sure, lambda m, card: m.archive_card(card, by, reason))


@app.command()
@store_command
def vacuum(
    store: Store,
    root: Root = Here,
    project: Project = None,
    dry_run: DryRun = False,
) -> None:
    """Remove cards that have been in their state longer than the settings card_days_* allow."""
    name = _project(store, project, root)
    done = store.run(lambda m: m.vacuum_cards(name, dry_run=dry_run))
    if store.print_json(done):
        return
    verb = "would be removed" if dry_run else "removed"
    counts = ", ".join(f"{count} {state}" for state, count in sorted(done.removed.items())) or "no cards"
    typer.echo(f"{counts} {verb}, {done.receipts} receipts.")


def _at(store: Store, root: Path, name: str) -> Store:
    """The store for calls that follow the repository: its files, and the branch that it is on."""
    given = Settings.model_copy(
        store.settings, update={"repository": root.resolve(), "repository_project": name}
    )
    return replace(store, settings=given)


def _project(store: Store, project: str | None, root: Path) -> str:
    return project or store.run(lambda m: m.project_of(root))


def _chosen(store: Store, card_id: str) -> UUID:
    """The id of a card that is named by all of its id, or in the repository here by its first letters."""
    try:
        return UUID(card_id)
    except ValueError:
        name = _project(store, None, Here)
        answer = store.run(lambda m: m.query_engineering_memory(name, "get", record_id=card_id))
    if answer.payload.record is None:
        _refuse(answer.payload.message or "no such card.")
        raise typer.Exit(2) from None
    return answer.payload.record.id


def _require_person(sure: bool) -> None:
    if not sure:
        _refuse("only people decide on cards: add --i-know-what-im-doing.")


def _refuse(message: str) -> None:
    typer.echo(f"pgmem: {message}", err=True)
    raise typer.Exit(2)


def _decide(
    store: Store, card_id: str, sure: bool, decide: Callable[[Memory, UUID], Awaitable[CardDecision]]
) -> None:
    """Decide on a card as a person, and print its new status."""
    _require_person(sure)
    chosen = _chosen(store, card_id)
    card = store.run(lambda memory: decide(memory, chosen))
    if not store.print_json({name: value for name, value in asdict(card).items() if value is not None}):
        typer.echo(f"{card.card_id}: {card.status}{', ' + card.confidence if card.confidence else ''}")


def _show(store: Store, answer: MemoryAnswer) -> None:
    if not store.print_json(answer.payload):
        _show_cards(answer.payload.records or [], answer.payload.total_count or 0)


def _show_cards(records: list[CardRecord], total: int) -> None:
    console = terminal()
    if not records:
        console.print("No cards.")
        return
    table = Table("score", "type", "status", "statement", Column("id", no_wrap=True))
    for card in records:
        state = f"{card.status}: {card.stale_reason}" if card.stale_reason else card.status
        table.add_row(*cells(card.relevance_score, card.type, state, card.statement, card.id))
    console.print(table)
    if (left := total - len(records)) > 0:
        console.print(f"{left} more cards.", style="dim")


def _panel(card: CardRecord, place: str) -> Panel:
    evidence = [f"{item['kind']} {item['ref']}" for item in card.evidence or ()] or ["no evidence"]
    text = Text.assemble(
        (card.statement, "bold"),
        f"\n\n{card.path}{f' on branch {card.branch}' if card.branch else ''}\n",
        ("; ".join(evidence), "dim"),
    )
    return Panel(text, title=f"{card.type}, {place}", subtitle=str(card.id))
