"""An upgrade of a store of release 0.1.0 that ends in the middle leaves it as it was, and the next one does all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgmem.install import schema
from pgmem.server.embedded import EmbeddedServer
from tests.core.schema import stores
from tests.core.schema.conftest import ROOT, Program, released_schema_of
from tests.core.schema.test_released_upgrade import RELEASE
from tests.fixtures.clusters import CopyTo
from tests.waiting import until_the_server_says

pytestmark = pytest.mark.usefixtures("event_triggers")
UPGRADE = "import sys; from pgmem.install import schema; print(schema.upgrade(sys.argv[1]).changed)"
LOCK = 20261123

# The event at the n-th command that changes the schema: the migrations, the chapters and the graph are such commands.
# A sequence counts them also in a transaction that is rolled back.
HOOK = """
create schema watch;
create sequence watch.commands;
create function watch.count() returns event_trigger language plpgsql as $$
begin
  if nextval('watch.commands') = {at} then
    {what};
  end if;
end $$;
create event trigger watching on ddl_command_end execute function watch.count();
"""
COUNT, END = "null", "perform pg_terminate_backend(pg_backend_pid())"
WAIT = f"perform pg_advisory_xact_lock({LOCK})"


@pytest.fixture
def event_triggers(empty: str) -> None:
    with psycopg.connect(empty) as connection:
        if connection.execute("show is_superuser").fetchone() != ("on",):
            pytest.skip("only a superuser makes an event trigger")


@pytest.fixture
def old(empty: str, program: Program) -> str:
    """The store of one user, as release 0.1.0 left it."""
    with psycopg.connect(empty) as connection:
        offered = {row[0] for row in connection.execute("select name from pg_available_extensions")}
    store = "one" if {"age", "vector"} <= offered else "bare"
    stores.load(empty, RELEASE / f"{store}.dump.gz", program)
    return empty


def state(dsn: str) -> tuple[Any, ...]:
    """The whole store: the schema with its owners and rights, the memories, the number of rows of each table, the graph."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        graph = "select to_regclass('ag_catalog.ag_graph') is not null"
        different = (
            connection.execute("select * from pgmem.check_graph()").fetchall()
            if connection.execute(graph).fetchone() == (True,)
            else []
        )
        return released_schema_of(dsn), stores.rows(connection), stores.counts(connection), different


@contextmanager
def hook(dsn: str, at: int, what: str) -> Iterator[None]:
    """Let something happen at the n-th command that changes the schema."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(HOOK.format(at=at, what=what).encode())
    try:
        yield
    finally:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("drop event trigger watching; drop schema watch cascade")


def commands(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select last_value from watch.commands").fetchone()
    assert row is not None
    return int(row[0])


def works(dsn: str) -> None:
    """The next upgrade does all of it, and no more is left to do."""
    assert schema.upgrade(dsn).changed is True
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute("select release from pgmem.schema_version").fetchone() == (
            schema.release(),
        )
    after = state(dsn)
    assert after[-1] == []
    assert schema.upgrade(dsn).changed is False
    assert state(dsn) == after


@pytest.mark.long
def test_an_upgrade_that_ends_at_any_of_ten_points_leaves_the_store_as_it_was(
    old: str, copy: Callable[[str], str]
) -> None:
    before = state(old)
    measured = copy(old)
    with hook(measured, 0, COUNT):
        schema.upgrade(measured, renew=False)  # it renews rows when all of this is committed
        total = commands(measured)
    assert total > 1000
    for part in range(10):
        with (
            # One is done once: the change of pgmem.caller, which is committed before the others.
            hook(old, 1 + part * (total - 2) // 9, END),
            pytest.raises(Exception, match="terminat|closed|init again"),
        ):
            schema.upgrade(old)
        assert state(old) == before, f"ended at part {part} of 10"
    works(old)


def test_an_upgrade_that_ends_in_the_middle_leaves_the_store_as_it_was(old: str) -> None:
    before = state(old)
    with hook(old, 400, END), pytest.raises(Exception, match="terminat|closed|init again"):
        schema.upgrade(old)
    assert state(old) == before
    works(old)


def test_a_renewal_that_ends_goes_on_with_the_next_upgrade(old: str) -> None:
    schema.upgrade(old, renew=False)
    with psycopg.connect(old, autocommit=True) as connection:
        connection.execute("create schema watch")
        connection.execute(
            "create function watch.ends() returns trigger language plpgsql as"
            " 'begin perform pg_terminate_backend(pg_backend_pid()); return new; end'"
        )
        connection.execute(
            "create trigger ends before update on pgmem.renewal for each row execute function watch.ends()"
        )
        left = connection.execute(
            "select step from pgmem.renewal where done_at is null order by 1"
        ).fetchall()
    assert left
    with pytest.raises(Exception, match="terminat|closed|init again"):
        schema.upgrade(old)
    with psycopg.connect(old, autocommit=True) as connection:
        again = connection.execute(
            "select step from pgmem.renewal where done_at is null order by 1"
        ).fetchall()
        assert again == left
        connection.execute("drop schema watch cascade")
    assert schema.upgrade(old).changed is False
    with psycopg.connect(old, autocommit=True) as connection:
        assert connection.execute("select count(*) from pgmem.renewal where done_at is null").fetchone() == (
            0,
        )
    assert state(old)[-1] == []


@pytest.mark.long
def test_a_renewal_ends_while_others_save(old: str) -> None:
    schema.upgrade(old, renew=False)
    with psycopg.connect(old, autocommit=True) as connection:
        (last,) = connection.execute("select max(seq) from pgmem.node").fetchone() or (0,)
        calls = 0
        while connection.execute("select step from pgmem.renew(50)").fetchone() != (None,):
            calls += 1
            assert calls < last, "the renewal goes after what is saved meanwhile"
            connection.execute(
                "select pgmem.save_context(p_content => 'said meanwhile ' || n, p_project_id => 'shop') from generate_series(1, 51) n"
            )
        upkeep = "select up_to from pgmem.renewal where step = 'memories'"
        # The step of the graph comes first, and one round is saved beside it.
        assert connection.execute(upkeep).fetchone() == (last + 51,)


def upgrading(dsn: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", UPGRADE, dsn], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


WAITS = (
    "exists (select from pg_locks where locktype = 'advisory' and objid = %(lock)s and not granted"
    " and database = (select oid from pg_database where datname = current_database()))"
)


@pytest.mark.long
def test_a_client_that_is_killed_leaves_the_store_as_it_was(old: str) -> None:
    before = state(old)
    with psycopg.connect(old, autocommit=True) as holder, hook(old, 700, WAIT):
        holder.execute("select pg_advisory_lock(%s)", (LOCK,))
        client = upgrading(old)
        until_the_server_says(WAITS, old, {"lock": LOCK}, "the upgrade waits at the hook")
        client.kill()
        client.communicate()
        holder.execute("select pg_advisory_unlock(%s)", (LOCK,))
        gone = "not exists (select from pg_stat_activity where datname = current_database() and state <> 'idle' and pid not in (pg_backend_pid(), %(pid)s))"
        until_the_server_says(gone, old, {"pid": holder.info.backend_pid}, "the session of the client ends")
    assert state(old) == before
    works(old)


@pytest.mark.embedded
def test_a_server_that_is_killed_leaves_the_store_as_it_was(
    place: Path, cluster: CopyTo, program: Program
) -> None:
    cluster(place / "data")
    with EmbeddedServer(place / "data") as server:
        own = server.start()
        stores.load(own, RELEASE / "one.dump.gz", program)
        before = state(own)
        with psycopg.connect(own, autocommit=True) as holder:
            holder.execute(HOOK.format(at=700, what=WAIT).encode())
            holder.execute("select pg_advisory_lock(%s)", (LOCK,))
            client = upgrading(own)
            until_the_server_says(WAITS, own, {"lock": LOCK}, "the upgrade waits at the hook")
            postmaster = int((place / "data" / "postgres" / "postmaster.pid").read_text().split()[0])
            os.kill(postmaster, signal.SIGKILL)
        client.communicate(timeout=120)
        assert client.returncode != 0
        own = server.start()
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute("drop event trigger watching; drop schema watch cascade")
        assert state(own) == before
        works(own)


def test_several_clients_upgrade_a_store_once(old: str) -> None:
    running = [upgrading(old) for _ in range(3)]
    answers = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * 3, [
        err.decode()[-4000:] for _, err in answers
    ]
    assert sorted(out.decode().strip() for out, _ in answers) == ["False", "False", "True"]
    assert state(old)[-1] == []
    assert schema.upgrade(old).changed is False


@pytest.fixture
def copy(database: Callable[..., str], program: Program) -> Callable[[str], str]:
    """`copy(dsn)`: another database that holds the same store; nobody may be connected to it."""

    def copy(dsn: str) -> str:
        return database(template=psycopg.conninfo.conninfo_to_dict(dsn)["dbname"])

    return copy
