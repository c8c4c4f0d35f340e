"""The checks of a front and its cells, for `pgmem doctor --cells`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import LiteralString

import psycopg

from pgmem.doctor.database import Finding, hint, look, ok
from pgmem.errors import PgmemError, first_line
from pgmem.escaping import counted
from pgmem.features.cells.directory import Cell, Connection, Directory, connect, differences, one, profile

_MANY_TITLES = 5_000_000
"""Titles above which a rebuild of the index of titles keeps the saves of a cell waiting for minutes."""


def of_front(dsn: str) -> list[Finding]:
    """Return the findings about the front of a DSN and its cells."""
    with Directory.open(dsn) as directory:
        return examine(directory)


def examine(directory: Directory) -> list[Finding]:
    """Examine the directory, each cell, their common properties, and where organisations have rows."""
    return list(_examine(directory))


def _examine(directory: Directory) -> Iterator[Finding]:
    cells = directory.cells()
    if not cells:
        yield look("cells", "the front has no cell", "run pgmem cells add DSN")
        return
    slots = one(directory.connection, "select count(*) as n from front.slot")["n"]
    if slots != 1024:
        yield look(
            "directory",
            f"{1024 - slots} of 1024 parts of the map name no cell",
            "restore the front from a backup",
        )
    moving = {found["org_id"] for found in directory.moves()}
    for found in directory.moves():
        yield look(
            "moves",
            f"the move of {found['org_id']} to cell {found['to_cell']} is unfinished, {found['phase']}",
            f"run pgmem cells move {found['org_id']} {found['to_cell']}, which goes on with it",
        )
    profiles, residents = {}, defaultdict[str, list[int]](list)
    for cell in cells:
        yield from _reached(directory, cell)
        try:
            with connect(cell.admin_dsn, f"cell {cell.number}") as there:
                profiles[cell.number] = profile(there)
                yield from _cell(directory, cell, there, moving, profiles[cell.number]["cell"])
                for row in there.execute("select org_id, away from pgmem.residents()"):
                    if row["org_id"] not in moving:
                        residents[row["org_id"]].append(cell.number)
        except (PgmemError, psycopg.Error) as error:
            yield look("cells", first_line(error), "start it, or run pgmem cells failover with its replica")
    yield from _alike(directory, profiles)
    yield from _homes(directory, residents)
    if not one(directory.connection, "select exists (select from pg_stat_replication) as it")["it"]:
        yield hint("standby", "the front has no standby", "attach a streaming replica, which is a front too")


def _reached(directory: Directory, cell: Cell) -> Iterator[Finding]:
    try:
        found = one(directory.connection, "select cell from relay.ping(%s)", (cell.number,))["cell"]
    except psycopg.Error:
        remedy = "check the address that pgmem cells list shows, and PgBouncer"
        yield look("reach", f"the front does not reach cell {cell.number}", remedy)
        return
    if found != cell.number:
        remedy = f"run pgmem cells failover {cell.number} with its address"
        yield look("reach", f"by the address of cell {cell.number} the front reaches cell {found}", remedy)
    if _place(cell.dsn) == _place(cell.admin_dsn):
        yield hint(
            "pooler",
            f"no PgBouncer is between the front and cell {cell.number}: a silent cell keeps calls waiting",
            "put one between, with query_timeout, server_connect_timeout and query_wait_timeout set",
        )


def _place(dsn: str) -> tuple[object, ...]:
    given = psycopg.conninfo.conninfo_to_dict(dsn)
    return given.get("host"), given.get("port", "5432")


_GATES: LiteralString = "select org_id, state from pgmem.away order by 1"
_TITLES: LiteralString = (
    "select greatest(reltuples, 0)::bigint as n from pg_class where oid = 'pgmem.node'::regclass"
)


def _cell(
    directory: Directory, cell: Cell, there: Connection, moving: set[str], number: int | None
) -> Iterator[Finding]:
    if number != cell.number:
        yield look(
            "number",
            f"the store of cell {cell.number} has the number {number}",
            f"run pgmem cells failover {cell.number} with the address of the right store",
        )
    for row in there.execute(_GATES).fetchall():
        is_home = directory.where(row["org_id"]).cell == cell.number
        if row["org_id"] not in moving and (is_home or row["state"] != "gone"):
            yield look(
                "gates",
                f"cell {cell.number} refuses {row['org_id']} ({row['state']}), and no move is unfinished",
                "after a restore of the cell: if its home is this cell, delete its row of pgmem.away",
            )
    if (nodes := one(there, _TITLES)["n"]) > _MANY_TITLES:
        yield hint(
            "size", f"cell {cell.number} has about {nodes} nodes", "add a cell and move organisations to it"
        )


def _alike(directory: Directory, profiles: dict[int, dict[str, object]]) -> Iterator[Finding]:
    wrong = False
    numbers = sorted(profiles)
    for number in numbers[1:]:
        if said := differences(profiles[numbers[0]], profiles[number]):
            wrong = True
            yield look(
                "alike",
                f"cells {numbers[0]} and {number} differ in {'; '.join(said)}",
                "run pgmem cells upgrade, and set settings and labels at the front, which sets them in all cells",
            )
    front = one(directory.connection, "select release, digest from pgmem.schema_version")
    if any(found["digest"] != front["digest"] for found in profiles.values()):
        wrong = True
        yield hint("release", "the front is of another release than its cells", "run pgmem cells upgrade")
    if not wrong:
        yield ok("alike", f"{counted(len(profiles), 'cell')} of release {front['release']} agree")


def _homes(directory: Directory, residents: dict[str, list[int]]) -> Iterator[Finding]:
    wrong = 0
    for org_id, numbers in sorted(residents.items()):
        home = directory.where(org_id).cell
        if numbers != [home]:
            wrong += 1
            if wrong <= 20:
                yield look(
                    "homes",
                    f"{org_id} has rows in cell {' and '.join(map(str, numbers))}; its home is cell {home}",
                    "compare them by pgmem export at each cell, import what is missing, erase it where it is wrong",
                )
    if not wrong:
        yield ok("homes", f"{counted(len(residents), 'organisation')}, each in its cell and nowhere else")
