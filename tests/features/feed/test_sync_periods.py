"""Stores to which states of one thing were saved with their periods say the same of every day, as a model says."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timedelta
from itertools import combinations
from random import Random
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from pgmem.calls.caller import Caller
from pgmem.calls.methods import Verbs
from pgmem.database.database import Database
from pgmem.features.feed.exchange import Exchange
from pgmem.features.feed.peers import StorePeer
from pgmem.models import MemoryScope
from pgmem.settings import Settings
from tests.conftest import past_the_pooler
from tests.core.model.facts import STEP, Thing
from tests.features.feed.test_sync import content
from tests.features.feed.test_sync_model import BEGIN, Store, stores

__all__ = ["stores"]

HISTORIES = int(os.environ.get("PGMEM_SYNC_HISTORIES", "300"))
"""Seeds of the long test."""


async def in_step(stores: list[Store], user: str, now: datetime) -> None:
    """An exchange at a moment of the clock of the tests."""
    opened = [
        Database(Settings(dsn=dsn, embedding_provider="none"), MemoryScope(user_id=user), "sync")
        for store in stores
        for dsn in [make_conninfo(past_the_pooler(store.dsn), options=f"-c pgmem.now={now.isoformat()}")]
    ]
    try:
        for database in opened:
            await database.open()
        here, there = (StorePeer(Verbs(Caller(database))) for database in opened)
        await Exchange(here).with_store(there, "the other")
    finally:
        for database in opened:
            await database.close()


def said(store: Store, user: str, now: datetime, days: list[datetime]) -> list[Any]:
    """The answer of a store for each day, and for now."""
    for name, value in (("user_id", user), ("now", now.isoformat())):
        store.connection.execute("select set_config(%s, %s, false)", (f"pgmem.{name}", value))
    rows = store.connection.execute(
        "select (select s.props ->> 'notes' from pgmem.states_at(d, null) s where s.label = 'Technology') as notes"
        " from unnest(%s::timestamptz[]) with ordinality as q(d, place) order by place",
        (days,),
    ).fetchall()
    live = store.connection.execute(
        "select props ->> 'notes' as notes from pgmem.live_node where label = 'Technology'"
    ).fetchall()
    return [row["notes"] for row in rows] + [[row["notes"] for row in live]]


def play(stores: list[Store], seed: int, *, undated: bool) -> None:
    """Save states to the stores in any order, bring two in step now and then, and ask all for every day."""
    choose, user, now = Random(seed), f"periods{seed}{undated}", BEGIN
    model = Thing("Technology", "Pilot")
    days = {now}

    def some_day() -> datetime:
        day = now + timedelta(days=choose.randint(-60, 40), hours=3)
        days.update((day - STEP, day, day + STEP))
        return day

    for store in stores:
        store.late = timedelta()
        store.call(user, now, "save_session", objective="open", project_id="quay")
    for number in range(choose.randint(2, 8)):
        now += timedelta(days=choose.randint(0, 9), minutes=1)
        store = choose.choice(stores)
        dated = not undated or choose.random() < 0.5
        begins = some_day() if dated else None
        ends = begins + timedelta(days=choose.randint(0, 50)) if begins and choose.random() < 0.4 else None
        days.update(day for day in (ends and ends - STEP, ends, ends and ends + STEP, now) if day)
        props = {"name": "Pilot", "notes": f"word {number}"}
        if undated and choose.random() < 0.15:
            store.call(user, now, "forget", label="Technology", key="Pilot", project_id="quay")
        else:
            done = store.call(user, now, "remember", label="Technology", properties=props, project_id="quay",
                              valid_from=begins, valid_to=ends)  # fmt: skip
            assert done["status"] in ("active", "saved"), done
            if begins:
                model.remember(now, ("Pilot", props), begins, ends)
        if choose.random() < 0.4:
            asyncio.run(in_step(choose.sample(stores, 2), user, now))
    for _ in range(len(stores)):
        for pair in combinations(stores, 2):
            asyncio.run(in_step(list(pair), user, now))
    asked = sorted(days)
    for later in (now, now + timedelta(days=30), now + timedelta(days=60)):
        here, *others = (said(store, user, later, asked) for store in stores)
        assert all(there == here for there in others), (seed, later)
        if not undated:
            wanted = [
                found and found[1].content[1]["notes"] for found in (model.at(day, None) for day in asked)
            ]
            assert here[:-1] == wanted, (seed, later)
            live = model.at(later, None)
            assert here[-1] == ([live[1].content[1]["notes"]] if live else []), (seed, later)
    first, *more = (content(store.dsn, user)["nodes"] for store in stores)
    assert all(nodes == first for nodes in more), seed


# In 125 a store in the middle passes on a state that is beside the present one.
@pytest.mark.parametrize("seed", [*range(5), 125])
@pytest.mark.parametrize("undated", [False, True], ids=["dated", "undated"])
def test_all_stores_say_of_every_day_what_was_saved(stores: list[Store], seed: int, undated: bool) -> None:
    play(stores[: 2 + seed % 2], seed, undated=undated)


@pytest.mark.long
def test_many_histories(stores: list[Store]) -> None:
    for seed in range(100, 100 + HISTORIES):
        play(stores[: 2 + seed % 2], seed, undated=seed % 3 == 0)
