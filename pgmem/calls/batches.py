"""Batches: verbs that do a limited batch in each call, called until nothing is left.

Each batch is a transaction: an interrupted run keeps the batches that it finished.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from pgmem.calls.caller import Caller
from pgmem.models import Decay, Expiry

__all__ = ["decay_scores", "forget_by_ttl", "until_none_is_left"]


class Batch(Protocol):
    """The answer of one call."""

    @property
    def remaining(self) -> int:
        """The rows that are left for the next calls."""


B = TypeVar("B", bound=Batch)


async def decay_scores(
    caller: Caller, params: dict[str, Any], progress: Callable[[int, int], None] | None = None
) -> Decay:
    """Archive batch by batch; `progress` is called with how many are archived and how many remain."""
    done = await until_none_is_left(
        caller, "decay_scores", Decay, params, lambda batch: batch.archived, progress
    )
    archived = sum(batch.archived for batch in done)
    return Decay(affected=done[0].affected, archived=archived, remaining=done[-1].remaining)


async def forget_by_ttl(
    caller: Caller, params: dict[str, Any], progress: Callable[[int, int], None] | None = None
) -> Expiry:
    """Forget batch by batch; `progress` is called with how many are forgotten and how many remain."""
    done = await until_none_is_left(
        caller, "forget_by_ttl", Expiry, params, lambda batch: batch.affected, progress
    )
    return Expiry(affected=sum(batch.affected for batch in done), remaining=done[-1].remaining)


async def until_none_is_left(
    caller: Caller,
    verb: str,
    cls: type[B],
    params: dict[str, Any],
    size: Callable[[B], int],
    progress: Callable[[int, int], None] | None = None,
) -> list[B]:
    """Call a verb until nothing remains, or until a call did nothing; returns the answer of each call."""
    done: list[B] = []
    while not done or (not params["dry_run"] and size(done[-1]) and done[-1].remaining):
        done.append(await caller.one(verb, cls, params))
        if progress is not None:
            progress(sum(map(size, done)), done[-1].remaining)
    return done
