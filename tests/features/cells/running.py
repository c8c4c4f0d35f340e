"""Servers that run while a block does: of a front, of cells with separate clocks, and a fleet whose cells are servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from uuid import uuid4

import pytest

from tests.conftest import caller
from tests.features.cells.fleet import FRONT_BIN, Fleet, Server, fleet, missing, template, wheel_programs
from tests.fixtures.places import roomy_place


@contextmanager
def open_folder(what: str) -> Iterator[Path]:
    """A folder in which the account of the servers can write; it is removed in the end."""
    made = roomy_place() / f"pgmem-{what}-{uuid4().hex[:8]}"
    made.mkdir(mode=0o777)
    made.chmod(0o777)
    try:
        yield made
    finally:
        rmtree(made, ignore_errors=True)


@contextmanager
def running(what: str, *clocks: str) -> Iterator[tuple[Server, list[Server]]]:
    """The server of a front, and for each clock one of cells, which has a store to copy; skip where there can be none."""
    if reason := missing():
        pytest.skip(reason)
    with open_folder(what) as folder:
        front = Server(folder / "front", FRONT_BIN)
        cells = [Server(folder / f"cell{n}", wheel_programs(), clock=clock) for n, clock in enumerate(clocks)]
        try:
            for server in (front, *cells):
                server.start()
            for server in cells:
                template(server)
            yield front, cells
        finally:
            for server in (front, *cells):
                server.stop()


@contextmanager
def fleet_of_servers(what: str, *clocks: str) -> Iterator[Fleet]:
    """A fleet behind PgBouncer; each cell is a server, so that each can be stopped alone or have another clock."""
    with running(what, *clocks) as (front, cells):
        name = f"{what}_{uuid4().hex[:8]}"
        with fleet(front, cells, name, len(cells), front.folder.parent / "pooler") as made:
            yield made


def started(fleet: Fleet, org: str) -> None:
    """Save the first session of an organisation, which makes its project."""
    with fleet.session(org) as connection:
        caller(connection)("save_session", objective="Open", project_id="shop")
