"""Rules beside each other, and the balance: the cost of the memory and its results."""

from __future__ import annotations

from pgmem.features.ui import as_sql
from pgmem.features.ui.visit import Page, Visit

_DAYS = 30


async def rules(visit: Visit) -> Page:
    """The rules that are to be followed always, with those that contradict each other or say the same."""
    found = await visit.memory.list_standing(visit.project, limit=200)
    pairs = {
        (word, *sorted((str(one.id), str(other.id)))): (word, one, other)
        for one in found
        for word, others in (("against", one.against), ("copy", one.copies))
        for other in others
    }
    return Page("rules.html", {"rules": found}, {"pairs": list(pairs.values()), "sql": as_sql.rules(visit)})


async def balance(visit: Visit) -> Page:
    """The sums of the last days, and the trial by a coin."""
    days = visit.count("days", _DAYS, 3650)
    found = await visit.memory.sum_balance(visit.project, days)
    return Page("balance.html", {"balance": found}, {"sql": as_sql.balance(visit)})
