"""Two or three stores by every way and through every fault: in the end all hold the same, and nothing waits unnamed.

Agents and persons act at each with all verbs; lines are cut, stores are set back, restored, moved and pruned, clocks are
wrong, and they exchange by DSN, by HTTP and through a folder.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import combinations, count
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import psycopg
import pytest

from pgmem import InvalidArgument, Memory
from pgmem.features.feed.connecting import exchange
from pgmem.features.feed.exchange import Exchanged
from pgmem.features.http.auth import http_app
from pgmem.models import MemoryScope
from pgmem.settings import Settings
from tests.conftest import new_database
from tests.features.feed.test_sync import content
from tests.features.feed.test_sync_model import BEGIN, USERS, Store, exchanged
from tests.features.feed.test_sync_past import Snapshot, executed, fault
from tests.features.feed.test_sync_ranks import ACTS, PERSONS, act, held, said
from tests.features.ui.serving import running

SEED = int(os.environ.get("PGMEM_WORLD_SEED", "54"))
"""The seed of the first history; that of each next one is one more."""
HISTORIES = int(os.environ.get("PGMEM_WORLD_HISTORIES", "1000"))
"""The histories of the long test."""
LONGEST = int(os.environ.get("PGMEM_WORLD_STEPS", "352"))
"""The most steps of one: 16 rounds of 22."""
WAYS = ("dsn", "dsn", "http", "folder")
FAULTS = ("restored", "dumped to another server", "pruned", "snapshot", "set back", "clock")

Step = tuple[str, int, bool, int, int]


class Past(Snapshot):
    """A snapshot in the place of the one before it."""

    def __init__(self, dsn: str) -> None:
        executed(dsn, "drop schema if exists before cascade")
        super().__init__(dsn)


class World:
    """The stores, their servers, and the folder through which they exchange."""

    def __init__(self, stores: list[Store], addresses: list[str], folder: Path) -> None:
        self._all, self._addresses, self._root = stores, addresses, folder

    def begin(self, seed: int, agents: bool) -> None:
        """Begin a history with a new user and an empty folder."""
        chance = Random(seed)
        self.user, self.agents = f"world{next(USERS)}", agents
        self.stores = self._all[: chance.choice((2, 3))]
        self.folder = self._root / self.user
        self.folder.mkdir()
        self.pasts: dict[Store, Past] = {}
        self.moment = (BEGIN + timedelta(minutes=number) for number in count())
        self.tokens = {}
        for store in self.stores:
            store.late, store.source = timedelta(seconds=chance.randint(-30, 30)), "cli"
            issued = store.connection.execute(
                "select token from pgmem.issue_token('', %s, p_for_sync => true, p_vouches => true)",
                (self.user,),
            ).fetchone()
            assert issued is not None
            self.tokens[store] = str(issued["token"])
            store.call(self.user, next(self.moment), "save_session", objective="open", project_id="shop")

    def do(self, step: Step) -> None:
        what, which, agent, x, y = step
        store = self.stores[which % len(self.stores)]
        if what in WAYS:
            self.exchange(
                what, store, self.stores[(which + 1 + x % (len(self.stores) - 1)) % len(self.stores)], y
            )
        elif what == "snapshot":
            self.pasts[store] = Past(store.dsn)
        elif what == "set back":
            if store in self.pasts:
                self.pasts[store].bring_back()
        elif what == "clock":
            store.late = timedelta(seconds=(x - 6) * 60 * 60 * 24 // (1 + 3 * y))
        elif what in FAULTS:
            fault(what, store.dsn)
        else:
            store.source = "mcp" if agent and self.agents and what not in PERSONS else "cli"
            act(store, self.user, (what, which, agent, x, y), next(self.moment))

    def exchange(self, way: str, here: Store, there: Store, y: int) -> Exchanged | None:
        if way == "dsn":
            return asyncio.run(exchanged(self.user, here, there, (None, 3, 6, None)[y]))
        other = str(self.folder) if way == "folder" else self._addresses[self._all.index(there)]
        for _ in range(2):
            try:
                return asyncio.run(self._run(here, other, self.tokens[there]))
            except InvalidArgument as error:
                assert "pgmem init --new-feed" in str(error), error
                executed(here.dsn, "select pgmem.settle_feed(true)")
        raise AssertionError("a store with a new identity cannot exchange")

    async def _run(self, here: Store, other: str, token: str) -> Exchanged:
        settings = Settings(dsn=here.dsn, embedding_provider="none", pool_size=2, connect_timeout_s=60,
                            retrieval_timeout_s=300, write_timeout_s=300)  # fmt: skip
        async with Memory.connect(settings, scope=MemoryScope(user_id=self.user), source="cli") as memory:
            return await exchange(memory, other, token)

    def settle(self) -> None:
        """Exchange until all have heard of all, and require that they hold the same."""
        waiting: list[Any] = []
        for _ in range(3):
            waiting = []
            for first, second in combinations(self.stores, 2):
                done = asyncio.run(exchanged(self.user, first, second))
                assert done is not None
                waiting += done.outstanding
        assert all(each.reason for each in waiting), waiting
        if not self.agents:
            assert waiting == [], [(each.direction, each.title, each.reason) for each in waiting]
            found = [content(store.dsn, self.user) for store in self.stores]
            for other in found[1:]:
                for part in found[0]:
                    assert found[0][part] == other[part], part
            return
        named = " ".join(
            f"{row['change']} {row['about']}"
            for store in self.stores
            for row in store.connection.execute("select change, about from pgmem.outstanding")
        )
        memories = [held(store, self.user) for store in self.stores]
        for one in memories:
            for other in memories:
                for known, row in one.items():
                    if not any(name in named for name in (row["id"], *row["aliases"])):
                        assert known in other, row
                        assert said(other[known]) == said(row), (other[known], row)


def drawn(seed: int, longest: int) -> list[Step]:
    chance = Random(seed)
    return [
        (
            chance.choice((*ACTS, *ACTS, *WAYS * 3, *FAULTS)),
            chance.randrange(3),
            chance.random() < 0.5,
            chance.randrange(12),
            chance.randrange(4),
        )
        for _ in range(chance.randint(longest // 2, longest))
    ]


@pytest.fixture(scope="module")
def world(server: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("world")
        stores = [Store(stack.enter_context(new_database(server, template))) for _ in range(3)]
        addresses = [
            stack.enter_context(
                running(
                    http_app(
                        Settings(dsn=store.dsn, data_dir=folder / str(number), embedding_provider="none")
                    )
                )
            )
            for number, store in enumerate(stores)
        ]
        yield World(stores, addresses, folder)
        for store in stores:
            store.connection.close()


def play(world: World, seed: int, longest: int) -> None:
    try:
        world.begin(seed, agents=seed % 2 == 1)
        for step in drawn(seed, longest):
            world.do(step)
        world.settle()
    except (AssertionError, psycopg.Error) as error:
        raise AssertionError(f"history {seed} (PGMEM_WORLD_SEED)") from error


def test_stores_hold_the_same_after_all_that_happens_to_them(world: World) -> None:
    for seed in range(SEED, SEED + 2):
        play(world, seed, 40)


@pytest.mark.long
def test_a_thousand_histories_of_a_world(world: World) -> None:
    began = perf_counter()
    failed = {}
    for seed in range(SEED, SEED + HISTORIES):
        try:
            play(world, seed, LONGEST)
        except AssertionError as error:
            failed[seed] = repr(error.__cause__)[:2000]
            sys.stdout.write(f"history {seed}: {failed[seed]}\n")
    minutes = (perf_counter() - began) / 60
    sys.stdout.write(
        f"{HISTORIES} histories from the seed {SEED}, {HISTORIES / minutes:.1f} a minute, {len(failed)} end different\n"
    )
    assert not failed, failed
