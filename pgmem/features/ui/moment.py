"""Time: the truth of one day as it was known on another; sliders, the list, the counts and the lines."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from pgmem.features.ui import as_sql, drawing
from pgmem.features.ui.charts import hue_of
from pgmem.features.ui.visit import Page, Visit
from pgmem.models import MemoryCounts

_LINES = 16
_STEPS = 240


async def moment(visit: Visit) -> Page:
    """The memories that were true at `t`, as they were on record at `k`."""
    true_on, known_on = visit.moment("t"), visit.moment("k")
    present = await visit.checks.counts(visit.memory, visit.key)
    limit = visit.count("limit", 25, 200)
    is_now = true_on is None and known_on is None
    counts, listed, entries = await asyncio.gather(
        visit.checks.counts(visit.memory, visit.key)
        if is_now
        else visit.memory.count_memories(visit.project, true_on, known_on),
        visit.memory.list_memories(
            visit.project, labels=visit.texts("labels"), as_of=true_on, known_at=known_on, limit=limit
        ),
        visit.memory.list_lines(visit.project, _LINES),
    )
    lines = [list(line) for _, line in groupby(entries, key=lambda entry: entry.line)]
    first, last, _step = _range(present, entries)
    data = {
        "true_on": true_on,
        "known_on": known_on,
        "total": counts.total,
        "labels": counts.labels,
        "now_total": present.total,
        "memories": listed,
        "lines": lines,
    }
    look = {
        **sliders(present, true_on, known_on, entries),
        "drawn": drawing.lines(lines, None, first, last),
        "at": _at(true_on, first, last),
        "hues": {label: hue_of(label) for label in counts.labels},
        "most": max(counts.labels.values(), default=1),
        "sql": as_sql.at(visit),
    }
    return Page("time.html", data, look)


def sliders(
    present: MemoryCounts,
    true_on: datetime | None,
    known_on: datetime | None,
    entries: Sequence[drawing.Entry] = (),
) -> dict[str, Any]:
    """The ends, steps and values of the two sliders, in seconds since 1970; they begin before the first of entries."""
    first, last, step = _range(present, entries)
    low = int(first.timestamp())
    # A whole number of steps, so that the right end of a slider is now.
    ends = low + -(-(int(last.timestamp()) - low) // step) * step
    return {
        "low": low,
        "high": ends,
        "step": step,
        "true_on": true_on,
        "known_on": known_on,
        "true_value": min(ends, int(true_on.timestamp())) if true_on else ends,
        "known_value": min(ends, int(known_on.timestamp())) if known_on else ends,
        "fine": (last - first) < timedelta(days=3),
    }


def _range(present: MemoryCounts, entries: Sequence[drawing.Entry]) -> tuple[datetime, datetime, int]:
    """The first and last time of the sliders, and the seconds of a step."""
    now = datetime.now(UTC)
    first = min([present.first_at or now, now - timedelta(minutes=10), *map(drawing.begun, entries)])
    span = (now - first).total_seconds()
    step = next((size for size in (60, 600, 3600, 21600, 86400) if span / size <= _STEPS * 2), 86400)
    return first - timedelta(seconds=step), now, step


def _at(moment: datetime | None, first: datetime, last: datetime) -> float | None:
    """The place of a time on the axis, 0 to 100; None before it begins."""
    if moment is None or moment < first:
        return None
    return min(100.0, 100 * (moment - first).total_seconds() / (last - first).total_seconds())
