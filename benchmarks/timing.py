"""Figures of the speed benchmark, each with the floor of the same run."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Generic, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRow:
    """One figure. `bar` is the target of its ratio, rate, share or time; `met` is None without a target."""

    name: str
    n: int
    p50_ms: float | None = None
    p95_ms: float | None = None
    floor_p50_ms: float | None = None
    ratio: float | None = None
    rate_per_s: float | None = None
    share: float | None = None
    bar: str | None = None
    met: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Report(Generic[R]):
    """The figures of a run, as `--json` writes them."""

    bench: str
    rows: list[R]


def interleaved(calls: Mapping[str, Callable[[], bool]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each call that returns True, with the calls alternating; ten warm-up rounds are not counted."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    gc.disable()
    try:
        for number in range(-10, rounds):
            for name, call in calls.items():
                began = time.perf_counter()
                counts = call()
                if counts and number >= 0:
                    times[name].append((time.perf_counter() - began) * 1000)
    finally:
        gc.enable()
    return times


def quantile(times: Sequence[float], share: float) -> float:
    """The time below which this share of the times lies."""
    return round(sorted(times)[int(len(times) * share)], 4)


def ratio_row(
    name: str,
    n: int,
    times: Sequence[float],
    floor: Sequence[float],
    at_most: float | None = None,
    at_least: float | None = None,
) -> SpeedRow:
    """A figure with its floor and their ratio, held to `at_most` or `at_least`."""
    ratio = round(quantile(times, 0.5) / quantile(floor, 0.5), 2)
    bar = f"≤ {at_most:g} ×" if at_most is not None else f"≥ {at_least:g} ×" if at_least is not None else None
    met = ratio <= at_most if at_most is not None else ratio >= at_least if at_least is not None else None
    return SpeedRow(
        name=name,
        n=n,
        p50_ms=quantile(times, 0.5),
        p95_ms=quantile(times, 0.95),
        floor_p50_ms=quantile(floor, 0.5),
        ratio=ratio,
        bar=bar,
        met=met,
    )


def time_row(
    name: str,
    n: int,
    times: Sequence[float],
    *,
    p50_ms: float | None = None,
    p95_ms: float | None = None,
    spread: float | None = None,
) -> SpeedRow:
    """A figure without a floor, held to a median, a 95th percentile (milliseconds) or a ratio of the two."""
    p50, p95 = quantile(times, 0.5), quantile(times, 0.95)
    bars = {
        f"≤ {p50_ms} ms": p50_ms is None or p50 <= p50_ms,
        f"p95 ≤ {p95_ms} ms": p95_ms is None or p95 <= p95_ms,
        f"p95 ≤ {spread} × p50": spread is None or p95 <= spread * p50,
    }
    held = {bar: met for bar, met in bars.items() if "None" not in bar}
    return SpeedRow(
        name=name,
        n=n,
        p50_ms=p50,
        p95_ms=p95,
        bar=", ".join(held) or None,
        met=all(held.values()) if held else None,
    )


def share_row(name: str, n: int, shares: Sequence[float], at_least: float) -> SpeedRow:
    """The mean of shares between 0 and 1, such as recall."""
    share = round(fmean(shares), 3)
    return SpeedRow(name=name, n=n, share=share, bar=f"≥ {at_least:g}", met=share >= at_least)
