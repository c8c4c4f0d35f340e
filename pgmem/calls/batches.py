"""Batches: verbs that do a limited batch in each call, called until nothing is left.

Each batch is a transaction: an interrupted run keeps the batches that it finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from pgmem.calls.caller import Caller
from pgmem.models import CardVacuum, Decay, Expiry


async def decay_scores(
    caller: Caller, params: dict[str, Any], progress: Callable[[int, int], None] | None = None
) -> Decay:
    """Archive batch by batch; `progress` is called with how many are archived and how many remain."""
    archived, affected = 0, None
    while True:
        done = await caller.one("decay_scores", Decay, params)
        affected = done.affected if affected is None else affected
        archived += done.archived
        if progress is not None:
            progress(archived, done.remaining)
        if params["dry_run"] or done.archived == 0 or done.remaining == 0:
            return Decay(affected=affected, archived=archived, remaining=done.remaining)


async def forget_by_ttl(
    caller: Caller, params: dict[str, Any], progress: Callable[[int, int], None] | None = None
) -> Expiry:
    """Forget batch by batch; `progress` is called with how many are forgotten and how many remain."""
    affected = 0
    while True:
        done = await caller.one("forget_by_ttl", Expiry, params)
        affected += done.affected
        if progress is not None:
            progress(affected, done.remaining)
        if params["dry_run"] or done.affected == 0 or done.remaining == 0:
            return Expiry(affected=affected, remaining=done.remaining)


async def vacuum_cards(caller: Caller, params: dict[str, Any]) -> CardVacuum:
    """Remove cards batch by batch."""
    removed: Counter[str] = Counter()
    receipts = 0
    while True:
        done = await caller.one("vacuum_cards", CardVacuum, params)
        removed.update(done.removed)
        receipts += done.receipts
        if params["dry_run"] or done.remaining == 0:
            return CardVacuum(removed=dict(removed), remaining=done.remaining, receipts=receipts)
