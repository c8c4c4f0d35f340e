"""`pgmem cards`: engineering memory, read from a repository, drafted by agents, approved by people."""

from __future__ import annotations

import getpass
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import typer
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from pgmem.cli import options
from pgmem.cli.options import (
    DryRun,
    Rows,
    Store,
    exit_on_error,
    facts,
    given,
    most,
    progress,
    require_person,
    stop,
    store_command,
    terminal,
)
from pgmem.cli.verbs import Call, verb_command
from pgmem.errors import InvalidArgument
from pgmem.escaping import counted
from pgmem.features.cards import scan
from pgmem.features.cards.covering import is_test
from pgmem.features.cards.files import DOCUMENTS
from pgmem.workspace.git import Git, GitUnavailable

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import Card as CardRecord
    from pgmem.models import CardRefresh, Companion, LikelyChanges, MemoryAnswer, PathDigest

app = typer.Typer(help="Engineering memory: cards about a code base.", no_args_is_help=True)

Root = Annotated[Path, typer.Option(help="Root of the repository.", exists=True, file_okay=False)]
Project = Annotated[
    str | None, typer.Option("--project", "-p", help="The project. Default: the project of the repository.")
]
Limit = Annotated[int, most("results", 100)]
Card = Annotated[str, typer.Argument(metavar="ID", help="The card's id, or its first 8 letters.")]
Sure = Annotated[
    bool, typer.Option("--i-know-what-im-doing", help="Confirm that you are a person and have read the card.")
]
Here = Path()


@dataclass(frozen=True)
class Repository:
    """A repository and its project in the store."""

    store: Store
    root: Path
    name: str
    """The project."""

    @property
    def here(self) -> Store:
        """The store for calls that follow the repository: its files, and the branch that it is on."""
        followed = {"repository": self.root.resolve(), "repository_project": self.name}
        return replace(self.store, settings=self.store.settings.model_copy(update=followed))

    def query(self, mode: str, **arguments: Any) -> MemoryAnswer:
        """The answers of engineering memory, as seen from the repository."""
        return self.here.run(lambda m: m.query_engineering_memory(self.name, mode, **arguments))


def project_of(store: Store, folder: Path, *, create: bool = False) -> str:
    """The project of a folder; a line on stderr says where a person is asked whether it is another one."""
    from pgmem.calls import projects

    opened = store.run(lambda m: projects.opened(m.caller, folder, create=create))
    if opened.asks is not None:
        typer.echo(
            f"This folder has the name, the remote or the first commit of the project {opened.asks!r}, and not both "
            "remote and history to prove it: pgmem trust makes it that project.",
            err=True,
        )
    return opened.project_id


@store_command
def _repository(store: Store, root: Root = Here, project: Project = None) -> Repository:
    return Repository(store, root, project or project_of(store, root))


repository_command = given(_repository)
"""Adds `--root`, `--project` and the options of a store to a command, which receives its `Repository`."""


@app.command()
@store_command
def init(store: Store, root: Root = Here, project: Project = None, dry_run: DryRun = False) -> None:
    """Create the cards of a repository, and its project if it does not exist."""
    name = project or project_of(store, root, create=not dry_run)

    async def open_project(memory: Memory) -> None:
        if not dry_run and (await memory.get_scope_state(name)).scope_state == "uncertain":
            saved = await memory.save_session(f"Set up engineering memory for {name}", name)
            typer.echo(f"Project {name}: {saved.status}.", err=True)

    store.run(open_project)
    _refresh(Repository(store, root, name), dry_run)


@app.command()
@repository_command
def refresh(repo: Repository, dry_run: DryRun = False) -> None:
    """Update the cards of a repository."""
    _refresh(repo, dry_run)


def _refresh(repo: Repository, dry_run: bool) -> None:
    with progress("reading") as on_file:
        report = exit_on_error(
            lambda: scan(repo.root, on_file, None if dry_run else repo.store.settings.data_dir)
        )
    with progress("storing"):
        result = repo.here.run(lambda m: m.refresh_from_run(report, repo.name, dry_run=dry_run))
    repo.store.for_people(result)
    _show_refresh(result, report)


def _show_refresh(result: CardRefresh, report: dict[str, Any]) -> None:
    console = terminal()
    for card in result.cards or []:
        console.print(Text.assemble((f"{card.type:16}", "dim"), card.statement), soft_wrap=True)
    console.print(
        ", ".join(counted(len(report[f"{part}s"]), part) for part in ("module", "test"))
        + ": "
        + ", ".join(
            f"{count} {name.replace('_', ' ')}" for name, count in sorted(result.counts.items()) if count
        )
        + ("." if any(result.counts.values()) else "nothing to change.")
    )
    for skipped in result.skipped:
        console.print(Text(f"skipped: {skipped}", style="dim"))


@app.command()
@repository_command
def status(repo: Repository) -> None:
    """Show the number of cards, the last refresh and the sync policy."""
    payload = repo.query("status").payload
    repo.store.for_people(payload)
    limit = (payload.capacity or {}).get("max_records")
    elsewhere = payload.records_elsewhere or 0
    rows: list[tuple[str, object]] = [("cards", f"{(payload.record_count or 0) + elsewhere} of {limit}")]
    for group in (payload.records_by_status, payload.records_by_type):
        rows += [(f"  {name}", count) for name, count in sorted((group or {}).items())]
    if elsewhere:
        rows.append(("  of other branches", elsewhere))
    for name, value in asdict(payload.sync).items() if payload.sync else ():
        if value is not None:
            rows.append((name.replace("_", " "), value))
    terminal().print(facts(rows))


@app.command("for-path")
@repository_command
def for_path(
    repo: Repository,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Paths of the repository.")],
    limit: Limit = 20,
    stale: Annotated[bool, typer.Option("--stale", help="Include stale cards.")] = False,
    cards: Annotated[bool, typer.Option("--cards", help="List the cards behind the digest.")] = False,
) -> None:
    """Show the memories and cards about files before they are changed, best first."""
    found = repo.here.run(
        lambda m: m.get_relevant_memory(
            repo.name,
            paths,
            max_records=limit,
            include_stale=stale,
            detail_level="full" if cards else "compact",
        )
    )
    repo.store.for_people(found)
    if cards:
        _show_cards(found.records or [], found.total_count or 0)
        return
    console = terminal()
    for digest in found.digests or ():
        _show_digest(console, digest)
    if found.truncated:
        console.print("The answer does not include all paths; name fewer paths.", style="dim")


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
        console.print("  No card about it found.", style="dim")
    counts = ((digest.more, "more"), (digest.hidden_stale, "stale"), (digest.hidden_drafts, "drafts"))
    if hidden := ", ".join(f"{count} {word}" for count, word in counts if count):
        console.print(f"  not shown: {hidden} (--cards, --stale)", style="dim")


@app.command()
@repository_command
def why(repo: Repository, card_id: Card) -> None:
    """Show the evidence and the history of a card, and the changes that may have made it outdated."""
    answer = repo.query("get", record_id=card_id)
    card = answer.payload.record
    if card is None:
        stop(answer.payload.message or "no such card.", 2)
    changes = _changes(card, repo.root)
    revisions = [asdict(step) for step in answer.payload.revisions or ()]
    repo.store.for_people({"record": asdict(card), "revisions": revisions, "changes": changes})
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
    "subject_fingerprint_drift": "its subject has changed since it was written or approved.",
    "symbol_gone": "its symbol no longer exists.",
    "refresh_content_contradiction": "the repository now contradicts it.",
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
@repository_command
def pr(
    repo: Repository,
    commits: Annotated[str, typer.Argument(metavar="BASE..HEAD", help="The commits of the change.")],
    form: Annotated[
        Literal["markdown", "text"], typer.Option("--format", help="The form of the comment.")
    ] = "markdown",
) -> None:
    """Write a review comment: the files that usually change with these, and the decisions about them."""
    changed = exit_on_error(lambda: _changed(repo.root, commits))
    sources = [path for path in changed if not path.endswith(DOCUMENTS) and not is_test(path)][:50]

    async def look(memory: Memory) -> tuple[list[PathDigest], LikelyChanges | None]:
        digests: list[PathDigest] = []
        for first in range(0, len(changed), 50):
            found = await memory.get_relevant_memory(repo.name, changed[first : first + 50])
            digests += found.digests or []
            while found.continuation:
                found = await memory.get_relevant_memory(repo.name, cursor=found.continuation)
                digests += found.digests or []
        return digests, await memory.what_changes(repo.name, sources, 30) if sources else None

    digests, likely = repo.store.run(look)
    shown = {
        "changed": changed,
        "missing": likely and asdict(likely),
        "digests": [asdict(one) for one in digests],
    }
    repo.store.for_people(shown)
    typer.echo(comment(changed, digests, likely, markdown=form == "markdown"))


def _changed(root: Path, commits: str) -> list[str]:
    try:
        return Git(root).changed(commits)
    except GitUnavailable as error:
        raise InvalidArgument(f"{commits}: {error}; send two commits, such as main..HEAD.") from error


_ALARM = 0.3
"""The least chance at which a file that is not in a change is missed."""
_ALARMS = 5
_REVIEWED = {"approved": "Approved: ", "decision": "Decided: ", "history": "", "why": "", "risk": ""}


def missing(changed: list[str], likely: LikelyChanges) -> dict[str, Companion]:
    """The files that a change may lack, each with the one that is the reason; at most five, the likeliest first."""
    found = {
        one.path: one.because[0]
        for one in likely.files
        if one.score >= _ALARM and one.path not in changed and not one.path.endswith((*DOCUMENTS, ".lock"))
    }
    return dict(list(found.items())[:_ALARMS])


def comment(
    changed: list[str], digests: list[PathDigest], likely: LikelyChanges | None, *, markdown: bool
) -> str:
    """A review comment about the files of a change: first the files it may lack, then the memories about them."""
    bold, code = ("**", "`") if markdown else ("", "")
    lines = [f"{bold}Cards about this change{bold} ({counted(len(changed), 'file')})"]
    alarms = []
    for path, because in missing(changed, likely).items() if likely else ():
        share = f" in {because.commits} of {because.of} commits" if because.commits else ""
        alarms.append(f"- {code}{path}{code}: with {code}{because.path}{code}{share}")
    alarms += [
        f"- a new file in {code}{added.folder}/{code}: in {added.share:.0%} of the commits"
        for added in (likely.added if likely else ())
        if not any(path.startswith(f"{added.folder}/") for path in changed)
    ]
    if alarms:
        lines += ["", f"{bold}Usually changed together, but not in this change{bold}", "", *alarms]
    for digest in digests:
        cards = [card for card in digest.cards if card.kind in _REVIEWED]
        if cards:
            lines += ["", f"{bold}{code}{digest.path}{code}{bold}", ""]
        for card in cards:
            mark = f" {bold}(may be outdated: {card.stale.replace('_', ' ')}){bold}" if card.stale else ""
            lines.append(f"- {_REVIEWED[card.kind]}{card.statement}{mark} [{card.id}]")
    if len(lines) == 1:
        lines += ["", "Nothing is missed, and no card about these files asks for attention."]
    return "\n".join(lines)


@app.command()
@repository_command
def changes(
    repo: Repository,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Paths of the repository.")],
    limit: Limit = 10,
) -> None:
    """Show which files and tests usually change with some files."""
    found = repo.here.answer(lambda m: m.what_changes(repo.name, paths, limit))
    rows = (
        (
            f"{one.score:.2f}",
            one.path,
            ", ".join(f"{why.path} ({why.commits or 0} of {why.of or 0})" for why in one.because),
        )
        for one in found.files
    )
    terminal().print(Rows(("chance", "file", "changes with"), rows))
    for added in found.added:
        typer.echo(f"Usually added: a file in {added.folder}/ ({added.share:.0%} of the commits).")


@app.command()
@repository_command
def files(
    repo: Repository,
    text: Annotated[str, typer.Argument(help="The issue or the task; - reads standard input.")],
    limit: Limit = 10,
) -> None:
    """Find the files that an issue or a task is about."""
    said = sys.stdin.read() if text == "-" else text
    found = repo.here.answer(lambda m: m.which_files(repo.name, said, limit))
    rows = ((f"{one.score:.2f}", one.path, ", ".join(one.signs)) for one in found.files)
    terminal().print(Rows(("score", "file", "found by"), rows))


@app.command()
@repository_command
def search(
    repo: Repository,
    query: Annotated[str, typer.Argument(help="The words to search for.")],
    limit: Limit = 20,
    match: Annotated[str, typer.Option(help="Match any or all of the words.")] = "any",
    active_only: Annotated[bool, typer.Option("--active-only", help="Leave out drafts.")] = False,
) -> None:
    """Find cards by words, best first."""
    found = repo.query(
        "search",
        query=query,
        filters={"match_mode": match},
        max_results=limit,
        include_drafts=not active_only,
    )
    _show(repo.store, found)


@app.command()
@repository_command
def trajectories(
    repo: Repository,
    query: Annotated[
        str | None, typer.Argument(help="Words that describe the change. Default: the newest work.")
    ] = None,
    path: Annotated[str | None, typer.Option(help="Only work on this file or below this folder.")] = None,
    limit: Limit = 20,
) -> None:
    """Show earlier changes of this kind, one line for each piece of work."""
    answer = repo.query("trajectories", query=query, path=path, max_results=limit)
    repo.store.for_people(answer.payload)
    console = terminal()
    found = answer.payload.trajectories or []
    for one in found:
        console.print(Text(one.line), soft_wrap=True)
    if not found:
        console.print("No earlier work found.")
    if (left := (answer.payload.total_count or 0) - len(found)) > 0:
        console.print(f"{left} more (--limit).", style="dim")


@app.command()
@repository_command
def stale(repo: Repository, limit: Limit = 50) -> None:
    """Show the cards whose files have changed, and why they are stale."""
    _show(repo.store, repo.query("stale", max_results=limit))


@app.command()
@repository_command
def coverage(
    repo: Repository, paths: Annotated[list[str], typer.Argument(help="Paths of the repository.")]
) -> None:
    """Show which paths an active card covers."""
    payload = repo.query("coverage", scope=paths).payload
    repo.store.for_people(payload)
    console = terminal()
    rows = ((row.path, "yes" if row.covered else "no") for row in payload.paths or ())
    console.print(Rows(("path", "covered"), rows))
    if payload.record_coverage:
        console.print(f"{payload.record_coverage.coverage_percent} %")


@app.command()
@repository_command
def review(repo: Repository, by: options.By = None, sure: Sure = False) -> None:
    """Decide on the drafts, one by one: approve, reject or later."""
    store = repo.store
    decider = by or getpass.getuser()
    answer = repo.query("drafts", max_results=100, detail_level="full", branch="*")
    drafts = answer.payload.records or []
    store.for_people(drafts)
    if not sure and not sys.stdin.isatty():
        stop("review needs a terminal; elsewhere add --i-know-what-im-doing.", 2)
    console = terminal()
    if not drafts:
        console.print("No draft is pending.")
    for number, card in enumerate(drafts, 1):
        console.print(_panel(card, f"{number} of {answer.payload.total_count}"))
        choice = options.chosen("[a]pprove, [r]eject, [l]ater, [q]uit")
        if choice == "q":
            break
        if choice in ("a", "r"):
            require_person(store)
        card_id = card.id
        if choice == "a":
            done = store.run(lambda m, c=card: m.approve_card(c.id, decider, version=c.version))  # type: ignore[misc]
            typer.echo(f"{done.status}, {done.confidence}")
        elif choice == "r":
            reason = typer.prompt("Reason", default="") or None
            done = store.run(lambda m, i=card_id, r=reason: m.reject_card(i, decider, r))  # type: ignore[misc]
            typer.echo(done.status)


@app.command()
@repository_command
def merged(repo: Repository, branch: Annotated[str, typer.Argument(help="The branch.")]) -> None:
    """Share the cards of a branch whose merge git cannot see, such as a squash."""
    done = repo.store.answer(lambda m: m.settle_branches(repo.name, [{"branch": branch}]))
    typer.echo(f"{counted(done.shared, 'card is', 'cards are')} shared now.")


def _decision(verb: str, summary: str) -> None:
    """Make the command by which a person decides on a card."""

    def decide(
        call: Call, card_id: Card, root: Root = Here, project: Project = None, sure: Sure = False
    ) -> None:
        done = call.but(card_id=_chosen(call.store, card_id, root, project, sure)).run()
        if not call.store.print_json(
            {name: value for name, value in asdict(done).items() if value is not None}
        ):
            typer.echo(f"{done.card_id}: {done.status}{', ' + done.confidence if done.confidence else ''}")

    decide.__doc__ = summary
    command = verb_command(verb, without=("card_id",), defaults={"by": "human"})(decide)
    app.command(verb.removesuffix("_card"))(command)


_decision("approve_card", "Approve a draft or stale card; it becomes active and verified.")
_decision("reject_card", "Reject a draft.")
_decision("archive_card", "Archive a card, so that it is no longer used.")


@app.command()
@repository_command
def vacuum(repo: Repository, dry_run: DryRun = False) -> None:
    """Remove cards that have been in their state longer than the settings card_days_* allow."""
    done = repo.store.answer(lambda m: m.vacuum_cards(repo.name, dry_run=dry_run))
    verb = "would be removed" if dry_run else "removed"
    counts = ", ".join(f"{count} {state}" for state, count in sorted(done.removed.items())) or "no cards"
    typer.echo(f"{counts} {verb}, {counted(done.receipts, 'receipt')}.")


def _chosen(store: Store, card_id: str, root: Path, project: str | None, sure: bool) -> UUID:
    """The id of a card that a person decides on, named by all of its id, or in its project by its first letters."""
    if not sure:
        stop("only people decide on cards: add --i-know-what-im-doing.", 2)
    require_person(store)
    try:
        return UUID(card_id)
    except ValueError:
        name = project or project_of(store, root)
        answer = store.run(lambda m: m.query_engineering_memory(name, "get", record_id=card_id))
    if answer.payload.record is None:
        stop(answer.payload.message or "no such card.", 2)
    return answer.payload.record.id


def _show(store: Store, answer: MemoryAnswer) -> None:
    store.for_people(answer.payload)
    _show_cards(answer.payload.records or [], answer.payload.total_count or 0)


def _show_cards(records: list[CardRecord], total: int) -> None:
    console = terminal()
    if not records:
        console.print("No cards.")
        return
    rows = []
    for card in records:
        state = f"{card.status}: {card.stale_reason}" if card.stale_reason else card.status
        path = next((one.key for one in card.subjects if one.kind == "path"), "")
        rows.append((card.relevance_score, card.type, state, path, card.statement, card.id))
    console.print(Rows(("score", "type", "status", "path", "statement", "id"), rows))
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
