"""One real PostgreSQL for the run, one template database, a copy of it per test.

The server is `PGMEM_TEST_DSN` if set, else the embedded one, else a container. Each xdist worker has its own template.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import disk_usage, rmtree
from tempfile import gettempdir
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from pgmem import Memory
from pgmem.database import schema
from pgmem.settings import Settings

CREATE = "create database {} template {} strategy file_copy"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The DSN of a database on a server where databases can be made."""
    if dsn := os.environ.get("PGMEM_TEST_DSN"):
        yield dsn
        return
    if find_spec("pgserver") is None:
        from testcontainers.community.postgres import PostgresContainer

        with PostgresContainer("postgres:18", driver=None) as container:
            yield container.get_connection_url()
        return
    from pgmem.database.embedded import EmbeddedServer

    # One server for all workers of a run, in a folder of its own: where root runs the tests, pytest closes its own folder to
    # the system user that the server runs as. The last worker takes it away.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid4().hex
    memory = Path(
        "/dev/shm"
    )  # a database is a thousand files: in memory a copy takes 30 ms, on some disks a second
    place = memory if memory.is_dir() and disk_usage(memory).free > 2**31 else Path(gettempdir())
    folder = place / f"pgmem-tests-{run}"
    with EmbeddedServer(folder) as embedded:
        dsn = embedded.start()
        with psycopg.connect(dsn, autocommit=True) as admin:
            # The run's own server, thrown away in the end: it need not survive a power cut, and a database per test is
            # a thousand files. Tests of crashes start servers of their own.
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                admin.execute(sql.SQL("alter system set {} = off").format(sql.Identifier(setting)))
            admin.execute("alter system set checkpoint_timeout = '1h'")
            admin.execute("select pg_reload_conf()")
        yield dsn
    if not (folder / "postgres" / "postmaster.pid").exists():
        rmtree(folder, ignore_errors=True)


@contextmanager
def new_database(server: str, template: str) -> Iterator[str]:
    """A database that is dropped in the end; its DSN."""
    name = f"pgmem_test_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL(CREATE).format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            admin.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def install(server: str, extensions: tuple[str, ...]) -> Iterator[str]:
    """A template with pgmem installed; its name."""
    with new_database(server, "template0") as dsn:
        schema.upgrade(dsn, extensions)
        yield str(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"])


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """Every extension the server offers."""
    yield from install(server, schema.EXTENSIONS)


@pytest.fixture(scope="session")
def template_without_age(server: str) -> Iterator[str]:
    """The tier of most managed servers."""
    yield from install(server, ("vector",))


@pytest.fixture(scope="session")
def template_text_only(server: str) -> Iterator[str]:
    """Neither AGE nor pgvector."""
    yield from install(server, ())


@pytest.fixture
def dsn(server: str, template: str) -> Iterator[str]:
    """A database of this test's own, with pgmem installed."""
    with new_database(server, template) as dsn:
        yield dsn


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection[DictRow]]:
    """An autocommit connection of the owner; rows are dicts."""
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        yield connection


Call = Callable[..., DictRow]


@pytest.fixture
def call(connection: psycopg.Connection[DictRow]) -> Call:
    """`call("save_decision", title=…)`: a verb as an analyst calls it; its first row."""
    return caller(connection)


def caller(connection: psycopg.Connection[DictRow]) -> Call:
    """Verbs on a connection: `call(verb, **arguments)` gives the first row."""
    from pgmem.database.call import clean, statement

    def call(verb: str, /, **arguments: object) -> DictRow:
        sent = {name: clean(name, value) for name, value in arguments.items()}
        row = connection.execute(statement(verb, sent), sent).fetchone()
        return row if row is not None else {}

    return call


@pytest.fixture
def clock(connection: psycopg.Connection[DictRow]) -> Callable[[str], None]:
    """`clock("2026-04-08")` sets the time of the test's connection; the store's owner has allowed it."""
    connection.execute("update pgmem.setting set value = 'true' where name = 'test_clock'")

    def set_time(moment: str) -> None:
        connection.execute("select set_config('pgmem.now', %s, false)", (moment,))

    return set_time


@pytest.fixture
async def memory(dsn: str, tmp_path: Path) -> AsyncIterator[Memory]:
    """The Python API on this test's database."""
    settings = Settings(dsn=dsn, data_dir=tmp_path, prepare=True, retry_wait_s=0)
    async with Memory.connect(settings) as memory:
        yield memory
