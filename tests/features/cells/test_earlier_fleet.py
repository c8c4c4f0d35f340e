"""A fleet that an earlier state of this repository made is upgraded while agents of both states save."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from typer.testing import CliRunner

from pgmem.cli import app
from pgmem.features.cells import mover
from pgmem.features.cells.directory import Directory, init
from tests.features.cells.fleet import Fleet, Pooler, Server
from tests.features.cells.running import started
from tests.features.cells.writers import Writers
from tests.waiting import until

pytestmark = pytest.mark.long
ROOT = Path(__file__).parent.parent.parent.parent
REPLACED = "cache lookup failed"
STATES = {
    "Say in the changelog what sources, periods, sync and pages do now": REPLACED,
    "Upgrade a fleet while agents save, and reach a cell over TLS; 2 000 saves for each point of a kill": None,
}
"""By the subject of a commit, which outlives a rebase, why a save of that state's agents may fail: the first of them had
not learnt yet to keep a save whose function is replaced while it is called."""


def unpacked(subject: str, folder: Path) -> Path:
    """Put the program of an earlier state into a folder."""
    git = ["git", "-C", str(ROOT)]
    find = [*git, "log", "--format=%H %s", "--fixed-strings", f"--grep={subject}"]
    found = subprocess.run(find, capture_output=True, text=True, check=False).stdout
    commit = next((line.partition(" ")[0] for line in found.splitlines() if line.endswith(subject)), None)
    if commit is None:
        pytest.skip("this clone does not have the commit of the earlier state: git fetch --unshallow")
    archive = [*git, "archive", commit, "pgmem", "sql", "migrations", "pyproject.toml"]
    packed = subprocess.run(archive, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def program(sources: Path, *words: str) -> str:
    """Run a command of the earlier state; its output."""
    done = subprocess.run(
        [sys.executable, "-m", "pgmem", *words],
        cwd=sources,
        env=os.environ | {"PYTHONPATH": str(sources), "EMBEDDING_PROVIDER": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def made_by(sources: Path, front: Server, cells: Server, place: Path) -> Iterator[Fleet]:
    """A fleet of two cells behind PgBouncer, all of it made by the program of the earlier state."""
    mark = f"earlier_{uuid4().hex[:8]}"
    fleet = Fleet(front, [cells], mark, numbers=[0, 1])
    databases = [(front, mark), *((cells, f"{mark}_{number}") for number in fleet.numbers)]
    fleet.pooler = Pooler(
        place / "pooler",
        {f"cell{n}": f"host=127.0.0.1 port={cells.port} dbname={mark}_{n}" for n in fleet.numbers},
    )
    try:
        for server, database in databases:
            with psycopg.connect(server.dsn("postgres"), autocommit=True) as admin:
                admin.execute(f"create database {database}".encode())
        fleet.pooler.start()
        with psycopg.connect(front.dsn("postgres"), autocommit=True) as admin:
            until(fleet.pooler.answers, admin, "PgBouncer does not answer")
        program(sources, "cells", "init", "--front", fleet.dsn)
        for number in fleet.numbers:
            store = fleet.cell_dsn(number)
            program(sources, "init", "--roles", "--cell", str(number), "--dsn", store)
            through = f"host=127.0.0.1 port={fleet.pooler.port} dbname=cell{number}"
            program(sources, "cells", "add", store, "--through", through, "--front", fleet.dsn)
        yield fleet
    finally:
        fleet.pooler.stop()
        for server, database in databases:
            with psycopg.connect(server.dsn("postgres"), autocommit=True) as admin:
                admin.execute(f"drop database if exists {database} with (force)".encode())


def written(front: Server, database: str) -> str:
    """Everything that was generated at a front, as the server writes it."""
    schemas = [f"--schema={name}" for name in ("pgmem", "relay", "front")]
    done = subprocess.run(
        [front.programs / "pg_dump", "--schema-only", *schemas, front.dsn(database)],
        capture_output=True,
        text=True,
        check=True,
    )
    # The name of a session of psql is another in each dump.
    return "".join(
        line for line in done.stdout.splitlines(keepends=True) if not line.startswith(("\\restrict", "\\unrestrict"))
    )  # fmt: skip


def saved(writers: list[Writers]) -> int:
    return sum(one.acknowledged() for one in writers)


@pytest.mark.parametrize(("subject", "refused"), STATES.items(), ids=["before", "after"])
def test_a_fleet_of_an_earlier_state_is_upgraded_while_agents_of_both_states_save(
    servers: tuple[Server, Server], place: Path, tmp_path: Path, subject: str, refused: str | None
) -> None:
    """Cell by cell, then the front: nothing is lost or doubled, and the front is as one that is made anew."""
    front, cells = servers
    earlier = unpacked(subject, tmp_path / "earlier")
    with made_by(earlier, front, cells, place) as fleet, ExitStack() as stack, fleet.session() as connection:
        with fleet.cell(0) as cell:
            known = "select digest from pgmem.schema_version"
            before = cell.execute(known.encode()).fetchone()
        orgs = [fleet.org_in(number, f"e{uuid4().hex[:8]}") for number in fleet.numbers]
        old: list[Writers] = []
        new: list[Writers] = []

        def agents(org: str, made_of: Path | None) -> Writers:
            folder = tmp_path / f"{org}-{made_of is not None}"
            folder.mkdir()
            return stack.enter_context(Writers(fleet, org, folder, 100_000, 2, pause=0.02, sources=made_of))

        for org in orgs:
            started(fleet, org)
            old.append(agents(org, earlier))
        done = CliRunner().invoke(app, ["cells", "upgrade", "--front", fleet.dsn, "--json"])
        assert done.exit_code == 0, done.output
        with fleet.cell(0) as cell:
            after = cell.execute(known.encode()).fetchone()
        assert before is not None
        assert after is not None
        assert before["digest"] != after["digest"]
        new += [agents(org, None) for org in orgs]
        reached = saved(old)
        until(lambda: saved(old) > reached + 50, connection, "agents of the earlier state save nothing")
        # An organisation of the earlier state moves as any other.
        with Directory.open(fleet.dsn) as found:
            mover.move(found, orgs[0], found.cell(1), lambda _line: None)
        reached = saved(new)
        until(lambda: saved(new) > reached + 50, connection, "agents of this state save nothing")
        for writers in (*old, *new):
            writers.stop()
        for writers in old:
            writers.check(refused)
        for writers in new:
            writers.check()
        assert {org: set(fleet.rows_of(org)) for org in orgs} == {org: {1} for org in orgs}

        first = written(front, fleet.name)
        with Directory.open(fleet.dsn) as found:
            found.make()
        assert written(front, fleet.name) == first
        another = f"{fleet.name}_new"
        with psycopg.connect(front.dsn("postgres"), autocommit=True) as admin:
            admin.execute(f"create database {another}".encode())
            try:
                init(front.dsn(another), [fleet.cell_dsn(0)])
                assert written(front, another) == first
            finally:
                admin.execute(f"drop database {another} with (force)".encode())
