"""Memories: the list, one of them with its history and relations, and its changes by a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

from starlette.responses import PlainTextResponse, Response

from pgmem.errors import InvalidArgument, PgmemError
from pgmem.features.ui import as_sql, drawing, render, words
from pgmem.features.ui.visit import Page, Redirect, Visit, one_of
from pgmem.models import Forgotten, LineEntry, Node, Reverted, SearchResult, Version

_VERSIONS = 30  # of a history that are compared
REPLACING = {"Decision": "supersede", "EntityFact": "merge"}
_BESIDE = ("date", "owner", "status", "relevance_score", "last_validated_at", "branch_commit")
_NOT_SHOWN = ("branch", "fingerprint", "facet", "ingest_source", "paths", "symbols", "origin")
"""The properties that the head of the page shows, and those by which pgmem knows a card again."""
_SOURCES = ("source", "sources", "quote", "quotes", "url", "reference", "references", "evidence", "cited")


@dataclass(frozen=True, slots=True)
class Change:
    """A version beside the one before it: the properties that differ, compared word by word."""

    version: Version
    parts: list[tuple[str, *words.Pair]]
    status: tuple[str, str] | None


async def listed(visit: Visit) -> Page:
    """The memories, the newest first; filters are arguments of the URL."""
    limit = visit.count("limit", 50, 200)
    labels = visit.texts("labels")
    without_cards = not (labels or visit.text("branch") or visit.text("status"))
    found = await visit.memory.list_memories(
        visit.project,
        labels=labels,
        status=visit.text("status"),
        source=visit.text("source"),
        agent_id=visit.text("agent"),
        session_id=visit.text("session"),
        branch=visit.text("branch"),
        after=visit.id("after"),
        limit=limit,
    )
    more = found[-1].id if len(found) == limit else None
    return Page(
        "memories.html",
        {"memories": found, "next_after": more},
        {"without_cards": without_cards, "sql": as_sql.memories(visit)},
    )


async def one(visit: Visit) -> Page:
    """A memory with everything that is known of it."""
    node = await visit.node()
    hops = visit.count("hops", 1, 2)
    history, around, line, open_conflicts, replaced, near = await asyncio.gather(
        visit.memory.memory_history(node.label, str(node.id)),
        visit.memory.memory_relations(node.id, hops),
        visit.memory.memory_lineage(node.id),
        visit.memory.list_conflicts(None, node.id),
        visit.memory.list_replacements(None, node.id),
        _likeness(visit, node),
    )
    # Beside the other requests: an agent may have written thirty long versions that take long to compare.
    changes = await render.aside(_changes, history.versions)
    shown = [(name, *words.cut(value)) for name, value in words.texts(node.properties) if value != node.title]
    data = {
        "memory": node,
        "history": history.versions,
        "relations": around,
        "conflicts": open_conflicts,
        "replacements": replaced,
        "lineage": line,
        "found_by": near,
        "hops": hops,
    }
    look = {
        "texts": [part for part in shown if part[0] not in (*_SOURCES, *_BESIDE, *_NOT_SHOWN)],
        "beside": [part for part in shown if part[0] in _BESIDE],
        "sources": [part for part in shown if part[0] in _SOURCES],
        "changes": changes,
        "first_texts": [
            (name, words.cut(value, 2000)[0])
            for name, value in words.texts(history.versions[0].properties if history.versions else {})
            if value != history.versions[0].title
        ],
        "ego": drawing.ego(around, str(node.id)),
        "near_nodes": {one.id: one for one in around.nodes},
        "line": drawing.lines([line], str(node.id)) if len(line) > 1 else None,
        "replaced": [entry for entry in line if entry.replaced_by == node.id],
        "outdated_by": [
            one
            for edge in around.edges
            if edge.rel_type == "OUTDATES" and edge.to_id == node.id
            for one in around.nodes
            if one.id == edge.from_id
        ],
        "replaced_by": _replaced_by(line, node.id),
        "replacing": REPLACING.get(node.label),
        "can_change": node.label != "Card",
        "branch": node.properties.get("branch") if node.label == "Card" else None,
    }
    return Page("memory.html", data, look)


_NEW = {
    "decision": (
        "Decision",
        (("title", "Title", 0, 1), ("rationale", "Rationale", 1, 1), ("owner", "Owner", 0, 0)),
    ),
    "context": ("Note", (("content", "Content", 1, 1), ("topic", "Topic", 0, 0))),
    "entity": ("Fact", (("entity_name", "Name", 0, 1), ("fact", "Fact", 1, 1))),
    "pattern": ("Pattern", (("trigger", "When", 0, 1), ("repeatable_steps", "Steps, one a line", 1, 1))),
}
"""The kinds that a person makes by hand, each with its fields: argument, name, whether long, whether needed."""


async def new_form(visit: Visit) -> Page:
    """A form for a memory made by hand; `from` is a turn or a memory whose text it begins with."""
    kind = one_of("kind", visit.text("kind") or "context", _NEW)
    source = visit.id("from")
    text = ""
    if source is not None:
        node = await visit.memory.find_memory(source)
        text = str(node.properties.get("content") or node.title)
    fields = [
        (name, title, long, needed, text if long and needed else "")
        for name, title, long, needed in _NEW[kind][1]
    ]
    kinds = [(name, title) for name, (title, _) in _NEW.items()]
    return Page("new.html", {"kind": kind}, {"fields": fields, "kinds": kinds})


async def new(visit: Visit) -> Redirect:
    """Save a memory made by hand, in the name of the person."""
    kind, project = one_of("kind", visit.field("kind"), _NEW), visit.field("project_id")
    given: dict[str, Any] = {name: visit.form.get(name, "").strip() for name, *_ in _NEW[kind][1]}
    given = {name: value for name, value in given.items() if value}
    if "repeatable_steps" in given:
        given["repeatable_steps"] = [
            step.strip() for step in given["repeatable_steps"].split("\n") if step.strip()
        ]
    memory = visit.memory
    verbs: dict[str, Any] = {
        "decision": memory.save_decision,
        "context": memory.save_context,
        "entity": memory.upsert_entity,
        "pattern": memory.save_pattern,
    }
    missing = [title for name, title, _, needed in _NEW[kind][1] if needed and name not in given]
    if missing:
        raise InvalidArgument(f"{', '.join(missing)} must not be empty.")
    done = await verbs[kind](**given, project_id=project)
    if done.artifact_id is None:
        visit.flash(f"Not saved: {done.message or done.status}. {done.next_step or ''}".strip(), wrong=True)
        return visit.to("/decide" if done.dedup_outcome == "manual_review" else "/decide/saves")
    visit.flash("Saved." if done.dedup_outcome != "duplicate_skip" else "This is known already.")
    return visit.to(f"/memory/{done.artifact_id}")


async def forget_many(visit: Visit) -> Redirect:
    """Hide the memories that are ticked, or all that are shown; their history stays."""
    done, wrong = 0, ""
    for node in await visit.memory.find_memories(visit.chosen()):
        try:
            done += (await forgotten(visit, node)).status == "archived"
        except PgmemError as error:
            wrong = str(error)
    if done:
        link = (visit.url("/memories", status="archived"), "View")
        visit.flash(
            f"{done} forgotten: agents no longer see them. Each page puts its memory back.", link=link
        )
    if wrong:
        visit.flash(wrong, wrong=True)
    return visit.to("/memories")


async def text(visit: Visit) -> Response:
    """The whole text of a memory, however long it is."""
    node = await visit.node()
    parts = [
        node.title,
        *(f"{name}\n{value}" for name, value in words.texts(node.properties) if value != node.title),
    ]
    return PlainTextResponse(words.plain("\n\n".join(parts)) + "\n")


# Changes


async def edit_form(visit: Visit) -> Page:
    """The texts of a memory in a form."""
    node = await visit.node()
    return Page("edit.html", {"memory": node}, {"fields": _editable(node), "titled": _has_own_title(node)})


async def edit(visit: Visit) -> Redirect:
    """Make a new version of a memory, with the texts of the form."""
    node = await visit.node()
    changed: dict[str, Any] = {}
    for name, is_list in _editable(node).items():
        sent = visit.form.get(f"text.{name}")
        if sent is None:
            continue
        value: Any = [item.strip() for item in sent.split("\n") if item.strip()] if is_list else sent
        if value != node.properties[name]:
            changed[name] = value
    title = visit.form.get("title") if _has_own_title(node) else None
    title = None if title == node.title else title
    whole = visit.form.get("whole") == "yes"
    if not changed and title is None and not whole:
        visit.flash("Nothing was changed.")
        return visit.to(f"/memory/{node.id}")
    version = visit.version()
    done = await visit.memory.edit_memory(node.id, version, changed, visit.name, title, whole=whole)
    visit.flash(f"Saved as version {done.version}.", undo=back_to(node.id, done.version - 1))
    return visit.to(f"/memory/{node.id}")


async def replace_form(visit: Visit) -> Page:
    """Choose the memory that replaces this one."""
    node = await visit.node()
    if node.label not in REPLACING:
        raise InvalidArgument(
            f"A {node.label} cannot be replaced: edit it. Only decisions and facts can be replaced."
        )
    question = visit.text("q")
    choices: list[SearchResult] = []
    if question or node.title:
        found = await visit.memory.search_memory(
            question or node.title, 12, project_id=node.project, labels=[node.label]
        )
        choices = [result for result in found.results if result.id != node.id]
    chosen = visit.id("by")
    other = await visit.memory.find_memory(chosen) if chosen else None
    look: dict[str, Any] = {
        "verb": REPLACING[node.label],
        "pair": words.side_by_side(node, other) if other else [],
    }
    return Page("replace.html", {"memory": node, "choices": choices, "other": other}, look)


async def replace(visit: Visit) -> Redirect:
    """Replace this memory by another one."""
    node = await visit.node()
    other = visit.identity("by")
    if node.label == "EntityFact":
        done = await visit.memory.merge_entities(str(node.id), str(other), by=visit.name)
        said = "Merged into"
    else:
        done = await visit.memory.supersede(str(node.id), str(other), by=visit.name)
        said = "Replaced by"
    visit.flash(f"{said} {done.into_title}.", undo=back_to(node.id, done.version - 1))
    return visit.to(f"/memory/{node.id}")


async def forget_form(visit: Visit) -> Page:
    """Show the memories that say the same as one that is to be forgotten, and those that rest on it."""
    node = await visit.node()
    found = await visit.memory.list_said_again(str(node.id))
    return Page("retract.html", {"memory": node, "same": found.same, "rests": found.rests})


async def forget(visit: Visit) -> Redirect:
    """Hide a memory, with those that say the same and are ticked; their history stays.

    Without a look at them it leads to the form that shows them, where there are any.
    """
    node = await visit.node()
    if visit.form.get("seen") != "yes" and (await visit.memory.list_said_again(str(node.id))).same:
        return visit.to(f"/memory/{node.id}/forget")
    also = sorted(name.removeprefix("one.") for name in visit.form if name.startswith("one."))
    done = await forgotten(visit, node, also=also)
    if done.status == "archived":
        gone = sum(one.status == "archived" for one in done.same)
        with_others = f", with {gone} that said the same" if gone else ""
        step = "" if also or visit.form.get("seen") else done.next_step or ""
        said = f"Forgotten{with_others}: agents no longer see it. Its history stays. {step}".strip()
        visit.flash(said, undo=back_to(node.id, node.version))
    else:
        visit.flash(_held(done.next_step))
    return visit.to(f"/memory/{node.id}")


async def revert(visit: Visit) -> Redirect:
    """Restore an earlier version of a memory."""
    node = await visit.node()
    version = visit.version()
    done = await reverted(visit, node, version)
    said = f"It is again as it was in version {version}."
    visit.flash(said if done.status != "failed" else _held(done.next_step))
    return visit.to(f"/memory/{node.id}")


async def purge_form(visit: Visit) -> Page:
    """Show the rows that a purge deletes and the rest, before confirmation."""
    node = await visit.node()
    history, around = await asyncio.gather(
        visit.memory.memory_history(node.label, str(node.id)), visit.memory.memory_relations(node.id, 1, 1000)
    )
    relations = sum(node.id in (edge.from_id, edge.to_id) for edge in around.edges)
    return Page("purge.html", {"memory": node, "versions": len(history.versions), "relations": relations})


async def purge(visit: Visit) -> Redirect:
    """Delete a memory permanently, after confirmation."""
    node = await visit.node()
    if visit.form.get("sure") != "yes":
        raise InvalidArgument("Nothing was deleted: tick the box to confirm.")
    done = await forgotten(visit, node, purge=True)
    if done.status == "failed":
        visit.flash(_held(done.next_step))
        return visit.to(f"/memory/{node.id}")
    visit.flash(
        f"Deleted permanently, with {done.versions} earlier versions and {done.edges} relations. "
        "Its id, the time and the person of the deletion stay on record."
    )
    return visit.to("/memories")


def back_to(identity: UUID, version: int) -> tuple[str, dict[str, str]]:
    """The form that puts a memory back to a version."""
    return f"/memory/{identity}/revert", {"version": str(version)}


async def forgotten(visit: Visit, node: Node, *, purge: bool = False, also: Sequence[str] = ()) -> Forgotten:
    """Forget a memory, which the person approved by pressing the button, and others that say the same."""
    token = await _approval(visit, node, "Forget")
    return await visit.memory.forget(node.label, str(node.id), purge, governance_token=token, also=also)


async def reverted(visit: Visit, node: Node, version: int) -> Reverted:
    """Put a memory back to a version, which the person approved by pressing the button."""
    token = await _approval(visit, node, "Revert")
    return await visit.memory.revert(node.label, str(node.id), version, governance_token=token)


async def _approval(visit: Visit, node: Node, verb: str) -> str | None:
    """The token for a change of a global memory."""
    if node.scope != "global":
        return None
    return (await visit.memory.request_global_write_approval(f"{verb}: {node.title}")).token


def _held(next_step: str | None) -> str:
    return f"Pending: a person must approve it. {next_step or ''}".strip()


# The data of the pages


async def _likeness(visit: Visit, node: Node) -> list[SearchResult]:
    """The result of a search for its title: the rank of this memory, and its neighbours; none for a card."""
    if node.label == "Card":  # searches leave them out
        return []
    try:
        found = await visit.memory.search_memory(node.title[:300], 6, project_id=node.project)
    except PgmemError:
        return []
    return found.results


def _changes(versions: list[Version]) -> list[Change]:
    """Each of the last versions with its changes, the newest first."""
    made = []
    shown = versions[-_VERSIONS - 1 :]
    for before, after in pairwise(shown):
        parts = []
        names = dict.fromkeys([*before.properties, *after.properties])
        old, new = dict(words.texts(before.properties)), dict(words.texts(after.properties))
        if before.title != after.title and before.title not in old.values():
            parts.append(("title", *words.compared(before.title, after.title)))
        parts += [
            (name, *words.compared(old.get(name, ""), new.get(name, "")))
            for name in names
            if old.get(name, "") != new.get(name, "")
        ]
        status = (before.status, after.status) if before.status != after.status else None
        made.append(Change(after, parts, status))
    first = [Change(versions[0], [], None)] if 0 < len(versions) <= _VERSIONS else []
    return [*reversed(made), *first]


def _replaced_by(line: list[LineEntry], identity: UUID) -> LineEntry | None:
    own = next((entry for entry in line if entry.id == identity), None)
    return next((entry for entry in line if own is not None and entry.id == own.replaced_by), None)


def _editable(node: Node) -> dict[str, bool]:
    """The texts that a person may edit; True for a list of texts."""
    return {
        name: isinstance(value, list)
        for name, value in node.properties.items()
        if (isinstance(value, str) and value != node.key)
        or (isinstance(value, list) and all(isinstance(item, str) for item in value))
    }


def _has_own_title(node: Node) -> bool:
    return node.label == "Decision" and node.key is None and "title" not in node.properties
