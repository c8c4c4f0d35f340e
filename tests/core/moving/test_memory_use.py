"""However large the store, an export and an import take memory for a page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow

from tests.conftest import Call, stores_of
from tests.core.moving.conftest import NewStore

PEAK = """
import resource, sys
from pgmem.__main__ import main
sys.argv = ["pgmem", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""
FILL = """
  insert into pgmem.node (label, title, props, scope, project, project_seq, source, trust_level, scope_key, tsv, text_length,
    created_at, updated_at, recorded_at)
  select 'Context', 'note ' || i, jsonb_build_object('content', repeat('word ' || i || ' ', {})), 'project', p.key, p.seq, 'sdk',
    0.8, pgmem.scope_key(p.tenant, p.seq::text, 'Context'), to_tsvector('english', 'word ' || i), 2, now(), now(), now()
  from pgmem.node p cross join generate_series(1, {}) i where p.label = 'Project' order by i
"""


def peak_mb(dsn: str, folder: Path, *arguments: str) -> float:
    """The most memory that a command in a separate process held."""
    variables = {**os.environ, "PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(folder), "EMBEDDING_PROVIDER": "none"}
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *arguments], env=variables, capture_output=True, text=True, check=True
    )
    return int(done.stderr.splitlines()[-1]) / 1024


def moved(
    connection: psycopg.Connection[DictRow],
    call: Call,
    new_store: NewStore,
    folder: Path,
    sizes: tuple[int, int],
    words: int,
) -> list[tuple[float, float]]:
    """Megabytes of an export and of an import, of a small store and of a large one."""
    call("save_session", objective="open", project_id="shop")
    dsn = make_conninfo(connection.info.dsn, password=connection.info.password or None)
    (store, *_), found, held = stores_of(dsn), [], 0
    for size in sizes:
        connection.execute(FILL.format(words, size - held).encode())
        held = size
        file = folder / f"{size}.jsonl"
        out = peak_mb(store, folder, "export", str(file))
        back = peak_mb(new_store(), folder, "import", str(file))
        found.append((out, back))
    return found


@pytest.mark.usefixtures("dsn")
@pytest.mark.long
def test_five_times_the_memories_take_no_more_memory(
    connection: psycopg.Connection[DictRow], call: Call, new_store: NewStore, tmp_path: Path
) -> None:
    (small_out, small_in), (large_out, large_in) = moved(
        connection, call, new_store, tmp_path, (200, 1000), 450
    )
    assert (tmp_path / "1000.jsonl").stat().st_size > 4_000_000
    assert large_out < small_out + 3
    assert large_in < small_in + 3


@pytest.mark.long
@pytest.mark.usefixtures("dsn")
def test_a_hundred_thousand_memories_take_no_more_memory_than_a_thousand(
    connection: psycopg.Connection[DictRow], call: Call, new_store: NewStore, tmp_path: Path
) -> None:
    (small_out, small_in), (large_out, large_in) = moved(
        connection, call, new_store, tmp_path, (1000, 100_000), 60
    )
    print(f"\nexport {small_out:.0f} and {large_out:.0f} MB, import {small_in:.0f} and {large_in:.0f} MB")
    assert large_out < small_out + 5
    assert large_in < small_in + 5
