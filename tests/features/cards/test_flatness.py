"""The cost of reading a scope does not grow with the number of cards of the project."""

from __future__ import annotations

from time import perf_counter

import psycopg
import pytest
from psycopg.rows import DictRow

from benchmarks.cards import SCOPE, fill
from tests.conftest import Call


def best_of(call: Call, times: int = 15) -> float:
    """The least time of a read: its cost when nothing else gets in its way."""
    least = 1e9
    for _ in range(times):
        begun = perf_counter()
        found = call("get_relevant_memory", project_id="shop", scope=SCOPE, detail_level="full")
        least = min(least, perf_counter() - begun)
        assert found["record_count"] == 5
    return least


@pytest.mark.usefixtures("superuser", "dsn")
def test_a_scope_of_five_paths_costs_the_same_in_a_hundred_times_more_cards(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    call("save_session", objective="o", project_id="shop")
    connection.execute(
        "insert into pgmem.card_state (org_id, user_id, project_seq) select '', '', seq"
        " from pgmem.node where label = 'Project'"
    )
    fill(connection, "shop", 1, 300)
    few = best_of(call)
    fill(connection, "shop", 301, 30_000)
    many = best_of(call)
    print(
        f"5 paths: {few * 1000:.1f} ms in 300 cards, {many * 1000:.1f} ms in 30 000: {many / few:.2f} times"
    )
    assert many <= 3 * few


@pytest.mark.usefixtures("superuser", "dsn")
def test_a_scope_is_read_by_its_index_alone(connection: psycopg.Connection[DictRow], call: Call) -> None:
    call("save_session", objective="o", project_id="shop")
    fill(connection, "shop", 1, 20_000)
    row = connection.execute("select seq from pgmem.node where label = 'Project'").fetchone()
    assert row is not None
    call_match = "select * from pgmem.card_match(array[e'\\x1f'], %s, %s, '{}', '{active}')"
    connection.execute(call_match.encode(), (row["seq"], SCOPE)).fetchall()
    connection.execute("select pg_stat_force_next_flush()")
    before = connection.execute(
        "select seq_scan, idx_scan from pg_stat_user_tables where relname = 'card_subject'"
    ).fetchone()
    for _ in range(10):
        connection.execute(call_match.encode(), (row["seq"], SCOPE)).fetchall()
    connection.execute("select pg_stat_force_next_flush()")
    after = connection.execute(
        "select seq_scan, idx_scan from pg_stat_user_tables where relname = 'card_subject'"
    ).fetchone()
    assert before is not None
    assert after is not None
    assert after["seq_scan"] == before["seq_scan"]
    assert after["idx_scan"] > before["idx_scan"]
