"""Keeping the memory good: reports in the terminal or on a page, repairs that ask first, insights to judge."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import typer
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pgmem.cli.options import By, Door, Project, Yes, at_the_store, cells, terminal
from pgmem.memory import Memory
from pgmem.models import Health, HygieneReport, Insight, Repair

__all__ = ["freshness", "health", "hygiene", "merge", "reflect", "retry", "supersede", "surface"]

_WHOLE = 100_000  # findings in one report: a person pages through the terminal's own scrolling

Html = Annotated[Path | None, typer.Option("--html", help="Write one self-contained page to this file.")]
MemoryScope = Literal["global", "project", "focus"]

CHECKS = (
    ("duplicates", "duplicates", "duplicates_found"),
    ("outdated decisions", "outdated_decisions", "outdated_decisions"),
    ("obsolete patterns", "obsolete_patterns", "obsolete_patterns"),
    ("entity drift", "entity_drift", "entity_drift_count"),
    ("unresolved saves", "unresolved_saves", "unresolved_saves"),
)


@at_the_store
def hygiene(
    door: Door,
    project: Project = None,
    scope: Annotated[MemoryScope | None, typer.Option("--scope", "-s", help="Only this scope.")] = None,
    pending_only: Annotated[
        bool, typer.Option(help="Only the saves that are not saved; touches nothing.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=_WHOLE, help="Findings shown.")] = 50,
    html: Html = None,
) -> None:
    """Report what could be better; changes no memory, and names the verb that repairs each finding."""
    # Whole where it is written down; what does not fit the screen is counted there.
    page = _WHOLE if door.as_json else limit

    async def look(memory: Memory) -> tuple[HygieneReport, Health | None]:
        report = await memory.run_hygiene(project, scope, pending_only, page)
        return report, await memory.memory_health(project) if html is not None else None

    console = terminal(quiet=door.as_json)
    with console.status("Looking at every memory…") if console.is_terminal else nullcontext():
        report, state = door.ask(look)
    if html is not None and state is not None:
        _write_page(html, state, report)
    if door.told(report):
        return
    console.print(_hygiene(report))
    if html is not None:
        console.print(Text(f"The page is in {html}.", "dim"))


@at_the_store
def health(
    door: Door,
    project: Project = None,
    html: Html = None,
) -> None:
    """Show the state of the memory: growth, confidence, orphans, hubs, conflicts, the lineage of decisions."""

    async def look(memory: Memory) -> tuple[Health, HygieneReport | None]:
        state = await memory.memory_health(project)
        return state, await memory.run_hygiene(project, limit=100) if html is not None else None

    state, report = door.ask(look)
    if html is not None and report is not None:
        _write_page(html, state, report)
    if door.told(state):
        return
    console = terminal()
    console.print(_health(state))
    if html is not None:
        console.print(Text(f"The page is in {html}.", "dim"))


@at_the_store
def freshness(
    door: Door,
    project: Project = None,
    scope: Annotated[MemoryScope, typer.Option("--scope", "-s", help="Which scope.")] = "project",
    stale_after: Annotated[
        int, typer.Option(min=0, help="Days without a change until a memory is stale.")
    ] = 30,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many stale ones.")] = 50,
) -> None:
    """Show how old memories are, the stale ones oldest first."""
    report = door.ask(lambda m: m.memory_freshness(project, scope, stale_after, limit))
    if door.told(report):
        return
    console = terminal()
    console.print(f"{report.current_count} current, {report.recent_count} recent, {report.stale_count} stale")
    if report.stale_items:
        table = Table("days", "label", "title", "id")
        for item in report.stale_items:
            table.add_row(*cells(item["age_days"], item["label"], item["title"], item["id"]))
        console.print(table)
    console.print(Text(report.next_step, "dim"))


@at_the_store
def surface(
    door: Door,
    query: Annotated[str, typer.Argument(help="A line, a path, an identifier.")],
    project: Project = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many.")] = 5,
) -> None:
    """Say what is remembered about a line or a path, for an editor's hooks; often nothing. Starts no server."""
    # `pgmem surface` is answered before this module is imported; here is what needs settings, and --help.
    from pgmem import surface as quick

    quick.main(quick.Question(query, project, limit, door.settings.dsn, door.settings.data_dir, door.as_json))


@at_the_store
def merge(
    door: Door,
    entity: Annotated[str, typer.Argument(help="The entity that goes: name or id.")],
    into: Annotated[str, typer.Argument(help="The entity that stays: name or id.")],
    project: Project = None,
    fact: Annotated[str | None, typer.Option(help="The fact from now on; else the one that stands.")] = None,
    by: By = None,
    yes: Yes = False,
) -> None:
    """Let one entity stand for two; its facts stay in the history, `pgmem revert` brings it back."""
    _confirm(f"Merge the entity “{entity}” into “{into}”?", yes)
    who = by or getpass.getuser()
    _tell(door, door.ask(lambda m: m.merge_entities(entity, into, project, fact, who)))


@at_the_store
def supersede(
    door: Door,
    old: Annotated[str, typer.Argument(help="The decision that goes: title or id.")],
    new: Annotated[str, typer.Argument(help="The decision that takes its place: title or id.")],
    project: Project = None,
    by: By = None,
    yes: Yes = False,
) -> None:
    """Let one decision take the place of another; the old one stays in the lineage, `pgmem revert` brings it back."""
    _confirm(f"Let “{new}” take the place of “{old}”?", yes)
    _tell(door, door.ask(lambda m: m.supersede(old, new, project, by or getpass.getuser())))


@at_the_store
def retry(
    door: Door,
    save_id: Annotated[UUID, typer.Argument(help="The save; pgmem hygiene lists those that are not saved.")],
    token: Annotated[str | None, typer.Option(help="A governance token, for a global save.")] = None,
    yes: Yes = False,
) -> None:
    """Run a save that was not saved again, with the arguments it had."""
    _confirm(f"Save {save_id} again?", yes)
    result = door.ask(lambda m: m.retry_save(save_id, token))
    if not door.told(result):
        typer.echo(f"{result.status}: {result.message or result.dedup_outcome or result.next_step}")
    if result.status != "saved":
        raise typer.Exit(1)


@at_the_store
def reflect(
    door: Door,
    review: Annotated[bool, typer.Option(help="Go through the pending insights, one by one.")] = False,
    approve: Annotated[str | None, typer.Option(help="Approve this one, by title or id.")] = None,
    dismiss: Annotated[str | None, typer.Option(help="Dismiss this one, by title or id.")] = None,
    query: Annotated[str | None, typer.Option(help="Only those that hold one of these words.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many.")] = 25,
) -> None:
    """Look for what memories say together, and judge what was found."""
    if approve is not None or dismiss is not None:
        title = approve if approve is not None else dismiss
        assert title is not None
        action: Literal["approve", "dismiss"] = "approve" if approve is not None else "dismiss"
        judged = door.ask(lambda m: m.review_insight(title, action))
        if not door.told(judged):
            typer.echo(f"{judged.status}: {judged.title}")
        return

    async def run(memory: Memory) -> tuple[int, list[Insight]]:
        made = await memory.reflect()
        return made.created, (await memory.surface_insights(limit, query)).insights

    created, insights = door.ask(run)
    if door.told({"created": created, "insights": [vars(insight) for insight in insights]}):
        return
    console = terminal()
    console.print(
        f"{created} new, {len(insights)} pending shown."
        if insights
        else f"{created} new; nothing waits for review."
    )
    for insight in insights:
        console.print(_insight(insight))
        if review:
            answer = typer.prompt("[a]pprove, [d]ismiss, [l]ater", default="l").strip().lower()[:1]
            choice: Literal["approve", "dismiss"] | None = {"a": "approve", "d": "dismiss"}.get(answer)  # type: ignore[assignment]
            if choice is not None:
                name = str(insight.id)
                done = door.ask(lambda m, n=name, c=choice: m.review_insight(n, c))  # type: ignore[misc]
                typer.echo(done.status)


def _confirm(question: str, yes: bool) -> None:
    if not yes:
        typer.confirm(question, abort=True)


def _tell(door: Door, done: Repair) -> None:
    if door.told(done):
        return
    typer.echo(f"{done.title}: {done.status} (version {done.version}); {done.into_title} stands for it.")
    label = "EntityFact" if done.rel_type == "MERGES_INTO" else "Decision"
    typer.echo(f"To undo: pgmem revert {label} {done.id} {done.version - 1}")


def _write_page(file: Path, state: Health, report: HygieneReport) -> None:
    from pgmem.cli.page import page

    try:
        file.write_text(page(state, report), encoding="utf-8")
    except OSError as error:
        typer.echo(f"pgmem: the page cannot be written: {error}", err=True)
        raise typer.Exit(1) from None


def _hygiene(report: HygieneReport) -> Group:
    counts = Table(show_header=False, box=None, pad_edge=False)
    for name, _, field in CHECKS:
        count = getattr(report, field)
        counts.add_row(Text(name), Text(str(count), "green" if count == 0 else "yellow", justify="right"))
    where = report.project_id or "all projects"
    shown: list[Any] = [Panel(counts, title=Text(f"Hygiene: {where}"), expand=False)]
    if report.findings:
        table = Table("check", "memory", "what to do", "verb")
        for finding in report.findings:
            likeness = f" ({finding['similarity']:.0%} alike)" if "similarity" in finding else ""
            names = "\n".join(
                f"{title}  {id}" for title, id in zip(finding["titles"], finding["ids"], strict=False)
            )
            table.add_row(
                *cells(finding["check"].replace("_", " ") + likeness, names, finding["what"], finding["verb"])
            )
        shown.append(table)
    if report.next_offset is not None:
        shown.append(
            Text(
                f"{report.total} findings, {len(report.findings)} shown: --limit shows more, --json all.",
                "dim",
            )
        )
    if report.proactive_hint:
        shown.append(Text("Many memories have come since the last reflection: pgmem reflect.", "dim"))
    return Group(*shown)


def _health(state: Health) -> Group:
    facts = Table(show_header=False, box=None, pad_edge=False)
    total = sum(state.memories.values())
    labels = ", ".join(f"{count} {label}" for label, count in sorted(state.memories.items())) or "none yet"
    rows = [
        ("memories", f"{total} live: {labels}"),
        (
            "not live",
            ", ".join(
                f"{n} {s}" for s, n in sorted(state.statuses.items()) if s not in ("active", "approved")
            )
            or "none",
        ),
        ("orphans", str(state.orphans["count"])),
        ("hubs", _top(state.hubs)),
        ("stubs", _top(state.stubs)),
        ("archived between others", _top(state.archived_bridges)),
        ("conflicts", str(state.conflicts["count"])),
        ("lines of decisions", str(state.lineage["count"])),
        ("names without text", str(state.without_text)),
        ("insights", ", ".join(f"{n} {s}" for s, n in sorted(state.insights.items())) or "none"),
        ("saves not saved", str(state.saves_open)),
    ]
    for name, value in rows:
        facts.add_row(Text(name, "bold"), Text(value))
    most = max(state.confidence) or 1
    bars = Table(show_header=False, box=None, pad_edge=False, title="Confidence", title_justify="left")
    for tenth, count in enumerate(state.confidence):
        bars.add_row(
            Text(f"{tenth / 10:.1f}"),
            Text("█" * -(-30 * count // most), "cyan"),
            Text(str(count), justify="right"),
        )
    shown: list[Any] = [
        Panel(facts, title=Text(f"Health: {state.project_id or 'all projects'}"), expand=False),
        bars,
    ]
    shown.extend(
        Text.assemble(("conflict  ", "yellow"), f"{item['title']}  ×  {item['with_title']}")
        for item in state.conflicts["items"]
    )
    return Group(*shown)


def _top(found: Mapping[str, Any]) -> str:
    names = ", ".join(f"{item['title']} ({item['relations']})" for item in found["items"][:3])
    return f"{found['count']}: {names}" if names else str(found["count"])


def _insight(insight: Insight) -> Panel:
    return Panel(
        Text(insight.summary or ""),
        title=Text(insight.title),
        subtitle=Text(
            f"{insight.detector}, confidence {insight.confidence:.2f}, trust {insight.trust_level:.1f}, {insight.id}"
        ),
    )
