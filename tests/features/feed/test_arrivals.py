"""The page that another store sends: its cost, the order in which it is taken, and how much of it at once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.fixtures.verbs import Rows

Records = list[dict[str, Any]]
STORED = 3_000
READ = """
select relname as table, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as rows
from pg_stat_xact_user_tables where schemaname = 'pgmem'
"""


def id_of(number: int) -> str:
    return str(UUID(int=number << 64, version=4))


def record(number: int, label: str, project_id: str, **fields: Any) -> dict[str, Any]:
    """A memory as a line of an export, in the project `shop`."""
    at = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}+00:00"
    made: dict[str, Any] = {
        "type": "node", "id": id_of(number), "label": label, "scope": "project", "project": "shop",
        "project_id": project_id, "status": "active", "version": 1, "begins_at": at, "created_at": at,
        "updated_at": at, "recorded_at": at, "source": "sdk", "trust_level": 0.5, "initial_confidence": 1,
        "text_config": "english", "org_id": "", "user_id": "",
    }  # fmt: skip
    match label:
        case "Context":
            made |= {"title": f"note {number}", "props": {"content": f"note {number}", "relevance_score": 1}}
        case "Decision":
            made |= {"title": f"Part{number} series{number}", "props": {"rationale": "It fits."}}
        case "EntityFact":
            name = f"Entity {number}"
            made |= {"key": name, "title": name, "props": {"entity_name": name, "fact": f"fact {number}"}}
    return made | fields


@pytest.fixture
def project(rows: Rows, shop: str) -> str:
    """The id of the project."""
    return str(rows("select id from pgmem.node where label = 'Project' and key = %s", shop)[0]["id"])


@pytest.fixture
def sent(connection: psycopg.Connection[DictRow]) -> Any:
    def sent(records: Records, **options: Any) -> list[DictRow]:
        named = "".join(f", p_{name} => %({name})s" for name in options)
        return connection.execute(
            f"select * from pgmem.apply_changes(%(changes)s::jsonb{named})".encode(),
            {"changes": json.dumps(records), **options},
        ).fetchall()

    return sent


def read(rows: Rows) -> Counter[str]:
    """The rows that this transaction has read, by table."""
    return Counter({row["table"]: row["rows"] for row in rows(READ)})


def test_a_memory_that_arrives_reads_few_rows_however_large_the_store_is(
    connection: psycopg.Connection[DictRow], rows: Rows, project: str, sent: Any
) -> None:
    kinds = ("Context", "Context", "Decision", "EntityFact")
    stored = [record(number, kinds[number % 4], project) for number in range(1, STORED + 1)]
    for first in range(0, STORED, 500):
        connection.execute(
            "select pgmem.import_records(%s::jsonb)", (json.dumps(stored[first : first + 500]),)
        )
    new = [record(STORED + number, kinds[number % 4], project) for number in range(1, 41)]
    known = [
        {**each, "updated_at": "2026-02-01T00:00:00+00:00", "recorded_at": "2026-02-01T00:00:00+00:00",
         "version": 2, "props": {**each["props"], "citation": ["the peer"]}}
        for each in stored[:40]
    ]  # fmt: skip
    edges = [{"type": "edge", "src": id_of(number), "rel": "RELATED_TO", "dst": id_of(number + 1)}
             for number in range(1, 41)]  # fmt: skip
    purges = [{"type": "purge", "id": id_of(number), "label": "Context", "trust_level": 1.0,
               "content_hash": "x", "purged_by": "ann", "source": "cli",
               "purged_at": "2026-02-01T00:00:00+00:00"}
              for number in range(1, STORED + 1) if kinds[number % 4] == "Context"][50:90]  # fmt: skip
    for name, records in {"new": new, "known": known, "edges": edges, "purges": purges}.items():
        before = read(rows)
        outcomes = Counter(row["outcome"] for row in sent(records, until="now"))
        after = read(rows)
        assert not outcomes["refused"], name
        assert sum(outcomes.values()) == len(records)
        assert (after - before).total() / len(records) <= 50, (name, after - before)


def test_a_long_page_is_taken_in_part_and_its_cursor_is_kept_with_the_last_part(
    connection: psycopg.Connection[DictRow], project: str, sent: Any
) -> None:
    records = [record(number, "Context", project) for number in range(1, 801)]
    parts = 0
    while records:
        rows = sent(records, peer="0123456789ab", cursor="done")
        assert len(rows) == len(records)
        later = [row["place"] for row in rows if row["outcome"] == "waits"]
        assert {row["outcome"] for row in rows} <= {"taken", "waits"}
        assert len(records) - len(later) >= min(50, len(records))
        kept = connection.execute("select p.pulled from pgmem.peer p").fetchone()
        assert (kept is None) == bool(later)
        records = [records[place - 1] for place in later]
        parts += 1
    stored = connection.execute("select count(*) as n from pgmem.node where label = 'Context'").fetchone()
    assert stored == {"n": 800}


def test_a_page_is_read_once_and_each_memory_of_it_is_written_once(
    connection: psycopg.Connection[DictRow], rows: Rows, project: str, sent: Any
) -> None:
    """A page of 500 was made into records 100 000 times, and each new row was updated when it was there."""
    connection.execute("set local track_functions = 'all'")
    records = [record(number, "Context", project) for number in range(1, 51)]
    assert {row["outcome"] for row in sent(records, peer="0123456789ab", keep=True)} == {"taken"}
    calls = rows("select funcname, calls from pg_stat_xact_user_functions where funcname = any (%s)",
                 ["change_line", "insert_node", "refresh_states"])  # fmt: skip
    counted = {row["funcname"]: row["calls"] for row in calls}
    assert counted.pop("change_line") <= 3 * len(records)
    assert counted == {"insert_node": len(records)}


def test_a_page_of_relations_is_read_by_keys_before_the_tables_have_statistics(
    connection: psycopg.Connection[DictRow], rows: Rows, project: str
) -> None:
    """The relations of a store that had just been filled were joined row by row: 330 took 8 s."""
    connection.execute("analyze pgmem.node")  # while it has a few rows
    stored = [record(number, "Context", project) for number in range(1, 401)]
    connection.execute("select pgmem.import_records(%s::jsonb)", (json.dumps(stored),))
    rows("select pgmem.insert_edge(s.seq, 'RELATED_TO', d.seq) from pgmem.node s join pgmem.node d on d.seq = s.seq + 1"
         " where s.label = 'Context' and d.label = 'Context'")  # fmt: skip
    before = read(rows)
    page = rows("select * from pgmem.export_records('edge', null, 100)")
    assert len(page) == 100
    assert (read(rows) - before).total() <= 5 * len(page)


@pytest.mark.parametrize("memory_first", [True, False])
def test_a_purge_comes_before_the_memory_that_was_saved_after_it_under_the_same_name(
    connection: psycopg.Connection[DictRow], project: str, sent: Any, memory_first: bool
) -> None:
    old = [record(1, "EntityFact", project), record(2, "Decision", project)]
    assert {row["outcome"] for row in sent(old)} == {"taken"}
    again = [{**old[0], "id": id_of(3)}, {**old[1], "id": id_of(4)}]
    purged = [{"type": "purge", "id": each["id"], "label": each["label"], "trust_level": 1.0,
               "content_hash": "x", "purged_by": "ann", "source": "cli",
               "purged_at": "2026-02-01T00:00:00+00:00"} for each in old]  # fmt: skip
    edge = {"type": "edge", "src": id_of(3), "rel": "RELATED_TO", "dst": id_of(4)}
    page = [*again, edge, *purged] if memory_first else [*purged, *again, edge]
    outcomes = Counter(row["outcome"] for row in sent(page))
    assert outcomes == {"purged": 2, "taken": 3}
    held = connection.execute("select id::text from pgmem.node where label <> 'Project' and project = 'shop'"
                              " and label in ('EntityFact', 'Decision') order by id").fetchall()  # fmt: skip
    assert [row["id"] for row in held] == [id_of(3), id_of(4)]
    assert {row["outcome"] for row in sent(page)} == {"present"}
