"""Cells whose clocks differ by a quarter of an hour, and a front between them: order, periods, moves and tokens."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.features.cells import mover
from pgmem.features.cells.directory import Directory
from tests.conftest import Call, caller
from tests.features.cells import fleet as fleets
from tests.features.cells.fleet import Fleet
from tests.features.cells.running import fleet_of_servers, started
from tests.features.cells.writers import Writers

AHEAD, BEHIND = 0, 1
SECONDS = 420


@pytest.fixture(scope="module")
def apart() -> Iterator[Fleet]:
    """Cell 0 is seven minutes ahead of the front, cell 1 seven minutes behind it."""
    if fleets.faketime() is None:
        pytest.skip("no libfaketime: apt install libfaketime")
    with fleet_of_servers("clocks", f"+{SECONDS}", f"-{SECONDS}") as fleet:
        yield fleet


def name() -> str:
    return f"c{uuid4().hex[:10]}"


def move(fleet: Fleet, org: str, to: int) -> None:
    with Directory.open(fleet.dsn) as found:
        mover.move(found, org, found.cell(to), lambda _line: None)


def clock(fleet: Fleet, cell: int) -> datetime:
    with fleet.cell(cell) as connection:
        row = connection.execute("select clock_timestamp() as now").fetchone()
    assert row is not None
    assert isinstance(row["now"], datetime)
    return row["now"]


def test_the_clocks_of_the_cells_are_a_quarter_of_an_hour_apart(apart: Fleet) -> None:
    now = datetime.now(UTC)
    assert abs((clock(apart, AHEAD) - now).total_seconds() - SECONDS) < 30
    assert abs((clock(apart, BEHIND) - now).total_seconds() + SECONDS) < 30


def say(call: Call, number: int) -> None:
    """Say something again, in other words, and something new."""
    for verb, arguments in (
        ("save_session", {"objective": f"Open for day {number}"}),
        ("upsert_entity", {"entity_name": "Till", "fact": f"is at place {number}"}),
        ("save_decision", {"title": "Close the shop at six", "rationale": f"reason {number}"}),
        ("save_context", {"content": f"note {number} of the till"}),
    ):
        said = call(verb, project_id="shop", **arguments)
        assert said["status"] == "saved", said


def heard(connection: psycopg.Connection[DictRow], number: int) -> None:
    """The last fact holds, wherever it was said. Lists by recency go by the times, which the clocks gave."""
    ways = {
        "get_node('EntityFact', 'Till')": f"is at place {number}",
        "get_node('Decision', 'Close the shop at six')": f"reason {number}",
        "search_memory('till note', p_project_id => 'shop')": f"note {number} of the till",
        "retrieve_context('shop', p_topic => 'till')": f"is at place {number}",
    }
    for way, text in ways.items():
        assert text in str(connection.execute(f"select * from pgmem.{way}".encode()).fetchall()), way


def test_what_is_said_last_holds_though_it_was_said_at_an_earlier_time(apart: Fleet) -> None:
    """To and fro between the cells; the periods of states do not overlap, and numbers keep the order of saves."""
    org = apart.org_in(AHEAD, name())
    with apart.session(org) as connection:
        call = caller(connection)
        for number in range(12):
            say(call, number)
            heard(connection, number)
            if number % 2:
                move(apart, org, 1 - apart.home(org))
                heard(connection, number)
        history = connection.execute("select * from pgmem.memory_history('EntityFact', 'Till')").fetchall()
        assert len(history) == 12
        # In the cell that is behind, where the memories of the other are of a time to come.
        assert apart.home(org) == AHEAD
        move(apart, org, BEHIND)
        for verb in ("memory_freshness()", "memory_health('shop')", "run_hygiene('shop')", "decay_scores()", "surface_insights()"):  # fmt: skip
            connection.execute(f"select * from pgmem.{verb}".encode())
    with apart.cell(BEHIND) as cell:
        notes = "select props ->> 'content' as said from pgmem.node where org_id = %s and label = 'Context' order by seq"
        rows = cell.execute(notes.encode(), (org,)).fetchall()
        assert [row["said"] for row in rows] == [f"note {number} of the till" for number in range(12)]
        states = cell.execute(
            "select v.ingested_at as begun, v.replaced_at as ended from pgmem.node_version v"
            " where v.org_id = %s and v.label = 'EntityFact' order by v.version", (org,)
        ).fetchall()  # fmt: skip
        assert len(states) == 11
        assert [row for row in states if row["ended"] < row["begun"]] == []
        assert [pair for pair in pairwise(states) if pair[0]["ended"] > pair[1]["begun"]] == []
        for table in ("node", "node_version"):
            turned = f"select count(*) as n from pgmem.{table} where org_id = %s and valid_to < valid_from"
            assert cell.execute(turned.encode(), (org,)).fetchone() == {"n": 0}
        broken = cell.execute("select coalesce(sum(missing + extra + different), 0)::integer as n from pgmem.check_graph()").fetchone()  # fmt: skip
        assert broken == {"n": 0}


def test_nothing_is_lost_or_doubled_while_an_organisation_moves_between_clocks(
    apart: Fleet, tmp_path: Path
) -> None:
    org = apart.org_in(AHEAD, name())
    with apart.session(org) as connection:
        caller(connection)("save_session", objective="Open", project_id="shop")
    with Writers(apart, org, tmp_path, 100_000, 2, pause=0.02) as writers:
        for to in (BEHIND, AHEAD, BEHIND):
            move(apart, org, to)
        writers.stop()
        writers.check()


def test_a_token_expires_by_the_clock_of_the_cell_of_its_organisation(apart: Fleet) -> None:
    """The front's clock does not count: one cell decides, and the other after a move."""
    org = apart.org_in(AHEAD, name())
    with apart.session() as connection:
        call = caller(connection)
        expires = datetime.now(UTC) + timedelta(seconds=SECONDS / 2)
        with pytest.raises(psycopg.Error, match="past"):
            call("issue_token", org_id=org, user_id="ana", expires_at=expires)
        issued = call(
            "issue_token", org_id=org, user_id="ana", expires_at=clock(apart, AHEAD) + timedelta(seconds=60)
        )
        assert call("verify_token", token=issued["token"])["org_id"] == org
        started(apart, org)
        move(apart, org, BEHIND)
        assert call("verify_token", token=issued["token"])["org_id"] == org
        made = call("issue_token", org_id=org, user_id="ana", expires_at=expires)
        assert call("verify_token", token=made["token"])["org_id"] == org
        move(apart, org, AHEAD)
        assert call("verify_token", token=made["token"]) == {}
