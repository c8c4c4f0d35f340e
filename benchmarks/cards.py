"""Engineering memory: the time to read a scope in projects with few and with many cards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import psycopg

from benchmarks.databases import PROJECT, Progress, connect_as, filled_database
from benchmarks.timing import SpeedRow, interleaved, ratio_row

SCOPE = [f"src/part{number}/file{number}.py" for number in (1, 2, 3, 5, 8)]

# Inserts the cards of one project, one per file. Triggers are off, because those that count would take minutes.
_FILL = """
set session_replication_role = replica;
with place as (
  select n as project from pgmem.node n where n.label = 'Project' and n.key = %(project)s
), made as (
  insert into pgmem.node (label, title, props, status, scope, project, project_seq, org_id, user_id, source,
    trust_level, scope_key, created_at, updated_at, recorded_at)
  select 'Card', 'Card ' || i, jsonb_build_object('record_type', 'module_role', 'confidence', 'supported',
      'origin', 'system', 'path', format('src/part%%s/file%%s.py', i %% 500, i),
      'statement', 'Fact ' || i), 'active', 'project', %(project)s, (project).seq, '', '', 'cli', 1.0,
    pgmem.scope_key(e'\\x1f', (project).seq::text, 'Card'), now(), now(), now()
  from place, generate_series(%(first)s::integer, %(last)s::integer) as i
  returning seq, scope_key, tenant, props ->> 'path' as path
)
insert into pgmem.card_subject (node_seq, scope_key, tenant, kind, key, relation, match, status, weight)
select seq, scope_key, tenant, kind, key, 'about', match, 'active', 0.2
from made cross join lateral
  (values ('path', path, path), ('module', path, pgmem.module_match(path))) as s(kind, key, match);
set session_replication_role = origin;
analyze pgmem.card_subject, pgmem.node;
"""


def fill(connection: psycopg.Connection[Any], project: str, first: int, last: int) -> None:
    """Insert the cards with the numbers first to last into a project."""
    numbers = {"project": project, "first": first, "last": last}
    for statement in _FILL.split(";\n"):
        connection.execute(statement.encode(), numbers if "%(first)" in statement else None)


def card_rows(server: str, sizes: Sequence[int], rounds: int, progress: Progress) -> list[SpeedRow]:
    """Time get_relevant_memory over five paths in projects of these sizes; the last is compared with the first."""
    with ExitStack() as stack:
        calls = {}
        for size in sizes:
            connection = stack.enter_context(
                connect_as(stack.enter_context(filled_database(server, 10, progress=progress)))
            )
            progress(f"filling {size} cards", 0, 1)
            connection.execute(
                "insert into pgmem.card_state (org_id, user_id, project_seq)"
                " select '', '', seq from pgmem.node where label = 'Project'"
            )
            try:
                fill(connection, PROJECT, 1, size)
            except psycopg.errors.InsufficientPrivilege:  # only a superuser may disable triggers
                return []
            progress(f"filling {size} cards", 1, 1)
            calls[str(size)] = _reader(connection)
        times = interleaved(calls, rounds)
    first, last = str(sizes[0]), str(sizes[-1])
    return [
        ratio_row(
            f"get_relevant_memory, 5 paths / itself in {first} cards", sizes[-1], times[last], times[first], 3
        )
    ]


def _reader(connection: psycopg.Connection[tuple[object, ...]]) -> Callable[[], bool]:
    def read() -> bool:
        connection.execute("select * from pgmem.get_relevant_memory(%s, %s)", (PROJECT, SCOPE)).fetchall()
        return True

    return read
