"""A fleet at work: agents over HTTP, a cell whose primary is killed, a standby of the front, cells of a later release."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from typer.testing import CliRunner

from pgmem.cli import app
from pgmem.errors import Busy
from pgmem.features.cells import mover
from pgmem.features.cells.directory import Directory
from tests.conftest import caller
from tests.features.cells import fleet as fleets
from tests.features.cells.fleet import Fleet, Server, act, as_server, replica_of
from tests.features.cells.running import open_folder, started
from tests.features.cells.writers import Writers
from tests.serving import Agent, serving
from tests.waiting import until


def name() -> str:
    return f"f{uuid4().hex[:10]}"


@pytest.mark.anyio
async def test_agents_of_two_cells_work_over_http_while_one_organisation_moves(
    fleet: Fleet, tmp_path: Path
) -> None:
    orgs = {number: fleet.org_in(number, name()) for number in (0, 1)}
    with fleet.session() as connection:
        tokens = {number: str(caller(connection)("issue_token", org_id=org, user_id="ana")["token"]) for number, org in orgs.items()}  # fmt: skip
    async with serving(fleet.dsn, tmp_path) as address:
        agents = {number: Agent(address, token) for number, token in tokens.items()}
        for number, agent in agents.items():
            await agent.call("save_session", objective="open", project_id="shop")
            await agent.call(
                "save_decision", title=f"Secret of {number}", rationale="ours", project_id="shop"
            )
        assert (await Agent(address, "pgmem_unknown").post("tools/list")).status_code == 401
        with Directory.open(fleet.dsn) as found:
            assert mover.move(found, orgs[0], found.cell(2), lambda _line: None).phase == "done"
        for number, agent in agents.items():
            hits = (await agent.call("search_memory", query="secret"))["results"]
            assert [hit["title"] for hit in hits] == [f"Secret of {number}"]
            saved = await agent.call("save_context", content="after the move", project_id="shop")
            assert saved["status"] == "saved"
    assert [set(fleet.rows_of(org)) for org in orgs.values()] == [{2}, {1}]


def test_a_cell_whose_primary_is_killed_goes_on_as_its_replica(
    servers: tuple[Server, Server], tmp_path: Path
) -> None:
    """With synchronous replication nothing that was acknowledged is lost; later saves wait in outboxes."""
    front, _ = servers
    with open_folder("failover") as folder:
        primary = Server(folder / "primary", fleets.wheel_programs())
        try:
            primary.start()
            fleets.template(primary)
            with (
                fleets.fleet(front, [primary], f"failing_{uuid4().hex[:8]}", 1) as fleet,
                replica_of(primary) as replica,
            ):
                with psycopg.connect(primary.dsn("postgres"), autocommit=True) as admin:
                    admin.execute("alter system set synchronous_standby_names = '*'")
                    admin.execute("select pg_reload_conf()")
                    synchronous = "select sync_state = 'sync' from pg_stat_replication"
                    until(
                        lambda: admin.execute(synchronous.encode()).fetchone() == (True,),
                        admin,
                        "not synchronous",
                    )
                org = name()
                started(fleet, org)
                writers = Writers(fleet, org, tmp_path, 60)
                os.kill(primary.pid, signal.SIGKILL)
                as_server([replica.programs / "pg_ctl", "-D", replica.folder, "-w", "promote"])
                with psycopg.connect(replica.dsn("postgres"), autocommit=True) as admin:
                    admin.execute("alter system set synchronous_standby_names = ''")
                    admin.execute("select pg_reload_conf()")
                database = f"{fleet.name}_0"
                with Directory.open(fleet.dsn) as found:
                    found.fail_over(found.cell(0), replica.dsn(database, None), replica.dsn(database))
                fleet.servers = [replica]
                writers.check()
                (primary.folder / "postmaster.pid").unlink()
        finally:
            primary.stop()


def test_a_standby_of_the_front_serves_saves(servers: tuple[Server, Server], fleet: Fleet) -> None:
    org = name()
    with (
        replica_of(servers[0]) as standby,
        psycopg.connect(standby.dsn(fleet.name), autocommit=True, row_factory=dict_row) as connection,
    ):
        assert connection.execute("select pg_is_in_recovery() as it").fetchone() == {"it": True}
        act(connection, org)
        call = caller(connection)
        call("save_session", objective="Open", project_id="shop")
        assert call("save_context", content="By the standby", project_id="shop")["status"] == "saved"
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            call("issue_token", org_id=org)
        with Directory.open(fleet.dsn) as found:  # a move is seen there too
            to = next(number for number in fleet.numbers if number != fleet.home(org))
            mover.move(found, org, found.cell(to), lambda _line: None)
        query = "select cell from front.place where org_id = %s"
        until(lambda: (connection.execute(query.encode(), (org,)).fetchone() or {}).get("cell") == to, connection, "not replicated")  # fmt: skip
        assert call("save_context", content="After the move", project_id="shop")["status"] == "saved"
    assert set(fleet.rows_of(org)) == {to}


def test_an_organisation_is_in_one_cell_though_a_standby_learns_late_of_another_cell(
    servers: tuple[Server, Server],
) -> None:
    """The standby sends who is new by the map from before, until the change has come to it."""
    front, cells = servers
    late = ("recovery_min_apply_delay='700ms'", "hot_standby_feedback=on", "wal_receiver_status_interval=1s")
    with (
        fleets.fleet(front, [cells], f"shared_{uuid4().hex[:8]}", 2) as fleet,
        Directory.open(fleet.dsn) as found,
        replica_of(front, *late) as standby,
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(standby.dsn(fleet.name), autocommit=True, row_factory=dict_row) as connection,
    ):
        found.take_new(found.cell(1), takes=False)
        caught_up = "select count(*) as n from front.slot where cell = 1"
        until(lambda: connection.execute(caught_up.encode()).fetchone() == {"n": 0}, connection, "not replicated")  # fmt: skip
        sharing, orgs = pool.submit(found.take_new, found.cell(1), takes=True), []
        while not sharing.done() or connection.execute(caught_up.encode()).fetchone() == {"n": 0}:
            orgs.append(name())
            act(connection, orgs[-1])
            caller(connection)("save_session", objective="By the standby", project_id="shop")
        sharing.result()
        with fleet.session() as session:
            for org in orgs:
                act(session, org)
                said = caller(session)("save_session", objective="By the front", project_id="shop")
                assert said["status"] == "saved"
        where = []
        for number in fleet.numbers:
            with fleet.cell(number) as cell:
                query = "select distinct org_id from pgmem.node where org_id = any (%s)"
                where.append({row["org_id"] for row in cell.execute(query.encode(), (orgs,))})
        assert where[0] | where[1] == set(orgs)
        assert where[0] & where[1] == set()
        assert where[0] != set()


def test_a_standby_that_does_not_follow_is_named(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    front, cells = servers
    monkeypatch.setattr("pgmem.features.cells.directory._STANDBY_S", 0.5)
    with (
        fleets.fleet(front, [cells], f"behind_{uuid4().hex[:8]}", 2) as fleet,
        Directory.open(fleet.dsn) as found,
        replica_of(front) as standby,
        psycopg.connect(standby.dsn("postgres"), autocommit=True) as behind,
    ):
        behind.execute("select pg_wal_replay_pause()")
        with pytest.raises(Busy, match="A standby of the front does not follow it: walreceiver"):
            found.take_new(found.cell(1), takes=False)
        assert not found.cell(1).takes_new
        behind.execute("select pg_wal_replay_resume()")


def test_a_front_works_with_cells_of_a_later_release(servers: tuple[Server, Server]) -> None:
    """A verb has one more argument, with a default, and one more column."""
    front, cells = servers
    with fleets.fleet(front, [cells], f"later_{uuid4().hex[:8]}", 1) as fleet:
        org = name()
        started(fleet, org)
        with fleet.session(org) as connection:
            before = connection.execute("select * from pgmem.complete_name('project_id', 'sh')").fetchall()
            assert before
            with fleet.cell(0) as cell:
                query = "select pg_get_function_arguments('pgmem.complete_name'::regproc) as given"
                names = cell.execute(query.encode()).fetchone()
                assert names is not None
                cell.execute("alter type pgmem.completed_name add attribute later text")
                cell.execute("alter function pgmem.complete_name rename to complete_name_before")
                columns = list(before[0])
                made = (
                    f"create function pgmem.complete_name({names['given']}, p_later text default null)"
                    " returns setof pgmem.completed_name language sql stable as"
                    f" $$ select {', '.join(repr(str(before[0][column])) for column in columns)}, 'later' $$"
                )
                cell.execute(made.encode())
                cell.execute("grant execute on function pgmem.complete_name to pgmem_reader")
            assert (
                connection.execute("select * from pgmem.complete_name('project_id', 'sh')").fetchall()
                == before[:1]
            )
            with Directory.open(fleet.dsn) as found:
                found.make()
            after = connection.execute(
                "select * from pgmem.complete_name('project_id', 'sh', p_later => 'x')"
            ).fetchone()
            assert after == before[0] | {"later": "later"}
            # An upgrade makes the cell of this release again, and the front after it.
            with fleet.cell(0) as cell:
                cell.execute(
                    "drop function pgmem.complete_name; alter type pgmem.completed_name drop attribute later"
                )
                cell.execute("update pgmem.schema_version set digest = 'another'")
            with pytest.raises(psycopg.errors.UndefinedFunction):
                connection.execute("select * from pgmem.complete_name('project_id', 'sh')")
            done = CliRunner().invoke(app, ["cells", "upgrade", "--front", fleet.dsn, "--json"])
            assert (done.exit_code, '"release"' in done.output) == (0, True), done.output
            assert (
                connection.execute("select * from pgmem.complete_name('project_id', 'sh')").fetchall()
                == before
            )


@pytest.mark.long
def test_a_running_fleet_is_upgraded_while_agents_save(
    servers: tuple[Server, Server], tmp_path: Path, place: Path
) -> None:
    """Cell by cell, then the front: an agent's save is saved or waits in its outbox, and none is lost or doubled."""
    front, cells = servers
    with (
        fleets.fleet(front, [cells], f"upgraded_{uuid4().hex[:8]}", 2, place / "pooler") as fleet,
        ExitStack() as stack,
    ):
        agents = []
        for number in fleet.numbers:
            org = fleet.org_in(number, name())
            started(fleet, org)
            (tmp_path / org).mkdir()
            agents.append(stack.enter_context(Writers(fleet, org, tmp_path / org, 100_000, 2, pause=0.02)))
        for number in fleet.numbers:
            with fleet.cell(number) as cell:  # as a release whose functions are others
                cell.execute("update pgmem.schema_version set digest = 'another', release = '0.0.1'")
        done = CliRunner().invoke(app, ["cells", "upgrade", "--front", fleet.dsn, "--json"])
        assert done.exit_code == 0, done.output
        after = sum(writers.acknowledged() for writers in agents)
        with fleet.session() as connection:
            until(
                lambda: sum(writers.acknowledged() for writers in agents) > after + 20,
                connection,
                "nothing is saved after the upgrade",
            )
            release = connection.execute("select release, digest from pgmem.schema_version").fetchone()
        for writers in agents:
            writers.stop()
            writers.check()
        for number in fleet.numbers:
            with fleet.cell(number) as cell:
                assert cell.execute("select release, digest from pgmem.schema_version").fetchone() == release


class OfStandby(Fleet):
    """A fleet whose clients have the address of the standby."""

    standby = ""

    @property
    def dsn(self) -> str:
        return self.standby


@pytest.mark.long
def test_a_standby_serves_saves_while_its_fleet_is_upgraded(
    servers: tuple[Server, Server], tmp_path: Path
) -> None:
    """It gets the new functions by its log, while calls of the old ones are under way."""
    front, cells = servers
    with (
        fleets.fleet(front, [cells], f"followed_{uuid4().hex[:8]}", 1) as fleet,
        replica_of(front, "hot_standby_feedback=on") as standby,
        fleet.session() as connection,
    ):
        org = name()
        started(fleet, org)
        clients = OfStandby(front, [cells], fleet.name, numbers=[0])
        clients.standby = standby.dsn(fleet.name)
        with Writers(clients, org, tmp_path, 100_000, 3, pause=0.02) as writers:
            for _ in range(3):
                with fleet.cell(0) as cell:
                    cell.execute("update pgmem.schema_version set digest = 'another', release = '0.0.1'")
                done = CliRunner().invoke(app, ["cells", "upgrade", "--front", fleet.dsn, "--json"])
                assert done.exit_code == 0, done.output
                after = writers.acknowledged()
                until(lambda after=after: writers.acknowledged() > after + 20, connection, "nothing is saved")  # type: ignore[misc]
            writers.stop()
            writers.check()
