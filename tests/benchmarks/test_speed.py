"""The benchmark of speed measures, and prints and writes the figures; its bars are for a quiet machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks.conftest import Benchmark
from tests.waiting import until

PAIRED = {
    "save_decision / one-row INSERT": 2,
    "save_decision / itself at 20": 1,
    "retrieve_context / SELECT of 25 rows": 2,
    "retrieve_context / itself at 20": 1,
    "retrieve_context, one of 5 tenants / alone in the store": 1,
    "search_memory, one of 5 tenants / alone in the store": 1,
    "search_memory, hybrid / bare HNSW + text arm": 1,
    "search_memory, hybrid / bare HNSW top 20": 1,
    "save_decision with its vector / without": 1,
    "get_relevant_memory, 5 paths / itself in 100 cards": 1,
    "neighbours, 2 hops / recursive CTE": 1,
}


@pytest.mark.long
@pytest.mark.usefixtures("vectors")
def test_the_speed_benchmark_writes_every_figure_beside_its_floor(
    benchmark: Benchmark, server: str, tmp_path: Path
) -> None:
    file = tmp_path / "speed.json"
    done = benchmark(
        *("speed", "--quick", "--size", "20", "--size", "60", "--dsn", server, "--json", str(file))
    )
    assert done.exit_code == 0
    assert "save_decision / one-row INSERT" in done.stdout
    report = json.loads(file.read_text(encoding="utf-8"))
    assert report["bench"] == "speed"
    assert report["tier"]
    rows = report["rows"]
    named = [row["name"] for row in rows]
    assert {name: named.count(name) for name in PAIRED} == PAIRED
    shares = [row for row in rows if row["share"] is not None]
    assert len(shares) == 2
    assert all(row["share"] >= 0.95 for row in shares)
    for row in (row for row in rows if row not in shares):
        assert 0 < row["p50_ms"] <= row["p95_ms"]
        assert (row["ratio"] is None) == (row["floor_p50_ms"] is None)
        if row["ratio"] is not None:
            assert abs(row["ratio"] - row["p50_ms"] / row["floor_p50_ms"]) < 0.02
        assert (row["met"] is None) == (row["bar"] is None)
    assert [row["n"] for row in rows if row["name"] == "save_decision / one-row INSERT"] == [20, 60]
    bulk = [row for row in rows if row["rate_per_s"] is not None]
    assert [row["n"] for row in bulk] == [200, 200, 200]
    assert sum("first answer" in name for name in named) == 2
    assert "decay_scores, a batch of 20 archived" in named


def test_the_speed_benchmark_leaves_no_database_behind(server: str) -> None:
    import psycopg

    # One that is in use belongs to a test beside this one, on the same server.
    unused = (
        "select datname from pg_database d where datname like 'pgmem_bench_%'"
        " and not exists (select from pg_stat_activity a where a.datname = d.datname)"
    )
    with psycopg.connect(server, autocommit=True) as connection:
        until(lambda: connection.execute(unused).fetchall() == [], connection, "databases were left")
