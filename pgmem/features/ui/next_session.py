"""The next session: what the opening of a project would bring now, what it takes, and what is first or left out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pgmem.features.editor import opening
from pgmem.features.ui import as_sql
from pgmem.features.ui.visit import Page, Redirect, Visit, one_of

_PARTS = (
    ("Open items", "open_items"),
    ("Instructions", "standing"),
    ("Conflicts and replacements", "changes"),
    ("The last work", "done"),
    ("Decisions", "decisions"),
    ("Other memories", "others"),
)
_SAID = {
    "first": "It begins the next sessions, before newer ones.",
    "never": "It is left out of openings. Agents still find it, and a prompt about it brings it.",
    "by age": "It has its place by age and use again.",
}


async def next_session(visit: Visit) -> Page:
    """The opening of the chosen project as a hook prints it; without a project, those to choose from."""
    if visit.project is None:
        listed = await visit.memory.list_projects(limit=50)
        return Page("next.html", {"found_projects": listed}, {"sql": as_sql.opening(visit)})
    context, begins = opening.asked(visit.project, None, opening.TOKENS)
    found, begun = await asyncio.gather(
        visit.memory.caller.rows("retrieve_context", context),
        visit.memory.caller.rows("project_opening", begins),
    )
    text, _ = opening.composed(visit.project, found[0], begun[0], opening.TOKENS)
    parts = _parts(text, found[0], begun[0])
    data = {
        "tokens": len(text) // 4,
        "most": opening.TOKENS,
        "text": text,
        "parts": [{"name": name, "rows": rows} for name, rows in parts],
        "left_out": begun[0]["left_out"],
    }
    return Page("next.html", data, {"found_projects": [], "sql": as_sql.opening(visit)})


def _parts(
    text: str, found: Mapping[str, Any], begun: Mapping[str, Any]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Each part with its lines: the memory, the tokens, and whether the line has room."""
    held, lines = opening.parts(found, begun), set(text.split("\n"))
    decided = {str(one["id"]): one for one in begun["decisions"]}
    parts = []
    for name, field in _PARTS:
        rows = []
        for entry in getattr(held, field):
            identity, written = _written(entry, lines)
            rows.append(
                {
                    "id": identity,
                    "text": written.removeprefix("- "),
                    "tokens": len(written) // 4 if written in lines else None,
                    "first": decided[identity]["first"] if field == "decisions" and identity else None,
                }
            )
        if rows:
            parts.append((name, rows))
    return parts


def _written(entry: str | Sequence[str], lines: set[str]) -> tuple[str | None, str]:
    """The id of a line, and the line in the longest form that has room."""
    if isinstance(entry, str):
        return None, entry
    identity, *forms = entry
    return identity, next((form for form in reversed(forms) if form in lines), forms[0])


async def place(visit: Visit) -> Redirect:
    """Put a decision first, leave it out, or let it have its place by age and use."""
    word = one_of("place", visit.field("place"), _SAID)
    identity = visit.identity("memory")
    await visit.memory.place_in_opening(str(identity), None if word == "by age" else word)
    visit.flash(_SAID[word], link=visit.view(identity))
    return Redirect(visit.url("/next"))
