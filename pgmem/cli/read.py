"""`pgmem search`, `retrieve`, `show`, `list`, `projects`, `neighbours`, `calibrate`: memories as agents get them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgmem._verbs import KINDS
from pgmem.cli.options import (
    Project,
    Rows,
    Store,
    facts,
    memories,
    of_tenants,
    project_here,
    shown,
    stop,
    store_command,
    tenant_name,
    terminal,
    typed,
)
from pgmem.cli.verbs import Call, verb_command
from pgmem.escaping import counted
from pgmem.kinds import TEXTS, TITLES
from pgmem.texts import SOURCES

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import MemoryEntry, Neighbours, Node, ProjectEntry, SearchResult

FIELDS = {kind.label: [field.name for field in kind.fields] for kind in KINDS}
"""The fields of each kind of memory, in the order in which they are shown."""


@verb_command("retrieve_context", "project_id", defaults={"project_id": None})
def retrieve(call: Call, project: Project = None) -> None:
    """Show the context of a project: its focus, project and global memories, newest first."""
    named = call.sent.get("project_id")
    if named is not None and project is not None:
        stop("Name one project: pgmem retrieve PROJECT.", 2)
    if (named := named or project or call.store.run(project_here)) is None:
        stop("Name a project: pgmem retrieve PROJECT. This folder has none yet.", 2)
    call = call.but(project_id=named)
    bundle, theirs = _found(call, lambda found: found.standing or found.items)
    call.store.for_people(bundle)
    console, name = terminal(), call.sent["project_id"]
    if bundle.standing or bundle.items:
        console.print(f"{name}: {bundle.retrieval_status}", markup=False)
        console.print(
            memories(
                (
                    item.title,
                    (item.label + mark, item.scope, item.focus, item.freshness, item.id),
                    text_of(item),
                )
                for items, mark in ((bundle.standing, " (standing)"), (bundle.items, ""))
                for item in items
            )
        )
        if bundle.left_out:
            console.print(
                f"{counted(bundle.left_out, 'memory', 'memories')} left out: over --max-tokens.", style="dim"
            )
    else:
        settings = call.store.settings
        who = tenant_name(settings.org_id, settings.user_id)
        asked = f", asked as {who}" if who else ""
        state = f"{name}: {bundle.retrieval_status} (scope {bundle.scope_state}){asked}"
        console.print(state, markup=False)
    if theirs or bundle.next_step:
        console.print(theirs or typed(bundle.next_step or ""), style="dim", markup=False)


@verb_command("search_memory", "query...", of_folder=True)
def search(call: Call) -> None:
    """Find memories by words or a question, best first."""
    found, theirs = _found(call, lambda found: found.results)
    call.store.for_people(found)
    console = terminal()
    if found.results:
        console.print(memories(map(_result, found.results)))
        if call.sent.get("explain"):
            _print_parts(found.results)
    else:
        console.print("Nothing found.")
    if theirs or found.next_step:
        console.print(theirs or typed(found.next_step or ""), markup=False)
    if found.left_out:
        console.print(
            f"{found.left_out} more were left out: over the limit, or repeats of these.", style="dim"
        )
    mode = found.search_mode
    if mode.reason:
        console.print(f"{mode.mode}: {mode.reason}", style="dim", markup=False)


def _found(call: Call, memories_of: Callable[[Any], object]) -> tuple[Any, str]:
    """The answer, and where it has no memory for a person, whose memories the store has."""

    async def run(memory: Memory) -> tuple[Any, str]:
        found = await call.of(memory)
        seen = memories_of(found) or call.store.as_json
        return found, "" if seen else await of_tenants(memory, call.store.settings)

    return call.run(run)  # type: ignore[no-any-return]


def _result(result: SearchResult) -> tuple[str, Sequence[object], str]:
    """A result: its title, its figures and where it is from, its text without the title again."""
    text = (result.passage or result.summary or "").removeprefix(result.title).strip()
    fits = "" if result.relevance is None else f"relevance {result.relevance:.2f}"
    since = "superseded" if result.outdated_by else ""
    about = (
        result.label,
        result.project,
        f"score {result.score:.3f}",
        fits,
        since,
        SOURCES.get(result.sources or "", ""),
        result.id,
    )
    return result.title, about, shown(text)


_PARTS = tuple(
    "base question session prior instruction time date source citation graph trust gate cosine bm25".split()
)


def _print_parts(results: Sequence[SearchResult]) -> None:
    """A row for each result with the parts of its score; a part that no result has is left out."""
    parts = [result.explanation or {} for result in results]
    names = [name for name in _PARTS if any(each.get(name) is not None for each in parts)]
    rows = [
        (place, *("" if each.get(name) is None else f"{each[name]:.3f}" for name in names))
        for place, each in enumerate(parts, start=1)
    ]
    terminal().print(Rows(("", *names), rows, "Parts of each score"))


@verb_command("get_node", "which")
def show(call: Call) -> None:
    """Show a memory whole, with its relations: as it is, or as it was at a time."""

    async def look(memory: Memory) -> tuple[Node, Neighbours | None]:
        node = await call.of(memory)
        alone = call.store.as_json or node.archived_at
        return node, None if alone else await memory.neighbours(node.label, str(node.id), 1, 20)

    node, around = call.run(look)
    call.store.for_people(node)
    place = " / ".join(filter(None, (node.scope, node.project, node.focus)))
    rows: list[tuple[str, object]] = [("title", node.title), ("kind", node.label), ("status", node.status)]
    rows += [(name.replace("_", " "), value) for name, value in _fields(node.label, node.properties)]
    rows += [
        ("place", place),
        ("holds", _period(node.valid_from, node.valid_to)),
        ("confidence", f"{node.confidence:.2f}, trust {node.trust_level:.1f}"),
        ("saved", f"{shown(node.created_at)} ({node.source}{f', {node.agent_id}' if node.agent_id else ''})"),
        ("version", f"{node.version}, since {shown(node.ingested_at)}" if node.version > 1 else ""),
        ("id", node.id),
    ]
    for one in around.nodes if around else ():
        rows.append((" ".join(one.path), f"{one.label} {one.title}  {one.id}"))
    terminal().print(facts(row for row in rows if row[1] not in (None, "")))


def _period(start: datetime | None, end: datetime | None) -> str:
    began = f"from {shown(start)}" if start else ""
    return " ".join(filter(None, (began, f"until {shown(end)}" if end else "")))


def _fields(label: str, properties: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The fields of a memory that hold something, as text, in the order of its kind."""
    order = FIELDS.get(label, [])
    known = {name: place for place, name in enumerate(order)}
    names = sorted(properties, key=lambda name: known.get(name, len(known)))
    return [(name, _plain(properties[name])) for name in names if properties[name] not in (None, "", [], {})]


def _plain(value: Any) -> str:
    """A value of a property as text: a list of texts one a line."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    if isinstance(value, datetime):
        return shown(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def text_of(item: Any) -> str:
    """The text of a memory of a context, without its title again."""
    held = {name: getattr(item, name, None) for name in FIELDS.get(item.label, ())} | dict(item.properties)
    left = {name: value for name, value in held.items() if name not in ("confidence", "relevance_score")}
    lines = []
    for name, text in _fields(item.label, left):
        if text != item.title:
            said = "" if name in TEXTS.values() and name not in TITLES else f"{name.replace('_', ' ')}: "
            lines.append(shown(said + " · ".join(text.splitlines())))
    return "\n".join(lines)


@verb_command("list_memories", of_folder=True)
def list_(call: Call) -> None:
    """List memories, the latest written first."""
    found: list[MemoryEntry] = call.answer()
    console = terminal()
    if not found:
        console.print("No memory found.")
        return
    console.print(
        memories(
            (m.title, (m.label, m.status, m.project, f"{m.updated_at:%Y-%m-%d %H:%M}", m.id), "")
            for m in found
        )
    )
    if len(found) == call.sent.get("limit", 50):
        console.print(f"There may be more: --after {found[-1].id} lists the next ones.", style="dim")


@verb_command("list_projects")
def projects(call: Call) -> None:
    """List the projects, the largest first, with their focus areas."""
    found: list[ProjectEntry] = call.answer()
    if not found:
        terminal().print("No project yet: pgmem save session creates one.")
        return
    rows = (
        (p.name, p.memories, p.cards or "", ", ".join(p.focus_areas), f"{p.created_at:%Y-%m-%d}")
        for p in found
    )
    terminal().print(Rows(("project", "memories", "cards", "focus areas", "since"), rows))


@verb_command("neighbours", "which")
def neighbours(call: Call) -> None:
    """Show the memories around one, nearest first, with the relations on the way."""
    found: Neighbours = call.answer()
    if not found.nodes:
        terminal().print("It has no relations.")
        return
    headings = ("hops", "relations", "label", "title", "status", "id")
    rows = ((n.depth, " ".join(n.path), n.label, n.title, n.status, n.id) for n in found.nodes)
    terminal().print(Rows(headings, rows))


@verb_command("memory_history", "which")
def history(call: Call) -> None:
    """Show every version of a memory, oldest first."""

    async def run(memory: Memory) -> Any:
        return (await call.of(memory)).versions

    rows = []
    for state in call.answer(run):
        text = "\n".join(
            f"{name}: {' · '.join(value.splitlines())}" for name, value in _fields("", state.properties)
        )
        times = (
            state.ingested_at,
            state.replaced_at,
            state.status,
            _period(state.valid_from, state.valid_to),
        )
        rows.append((state.version, state.agent_id or state.source, *times, text))
    terminal().print(Rows(("version", "by", "known from", "until", "status", "true", "content"), rows))


@store_command
def calibrate(
    store: Store,
    foreign_share: Annotated[
        float, typer.Option(min=0.0, max=0.5, help="Share of wrong-project searches that may pass.")
    ] = 0.1,
    apply: Annotated[bool, typer.Option("--apply", help="Write the thresholds to the settings.")] = False,
) -> None:
    """Find the relevance from which a result is an answer, by searching each title in the wrong project."""
    from pgmem.worker.calibration import calibrate as measure

    found = store.answer(lambda m: measure(m, foreign_share, apply))
    console = terminal()
    console.print(
        f"{found.queries} titles: answered_yes {found.answered_yes:.3f}, answered_no {found.answered_no:.3f}"
    )
    console.print(
        f"answered: {found.own_answered:.0%} of own titles, {found.foreign_answered:.0%} of foreign ones"
    )
    if not found.applied:
        console.print("Nothing was changed; --apply writes these to the settings.", style="dim")
