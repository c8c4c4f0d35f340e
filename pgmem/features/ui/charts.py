"""Geometry of the charts: numbers in, SVG coordinates out. The markup is in templates/charts.svg."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from math import log10
from zlib import crc32

from pgmem.models import TimelineCount

HUES = 10
"""How many colours the stylesheet has; the last one is grey and stands for "other"."""

_KNOWN = {
    "Decision": 0,
    "EntityFact": 1,
    "Session": 3,
    "Pattern": 4,
    "Context": 7,
    "Insight": 6,
    "Card": 8,
    "Problem": 2,
    "Technology": 5,
    "Person": 6,
    "other": 9,
}
_OTHERS = (5, 2, 6, 8, 1, 3, 4)

TOP, BOTTOM, LEFT, RIGHT = 10, 244, 60, 510


def hue_of(label: str) -> int:
    """The colour of a label (0 to 9): the same one on every page."""
    return _KNOWN.get(label, _OTHERS[crc32(label.encode()) % len(_OTHERS)])


@dataclass(frozen=True, slots=True)
class Tick:
    """A horizontal line of a chart: its value and its y coordinate."""

    value: int
    y: float


@dataclass(frozen=True, slots=True)
class Label:
    """A text below a chart: its x coordinate and its SVG text-anchor."""

    text: str
    x: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A column of a histogram; `low` and `high` bound its values."""

    x: float
    y: float
    width: float
    height: float
    count: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """One label of the timeline: its memories, colour (0 to 9), share of the largest label in percent, and area."""

    label: str
    count: int
    hue: int
    percent: float
    points: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """Stacked areas over time. `only_day` is set when all memories are of one day; then bars say more than areas."""

    series: list[Series]
    ticks: list[Tick]
    labels: list[Label]
    only_day: date | None


def ticks_to(most: int) -> list[Tick]:
    """The lines of an axis from 0 to a round number of at least `most`."""
    end = _round_up(most)
    return [Tick(value, _y(value, end)) for value in sorted({0, end // 2, end})]


def histogram(counts: Sequence[int]) -> list[Bar]:
    """One column per count; the columns divide the values from 0 to 1 evenly."""
    end = _round_up(max(counts, default=0))
    step = (RIGHT - LEFT) / max(len(counts), 1)
    return [
        Bar(
            x=LEFT + place * step + 2,
            y=_y(count, end),
            width=step - 4,
            height=BOTTOM - _y(count, end),
            count=count,
            low=place / len(counts),
            high=(place + 1) / len(counts),
        )
        for place, count in enumerate(counts)
    ]


def timeline(rows: Sequence[TimelineCount], today: date) -> Timeline:
    """Memories by label over time, stacked, the largest label at the bottom.

    Args:
        rows: of `memory_health`.
        today: where the time axis ends.
    """
    new = _by_label(rows)
    days = sorted({day for counts in new.values() for day in counts})
    if not days:
        return Timeline([], [], [], None)
    totals = {label: sum(counts.values()) for label, counts in new.items()}
    end = _round_up(sum(totals.values()))
    last = max(today, days[-1])
    edges = [_x(day, days[0], last) for day in days] + [RIGHT]
    base = [0] * len(days)
    series = []
    for label, counts in new.items():
        total, above = 0, []
        for place, day in enumerate(days):
            total += counts[day]
            above.append(base[place] + total)
        percent = 100 * totals[label] / max(totals.values())
        series.append(Series(label, total, hue_of(label), percent, _area(edges, base, above, end)))
        base = above
    ends = [Label(days[0].isoformat(), LEFT, "start"), Label(last.isoformat(), RIGHT, "end")]
    return Timeline(series, ticks_to(sum(totals.values())), ends, days[0] if len(days) == 1 else None)


def _by_label(rows: Sequence[TimelineCount]) -> dict[str, Counter[date]]:
    """New memories per label and date, the largest label first; labels beyond the colours become "other"."""
    found: dict[str, Counter[date]] = {}
    for row in rows:
        found.setdefault(row.label, Counter())[row.at] += row.count
    labels = sorted(found, key=lambda label: (-found[label].total(), label))
    if len(labels) <= HUES:
        return {label: found[label] for label in labels}
    other = Counter[date]()
    for label in labels[HUES - 1 :]:
        other.update(found[label])
    return {**{label: found[label] for label in labels[: HUES - 1]}, "other": other}


def _area(edges: Sequence[float], below: Sequence[int], above: Sequence[int], end: int) -> str:
    """The points of a polygon with steps, because counts change only from one date to the next."""
    steps = list(pairwise(edges))
    upper = [(x, _y(value, end)) for pair, value in zip(steps, above, strict=True) for x in pair]
    lower = [(x, _y(value, end)) for pair, value in zip(steps, below, strict=True) for x in pair]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in [*upper, *reversed(lower)])


def _x(day: date, first: date, last: date) -> float:
    return LEFT + (RIGHT - LEFT) * (day - first).days / ((last - first).days + 1)


def _y(value: float, end: int) -> float:
    return BOTTOM - (BOTTOM - TOP) * value / end


def _round_up(count: int) -> int:
    """The end of an axis: a round number of at least `count` that can be halved."""
    if count <= 2:
        return 2
    unit = 10 ** int(log10(count))
    return next(int(factor * unit) for factor in (1, 2, 4, 6, 8, 10) if factor * unit >= count)
