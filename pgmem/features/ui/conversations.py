"""Conversations: turns of the sessions of clients, which is source text and no memory."""

from __future__ import annotations

from pgmem.features.ui import as_sql
from pgmem.features.ui.visit import Page, Visit

_TURNS = 200


async def conversations(visit: Visit) -> Page:
    """The captured conversations, the last continued first; with `session`, the turns of one in their order."""
    session = visit.text("session")
    limit = visit.count("limit", 40, 200)
    found = await visit.memory.list_conversations(visit.project, session, limit=1 if session else limit)
    data = {"conversations": found}
    if session is None:
        return Page("conversations.html", data, {"turns": [], "sql": as_sql.turns(visit)})
    listed = await visit.memory.list_memories(
        visit.project, labels=["Turn"], session_id=session, after=visit.id("after"), limit=_TURNS
    )
    by_id = await visit.nodes(entry.id for entry in listed)
    turns = [by_id[entry.id] for entry in reversed(listed) if entry.id in by_id]
    earlier = listed[-1].id if len(listed) == _TURNS else None
    return Page(
        "conversations.html", {**data, "turns": turns, "next_after": earlier}, {"sql": as_sql.turns(visit)}
    )
