"""Recall of sessions: each answer that brought memories to an agent, and its verdicts."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from pgmem.features.ui import as_sql
from pgmem.features.ui.visit import Page, Redirect, Visit, one_of
from pgmem.models import RecallEntry

_DAYS = 7
_SAID = {
    "used": "Noted: it was right there.",
    "noise": "Noted. What is named noise more often than right, a hook brings only to a question that it answers.",
    "wrong": "Noted as wrong. Save what holds instead, or forget it.",
}


@dataclass(slots=True)
class Got:
    """The memories brought to one session, newest first.

    Attributes:
        session_id: of the conversation or session; None: not known.
        agent: the agent or client.
        answers: those that brought memories.
        named: how often a memory was named, by the word.
        tokens: of all answers.
    """

    session_id: str | None
    agent: str | None
    answers: list[RecallEntry] = field(default_factory=list)
    named: Counter[str] = field(default_factory=Counter)
    tokens: int = 0

    def add(self, entry: RecallEntry) -> None:
        """Count an entry in."""
        self.answers.append(entry)
        self.tokens += entry.tokens or 0
        if entry.tokens is None:
            self.named[entry.act] += 1


async def recalled(visit: Visit) -> Page:
    """The last answers, those of one session together; with `session`, of this one."""
    session, limit = visit.text("session"), visit.count("limit", 80, 500)
    after = visit.read("after", "the number of an entry", int)
    found, sums = await asyncio.gather(
        visit.memory.list_recall(visit.project, session, after, limit=limit),
        visit.memory.sum_recall(visit.project, _DAYS),
    )
    sessions: dict[tuple[str | None, str | None], Got] = {}
    for entry in found:
        key = (entry.session_id, None if entry.session_id else entry.agent_id)
        sessions.setdefault(key, Got(entry.session_id, entry.agent_id)).add(entry)
    earlier = found[-1].seq if len(found) == limit else None
    return Page(
        "recall.html",
        {"recall": found, "next_after": earlier, "sums": sums},
        {"sessions": list(sessions.values()), "session": session, "sql": as_sql.recalled(visit)},
    )


async def mark(visit: Visit) -> Redirect:
    """Say of a memory that was brought whether it helped; the last word of a person counts."""
    verdict = one_of("verdict", visit.field("verdict"), _SAID)
    identity = visit.identity("memory")
    await visit.memory.feedback(str(identity), verdict)  # type: ignore[arg-type]
    visit.flash(_SAID[verdict], link=visit.view(identity))
    session = visit.form.get("session") or None
    return Redirect(visit.url("/recall", session=session) + f"#e{visit.form.get('entry', '')}")
