"""Reports on the whole memory, made in the background: a page shows the last one and never waits for the next."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pgmem.errors import PgmemError
from pgmem.memory import Memory
from pgmem.models import FreshnessReport, Health, HygieneReport, MemoryCounts

Key = tuple[str, str, str | None]

_MOST = 200  # reports that are kept; the least recent one is dropped first
_PATIENCE_S = 0.05
_FINDINGS = 60
_MANY = 5_000  # memories from which on a page shows a count that is some seconds old
_FRESH_S = 5.0


@dataclass(frozen=True, slots=True)
class Report:
    """The state of the memory when it was last looked at as a whole."""

    health: Health
    hygiene: HygieneReport
    freshness: FreshnessReport
    made_at: datetime


@dataclass(slots=True)
class _Check:
    report: Report | None = None
    task: asyncio.Task[None] | None = None
    trouble: str | None = None


@dataclass(slots=True)
class _Count:
    counts: MemoryCounts
    made_at: float
    task: asyncio.Task[None] | None = None


class Checks:
    """The last report of each tenant and project, and the last count of those that are large."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, _Check] = OrderedDict()
        self._counted: OrderedDict[Key, _Count] = OrderedDict()

    async def counts(self, memory: Memory, key: Key) -> MemoryCounts:
        """Return the counts of the present; of a large memory those of the last look, while another one is made."""
        kept = self._counted.get(key)
        if kept is None or kept.counts.total < _MANY:
            kept = _Count(await memory.count_memories(key[2]), time.monotonic())
            self._counted[key] = kept
            while len(self._counted) > _MOST:
                self._counted.popitem(last=False)
        elif kept.task is None and time.monotonic() - kept.made_at > _FRESH_S:
            kept.task = asyncio.create_task(self._recount(kept, memory, key))
        return kept.counts

    async def _recount(self, kept: _Count, memory: Memory, key: Key) -> None:
        try:
            kept.counts = await memory.count_memories(key[2])
        except PgmemError:
            self._counted.pop(key, None)
        finally:
            kept.made_at, kept.task = time.monotonic(), None

    async def latest(
        self, memory: Memory, key: Key, *, anew: bool = False
    ) -> tuple[Report | None, bool, str | None]:
        """Return the last report, whether another one is being made, and why the last try failed.

        Args:
            memory: acts for the person.
            key: organisation, user and project.
            anew: begin another report, unless one is being made.
        """
        check = self._known.setdefault(key, _Check())
        self._known.move_to_end(key)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        if check.task is None and (anew or (check.report is None and check.trouble is None)):
            check.task = asyncio.create_task(self._make(check, lambda: _report(memory, key[2])))
            await asyncio.wait({check.task}, timeout=_PATIENCE_S)
        return check.report, check.task is not None, check.trouble

    async def _make(self, check: _Check, make: Callable[[], Coroutine[Any, Any, Report]]) -> None:
        try:
            check.report, check.trouble = await make(), None
        except PgmemError as error:
            check.trouble = str(error)
        finally:
            check.task = None

    def forget(self, key: Key) -> None:
        """Drop a report that a repair has made untrue; the next look begins another one."""
        self._known.pop(key, None)

    async def close(self) -> None:
        """Stop the reports that are being made."""
        running = [one.task for one in self._known.values()] + [one.task for one in self._counted.values()]
        tasks = [task for task in running if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _report(memory: Memory, project: str | None) -> Report:
    health = await memory.memory_health(project, limit=12)
    hygiene = await memory.run_hygiene(project, limit=_FINDINGS)
    freshness = await memory.memory_freshness(project, limit=20)
    return Report(health, hygiene, freshness, datetime.now(UTC))
