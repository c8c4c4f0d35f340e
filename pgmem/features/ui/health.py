"""Health: hygiene findings with their repairs, freshness, pending work, the tier, and charts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pgmem.errors import InvalidArgument
from pgmem.features.ui import words
from pgmem.features.ui.charts import histogram, ticks_to, timeline
from pgmem.features.ui.decide import asked
from pgmem.features.ui.memories import back_to
from pgmem.features.ui.visit import Page, Redirect, Visit
from pgmem.models import Finding

_REPAIRS = {
    "merge_entities": ("Merge two names of one entity", ("entity", "into")),
    "supersede": ("Supersede a decision", ("old", "new")),
    "confirm": ("Confirm that a memory holds", ("id",)),
    "forget": ("Forget a memory", ("label", "key")),
    "archive_card": ("Archive a card", ("card_id",)),
    "retry_save": ("Retry a failed save", ("save_id",)),
}
"""The name of each repair, and its arguments."""


async def health(visit: Visit) -> Page:
    """The last report on the whole memory."""
    await visit.memory.get_scope_state(visit.project, None)
    report, busy, trouble = await visit.checks.latest(
        visit.memory, visit.key, administrator=visit.session.person.administrator
    )
    data: dict[str, Any] = {"report": report, "busy": busy, "trouble": trouble}
    if report is None:
        return Page("health.html", data, {"groups": [], "growth": None, "bars": [], "ticks": []})
    state, findings, with_cards = report.health, report.hygiene.findings, visit.text("cards") is not None
    about_cards = [] if with_cards else [one for one in findings if one.label == "Card"]
    look = {
        "growth": timeline(state.timeline, state.checked_at.date()),
        "bars": histogram(state.confidence),
        "ticks": ticks_to(max(state.confidence, default=0)),
        "groups": _groups([one for one in findings if with_cards or one.label != "Card"]),
        "about_cards": len(about_cards),
        "duplicates": report.hygiene.duplicates_found - sum(one.check == "duplicates" for one in about_cards),
        "live": sum(state.memories.values()),
    }
    return Page("health.html", data, look)


def _groups(findings: list[Finding]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for finding in findings:
        key = (finding.check, finding.what)
        group = groups.setdefault(
            key, {"name": finding.check.replace("_", " "), "what": finding.what, "findings": []}
        )
        group["findings"].append({"finding": finding, "repairs": finding.verb in _REPAIRS})
    return list(groups.values())


async def check(visit: Visit) -> Redirect:
    """Look at the whole memory again."""
    await visit.checks.latest(
        visit.memory, visit.key, administrator=visit.session.person.administrator, anew=True
    )
    return visit.to("/health")


# Repairs


def _arguments(verb: str, given: Any) -> dict[str, str]:
    if verb not in _REPAIRS:
        raise InvalidArgument("This finding cannot be repaired on this page; see its text.")
    _, names = _REPAIRS[verb]
    missing = [name for name in names if not (given.get(name) or "").strip()]
    if missing:
        raise InvalidArgument(f"{', '.join(missing)} must not be empty.")
    return {name: given[name].strip() for name in names}


def _turned(arguments: dict[str, str]) -> dict[str, str]:
    """The arguments of a repair with its two memories exchanged."""
    return dict(zip(arguments, reversed(arguments.values()), strict=True))


async def preview(visit: Visit) -> Page:
    """The effect of a repair, before confirmation."""
    verb = visit.text("verb") or ""
    arguments = _arguments(verb, visit.query)
    pair = []
    rows: list[Any] = []
    ids = [
        value for name, value in arguments.items() if name in ("entity", "into", "old", "new", "key", "id")
    ]
    for value in ids:
        try:
            pair.append(await visit.memory.find_memory(UUID(value)))
        except ValueError:
            raise InvalidArgument(f"Invalid id of a memory: {value[:40]!r}.") from None
    texts = []
    if verb == "retry_save":
        texts = asked((await visit.memory.get_review(UUID(arguments["save_id"]))).arguments)
    if len(pair) == 2:
        rows = words.side_by_side(*pair)
    return Page(
        "repair.html",
        {"verb": verb, "arguments": arguments, "memories": pair},
        {
            "what": _REPAIRS[verb][0],
            "rows": rows,
            "texts": texts,
            "turned": _turned(arguments) if len(pair) == 2 else None,
        },
    )


async def repair(visit: Visit) -> Redirect:
    """Do a repair that was previewed."""
    verb = visit.field("verb")
    given = _arguments(verb, visit.form)
    memory, undo = visit.memory, None
    if verb in ("merge_entities", "supersede"):
        if verb == "supersede":
            done = await memory.supersede(given["old"], given["new"], by=visit.name)
        else:
            done = await memory.merge_entities(given["entity"], given["into"], by=visit.name)
        said = f"{done.title}: {done.status}, replaced by {done.into_title}."
        undo = back_to(done.id, done.version - 1)
    elif verb == "confirm":
        said = f"{(await memory.confirm(given['id'])).title}: confirmed."
    elif verb == "forget":
        gone = await memory.forget(given["label"], given["key"])
        said = f"{gone.title} was archived; its history stays."
    elif verb == "archive_card":
        await memory.archive_card(UUID(given["card_id"]), visit.name)
        said = "The card was archived."
    else:
        saved = await memory.retry_save(UUID(given["save_id"]))
        said = f"{saved.status}: {saved.message or saved.next_step or ''}"
    visit.checks.forget(visit.key)
    visit.flash(said, undo=undo)
    return visit.to("/health")
