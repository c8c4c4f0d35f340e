"""Decide: reviews side by side, approvals with their exact text, insights, cards, saves that failed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal, cast
from uuid import UUID

from pgmem.errors import ContractError, InvalidArgument, MemoryNotFound
from pgmem.models import Card, MemoryEntry, ReviewDetail
from pgmem.ui import words
from pgmem.ui.memories import approval
from pgmem.ui.visit import Page, Redirect, Visit, whole

Outcome = Literal["new", "supersede", "drop"]

_CARDS = 12  # drafts of a page; each is one call
_BESIDE = ("date", "owner", "confidence", "relevance_score", "last_validated_at")
"""What stands beside the texts and is not compared."""

_NOT_SHOWN = ("project_id", "scope", "focus", "label", "key", "share")

HELD = ("forget", "revert", "remember")
"""Changes of a memory that wait for a person: made or dropped, never stored beside it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to decide: the outcome, its key, its name, and what it does."""

    outcome: str
    key: str
    name: str
    means: str


def _choices(found: ReviewDetail) -> list[Choice]:
    if found.verb in HELD:
        return [
            Choice("supersede", "s", "Make the change", "The memory changes as the agent asked."),
            Choice("drop", "k", "Keep it as it is", "Nothing changes; the request is dropped."),
        ]
    if found.candidate_id is None:
        return [
            Choice("new", "n", "Approve", "It is saved with exactly this text."),
            Choice("drop", "d", "Drop", "Nothing is saved."),
        ]
    return [
        Choice("drop", "k", "Keep the old", "The new one is dropped; the memory stays."),
        Choice(
            "supersede", "s", "Supersede", "The new one takes its place; the old one stays in its history."
        ),
        Choice("new", "n", "Keep both", "The new one is saved beside the old one."),
    ]


async def _tabs(visit: Visit) -> dict[str, Any]:
    waiting, near = await asyncio.gather(
        visit.memory.count_waiting(visit.project), visit.checks.near_names(visit.memory, visit.key)
    )
    return {"waiting": waiting, "near_names": near}


async def reviews(visit: Visit) -> Page:
    """The saves and changes that resemble or touch a memory, the oldest first; the first one is open."""
    tabs, found = await asyncio.gather(_tabs(visit), visit.memory.list_reviews(visit.project))
    waiting = [item for item in found if item.candidate_id is not None]
    first = await visit.memory.get_review(waiting[0].save_id) if waiting else None
    return Page("decide.html", {**tabs, "reviews": waiting, "review": first}, _look(first) if first else {})


async def approvals(visit: Visit) -> Page:
    """What holds globally and waits for a person, with its exact text; and the approvals that agents asked for."""
    tabs, found, given = await asyncio.gather(
        _tabs(visit), visit.memory.list_reviews(visit.project), visit.memory.list_approvals()
    )
    waiting = [item for item in found if item.candidate_id is None]
    details = await asyncio.gather(*(visit.memory.get_review(item.save_id) for item in waiting[:20]))
    shown = [{"detail": one, "texts": _texts(one.arguments), "choices": _choices(one)} for one in details]
    return Page("approvals.html", {**tabs, "approvals": details, "given": given}, {"shown": shown})


async def saves(visit: Visit) -> Page:
    """The saves that failed or wait, by project, each with its next step."""
    tabs, projects = await asyncio.gather(_tabs(visit), visit.memory.list_projects())
    found: list[dict[str, Any]] = []
    for name in [visit.project] if visit.project else [entry.name for entry in projects[:20]]:
        try:
            state = await visit.memory.get_save_status(name)
        except MemoryNotFound:
            continue
        found += [
            {"project": name, "save": save} for save in state.saves if save.dedup_outcome != "manual_review"
        ]
    return Page("saves.html", {**tabs, "saves": found[:100]})


async def review(visit: Visit) -> Page:
    """One review, open or decided."""
    tabs, found = await asyncio.gather(_tabs(visit), visit.memory.get_review(visit.parts["id"]))
    waiting = [
        item for item in await visit.memory.list_reviews(visit.project) if item.candidate_id is not None
    ]
    return Page("decide.html", {**tabs, "reviews": waiting, "review": found}, _look(found))


async def resolve(visit: Visit) -> Redirect:
    """Decide one review; the second person learns that it is decided, and by whom."""
    save_id = visit.parts["id"]
    outcome = visit.field("outcome")
    if outcome not in ("new", "supersede", "drop", "retry"):
        raise InvalidArgument(f"outcome is new, supersede or drop, not {outcome[:40]!r}.")
    path = "/decide/approvals" if visit.form.get("kind") == "approvals" else "/decide"
    path = "/decide/saves" if visit.form.get("kind") == "saves" else path
    if outcome == "retry":
        done = await visit.memory.retry_save(save_id)
        visit.tell(f"{done.status}: {done.message or done.next_step or ''}", wrong=done.status != "saved")
        return Redirect(visit.url(path))
    before = await visit.memory.get_review(save_id)
    if not before.is_open:
        return _second(visit, before)
    candidate = visit.identity("candidate") if visit.form.get("candidate") else None
    try:
        done = await visit.memory.resolve_review(save_id, cast(Outcome, outcome), visit.name, candidate)
    except MemoryNotFound:
        # Another person has decided between the look and the decision.
        after = await visit.memory.get_review(save_id)
        if after.is_open:
            raise
        return _second(visit, after)
    undo = _undo(before, outcome, done.artifact_id)
    link = (visit.url(f"/memory/{done.artifact_id}"), "Look at it") if done.artifact_id else None
    visit.tell(_said(before, outcome), undo=undo, link=link)
    return Redirect(visit.url(path))


def _second(visit: Visit, found: ReviewDetail) -> Redirect:
    visit.tell(
        f"This was decided already, by {found.resolved_by or 'somebody else'}. Nothing was changed.",
        wrong=True,
    )
    return Redirect(visit.url(f"/decide/{found.save_id}"))


def _said(found: ReviewDetail, outcome: str) -> str:
    if outcome == "drop":
        return "Dropped: nothing was saved." if found.verb not in HELD else "Dropped: nothing was changed."
    if found.verb in HELD:
        return "Done: the memory was changed."
    return {
        "new": "Saved beside the old one." if found.candidate_id else "Approved and saved.",
        "supersede": "Saved; the old one is superseded.",
    }[outcome]


def _undo(found: ReviewDetail, outcome: str, artifact: UUID | None) -> tuple[str, dict[str, str]] | None:
    """The form that takes a decision back: what was saved is forgotten, what it replaced is live again."""
    if outcome == "drop" or artifact is None or found.verb in HELD:
        return None
    fields = {"artifact": str(artifact)}
    if outcome == "supersede" and found.candidate_id and found.candidate_version:
        fields |= {"candidate": str(found.candidate_id), "version": str(found.candidate_version)}
    return f"/decide/{found.save_id}/undo", fields


async def undo(visit: Visit) -> Redirect:
    """Take a decision back: forget what it saved, and put back what it replaced."""
    made = await visit.memory.find_memory(visit.identity("artifact"))
    if made.status == "active":
        await visit.memory.forget(
            made.label, str(made.id), governance_token=await approval(visit, made, "Forget")
        )
    if visit.form.get("candidate"):
        old = await visit.memory.find_memory(visit.identity("candidate"))
        await visit.memory.revert(
            old.label,
            str(old.id),
            whole("version", visit.field("version"), 2**31 - 1),
            governance_token=await approval(visit, old, "Revert"),
        )
    visit.tell(
        "Taken back: the old one is live, the new one is forgotten."
        if visit.form.get("candidate")
        else "Taken back: it is forgotten."
    )
    return Redirect(
        visit.url(f"/memory/{visit.identity('candidate') if visit.form.get('candidate') else made.id}")
    )


# Insights


async def insights(visit: Visit) -> Page:
    """The insights that wait, the surest first, with the memories that they are drawn from."""
    tabs, found = await asyncio.gather(_tabs(visit), visit.memory.surface_insights(25))
    drawn_from = dict.fromkeys(i for insight in found.insights for i in insight.sources[:4])
    sources = {node.id: node for node in await visit.memory.find_memories(list(drawn_from))}
    return Page("insights.html", {**tabs, "insights": found.insights}, {"sources": sources})


async def reflect(visit: Visit) -> Redirect:
    """Look for patterns now."""
    done = await visit.memory.reflect()
    visit.tell(
        f"{done.created} new insights, {done.pending} to judge." if done.created else "Nothing new was seen."
    )
    return Redirect(visit.url("/decide/insights"))


async def judge(visit: Visit) -> Redirect:
    """Approve or dismiss an insight."""
    action = visit.field("action")
    if action not in ("approve", "dismiss"):
        raise InvalidArgument(f"action is approve or dismiss, not {action[:40]!r}.")
    try:
        done = await visit.memory.review_insight(
            str(visit.parts["id"]), cast(Literal["approve", "dismiss"], action)
        )
        said = (
            "Approved: it is a memory now."
            if done.status == "approved"
            else "Dismissed: it does not come back."
        )
        visit.tell(
            said, link=(visit.url(f"/memory/{done.id}"), "Look at it") if done.status == "approved" else None
        )
    except InvalidArgument as error:
        visit.tell(str(error), wrong=True)
    return Redirect(visit.url("/decide/insights"))


# Cards


async def cards(visit: Visit) -> Page:
    """The draft cards with their evidence, newest first; of one branch with `branch`, one alone with `card`."""
    branch, after, one = visit.text("branch"), visit.id("after"), visit.id("card")
    if one is not None:
        node = await visit.memory.find_memory(one)
        drafts = [(node.id, node.project)]
    else:
        listed: list[MemoryEntry] = await visit.memory.list_memories(
            visit.project, labels=["Card"], status="draft", branch=branch, after=after, limit=_CARDS
        )
        drafts = [(entry.id, entry.project) for entry in listed]
    tabs, *found = await asyncio.gather(
        _tabs(visit), *(_card(visit, identity, project) for identity, project in drafts)
    )
    shown = [(project, card) for (_, project), card in zip(drafts, found, strict=True) if card is not None]
    branches = {(project, card.branch) for project, card in shown if card.branch is not None}
    return Page(
        "cards.html",
        {
            **tabs,
            "cards": [{"project": project, "card": card} for project, card in shown],
            "branch": branch,
            "next_after": drafts[-1][0] if len(drafts) == _CARDS else None,
        },
        {"branches": sorted(branches)},
    )


async def _card(visit: Visit, identity: UUID, project: str | None) -> Card | None:
    if project is None:
        return None
    answer = await visit.memory.query_engineering_memory(
        project, "get", record_id=str(identity), detail_level="full"
    )
    return answer.payload.record


async def decide_card(visit: Visit) -> Redirect:
    """Approve, reject or archive a card; the second person learns that it is decided, and by whom."""
    card, action = visit.parts["id"], visit.field("action")
    reason = visit.form.get("reason", "").strip() or None
    memory = visit.memory
    verbs = {"approve": memory.approve_card, "reject": memory.reject_card, "archive": memory.archive_card}
    if action not in verbs:
        raise InvalidArgument(f"action is approve, reject or archive, not {action[:40]!r}.")
    try:
        await verbs[action](card, visit.name, reason)
    except ContractError:
        found = await _card(visit, card, (await visit.memory.find_memory(card)).project)
        if found is None:
            raise
        by = found.approved_by or found.rejected_by or "somebody else"
        visit.tell(
            f"This was decided already: it is {found.status}, by {by}. Nothing was changed.", wrong=True
        )
    else:
        said = {
            "approve": "Approved: agents get this card from now on.",
            "reject": "Rejected: an agent that drafts it again learns that it was.",
            "archive": "Archived: no agent gets it any more.",
        }
        visit.tell(said[action], link=(visit.url(f"/memory/{card}"), "Look at it"))
    return Redirect(visit.url(f"/memory/{card}" if action == "archive" else "/decide/cards"))


async def settle(visit: Visit) -> Redirect:
    """Make the cards of a branch everybody's, where git cannot tell that it is merged."""
    branch, project = visit.field("branch"), visit.field("of")
    done = await visit.memory.settle_branches(project, [{"branch": branch}])
    visit.tell(
        f"{done.shared} {'card' if done.shared == 1 else 'cards'} of {branch}: everybody's from now on."
        if done.shared
        else f"No card is of branch {branch} alone any more.",
        wrong=not done.shared,
    )
    return Redirect(visit.url("/decide/cards"))


# Names


async def names(visit: Visit) -> Page:
    """The names that may be two spellings of one, the most alike first."""
    tabs, found = await asyncio.gather(_tabs(visit), visit.memory.list_near_names(visit.project))
    shown = [(pair, *words.spelled(pair.other_name, pair.name)) for pair in found]
    return Page("names.html", {**tabs, "pairs": found}, {"shown": shown})


async def keep_two(visit: Visit) -> Redirect:
    """Say that two names are two: they are joined as alike, and are not shown again."""
    pair = await visit.memory.list_near_names(visit.project, 100)
    one, other = visit.identity("one"), visit.identity("other")
    found = next((near for near in pair if (near.id, near.other_id) == (one, other)), None)
    if found is None:
        visit.tell("These two do not wait any more: somebody has decided.", wrong=True)
        return Redirect(visit.url("/decide/names"))
    await visit.memory.relate(
        found.label, str(found.id), "SIMILAR_TO", found.other_label, str(found.other_id)
    )
    visit.checks.forget(visit.key)
    visit.tell(f"{found.name} and {found.other_name} are two; they are not shown again.")
    return Redirect(visit.url("/decide/names"))


# What is compared


def _look(found: ReviewDetail) -> dict[str, Any]:
    new = dict(_texts(found.arguments))
    old = dict(words.texts(found.candidate_properties or {}))
    title = next(
        (new.pop(name) for name in ("title", "entity_name", "trigger", "objective", "topic") if name in new),
        "",
    )
    if found.verb == "remember":
        new |= dict(words.texts(cast(dict[str, Any], found.arguments.get("properties") or {})))
        new.pop("properties", None)
        new.pop("relations", None)
    rows = []
    if found.verb in ("forget", "revert"):
        new = {}
    elif title and found.candidate_title:
        rows.append(("title", *words.compared(found.candidate_title, title)))
    for name in dict.fromkeys([*new, *old]):
        if name in _BESIDE:
            continue
        was, now = old.get(name, ""), new.get(name, "")
        if was == found.candidate_title or (found.verb == "remember" and name not in new):
            continue
        if found.verb in ("forget", "revert"):
            now = was
        rows.append((name, *words.compared(was[:20_000], now[:20_000])))
    return {"rows": rows, "choices": _choices(found), "is_held": found.verb in HELD}


def _texts(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, words.plain(value))
        for name, value in words.texts(arguments)
        if name not in (*_NOT_SHOWN, *_BESIDE)
    ]
