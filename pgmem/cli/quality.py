"""Review and repair: reports in the terminal or as a page, repairs that ask first, insights to approve."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pgmem import registry
from pgmem.cli import options
from pgmem.cli.options import (
    Everywhere,
    Project,
    Rows,
    Store,
    Yes,
    clock,
    facts,
    most,
    project_here,
    require_person,
    stop,
    store_command,
    terminal,
)
from pgmem.cli.review import asked
from pgmem.cli.verbs import Call, verb_command
from pgmem.errors import MemoryNotFound
from pgmem.escaping import visible

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import Health, HygieneReport, Insight, JoinedMemories, Node

_MOST = 1000  # findings of one call
_DESCRIBED = 500  # memories whose date and text a page shows; each is one call

Html = Annotated[
    Path | None,
    typer.Option("--html", help="Write the report to this file, as one self-contained HTML page."),
]

CHECKS = (
    ("duplicates", "duplicates", "duplicates_found"),
    ("outdated decisions", "outdated_decisions", "outdated_decisions"),
    ("obsolete patterns", "obsolete_patterns", "obsolete_patterns"),
    ("entity drift", "entity_drift", "entity_drift_count"),
    ("unresolved saves", "unresolved_saves", "unresolved_saves"),
)


@verb_command(
    "run_hygiene",
    options={"scope": ("--scope", "-s"), "check_pending_only": "--pending-only/--no-pending-only"},
    defaults={"limit": 50},
    of_folder=True,
)
def hygiene(call: Call, html: Html = None) -> None:
    """Report duplicates, outdated memories and open saves, with the command that repairs each; changes no memory."""
    store = call.store

    async def look(memory: Memory) -> tuple[HygieneReport, str | None]:
        # JSON holds the whole report; a screen holds a page of it and the count of the rest.
        report = await call.of(memory, **({"limit": _MOST} if store.as_json else {}))
        while store.as_json and report.next_offset is not None:
            more = await call.of(memory, limit=_MOST, offset=report.next_offset)
            report = replace(report, findings=report.findings + more.findings, next_offset=more.next_offset)
        if html is None:
            return report, None
        return report, await _page(memory, await memory.memory_health(call.sent.get("project_id")), report)

    with clock("Comparing all memories…"):
        report, text = store.run(look)
    _print_report(store, report, _hygiene(report), html, text)


@store_command
def health(store: Store, project: Project = None, everywhere: Everywhere = False, html: Html = None) -> None:
    """Show the memory in numbers: growth, confidence, orphans, hubs, conflicts, replaced decisions."""

    async def look(memory: Memory) -> tuple[Health, str | None]:
        asked = project or (None if everywhere else await project_here(memory))
        state = await memory.memory_health(asked)
        if html is None:
            return state, None
        return state, await _page(memory, state, await memory.run_hygiene(asked, limit=100))

    with clock("Counting all memories…"):
        state, text = store.run(look)
    _print_report(store, state, _health(state), html, text)


@verb_command(
    "memory_freshness",
    options={"scope": ("--scope", "-s"), "stale_after_days": ("--stale-after", "--stale-after-days")},
    of_folder=True,
)
def freshness(call: Call) -> None:
    """Show how old the memories are, and the stale ones, oldest first."""
    report = call.answer()
    console = terminal()
    console.print(f"{report.current_count} current, {report.recent_count} recent, {report.stale_count} stale")
    if report.stale_items:
        rows = ((item.age_days, item.label, item.title, item.id) for item in report.stale_items)
        console.print(Rows(("days", "label", "title", "id"), rows))
    console.print(Text(report.next_step, "dim"))


@verb_command("merge_entities", "entity", "into")
def merge(call: Call, yes: Yes = False) -> None:
    """Merge one entity into another; `pgmem revert` undoes it."""
    _repair_memory(call, "EntityFact", "Merge the entity “{entity}” into “{into}”?", yes)


@verb_command("supersede", "old", "new")
def supersede(call: Call, yes: Yes = False) -> None:
    """Replace one decision by another; `pgmem revert` undoes it."""
    _repair_memory(call, "Decision", "Replace “{old}” by “{new}”?", yes)


def _repair_memory(call: Call, label: str, question: str, yes: bool) -> None:
    """Ask about two memories that exist, and let one take the place of the other."""
    gone, stays = list(call.sent.values())[:2]

    async def look(memory: Memory) -> None:
        for name in (gone, stays):
            await memory.get_node(label, name, call.sent.get("project_id"))

    if not yes:
        call.run(look)
        typer.confirm(question.format(**call.sent), abort=True)
    done = call.answer()
    typer.echo(f"{done.title}: {done.status} (version {done.version}), replaced by {done.into_title}.")
    typer.echo(f"To undo: pgmem revert {label} {done.id} {done.version - 1}")


@verb_command("retry_save", "save_id", options={"governance_token": "--token"})
def retry(call: Call, yes: Yes = False) -> None:
    """Run a failed save again, with the same arguments or in another project."""
    store, save_id = call.store, call.sent["save_id"]
    if not yes:
        found = store.run(lambda m: m.get_save_status("any", save_id=save_id))
        if found.status == "not_started":
            stop(f"No save {save_id} found; pgmem hygiene lists the unresolved saves.")
        typer.echo(visible(asked(store.run(lambda m: m.get_review(save_id)).arguments)))
        typer.confirm(f"Save {save_id} again?", abort=True)
    result = call.run()
    if not store.print_json(result):
        typer.echo(f"{result.status}: {result.message or result.dedup_outcome or result.next_step}")
    if result.status != "saved":
        raise typer.Exit(1)


@store_command
def reflect(
    store: Store,
    review: Annotated[bool, typer.Option(help="Decide on the pending insights, one by one.")] = False,
    approve: Annotated[str | None, typer.Option(help="Approve this insight (title or id).")] = None,
    dismiss: Annotated[str | None, typer.Option(help="Dismiss this insight (title or id).")] = None,
    query: Annotated[str | None, typer.Option(help="Only insights that contain one of these words.")] = None,
    limit: Annotated[int, most("insights")] = 25,
) -> None:
    """Look for patterns across memories, and approve or dismiss the insights found."""
    title = approve if approve is not None else dismiss
    if title is not None:
        action: Literal["approve", "dismiss"] = "approve" if approve is not None else "dismiss"
        require_person(store)
        judged = store.run(lambda m: _judged(m, title, action))
        if not store.print_json(judged):
            typer.echo(f"{judged.status}: {judged.title}")
        return

    async def run(memory: Memory) -> tuple[int, list[Insight]]:
        made = await memory.reflect()
        return made.created, (await memory.surface_insights(limit, query)).insights

    created, insights = store.run(run)
    store.for_people({"created": created, "insights": [vars(insight) for insight in insights]})
    console = terminal()
    console.print(
        f"{created} new, {len(insights)} pending shown."
        if insights
        else f"{created} new; no insight is pending."
    )
    for insight in insights:
        console.print(_insight(insight))
        if review:
            answer = options.chosen("[a]pprove, [d]ismiss, [l]ater, [q]uit")
            if answer == "q":
                return
            choices: dict[str, Literal["approve", "dismiss"]] = {"a": "approve", "d": "dismiss"}
            if choice := choices.get(answer):
                require_person(store)
                key, shown = str(insight.id), insight.shown
                typer.echo(store.run(lambda m, k=key, c=choice, s=shown: m.review_insight(k, c, s)).status)  # type: ignore[misc]


async def _judged(memory: Memory, title: str, action: Literal["approve", "dismiss"]) -> Insight:
    """Judge the insight of a title or id, and show the text that is approved."""
    for insight in (await memory.surface_insights(500)).insights if action == "approve" else ():
        if title in (insight.title, str(insight.id)):
            terminal().print(_insight(insight))
            return await memory.review_insight(str(insight.id), action, insight.shown)
    return await memory.review_insight(title, action)


async def _page(memory: Memory, state: Health, report: HygieneReport) -> str:
    """The report as HTML, with the dates and texts of the memories that it names."""
    pages = registry.one("REPORT")
    if pages is None:
        stop("This installation draws no pages: leave --html out.")
    known: dict[str, Node] = {}
    for label, identity in pages.references(state, report)[:_DESCRIBED]:
        with suppress(MemoryNotFound):  # deleted since the report was made
            known[identity] = await memory.get_node(label, identity)
    return str(pages.quality_page(state, report, known, repair_command))


def _print_report(store: Store, found: object, shown: Group, html: Path | None, text: str | None) -> None:
    if html is not None and text is not None:
        try:
            html.write_text(text, encoding="utf-8")
        except OSError as error:
            stop(f"cannot write {html}: {error.strerror}.")
    store.for_people(found)
    console = terminal()
    console.print(shown)
    if html is not None:
        console.print(Text(f"Page written to {html}.", "dim"))


def _hygiene(report: HygieneReport) -> Group:
    counts = Table(show_header=False, box=None, pad_edge=False)
    for name, check, field in CHECKS:
        if report.pending_only and check != "unresolved_saves":
            continue
        count = getattr(report, field)
        counts.add_row(Text(name), Text(str(count), "green" if count == 0 else "yellow", justify="right"))
    where = report.project_id or "all projects"
    shown: list[Any] = [Panel(counts, title=Text(f"Hygiene: {where}"), expand=False)]
    if report.findings:
        rows = []
        for finding in report.findings:
            likeness = f" ({finding.similarity:.0%} alike)" if finding.similarity is not None else ""
            names = "\n".join(
                f"{title}  {id}" for title, id in zip(finding.titles, finding.ids, strict=False)
            )
            check = finding.check.replace("_", " ") + likeness
            command = repair_command(finding.verb, finding.arguments, finding.project)
            rows.append((check, names, finding.what, command or finding.verb))
        shown.append(Rows(("check", "memory", "what to do", "repair"), rows))
    if report.next_offset is not None:
        shown.append(
            Text(
                f"{len(report.findings)} of {report.total} findings shown; --limit shows more, "
                f"--offset {report.next_offset} the next ones, --json all.",
                "dim",
            )
        )
    if report.proactive_hint:
        shown.append(Text("Many memories are new since the last reflection: run pgmem reflect.", "dim"))
    return Group(*shown)


def repair_command(verb: str, arguments: Mapping[str, object], project: str | None = None) -> str | None:
    """The command line of a verb and its arguments, quoted for a POSIX shell.

    Args:
        verb: the verb of a finding of `run_hygiene`.
        arguments: its arguments.
        project: the project of the finding.

    Returns:
        The line, or None where no command does it: only the agent that sent a batch can send it again.
    """
    given = {name: str(value) for name, value in arguments.items()}
    match verb:
        case "merge_entities":
            words = ["merge", given["entity"], given["into"]]
        case "supersede":
            words = ["supersede", given["old"], given["new"]]
        case "confirm":
            words = ["confirm", given["id"]]
        case "forget":
            words = ["forget", given["label"], given["key"]]
        case "archive_card":
            words = ["cards", "archive", given["card_id"], "--i-know-what-im-doing"]
        case "retry_save":
            words = ["retry", given["save_id"]]
        case "resolve_review":
            words = ["review", *([f"--project={project}"] if project else [])]
        case _:
            return None
    return shlex.join(["pgmem", *words])


def _health(state: Health) -> Group:
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
        ("orphans", str(state.orphans.count)),
        ("hubs", _top(state.hubs)),
        ("stubs", _top(state.stubs)),
        ("archived, but connected", _top(state.archived_bridges)),
        ("conflicts", str(state.conflicts.count)),
        ("replaced decisions", str(state.lineage.count)),
        ("memories without text", str(state.without_text)),
        ("insights", ", ".join(f"{n} {s}" for s, n in sorted(state.insights.items())) or "none"),
        ("unresolved saves", str(state.saves_open)),
    ]
    if state.cards:
        rows.append(("cards, counted apart", ", ".join(f"{n} {s}" for s, n in sorted(state.cards.items()))))
    most = max(state.confidence) or 1
    bars = Table(show_header=False, box=None, pad_edge=False, title="Confidence", title_justify="left")
    for tenth, count in enumerate(state.confidence):
        bars.add_row(
            Text(f"{tenth / 10:.1f}"),
            Text("█" * -(-30 * count // most), "cyan"),
            Text(str(count), justify="right"),
        )
    shown: list[Any] = [
        Panel(facts(rows), title=Text(f"Health: {state.project_id or 'all projects'}"), expand=False),
        bars,
    ]
    shown.extend(
        Text.assemble(("conflict  ", "yellow"), f"{item.title}  ×  {item.with_title}")
        for item in state.conflicts.items
    )
    return Group(*shown)


def _top(found: JoinedMemories) -> str:
    names = ", ".join(f"{item.title} ({item.relations})" for item in found.items[:3])
    return f"{found.count}: {names}" if names else str(found.count)


def _insight(insight: Insight) -> Panel:
    forgotten = (
        f"\nApproved, it forgets {', '.join(str(one)[:8] for one in insight.forgets)}."
        if insight.forgets
        else ""
    )
    return Panel(
        Text((insight.summary or "") + forgotten),
        title=Text(insight.title),
        subtitle=Text(
            f"{insight.detector}, confidence {insight.confidence:.2f}, trust {insight.trust_level:.1f}, {insight.id}"
        ),
    )
