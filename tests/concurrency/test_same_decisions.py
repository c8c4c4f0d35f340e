"""Many processes that save the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import psycopg

from tests.concurrency.conftest import StartWriter
from tests.concurrency.writer import PROJECT, title
from tests.conftest import Call, is_managed
from tests.fixtures.amounts import amount
from tests.fixtures.fronts import connect

PROCESSES, DECISIONS = amount(6, 16), amount(20, 40)
POOLED = 2  # a pooler gives fewer sessions, as many as there are transactions


def test_processes_that_save_the_same_decisions_make_each_once_and_no_error(
    call: Call, dsn: str, tmp_path: Path, writer: StartWriter
) -> None:
    call("save_session", objective="Agree", project_id=PROJECT)
    environment = {"PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(tmp_path), "PGMEM_POOL_SIZE": "1"}
    writers = [
        writer("same_decisions", str(number * 12), str(DECISIONS), **environment)
        for number in range(PROCESSES)
    ]
    for process in writers:
        process.is_ready()
    with connect(dsn) as connection:  # where the processes are, be it a front
        (sessions,) = connection.execute(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        ).fetchone() or (0,)
    assert sessions >= (POOLED if is_managed() else PROCESSES)
    for process in writers:
        process.go()
    assert [process.finish() for process in writers] == [0] * PROCESSES

    answers = [answer for process in writers for answer in process.answers()]
    assert Counter((a["status"], a["dedup_outcome"]) for a in answers) == {
        ("saved", "new"): DECISIONS,
        ("saved", "duplicate_skip"): DECISIONS * (PROCESSES - 1),
    }
    first = {a["what"]: a["artifact_id"] for a in answers if a["dedup_outcome"] == "new"}
    assert {(a["what"], a["artifact_id"]) for a in answers} == set(first.items())
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "select title, id::text from pgmem.node where label = 'Decision'"
        ).fetchall()
    assert len(rows) == DECISIONS
    assert dict(rows) == first
    assert set(first) == {title(number) for number in range(DECISIONS)}
