"""The views that an analyst reads: every column explained, types that any tool knows, all kinds in one table, days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import Rows

COLUMNS = """
  select c.relname as view, a.attname as column, col_description(c.oid, a.attnum) as comment,
         coalesce(element.typtype, t.typtype) as kind, coalesce(element.typname, t.typname) as type
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  join pg_type t on t.oid = a.atttypid left join pg_type element on element.oid = t.typelem and t.typcategory = 'A'
  where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'v' and c.reloptions @> '{security_invoker=true}'
"""


def test_every_column_of_a_view_is_explained_and_has_a_plain_type(rows: Rows) -> None:
    """Three of 367 columns had comments, and domain types are a risk in BI tools."""
    found = rows(COLUMNS)
    assert len({row["view"] for row in found}) == 21
    assert [f"{row['view']}.{row['column']}" for row in found if not row["comment"]] == []
    assert [f"{row['view']}.{row['column']} {row['type']}" for row in found if row["kind"] != "b"] == []


def test_analysts_cannot_read_the_views_of_the_verbs(rows: Rows) -> None:
    """Internal views are out of the sight of readers, whose tools list the readable ones."""
    hidden = rows(
        "select c.relname from pg_class c where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'v'"
        " and not coalesce(c.reloptions @> '{security_invoker=true}', false)"
        " and exists (select from aclexplode(c.relacl) a where a.grantee <> c.relowner)"
    )
    assert hidden == []
    said = rows(
        "select obj_description(c.oid) as comment, coalesce(c.reloptions @> '{security_invoker=true}', false) as theirs"
        " from pg_class c where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'v'"
    )
    assert [row for row in said if row["comment"].startswith("Internal: ") is row["theirs"]] == []


def test_all_kinds_of_memory_are_in_one_view(call: Call, rows: Rows) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    call("save_decision", title="Sell tea", rationale="People ask", project_id="shop", confidence=0.5)
    call("remember", label="Technology", properties={"name": "Redis", "summary": "A cache"})
    call("forget", label="Decision", key="Sell tea", project_id="shop")
    found = rows(
        "select label, name, title, summary, status, live, project, confidence from pgmem.memory order by label"
    )
    assert [tuple(row.values()) for row in found] == [
        ("Decision", None, "Sell tea", found[0]["summary"], "archived", False, "shop", 0.5),
        ("Session", None, "Open the shop", found[1]["summary"], "active", True, "shop", 1.0),
        ("Technology", "Redis", "Redis", found[2]["summary"], "active", True, None, 1.0),
    ]  # fmt: skip
    assert ("People ask" in found[0]["summary"], "A cache" in found[2]["summary"]) == (True, True)


@pytest.mark.usefixtures("clock")
def test_a_series_by_day_has_no_gaps(call: Call, rows: Rows, connection: psycopg.Connection[DictRow]) -> None:
    for day, title in (("2026-03-01", "Sell tea"), ("2026-03-04", "Paint the gate")):
        connection.execute("select set_config('pgmem.now', %s, false)", (f"{day}T12:00:00+00:00",))
        call("save_session", objective=title, project_id="shop")
        call("upsert_entity", entity_name="Gate", fact=title, project_id="shop")
    found = rows("select * from pgmem.memory_by_day where label = 'EntityFact' order by day")
    assert [(row["day"], row["saved"], row["changed"], row["total"]) for row in found] == [
        (date(2026, 3, 1), 1, 0, 1),
        (date(2026, 3, 2), 0, 0, 1),
        (date(2026, 3, 3), 0, 0, 1),
        (date(2026, 3, 4), 0, 1, 1),
    ]
    sessions = rows("select day, total from pgmem.memory_by_day where label = 'Session' order by day")
    assert [row["total"] for row in sessions] == [1, 1, 1, 2]


def test_what_was_true_on_a_day_is_a_table(call: Call, rows: Rows, clock: Callable[[str], None]) -> None:
    """`retrieve_context` gives one JSON of the newest ten."""
    clock("2026-09-01 10:00+00")
    call("save_session", objective="Open the shop", project_id="shop")
    call("upsert_entity", entity_name="Redis", fact="a cache", project_id="shop")
    clock("2026-09-03 10:00+00")
    call("upsert_entity", entity_name="Redis", fact="a queue", project_id="shop")

    def facts(day: str) -> list[str]:
        found = rows(
            "select properties ->> 'fact' as fact from pgmem.memory_at(%s) where name = 'Redis'", day
        )
        return [row["fact"] for row in found]

    assert facts("2026-08-31") == []
    assert facts("2026-09-01") == facts("2026-09-02") == ["a cache"]
    assert facts("2026-09-03") == ["a queue"]
    changed = rows(
        "select kind, version, at::date::text as day from pgmem.memory_change where title = 'Redis' order by at"
    )
    assert [tuple(row.values()) for row in changed] == [
        ("saved", 1, "2026-09-01"),
        ("changed", 2, "2026-09-03"),
    ]


def test_growth_does_not_count_turns_cards_and_unread_insights(call: Call, rows: Rows) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    call(
        "capture_turns",
        client="codex",
        session_id="s",
        project_id="shop",
        turns=[{"id": "1", "role": "user", "content": "Hello there"}],
    )
    assert [row["label"] for row in rows("select distinct label from pgmem.memory_by_day")] == ["Session"]
