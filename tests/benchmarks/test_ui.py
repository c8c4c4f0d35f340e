"""The benchmark of the pages runs on real texts' shape and reports every page with its time and weight."""

from __future__ import annotations

import pytest

from benchmarks.ui import BAR_WEIGHT, decisions, run


@pytest.mark.usefixtures("vectors")
def test_every_page_is_measured_and_none_is_heavy(server: str) -> None:
    report = run(server, memories=100, rounds=2)
    pages = {row["page"]: row for row in report["pages"]}
    assert {"home", "ask", "memory", "decide", "time", "graph", "health", "activity", "tenants"} <= set(pages)
    assert all(row["p50_ms"] > 0 for row in report["pages"])
    assert all(row["weight"] <= BAR_WEIGHT for row in report["pages"]), pages


def test_repeated_texts_begin_elsewhere_and_are_never_the_same() -> None:
    made = decisions(["one two three four five six seven eight nine ten eleven twelve"])
    found = [next(made) for _ in range(4)]
    assert len({title for title, _ in found}) > 1
    assert len({body for _, body in found}) == 4
