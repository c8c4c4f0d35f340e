"""Reports on the whole store, made in the background: a page shows the last one and does not wait for the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pgmem.database.closing import Tasks
from pgmem.database.shares import Recent
from pgmem.errors import PgmemError
from pgmem.features.ui.state import StateLine, state_of
from pgmem.memory import Memory
from pgmem.models import FreshnessReport, Health, HygieneReport, MemoryCounts

if TYPE_CHECKING:
    from pgmem.doctor.database import Finding

Key = tuple[str, str, str | None]
T = TypeVar("T")

_MOST = 200  # reports that are kept; the least recent one is dropped first
_PATIENCE_S = 0.05
_FINDINGS = 60
_MANY = 5_000  # memories from which on a page shows a count that is some seconds old
_FRESH_S = 5.0
_NEAR_S = 30.0


@dataclass(frozen=True, slots=True)
class Report:
    """The memory when it was last looked at as a whole; doctor is None for those who do not keep the store."""

    health: Health
    hygiene: HygieneReport
    freshness: FreshnessReport
    store: list[StateLine]
    doctor: list[Finding] | None
    made_at: datetime


@dataclass(slots=True)
class _Check:
    report: Report | None = None
    task: asyncio.Task[None] | None = None
    trouble: str | None = None


@dataclass(slots=True)
class _Figure(Generic[T]):
    value: T
    made_at: float
    task: asyncio.Task[None] | None = None


_Figures = Recent[Key, _Figure[T]]


class Checks:
    """The last report of each tenant and project, and the last count of those that are large."""

    def __init__(self) -> None:
        self._tasks = Tasks()
        self._known = Recent[Key, _Check](_MOST)
        self._counted: _Figures[MemoryCounts] = Recent(_MOST)
        self._near: _Figures[int] = Recent(_MOST)

    async def counts(self, memory: Memory, key: Key) -> MemoryCounts:
        """Return the counts of the present; of a large memory those of the last look, while another one is made."""
        kept = self._counted.get(key)
        if kept is not None and kept.value.total < _MANY:
            del self._counted[key]
        return await self._last(self._counted, key, lambda: memory.count_memories(key[2]), _FRESH_S)

    async def near_names(self, memory: Memory, key: Key) -> int:
        """Return how many pairs of names may be spellings of one: as of the last look, while another one is made."""
        return await self._last(self._near, key, lambda: _count_near(memory, key[2]), _NEAR_S)

    async def latest(
        self, memory: Memory, key: Key, *, administrator: bool = False, anew: bool = False
    ) -> tuple[Report | None, bool, str | None]:
        """Return the last report, whether another one is being made, and why the last try failed.

        Args:
            memory: acts for the person.
            key: organisation, user and project.
            administrator: include the findings of `pgmem doctor`.
            anew: begin another report, unless one is being made.
        """
        check = self._known[key] = self._known.get(key) or _Check()
        if check.task is None and (anew or (check.report is None and check.trouble is None)):
            check.task = self._tasks.begin(self._make(check, lambda: _report(memory, key[2], administrator)))
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
        """Drop the report that a decision or a repair made outdated; the next view starts another one."""
        self._known.pop(key, None)
        for other in [one for one in self._near if one[:2] == key[:2]]:
            del self._near[other]

    async def _last(
        self, figures: _Figures[T], key: Key, make: Callable[[], Awaitable[T]], lives_s: float
    ) -> T:
        """The figure as it was last made; after its time another one is made, for those who ask later."""
        kept = figures.get(key)
        if kept is None:
            kept = figures[key] = _Figure(await make(), time.monotonic())
        elif kept.task is None and time.monotonic() - kept.made_at > lives_s:
            kept.task = self._tasks.begin(_again(figures, key, kept, make))
        return kept.value

    async def close(self) -> None:
        """Stop the reports that are being made."""
        await self._tasks.end()


async def _again(figures: _Figures[T], key: Key, kept: _Figure[T], make: Callable[[], Awaitable[T]]) -> None:
    try:
        kept.value = await make()
    except PgmemError:
        figures.pop(key, None)
    finally:
        kept.made_at, kept.task = time.monotonic(), None


async def _count_near(memory: Memory, project: str | None) -> int:
    return len(await memory.list_near_names(project, 100))


async def _report(memory: Memory, project: str | None, administrator: bool) -> Report:
    health = await memory.memory_health(project, limit=12)
    hygiene = await memory.run_hygiene(project, limit=_FINDINGS)
    freshness = await memory.memory_freshness(project, limit=20)
    lines = await state_of(memory, administrator=administrator)
    doctor = await memory.examine() if administrator else None
    return Report(health, hygiene, freshness, lines, doctor, datetime.now(UTC))
