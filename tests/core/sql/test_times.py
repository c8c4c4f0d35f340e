"""Times that memories hold: those that every program can read, from year 1 to 9999, in every time zone."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo, available_timezones

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.conftest import Call

UNREADABLE = ("infinity", "-infinity", "0044-03-15 BC", "12000-01-01", "0001-01-01", "9999-12-31T23:59:59Z")
PERIODS: dict[str, dict[str, object]] = {
    "save_session": {"objective": "Close the shop"},
    "save_decision": {"title": "Pay by invoice", "rationale": "Law."},
    "save_pattern": {"trigger": "A build fails", "repeatable_steps": ["Read the log"]},
    "save_context": {"topic": "Shop", "content": "It sells tea."},
    "upsert_entity": {"entity_name": "Till", "fact": "It is green."},
    "remember": {"label": "Concept", "properties": {"name": "Cart"}},
}
Rows = Callable[..., list[DictRow]]


@pytest.fixture(autouse=True)
def shop(call: Call) -> None:
    call("save_session", objective="Open the shop", project_id="shop")


def zones() -> list[str]:
    """The time zones that are farthest from UTC now and were in year 1, and some with odd offsets."""
    farthest = (
        "Pacific/Kiritimati",
        "Etc/GMT+12",
        "Asia/Kathmandu",
        "America/Los_Angeles",
        "Asia/Manila",
        "UTC",
    )
    return [zone for zone in farthest if zone in available_timezones()]


@pytest.mark.parametrize("argument", ["valid_from", "valid_to"])
@pytest.mark.parametrize("verb", PERIODS)
def test_a_period_that_no_program_can_read_is_refused_by_name(
    connection: psycopg.Connection[DictRow], call: Call, verb: str, argument: str
) -> None:
    for zone in zones():
        connection.execute("select set_config('timezone', %s, false)", (zone,))
        for wrong in UNREADABLE:
            try:
                row = call(verb, project_id="shop", **PERIODS[verb], **{argument: wrong})
                said = str(row["message"]) if row["status"] == "failed" else "nothing"
            except psycopg.Error as error:
                assert error.sqlstate == "PM001", (wrong, error)
                said = str(error.diag.message_primary)
            assert said.count(argument) >= 1, (zone, wrong, said)
            assert "moment" not in said
    found = connection.execute(
        "select title from pgmem.node where label not in ('GlobalScope', 'Project')"
    ).fetchall()
    assert [row["title"] for row in found] == ["Open the shop"]


@pytest.mark.parametrize("zone", zones())
def test_the_first_and_the_last_time_are_read_in_every_time_zone(
    connection: psycopg.Connection[DictRow], call: Call, zone: str
) -> None:
    """A time of the last day of 9999 in UTC is one of year 10000 east of it."""
    connection.execute("select set_config('timezone', %s, false)", (zone,))
    first, last = "0001-01-02T00:00:00Z", "9999-12-30T23:59:59.999999Z"
    saved = call(
        "save_context",
        topic="Shop",
        content="It sells tea.",
        project_id="shop",
        valid_from=first,
        valid_to=last,
    )
    assert saved["status"] == "saved", saved["message"]
    (row,) = connection.execute(
        "select valid_from, valid_to from pgmem.node where label = 'Context'"
    ).fetchall()
    assert (row["valid_from"].astimezone(ZoneInfo("UTC")).isoformat()) == "0001-01-02T00:00:00+00:00"
    assert row["valid_to"].astimezone(ZoneInfo("UTC")).isoformat() == "9999-12-30T23:59:59.999999+00:00"


@pytest.mark.parametrize("name", ["created_at", "updated_at", "valid_from", "valid_to"])
@pytest.mark.parametrize("wrong", UNREADABLE)
def test_an_import_says_which_time_cannot_be_read(call: Call, rows: Rows, name: str, wrong: str) -> None:
    record = {"label": "Concept", "name": "Cart", "properties": {}, name: wrong}
    row = call("import_memories", records=Jsonb([record]), source="mem0", project_id="shop")
    assert (row["outcome"], name in row["reason"]) == ("left out", True), row
    assert rows("select from pgmem.node where label = 'Concept'") == []


@pytest.mark.parametrize("wrong", UNREADABLE)
def test_a_turn_of_no_readable_time_is_refused(call: Call, wrong: str) -> None:
    turn = {"id": "t1", "role": "user", "content": "Good morning", "at": wrong}
    with pytest.raises(psycopg.Error, match=r"\bat\b") as caught:
        call("capture_turns", client="codex", turns=[turn], session_id="s", project_id="shop")
    assert caught.value.sqlstate == "PM001"


def test_tables_hold_only_times_that_programs_read(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    """Whatever way a time takes into a table."""
    call("save_decision", title="Pay by invoice", rationale="Law.", project_id="shop")
    columns = connection.execute(
        "select c.relname as of_table, a.attname as name, t.typname as type from pg_attribute a"
        " join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid"
        " where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'r' and not a.attisdropped and a.attnum > 0"
        " and t.typname in ('moment', 'moment_or_end', 'timestamptz')"
    ).fetchall()
    of_type = {
        kind: {(row["of_table"], row["name"]) for row in columns if row["type"] == kind}
        for kind in ("moment", "moment_or_end", "timestamptz")
    }
    assert of_type["moment_or_end"] == {("node_version", "replaced_at"), ("node_version", "ends_at")}
    assert {table for table, _name in of_type["moment"]} == WRITTEN_BY_CALLERS
    assert {table for table, _name in of_type["timestamptz"]} & WRITTEN_BY_CALLERS == set()
    for wrong in UNREADABLE:
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("update pgmem.node set created_at = %s", (wrong,))


WRITTEN_BY_CALLERS = {
    *("node", "node_version", "edge", "change", "tombstone", "save_attempt", "governance_token", "api_token"),
    *("card_evidence", "card_revision", "card_run", "card_intent", "card_commit", "recall_event"),
}
