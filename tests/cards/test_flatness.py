"""The cost of reading a scope does not grow with the number of cards of the project."""

from __future__ import annotations

from time import perf_counter

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call

SCOPE = [f"src/part{number}/file{number}.py" for number in (1, 2, 3, 5, 8)]

# Cards of one project, as many as wanted, one a file. Made in bulk: triggers that only count would take minutes.
FILL = """
set session_replication_role = replica;
with place as (
  select n as project from pgmem.node n where n.label = 'Project' and n.key = 'shop'
), made as (
  insert into pgmem.node (label, title, props, status, scope, project, project_seq, org_id, user_id, source,
    trust_level, scope_key, created_at, updated_at, recorded_at)
  select 'Card', 'Card ' || i, jsonb_build_object('record_type', 'module_role', 'confidence', 'supported',
      'origin', 'system', 'path', format('src/part%%s/file%%s.py', i %% 500, i),
      'statement', 'Fact ' || i), 'active', 'project', 'shop', (project).seq, '', '', 'cli', 1.0,
    pgmem.scope_key(e'\\x1f', (project).seq::text, 'Card'), now(), now(), now()
  from place, generate_series(%(first)s::integer, %(last)s::integer) as i
  returning seq, scope_key, props ->> 'path' as path
)
insert into pgmem.card_subject (node_seq, scope_key, kind, key, relation, match, status, weight)
select seq, scope_key, kind, key, 'about', match, 'active', 0.2
from made cross join lateral (values ('path', path, path), ('module', path, pgmem.module_match(path))) as s(kind, key, match);
set session_replication_role = origin;
analyze pgmem.card_subject, pgmem.node;
"""


def fill(connection: psycopg.Connection[DictRow], first: int, last: int) -> None:
    """Cards number first to last of the project shop."""
    for statement in FILL.split(";\n"):
        connection.execute(
            statement.encode(), {"first": first, "last": last} if "%(first)" in statement else None
        )


def best_of(call: Call, times: int = 15) -> float:
    """The least time of a read: what it costs when nothing else gets in its way."""
    least = 1e9
    for _ in range(times):
        begun = perf_counter()
        found = call("get_relevant_memory", project_id="shop", scope=SCOPE)
        least = min(least, perf_counter() - begun)
        assert found["record_count"] == 5
    return least


@pytest.mark.usefixtures("superuser")
def test_a_scope_of_five_paths_costs_the_same_in_a_hundred_times_more_cards(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    call("save_session", objective="o", project_id="shop")
    connection.execute(
        "insert into pgmem.card_state (org_id, user_id, project_seq) select '', '', seq"
        " from pgmem.node where label = 'Project'"
    )
    fill(connection, 1, 1_000)
    few = best_of(call)
    fill(connection, 1_001, 100_000)
    many = best_of(call)
    print(
        f"5 paths: {few * 1000:.1f} ms in 1 000 cards, {many * 1000:.1f} ms in 100 000: {many / few:.2f} times"
    )
    assert many <= 3 * few


@pytest.mark.usefixtures("superuser")
def test_a_scope_is_read_by_its_index_alone(connection: psycopg.Connection[DictRow], call: Call) -> None:
    call("save_session", objective="o", project_id="shop")
    fill(connection, 1, 20_000)
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
