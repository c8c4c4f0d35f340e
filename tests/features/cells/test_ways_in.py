"""Every way in knows a front: init, export, a caller's transaction, a worker, a timeout, doctor, MCP over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import psycopg
import pytest
import trustme
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from typer.testing import CliRunner

from pgmem import Memory
from pgmem.cli import app
from pgmem.database import wakes
from pgmem.errors import InvalidArgument, UnsuitableDatabase
from pgmem.features.cells.directory import LOGINS, Directory, init
from pgmem.install import schema
from pgmem.models import MemoryScope
from pgmem.settings import Settings
from tests.conftest import caller
from tests.features.cells import fleet as fleets
from tests.features.cells.fleet import Fleet, Server, own_by_server
from tests.features.cells.running import started
from tests.waiting import until


def name() -> str:
    return f"w{uuid4().hex[:10]}"


def run(*words: str, **environment: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words), env=environment)
    return done.exit_code, done.output


def test_init_and_export_say_what_a_front_is(fleet: Fleet, tmp_path: Path) -> None:
    code, said = run("init", "--dsn", fleet.dsn)
    assert (code, "pgmem cells upgrade" in said) == (1, True), said
    out = str(tmp_path / "all.jsonl")
    code, said = run("export", out, "--dsn", fleet.dsn, "--data-dir", str(tmp_path))
    assert (code, "pgmem cells where" in said) == (1, True), said
    with fleet.session() as connection:
        assert connection.execute("select to_regclass('pgmem.node') as node").fetchone() == {"node": None}


def test_status_names_the_cell_whose_server_it_shows(fleet: Fleet, org: str, tmp_path: Path) -> None:
    started(fleet, org)
    code, said = run("status", "--dsn", fleet.dsn, "--data-dir", str(tmp_path), DEFAULT_ORG_ID=org)
    assert (code, "a front, and the cell of this organisation, PostgreSQL" in " ".join(said.split())) == (
        0,
        True,
    ), said


def test_a_login_is_bound_and_listed_at_a_front(fleet: Fleet, org: str) -> None:
    """A cell knows no login of the front; and one whose tenant has saved nothing yet is listed too."""
    login, other = f"analyst_{name()}", name()
    started(fleet, org)
    with fleet.session() as connection:
        connection.execute(f"create role {login} login; grant pgmem_writer to {login}".encode())
    for each in (org, other):
        code, said = run("tenancy", "bind", login, "--org", each, "--user", "ana", "--dsn", fleet.dsn)
        assert (code, said) == (0, f"{login} is {each}/ana.\n")
        code, said = run("tenancy", "list", "--json", "--dsn", fleet.dsn)
        assert [row["roles"] for row in json.loads(said) if row["org_id"] == each] == [[login]]
    with fleet.session() as connection:
        row = connection.execute("select unlimited from pgmem.bind_role(%s, %s)", (login, org)).fetchone()
        assert row is not None
        assert "temp_file_limit" in row["unlimited"]
    assert run("tenancy", "bind", login, "--dsn", fleet.dsn) == (
        0,
        f"{login} is no longer bound to a tenant.\n",
    )
    with fleet.session() as connection:
        connection.execute(f"drop role {login}".encode())


@pytest.mark.anyio
async def test_a_save_in_the_callers_transaction_is_refused_at_a_front(fleet: Fleet) -> None:
    org = name()
    started(fleet, org)
    async with await AsyncConnection.connect(fleet.dsn, row_factory=dict_row) as connection:
        memory = Memory.on(connection, MemoryScope(org_id=org, user_id="ana"))
        with pytest.raises(UnsuitableDatabase, match="committed by its cell"):
            await memory.remember("Concept", {"name": "Tea"}, project_id="shop")
        await connection.rollback()
        assert (await memory.retrieve_context("shop")).items  # a read is not refused
        await connection.rollback()
        await connection.set_autocommit(True)
        assert (await memory.save_context("Tea is sold", "shop")).status == "saved"


async def kept_and_saved_once(
    fleet: Fleet, folder: Path, org: str, trouble: AbstractContextManager[object], **given: Any
) -> None:
    """A save amid trouble waits in the outbox, and is made once when that is over."""
    settings = Settings(
        dsn=fleet.dsn,
        data_dir=folder,
        org_id=org,
        user_id="ana",
        retry_wait_s=0,
        embedding_provider="none",
        **given,
    )
    async with Memory.connect(settings) as memory:
        with trouble:
            waiting = await memory.save_context("Said meanwhile", "shop")
            assert waiting.status == "pending_retry"
        await memory.replay_outbox()
        assert memory.outbox_depth() == 0
    with fleet.cell(fleet.home(org)) as cell:
        row = cell.execute(
            "select count(*) as n from pgmem.node where org_id = %s and label = 'Context'", (org,)
        ).fetchone()
    assert row == {"n": 1}


@pytest.mark.anyio
async def test_a_save_that_the_front_gave_up_waiting_for_is_kept_and_saved_once(
    fleet: Fleet, tmp_path: Path
) -> None:
    org = name()
    started(fleet, org)

    @contextmanager
    def locked() -> Iterator[None]:
        with fleet.cell(fleet.home(org)) as cell, cell.transaction():
            cell.execute("lock table pgmem.node in share mode")
            yield

    await kept_and_saved_once(fleet, tmp_path, org, locked(), write_timeout_s=0.5)


@pytest.mark.anyio
async def test_a_save_whose_function_an_upgrade_replaced_is_kept_and_saved_once(
    fleet: Fleet, tmp_path: Path
) -> None:
    org = name()
    started(fleet, org)
    lost = (
        "create or replace function front.cluster_of(w text[]) returns text language plpgsql as"
        " $$ begin raise exception using errcode = 'XX000', message = 'cache lookup failed for function 1'; end $$"
    )

    @contextmanager
    def replaced() -> Iterator[None]:
        with fleet.session() as connection:
            connection.execute(lost.encode())
            yield
            init(fleet.dsn, [])

    await kept_and_saved_once(fleet, tmp_path, org, replaced())


@pytest.mark.anyio
async def test_those_who_follow_at_a_front_hear_of_their_own_tenant_alone_whatever_its_cell(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakes, "_POLL_S", 60)
    orgs = [fleet.org_in(number, name()) for number in fleet.numbers]
    async with (
        Memory.connect(Settings(dsn=fleet.dsn, data_dir=tmp_path)) as memory,
        AsyncExitStack() as stack,
    ):
        awake: list[asyncio.Event] = []
        those = [memory.acting_as(MemoryScope(org_id=org, user_id="ana")) for org in orgs]
        for each in those:
            followed = memory.caller.database.wakes.following(each.caller.database.scope)
            awake.append((await stack.enter_async_context(followed)).awake)
        with anyio.fail_after(20):
            for event in awake:
                await event.wait()  # the first question has been answered
        for each, own in zip(those, awake, strict=True):
            for event in awake:
                event.clear()
            await each.save_session("Open", "shop")
            with anyio.fail_after(20):
                await own.wait()
            assert [event.is_set() for event in awake] == [event is own for event in awake]


@pytest.mark.anyio
async def test_a_login_that_is_bound_to_a_tenant_hears_at_a_front(
    fleet: Fleet, analyst: str, org: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may not ask whose memories have changed, and reads its own from time to time."""
    monkeypatch.setattr(wakes, "_POLL_S", 60)
    async with Memory.connect(Settings(dsn=analyst, data_dir=tmp_path)) as memory:
        with anyio.fail_after(20):
            async with aclosing(memory.follow(None)) as changes:
                assert (await anext(changes)).label == "Project"
                assert (await anext(changes)).label == "Session"
                started(fleet, org)
                assert (await anext(changes)).label == "Session"


@pytest.mark.anyio
async def test_a_worker_at_a_front_only_sends_the_outbox(fleet: Fleet, tmp_path: Path) -> None:
    async with Memory.connect(Settings(dsn=fleet.dsn, data_dir=tmp_path)) as memory:
        assert await memory.maintain() == {"arrived": 0}


def test_a_cell_that_is_away_stops_no_other(fleet: Fleet) -> None:
    orgs = {number: fleet.org_in(number, name()) for number in fleet.numbers}
    for org in orgs.values():
        started(fleet, org)
    with psycopg.connect(fleet.servers[0].dsn("postgres"), autocommit=True) as admin:
        database = f"{fleet.name}_1"
        admin.execute(f"alter database {database} allow_connections false".encode())
        admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (database,)
        )
        try:
            with (
                fleet.session(orgs[1]) as connection,
                pytest.raises(psycopg.errors.CannotConnectNow) as error,
            ):
                caller(connection)("save_context", content="x", project_id="shop")
            assert error.value.diag.message_primary == "The cell of this organisation does not answer."
            for number in (0, 2):
                with fleet.session(orgs[number]) as connection:
                    assert (
                        caller(connection)("save_context", content="x", project_id="shop")["status"]
                        == "saved"
                    )
            code, said = run("cells", "status", "--front", fleet.dsn)
            assert code == 1, said
            code, said = run("doctor", "--cells", "--json", PGMEM_DIRECTORY=fleet.dsn)
            assert code == 1
            assert "does not reach cell 1" in said
        finally:
            admin.execute(f"alter database {database} allow_connections true".encode())
    with fleet.session(orgs[1]) as connection:
        # PgBouncer tries to log in again after a second.
        until(lambda: not findings(fleet), connection, "the cell is not reached again")
        until(lambda: saves(connection), connection, "the cell does not save again")


def saves(connection: psycopg.Connection[DictRow]) -> bool:
    try:
        return bool(caller(connection)("save_context", content="x", project_id="shop")["status"] == "saved")
    except psycopg.errors.CannotConnectNow:
        return False


def findings(fleet: Fleet) -> dict[str, list[str]]:
    code, said = run("doctor", "--cells", "--json", PGMEM_DIRECTORY=fleet.dsn)
    found: dict[str, list[str]] = {}
    for finding in json.loads(said):
        if finding["level"] == "look":
            found.setdefault(finding["check"], []).append(finding["message"])
    assert code == bool(found)
    return found


def test_the_doctor_finds_what_is_wrong_with_the_cells(fleet: Fleet) -> None:
    org = name()
    started(fleet, org)
    home = fleet.home(org)
    other = next(number for number in fleet.numbers if number != home)
    assert findings(fleet) == {}
    with fleet.cell(other) as cell, Directory.open(fleet.dsn) as found:
        # Rows where they do not belong.
        cell.execute("select set_config('pgmem.org_id', %s, false)", (org,))
        cell.execute("select * from pgmem.save_session('Open', 'shop')")
        assert (
            f"{org} has rows in cell {min(home, other)} and {max(home, other)}" in findings(fleet)["homes"][0]
        )
        cell.execute("select pgmem.remove_moved(%s)", (org,))
        # A gate that no move explains.
        cell.execute("select pgmem.set_away(%s, 'arriving', 1)", (org,))
        assert "refuses" in findings(fleet)["gates"][0]
        cell.execute("delete from pgmem.away")
        # Cells that differ.
        cell.execute("select * from pgmem.set_setting('focus_limit', '9')")
        assert "settings: focus_limit" in findings(fleet)["alike"][0]
        with fleet.session() as connection:
            connection.execute("select * from pgmem.set_setting('focus_limit', '20')")
        # An unfinished move.
        found.connection.execute("insert into front.move (org_id, from_cell, to_cell, phase, version) values (%s, %s, %s, 'copying', 2)", (org, home, other))  # fmt: skip
        assert "is unfinished" in findings(fleet)["moves"][0]
        found.connection.execute("delete from front.move where org_id = %s", (org,))
        # Another store behind the address.
        found.connection.execute(
            "update front.cell set dsn = (select dsn from front.cell where number = 0) where number = 1"
        )
        found.connection.execute("select front.connect_cells()")
        assert "the front reaches cell 0" in findings(fleet)["reach"][0]
        assert fleet.pooler is not None
        found.fail_over(found.cell(1), f"host=127.0.0.1 port={fleet.pooler.port} dbname=cell1")
    assert findings(fleet) == {}


PASSWORD = r"a:b\c d"


def test_a_front_reaches_its_cells_with_passwords_over_tls(
    servers: tuple[Server, Server], place: Path
) -> None:
    front, cells = servers
    mark = f"tls_{uuid4().hex[:8]}"
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(place / "ca.pem")
    certificate.private_key_pem.write_to_path(place / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(place / "cert.pem")
    (place / "pass").write_text("*:*:*:*:" + PASSWORD.replace("\\", "\\\\").replace(":", "\\:"))
    own_by_server(place / "pass")
    options = (
        f"auth_type = scram-sha-256\nclient_tls_sslmode = require\n"
        f"client_tls_key_file = {place}/key.pem\nclient_tls_cert_file = {place}/cert.pem"
    )
    database = f"host=127.0.0.1 port={cells.port} dbname={mark}_0"
    pooler = fleets.Pooler(place / "pooler", {"cell0": database}, options, PASSWORD)
    through = f"host=localhost port={pooler.port} dbname=cell0 passfile={place}/pass"
    with (
        fleets.fleet(front, [cells], mark, 0) as fleet,
        psycopg.connect(cells.dsn("postgres"), autocommit=True) as admin,
    ):
        admin.execute(f"create database {mark}_0 template cell_template".encode())
        cells.allow(f"host {mark}_0 {','.join(LOGINS)} 127.0.0.1/32 scram-sha-256")
        pooler.start()
        try:
            until(pooler.answers, admin, "PgBouncer does not answer")
            schema.upgrade(f"{database} user=postgres", cell=0)
            with Directory.open(fleet.dsn) as found:
                words = (
                    f"{database} user=postgres",
                    f"{through} sslmode=verify-full sslrootcert={place}/ca.pem",
                )
                with pytest.raises(InvalidArgument, match="does not reach cell 0"):
                    found.add(*words, password="another")
                found.add(*words, password=PASSWORD)
            with fleet.session(org := name()) as connection:
                saved = caller(connection)("save_session", objective="Open", project_id="shop")
                assert saved["status"] == "saved", org
            with pytest.raises(psycopg.OperationalError, match="SSL required"):
                psycopg.connect(f"{through} user=pgmem_front_agent sslmode=disable")
            with pytest.raises(psycopg.OperationalError, match="no password supplied"):
                psycopg.connect(f"{database} user=pgmem_front_agent passfile=/dev/null")
        finally:
            pooler.stop()
            admin.execute(f"drop database {mark}_0 with (force)".encode())


def test_the_pooler_reaches_a_cell_with_a_password_over_tls_and_no_other_server(
    servers: tuple[Server, Server], place: Path
) -> None:
    front, _ = servers
    authority, another = trustme.CA(), trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(place / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(place / "cert.pem")
    authority.cert_pem.write_to_path(place / "ca.pem")
    another.cert_pem.write_to_path(place / "another.pem")
    own_by_server(place / "key.pem")
    (place / "cells").mkdir()
    (place / "cells").chmod(0o777)
    cell = Server(place / "cells" / "cell", fleets.FRONT_BIN)  # the server of the wheel is built without TLS
    cell.start()
    try:
        with psycopg.connect(cell.dsn("postgres"), autocommit=True) as admin:
            for setting, value in {
                "ssl_key_file": place / "key.pem",
                "ssl_cert_file": place / "cert.pem",
                "ssl": "on",
            }.items():
                admin.execute(f"alter system set {setting} = '{value}'".encode())
            logins = ",".join(LOGINS)
            cell.allow(f"hostssl all {logins} 127.0.0.1/32 scram-sha-256\nhost all {logins} all reject")
            schema.upgrade(cell.dsn("postgres"), (), roles=True, cell=0)
            for ca, reached in (("another", False), ("ca", True)):
                pooler = fleets.Pooler(
                    place / f"pooler-{ca}",
                    {"cell0": f"host=127.0.0.1 port={cell.port} dbname=postgres"},
                    f"auth_type = trust\nserver_tls_sslmode = verify-full\nserver_tls_ca_file = {place}/{ca}.pem",
                    PASSWORD,
                )
                pooler.start()
                try:
                    until(pooler.answers, admin, "PgBouncer does not answer")
                    with fleets.fleet(front, [cell], f"pooled_{uuid4().hex[:8]}", 0) as fleet:
                        through = f"host=127.0.0.1 port={pooler.port} dbname=cell0"
                        with Directory.open(fleet.dsn) as found:
                            if not reached:
                                with pytest.raises(InvalidArgument, match="does not reach cell 0"):
                                    found.add(cell.dsn("postgres"), through, password=PASSWORD)
                                continue
                            found.add(cell.dsn("postgres"), through, password=PASSWORD)
                        started(fleet, name())
                        ways = "select distinct s.ssl from pg_stat_activity a join pg_stat_ssl s using (pid) where a.usename = any (%s)"
                        assert admin.execute(ways.encode(), (list(LOGINS),)).fetchall() == [(True,)]
                finally:
                    pooler.stop()
    finally:
        cell.stop()
