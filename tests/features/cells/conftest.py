"""Servers of a fleet, one pair for the module that uses them, and a fleet of three cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from uuid import uuid4

import pytest

from tests.features.cells import fleet as fleets
from tests.features.cells.fleet import Fleet, Server
from tests.features.cells.running import fleet_of_servers, running, started


@pytest.fixture(scope="session")
def servers() -> Iterator[tuple[Server, Server]]:
    """The server of the front and that of the cells."""
    with running("fleet", "") as (front, cells):
        yield front, cells[0]


@pytest.fixture(scope="module")
def wide() -> Iterator[Fleet]:
    """Two cells, each a server, so that each can be stopped or killed alone."""
    with fleet_of_servers("wide", "", "") as made:
        yield made


@pytest.fixture(scope="module")
def fleet(servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet of three cells behind PgBouncer, for the tests of a module that use their own organisations."""
    front, cells = servers
    folder = Path(f"/tmp/pgmem-pooler-{uuid4().hex[:8]}")
    try:
        with fleets.fleet(front, [cells], f"fleet_{uuid4().hex[:8]}", 3, folder) as made:
            yield made
    finally:
        rmtree(folder, ignore_errors=True)


@pytest.fixture
def org() -> str:
    """The name of an organisation that has nothing yet."""
    return f"o{uuid4().hex[:10]}"


@pytest.fixture
def analyst(fleet: Fleet, org: str) -> Iterator[str]:
    """A login of the front that is bound to an organisation; its DSN."""
    login = f"analyst_{uuid4().hex[:8]}"
    started(fleet, org)
    with fleet.session() as connection:
        connection.execute(f"create role {login} login; grant pgmem_writer, pgmem_reader to {login}".encode())
        connection.execute("select * from pgmem.bind_role(%s, %s, 'ana')", (login, org))
        yield fleet.front.dsn(fleet.name, login)
        connection.execute("select * from pgmem.bind_role(%s)", (login,))
        connection.execute(f"drop role {login}".encode())
