"""The attack of canaries through a front with three cells and a standby of it, while the organisations move from cell to cell."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from pgmem.features.cells import mover
from pgmem.features.cells.directory import Directory
from tests.conftest import caller
from tests.core.tenancy.canaries import TENANTS, Attack, attack
from tests.features.cells.fleet import Fleet, Server, replica_of
from tests.waiting import until

pytestmark = pytest.mark.anyio

ORGANISATIONS = ("acme", "globex")


def move_meanwhile(fleet: Fleet, done: Attack, moves: int, calls: int) -> list[int]:
    """Move an organisation and then the other, each time that a share of the calls has been made; the cells they came to."""
    came_to = []
    with Directory.open(fleet.dsn) as found, fleet.session() as connection:
        for number in range(moves):
            org = ORGANISATIONS[number % 2]
            share = (number + 1) * calls // (moves + 1)
            until(lambda share=share: done.calls.total() >= share, connection, "the attack does not go on")  # type: ignore[misc]
            to = (found.where(org).cell + 1 + number % (len(fleet.numbers) - 1)) % len(fleet.numbers)
            mover.move(found, org, found.cell(to), lambda _line: None)
            came_to.append(to)
    return came_to


LATE = "recovery_min_apply_delay='700ms'"
"""A standby that learns of each move later than the cells do: its map leads to a cell that the organisation has left."""


async def attacked(
    servers: tuple[Server, Server], fleet: Fleet, folder: Path, *, moves: int, **calls: int
) -> Attack:
    """Attack while organisations move; no row of one is in two cells in the end."""
    done, rounds = Attack(), calls.get("rounds", 3)
    total = len(TENANTS) * rounds * sum(number for way, number in calls.items() if way != "rounds")
    came_to: list[int] = []

    async def moving() -> None:
        came_to.extend(await anyio.to_thread.run_sync(partial(move_meanwhile, fleet, done, moves, total)))

    with fleet.session() as connection, replica_of(servers[0], LATE) as standby:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(moving)
            stores = [fleet.cell_dsn(number) for number in fleet.numbers]
            await attack(
                fleet.dsn,
                folder,
                caller(connection),
                stores=stores,
                replica=standby.dsn(fleet.name),
                done=done,
                **calls,
            )
    assert done.calls.total() == total
    assert len(came_to) == moves
    for org, last in zip(ORGANISATIONS, came_to[-2:] if moves % 2 == 0 else came_to[:-3:-1], strict=True):
        assert set(fleet.rows_of(org)) == {last}
    for way in ("sql", "standby"):
        assert {user for by, user in done.saw_own if by == way} == set(TENANTS)
    return done


async def test_no_canary_crosses_while_organisations_move(
    servers: tuple[Server, Server], fleet: Fleet, tmp_path: Path
) -> None:
    await attacked(servers, fleet, tmp_path, moves=4, sql=30, every=20, standby=20, python=10)


@pytest.mark.long
async def test_no_canary_crosses_in_ten_thousand_calls_and_twelve_moves(
    servers: tuple[Server, Server], fleet: Fleet, tmp_path: Path
) -> None:
    done = await attacked(
        servers, fleet, tmp_path, moves=12, sql=400, every=200, standby=300, python=120, mcp=60, http=40
    )
    assert done.calls.total() >= 10_000
