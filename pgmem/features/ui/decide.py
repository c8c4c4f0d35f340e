"""Decide: reviews side by side, approvals with their exact text, insights, cards, saves that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, cast
from uuid import UUID

from pgmem.errors import ContractError, InvalidArgument, MemoryNotFound, PgmemError
from pgmem.escaping import counted
from pgmem.features.ui import as_sql, words
from pgmem.features.ui.memories import back_to, forgotten, reverted
from pgmem.features.ui.visit import Page, Redirect, Visit, one_of
from pgmem.kinds import TITLES, said
from pgmem.models import Card, Insight, MemoryEntry, OpenSave, Review, ReviewDetail, SaveStatus, WaitingRule

Outcome = Literal["new", "supersede", "drop"]

_CARDS = 12  # drafts of a page; each is one call
_RULES = 50  # of a page
_SAVES = 50  # open saves of a page; each is one call
_BESIDE = (
    *("date", "owner", "confidence", "relevance_score", "last_validated_at"),
    *("project_id", "scope", "focus", "label", "key", "share"),
)
"""Fields listed beside the texts and not compared."""

_JUDGED = {
    "holds": "confirmed; its age counts from now.",
    "gone": "forgotten; its history stays.",
    "dismiss": "not asked again.",
    "approve": "saved as a memory.",
}
"""A person's answer to an insight, and the sentence about it."""

HELD = ("forget", "revert", "remember", "edit_memory")
"""Changes of a memory that wait for a person: made or dropped, never stored beside it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to decide: the outcome, its key, its name, and its effect."""

    outcome: str
    key: str
    name: str
    means: str


def _choices(found: ReviewDetail) -> list[Choice]:
    if found.verb in HELD:
        known = [
            Choice("supersede", "s", "Make the change", "The memory changes as it is shown here."),
            Choice("drop", "k", "Keep it as it is", "Nothing changes; the request is dropped."),
        ]
    elif found.candidate_id is None:
        known = [
            Choice("new", "n", "Approve", "It is saved with exactly this text."),
            Choice("drop", "d", "Drop", "Nothing is saved."),
        ]
    else:
        stored = found.artifact_properties is not None
        known = [
            Choice("drop", "k", "Leave both", "Both are stored and stay as they are.")
            if stored
            else Choice("drop", "k", "Keep the old", "The new one is dropped; the memory stays."),
            Choice(
                "supersede", "s", "Supersede", "The new one replaces the old one, which stays in its history."
            ),
            Choice("new", "n", "Keep both", "Both hold, and do not contradict each other.")
            if stored
            else Choice("new", "n", "Keep both", "The new one is saved beside the old one."),
        ]
    return [choice for choice in known if choice.outcome in found.outcomes]


async def _tabs(visit: Visit) -> dict[str, Any]:
    waiting, near = await asyncio.gather(
        visit.memory.count_waiting(visit.project), visit.checks.near_names(visit.memory, visit.key)
    )
    return {"waiting": waiting, "near_names": near}


async def _beside_a_memory(visit: Visit) -> list[Review]:
    """The saves and changes that resemble or touch a memory, the oldest first."""
    found = await visit.memory.list_reviews(visit.project)
    return [item for item in found if item.candidate_id is not None]


async def reviews(visit: Visit) -> Page:
    """The saves and changes that resemble or touch a memory, the oldest first; the first one is open."""
    tabs, waiting = await asyncio.gather(_tabs(visit), _beside_a_memory(visit))
    first = await visit.memory.get_review(waiting[0].save_id) if waiting else None
    look = {**(_look(first) if first else {}), "sql": as_sql.reviews(visit)}
    return Page("decide.html", {**tabs, "reviews": waiting, "review": first}, look)


async def approvals(visit: Visit) -> Page:
    """Items that wait for a person, with exact texts and tokens: global saves, rules and patterns of agents."""
    tabs, found, given, rules = await asyncio.gather(
        _tabs(visit),
        visit.memory.list_reviews(visit.project),
        visit.memory.list_approvals(),
        visit.memory.list_rules(visit.project, _RULES),
    )
    waiting = [item for item in found if item.candidate_id is None]
    details = await asyncio.gather(*(visit.memory.get_review(item.save_id) for item in waiting[:20]))
    shown = [{"detail": one, "texts": asked(one.arguments), "choices": _choices(one)} for one in details]
    data = {**tabs, "approvals": details, "given": given, "rules": rules}
    return Page(
        "approvals.html",
        data,
        {
            "shown": shown,
            "ruled": [(rule, _ruled(rule)) for rule in rules],
            "sql": as_sql.waiting_rules(visit),
        },
    )


def _ruled(rule: WaitingRule) -> list[tuple[str, str]]:
    """All that a rule says beside its title, by name."""
    return [(name, text) for name, text in asked(said(rule.label, rule.properties)) if text != rule.title]


async def decide_rule(visit: Visit) -> Redirect:
    """Make an agent's rule or pattern, in the version that the person was shown, the person's; or leave it a note."""
    rule, version = visit.identity("rule"), visit.version()
    yes = one_of("answer", visit.field("answer"), ("yes", "no")) == "yes"
    done = await visit.memory.decide_rule(rule, version, yes, visit.name)
    taken = "It is a skill now." if done.label == "Pattern" else "It is your word now: agents follow it."
    begins = (await visit.memory.find_memory(rule)).valid_from
    if begins is not None and begins > datetime.now(UTC):
        taken = f"It is your word now: it begins on {begins:%Y-%m-%d}, and agents follow it then."
    visit.flash(taken if yes else "It stays a note, and is not asked again.", link=visit.view(rule))
    return visit.to("/decide/approvals")


async def saves(visit: Visit) -> Page:
    """The saves that failed or wait, by project, each with its next step."""
    tabs, state = await asyncio.gather(_tabs(visit), _open_saves(visit))
    found = [save for save in state.saves if save.dedup_outcome != "manual_review"][:_SAVES]
    details = await asyncio.gather(*(visit.memory.get_review(save.save_id) for save in found))
    projects = [entry.name for entry in await visit.memory.list_projects()]
    shown = [
        {
            "save": save,
            "title": next(
                (str(one.arguments[n]) for n in TITLES if one.arguments.get(n)), save.verb or "save"
            ),
            "texts": [(n, text) for n, text in asked(one.arguments) if n not in (*TITLES, *_BESIDE)],
            "near": get_close_matches(save.project or "", projects, 1, 0.4),
            "needs_yes": save.status == "blocked_governance" or _needs_yes(save, one.arguments),
        }
        for save, one in zip(found, details, strict=True)
    ]
    return Page(
        "saves.html",
        {**tabs, "saves": found},
        {"shown": shown, "names": projects, "sql": as_sql.saves(visit)},
    )


def _needs_yes(save: OpenSave, arguments: Mapping[str, Any]) -> bool:
    """Whether a save for all projects waits for no more than a token, which a person gives by approving its text."""
    return arguments.get("scope") == "global" and "token" in (save.message or "")


async def _open_saves(visit: Visit) -> SaveStatus:
    try:
        return await visit.memory.get_save_status(visit.project)
    except MemoryNotFound:
        return SaveStatus(status="saved", count=0)


async def review(visit: Visit) -> Page:
    """One review, open or decided."""
    tabs, found, waiting = await asyncio.gather(
        _tabs(visit), visit.memory.get_review(visit.parts["id"]), _beside_a_memory(visit)
    )
    return Page("decide.html", {**tabs, "reviews": waiting, "review": found}, _look(found))


async def resolve(visit: Visit) -> Redirect:
    """Decide one review; a second person is shown the decision and who made it."""
    save_id = visit.parts["id"]
    outcome = visit.field("outcome")
    if outcome not in ("new", "supersede", "drop", "retry", "approve"):
        raise InvalidArgument(f"outcome is new, supersede or drop, not {outcome[:40]!r}.")
    path = "/decide/approvals" if visit.form.get("kind") == "approvals" else "/decide"
    path = "/decide/saves" if visit.form.get("kind") == "saves" else path
    if outcome in ("retry", "approve"):
        token = None
        if outcome == "approve":
            arguments = (await visit.memory.get_review(save_id)).arguments
            preview = "\n".join(text for _, text in asked(arguments))
            token = (await visit.memory.request_global_write_approval(preview)).token
        done = await visit.memory.retry_save(save_id, token, visit.form.get("into") or None)
        if done.status == "saved":
            visit.flash("Saved.", link=visit.view(done.artifact_id) if done.artifact_id else None)
        else:
            visit.flash(f"Not saved. {done.message or done.next_step or ''}".strip(), wrong=True)
        return visit.to(path)
    before = await visit.memory.get_review(save_id)
    if not before.is_open:
        return _second(visit, before)
    candidate = visit.identity("candidate") if visit.form.get("candidate") else None
    version = visit.version() if visit.form.get("version") else None
    try:
        done = await visit.memory.resolve_review(
            save_id, cast(Outcome, outcome), visit.name, candidate, version
        )
    except MemoryNotFound:
        # Another person decided after the read above.
        after = await visit.memory.get_review(save_id)
        if after.is_open:
            raise
        return _second(visit, after)
    if outcome != "drop" and done.status != "saved":
        visit.flash(done.message or "It was not saved.", wrong=True)
        return visit.to(f"/decide/{save_id}")
    undo = _undo(before, outcome, done.artifact_id)
    link = visit.view(done.artifact_id) if done.artifact_id else None
    visit.flash(_said(before, outcome), undo=undo, link=link)
    return visit.to(path)


def _second(visit: Visit, found: ReviewDetail) -> Redirect:
    visit.flash(
        f"Already decided by {found.resolved_by or 'another person'}. Nothing was changed.",
        wrong=True,
    )
    return visit.to(f"/decide/{found.save_id}")


def _said(found: ReviewDetail, outcome: str) -> str:
    if found.artifact_properties is not None:
        return {
            "drop": "Left as they are: both are stored.",
            "new": "Both hold.",
            "supersede": "Decided; the old one is superseded.",
        }[outcome]
    if outcome == "drop":
        return "Dropped. Nothing was saved." if found.verb not in HELD else "Dropped. Nothing was changed."
    if found.verb in HELD:
        return "The memory was changed."
    return {
        "new": "Saved beside the old one." if found.candidate_id else "Approved and saved.",
        "supersede": "Saved; the old one is superseded.",
    }[outcome]


def _undo(found: ReviewDetail, outcome: str, artifact: UUID | None) -> tuple[str, dict[str, str]] | None:
    """The form that undoes a decision: the saved memory is archived, and the replaced one is active again."""
    if outcome == "drop" or artifact is None or found.verb in HELD or found.artifact_properties is not None:
        return None
    fields = {"artifact": str(artifact)}
    if outcome == "supersede" and found.candidate_id and found.candidate_version:
        fields |= {"candidate": str(found.candidate_id), "version": str(found.candidate_version)}
    return f"/decide/{found.save_id}/undo", fields


async def undo(visit: Visit) -> Redirect:
    """Undo a decision: forget the saved memory, and restore the replaced one."""
    made = await visit.memory.find_memory(visit.identity("artifact"))
    if made.status == "active":
        await forgotten(visit, made)
    if not visit.form.get("candidate"):
        visit.flash("Undone. The saved memory is archived.")
        return visit.to(f"/memory/{made.id}")
    old = await visit.memory.find_memory(visit.identity("candidate"))
    await reverted(visit, old, visit.version())
    visit.flash("Undone. The old one is active again; the new one is archived.")
    return visit.to(f"/memory/{old.id}")


# Insights


async def insights(visit: Visit) -> Page:
    """The pending insights, highest confidence first, with their source memories."""
    tabs, found = await asyncio.gather(_tabs(visit), visit.memory.surface_insights(25))
    sources = await visit.nodes(i for insight in found.insights for i in _named(insight))
    named = {insight.id: _named(insight) for insight in found.insights}
    return Page(
        "insights.html",
        {**tabs, "insights": found.insights, "named": named},
        {"sources": sources, "sql": as_sql.insights(visit)},
    )


def _named(insight: Insight) -> list[UUID]:
    """The memories that a page names of an insight: all that an approval would forget."""
    return insight.forgets or insight.sources[:4]


async def reflect(visit: Visit) -> Redirect:
    """Look for patterns now."""
    done = await visit.memory.reflect()
    visit.flash(
        f"{done.created} new insights, {done.pending} pending." if done.created else "No new insights."
    )
    return visit.to("/decide/insights")


async def judge(visit: Visit) -> Redirect:
    """Judge one insight, those that are ticked, or all that are shown."""
    action, _, one = visit.field("action").partition(":")
    one_of("action", action, _JUDGED)
    try:
        wanted = {UUID(one)} if one else set(visit.chosen())
    except ValueError:
        raise InvalidArgument(f"{one[:40]!r} is not the id of an insight.") from None
    found = [i for i in (await visit.memory.surface_insights(100)).insights if i.id in wanted]
    done, wrong = 0, ""
    for insight in found:
        try:
            if visit.field(f"state.{insight.id}") != insight.shown:
                raise InvalidArgument(
                    f"“{insight.title}”, or a memory that it is drawn from, has changed since it was shown: look at "
                    "it, then decide again."
                )
            for source in await visit.memory.find_memories(insight.sources[:1]):
                if action == "holds":
                    await visit.memory.confirm(str(source.id))
                elif action == "gone" and source.status in ("active", "approved"):
                    await forgotten(visit, source)
            await visit.memory.review_insight(
                str(insight.id),
                "approve" if action == "approve" else "dismiss",
                insight.shown,
            )
            done += 1
        except PgmemError as error:
            wrong = str(error)
    if wrong or not found:
        visit.flash(wrong or "These insights are no longer pending; another person decided.", wrong=True)
    if done:
        link = visit.view(found[0].sources[0]) if action == "holds" and done == 1 else None
        visit.flash(f"{counted(done, 'insight')}: {_JUDGED[action]}", link=link)
    return visit.to("/decide/insights")


# Conflicts


async def conflicts(visit: Visit) -> Page:
    """The pairs of memories that contradict each other, side by side, and the replacements that nobody has said."""
    tabs, found, replaced = await asyncio.gather(
        _tabs(visit),
        visit.memory.list_conflicts(visit.project, limit=25),
        visit.memory.list_replacements(visit.project, limit=25),
    )
    pairs = [(pair.id, pair.with_id) for pair in found]
    taken = [(pair.old_id, pair.id) for pair in replaced]
    nodes = await visit.nodes(i for pair in pairs + taken for i in pair)
    shown, replacing = (
        [
            (entry, words.side_by_side(nodes[left], nodes[right]))
            for entry, (left, right) in zip(entries, ids, strict=True)
            if left in nodes and right in nodes
        ]
        for entries, ids in ((found, pairs), (replaced, taken))
    )
    look = {"shown": shown, "replacing": replacing, "nodes": nodes, "sql": as_sql.conflicts(visit)}
    return Page("conflicts.html", {**tabs, "conflicts": found, "replaced": replaced}, look)


async def settle_conflict(visit: Visit) -> Redirect:
    """Decide a conflict or a replacement: the left one holds, the right one, or both."""
    one, other = visit.identity("one"), visit.identity("other")
    holds = one_of("holds", visit.field("holds"), ("left", "right", "both"))
    reason = visit.form.get("reason", "").strip() or None
    before = await visit.nodes((one, other))
    winner = {"left": one, "right": other, "both": None}[holds]
    await visit.memory.settle_conflict(one, other, visit.name, winner, reason)
    undo = None
    loser = before.get(other if holds == "left" else one)
    if loser and winner and all(node.label == "Decision" for node in before.values()):
        undo = back_to(loser.id, loser.version)
    visit.flash(
        "Both hold, and are not compared again." if winner is None else "Done. The other one was replaced.",
        undo=undo,
        link=visit.view(winner or one),
    )
    visit.checks.forget(visit.key)
    return visit.to("/decide/conflicts")


# Cards


async def cards(visit: Visit) -> Page:
    """The draft cards with their evidence, newest first; `branch` and `card` limit them to one."""
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
    """Approve, reject or archive a card; a second person is shown the decision and who made it."""
    card = visit.parts["id"]
    reason = visit.form.get("reason", "").strip() or None
    memory = visit.memory
    verbs: dict[str, Callable[..., Awaitable[object]]] = {
        "approve": partial(memory.approve_card, version=visit.version() if "version" in visit.form else None),
        "reject": memory.reject_card,
        "archive": memory.archive_card,
    }
    action = one_of("action", visit.field("action"), verbs)
    try:
        await verbs[action](card, visit.name, reason)
    except InvalidArgument as error:  # an agent drafted it anew
        visit.flash(str(error), wrong=True)
    except ContractError:
        found = await _card(visit, card, (await visit.memory.find_memory(card)).project)
        if found is None:
            raise
        by = found.approved_by or found.rejected_by or "another person"
        visit.flash(f"Already decided: {found.status} by {by}. Nothing was changed.", wrong=True)
    else:
        said = {
            "approve": "Approved. Agents get this card from now on.",
            "reject": "Rejected. An agent that drafts it again is shown the rejection.",
            "archive": "Archived. Agents no longer get it.",
        }
        visit.flash(said[action], link=visit.view(card))
    return visit.to(f"/memory/{card}" if action == "archive" else "/decide/cards")


async def settle(visit: Visit) -> Redirect:
    """Share the cards of a branch that was merged in a way that git does not show, such as a squash."""
    branch, project = visit.field("branch"), visit.field("of")
    done = await visit.memory.settle_branches(project, [{"branch": branch}])
    visit.flash(
        f"{counted(done.shared, 'card')} of {branch} shared with all branches."
        if done.shared
        else f"No card found that is limited to branch {branch}.",
        wrong=not done.shared,
    )
    return visit.to("/decide/cards")


# Names


async def names(visit: Visit) -> Page:
    """Pairs of names that may be spellings of one name, most similar first."""
    tabs, found = await asyncio.gather(_tabs(visit), visit.memory.list_near_names(visit.project))
    shown = [(pair, *words.spelled(pair.other_name, pair.name)) for pair in found]
    return Page("names.html", {**tabs, "pairs": found}, {"shown": shown, "sql": as_sql.near_names(visit)})


async def keep_two(visit: Visit) -> Redirect:
    """Mark two names as different: they are related by SIMILAR_TO and not shown again."""
    pair = await visit.memory.list_near_names(visit.project, 100)
    one, other = visit.identity("one"), visit.identity("other")
    found = next((near for near in pair if (near.id, near.other_id) == (one, other)), None)
    if found is None:
        visit.flash("This pair is no longer pending; another person decided.", wrong=True)
        return visit.to("/decide/names")
    await visit.memory.relate(
        found.label, str(found.id), "SIMILAR_TO", found.other_label, str(found.other_id)
    )
    visit.checks.forget(visit.key)
    visit.flash(f"{found.name} and {found.other_name} are marked as different and are not shown again.")
    return visit.to("/decide/names")


# The texts compared


def _look(found: ReviewDetail) -> dict[str, Any]:
    """The texts compared, and the other effects; an argument that is not compared is listed."""
    given = dict(found.arguments)
    old = dict(words.texts(found.candidate_properties or {}))
    title = next((str(given.pop(name)) for name in TITLES if given.get(name)), "")
    new: dict[str, str] = {}
    part = found.verb in ("remember", "edit_memory")
    if part:
        sent = cast(dict[str, Any], given.pop("properties", None) or {})
        new = {name: "" for name, value in sent.items() if value is None} | dict(words.texts(sent))
    elif found.verb == "revert":
        new, title = dict(words.texts(found.restored_properties or {})), found.restored_title or ""
    elif found.artifact_properties is not None:  # it is stored: the memory brought in is that one
        new, title = dict(words.texts(found.artifact_properties)), found.artifact_title or ""
        given = {name: value for name, value in given.items() if name not in new}
    elif found.verb != "forget":
        new = {
            name: text for name, text in words.texts(given) if isinstance(found.arguments[name], str | list)
        }
        new = {name: new[name] for name in new if name not in _BESIDE}
        given = {name: value for name, value in given.items() if name not in new}
    rows = []
    if title and found.candidate_title:
        rows.append(("title", *words.compared(found.candidate_title, title)))
    for name in dict.fromkeys([*new, *old]):
        was, now = old.get(name, ""), new.get(name, "")
        kept = part and name not in new
        named = was == found.candidate_title and now in ("", was) and not (part and name in new)
        if (name in _BESIDE and not now and not part) or kept or named:
            continue
        rows.append((name, *words.compared(was, was if found.verb == "forget" else now)))
    return {
        "rows": rows,
        "also": asked(given),
        "choices": _choices(found),
        "is_held": found.verb in HELD,
    }


def asked(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Every argument that a save or a change is carried out with, by name."""
    return [(name, words.plain(value)) for name, value in words.texts(arguments)]
