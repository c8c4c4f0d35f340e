"""Stores that people use, whose line is cut and whose clocks differ, hold the same in the end, as a model says."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import combinations, count
from time import perf_counter
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import DictRow, dict_row

from pgmem.calls.caller import Caller
from pgmem.calls.methods import Verbs
from pgmem.database.database import Database
from pgmem.errors import DatabaseUnavailable
from pgmem.features.feed.exchange import Exchange, Exchanged
from pgmem.features.feed.peers import StorePeer
from pgmem.models import MemoryScope
from pgmem.settings import Settings
from tests.conftest import caller, new_database, past_the_pooler
from tests.features.feed.test_sync import content

NAMES = ("Port", "Owner", "Region")
TITLES = (
    "Pay by invoice only",
    "Pay by card only",
    "Ship on Monday",
    "Use PostgreSQL 16 for storage",
    "Use PostgreSQL 17 for storage",
)
USERS = count()
HISTORIES = int(os.environ.get("PGMEM_SYNC_HISTORIES", "1000"))
"""Seeds of the long test."""
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


class Store:
    """A store with a clock that may be wrong, and a connection on which a person calls verbs, or who `source` says."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.connection: psycopg.Connection[DictRow] = psycopg.connect(
            past_the_pooler(dsn), autocommit=True, row_factory=dict_row
        )
        self.connection.execute("update pgmem.setting set value = 'true' where name = 'test_clock'")
        self._call = caller(self.connection)
        self.late = timedelta()
        self.source = "cli"

    def call(self, user: str, at: datetime, asked: str, /, **arguments: object) -> DictRow:
        """Call a verb at a moment of the store's clock; a refusal is none of the model's business."""
        for name, value in (
            ("user_id", user),
            ("now", (at + self.late).isoformat()),
            ("source", self.source),
        ):
            self.connection.execute("select set_config(%s, %s, false)", (f"pgmem.{name}", value))
        try:
            return self._call(asked, **arguments)
        except psycopg.Error as error:
            assert error.sqlstate is not None
            assert error.sqlstate.startswith("PM"), error
            return {}


class Cut(StorePeer):
    """A store whose line is cut after so many calls."""

    def __init__(self, memory: Verbs, calls: int) -> None:
        super().__init__(memory)
        self.left = calls

    async def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise DatabaseUnavailable("the line is cut")

    async def changes(self, after: str, without: str | None = None) -> dict[str, Any]:
        await self._step()
        return await super().changes(after, without)

    async def apply(self, changes: Any, **options: Any) -> Any:
        await self._step()
        found = await super().apply(changes, **options)
        await self._step()  # applied, and the answer is lost
        return found


@pytest.fixture(scope="module")
def stores(server: str, template: str) -> Iterator[list[Store]]:
    with (
        new_database(server, template) as a,
        new_database(server, template) as b,
        new_database(server, template) as c,
    ):
        opened = [Store(dsn) for dsn in (a, b, c)]
        yield opened
        for store in opened:
            store.connection.close()


which = st.integers(0, 2)
name = st.sampled_from(NAMES)
steps = st.one_of(
    st.tuples(st.just("fact"), which, name, st.integers(0, 9)),
    st.tuples(st.just("decide"), which, st.sampled_from(TITLES), st.integers(0, 1)),
    st.tuples(st.just("forget"), which, name),
    st.tuples(st.just("purge"), which, name),
    st.tuples(st.just("relate"), which, name, st.sampled_from(TITLES)),
    st.tuples(st.just("supersede"), which, st.sampled_from(TITLES), st.sampled_from(TITLES)),
    st.tuples(st.just("again"), which, st.sampled_from(TITLES), st.integers(0, 1)),
    st.tuples(st.just("review"), which, st.sampled_from(("new", "supersede", "drop"))),
    st.tuples(st.just("sync"), which, which, st.integers(0, 12)),
)


async def exchanged(user: str, first: Store, second: Store, calls: int | None = None) -> Exchanged | None:
    """Bring two stores in step; None where the line was cut after so many calls."""
    databases = []
    try:
        for store in (first, second):
            database = Database(
                # A busy machine must not look like a cut line.
                Settings(dsn=store.dsn, embedding_provider="none", pool_size=2, connect_timeout_s=60,
                         retrieval_timeout_s=300, write_timeout_s=300),
                MemoryScope(user_id=user), "sync",
            )  # fmt: skip
            databases.append(database)
            await database.open()
        here, there = (Verbs(Caller(database)) for database in databases)
        peer = StorePeer(there) if calls is None else Cut(there, calls)
        return await Exchange(StorePeer(here)).with_store(peer, "the other")
    except DatabaseUnavailable:
        assert calls is not None
        return None
    finally:
        for database in databases:
            await database.close()


def play(stores: list[Store], history: list[tuple[Any, ...]], late: list[int], two: bool) -> None:
    user = f"user{next(USERS)}"
    used = stores[: 2 if two else 3]
    moment = (BEGIN + timedelta(minutes=number) for number in count())
    facts: list[tuple[datetime, str, str]] = []
    purged: set[str] = set()
    for store, seconds in zip(stores, late, strict=True):
        store.late = timedelta(seconds=seconds)
        store.call(user, next(moment), "save_session", objective="open", project_id="shop")

    for step in history:
        what, store = step[0], used[step[1] % len(used)]
        at = next(moment)
        match what:
            case "fact":
                value = f"{step[3]} of {at.minute}"
                done = store.call(
                    user, at, "upsert_entity", entity_name=step[2], fact=value, project_id="shop"
                )
                if done.get("status") == "saved":
                    facts.append((at + store.late, step[2], value))
            case "decide":
                store.call(
                    user, at, "save_decision", title=step[2], rationale=str(step[3]), project_id="shop"
                )
            case "forget":
                store.call(user, at, "forget", label="EntityFact", key=step[2], project_id="shop")
            case "purge":
                store.call(user, at, "forget", label="EntityFact", key=step[2], project_id="shop", purge=True)
                purged.add(step[2])
            case "relate":
                store.call(user, at, "relate", from_label="EntityFact", from_key=step[2], rel_type="RELATED_TO",
                           to_label="Decision", to_key=step[3], project_id="shop")  # fmt: skip
            case "supersede":
                store.call(
                    user, at, "save_decision", title=f"{step[2]} now", rationale=step[3], project_id="shop"
                )
            case "again":
                standing = store.connection.execute(
                    "select id::text from pgmem.node where title = %s and status = 'active' and user_id = %s limit 1",
                    (f"{step[2]} now", user),
                ).fetchone()
                store.call(user, at, "save_decision", title=step[2], rationale=str(step[3]), project_id="shop",
                           supersedes=standing and standing["id"])  # fmt: skip
            case "review":
                waiting = store.call(user, at, "list_reviews", limit=1)
                if waiting:
                    store.call(user, at, "resolve_review", save_id=waiting["save_id"], outcome=step[2],
                               by="ann", candidate_id=waiting["candidate_id"])  # fmt: skip
            case "sync":
                other = used[step[2] % len(used)]
                if other is not store:
                    asyncio.run(exchanged(user, store, other, step[3]))
    for _ in range(3):
        for first, second in combinations(used, 2):
            asyncio.run(exchanged(user, first, second))
    held = [content(store.dsn, user) for store in used]
    for other in held[1:]:
        for part in held[0]:
            assert held[0][part] == other[part], part
    for entity in set(NAMES) - purged:
        said = [(at, value) for at, named, value in facts if named == entity]
        found = [row for row in held[0]["nodes"] if row["label"] == "EntityFact" and row["key"] == entity]
        assert len(found) == bool(said)
        if said:
            (row,) = found
            known = {row["props"]["fact"], *(version[3]["fact"] for version in row["versions"] or ())}
            assert {value for _, value in said} <= known


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(steps, max_size=14), st.lists(st.integers(-30, 30), min_size=3, max_size=3), st.booleans())
def test_stores_in_step_hold_the_same_and_what_the_model_says(
    stores: list[Store], history: list[tuple[Any, ...]], late: list[int], two: bool
) -> None:
    play(stores, history, late, two)


def test_a_review_that_was_answered_on_one_store_is_closed_on_all(stores: list[Store]) -> None:
    """A save held on one side that the other side holds as well, whose review only one person answers."""
    invoice, card = "Pay by invoice only", "Pay by card only"
    play(
        stores,
        [("supersede", 1, invoice, invoice), ("supersede", 2, invoice, card), ("sync", 2, 1, 10), ("review", 2, "new")],
        [0, 0, 0],
        two=False,
    )  # fmt: skip


def test_a_decision_made_in_two_stores_is_one_although_one_of_them_has_replaced_its_own(
    stores: list[Store],
) -> None:
    """The line is cut when one store knows both; the other replaces its own before it hears of the first one."""
    card, monday = "Pay by card only", "Ship on Monday"
    play(
        stores,
        [("supersede", 1, card, monday), ("supersede", 0, card, monday), ("sync", 1, 0, 3), ("decide", 0, card, 0)],
        [0, 0, 0],
        two=False,
    )  # fmt: skip


def test_a_relation_that_a_person_removed_does_not_come_back_when_the_other_store_runs_the_exchange(
    stores: list[Store],
) -> None:
    """The second exchange is run by the store that had not run the first: it knew nothing of the changes it had sent."""
    invoice = "Pay by invoice only"
    play(
        stores,
        [("supersede", 1, invoice, invoice), ("decide", 0, invoice, 0), ("sync", 1, 0, 99), ("review", 0, "new"),
         ("review", 1, "supersede")],
        [0, 0, 0],
        two=True,
    )  # fmt: skip


@pytest.mark.parametrize("first", [0, 1])
def test_a_decision_that_was_made_again_is_another_one_although_the_other_store_kept_the_first(
    stores: list[Store], first: int
) -> None:
    card = "Pay by card only"
    play(
        stores,
        [("decide", 0, card, 0), ("decide", 1, card, 0), ("supersede", 0, card, card), ("again", 0, card, 0),
         ("sync", first, 2, 99)],
        [0, 0, 0],
        two=False,
    )  # fmt: skip


@pytest.mark.long
def test_a_thousand_histories(stores: list[Store]) -> None:
    began = perf_counter()
    done = 0

    @settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(steps, max_size=30), st.lists(st.integers(-30, 30), min_size=3, max_size=3), st.booleans()
    )
    def histories(history: list[tuple[Any, ...]], late: list[int], two: bool) -> None:
        nonlocal done
        play(stores, history, late, two)
        done += 1

    histories()
    minutes = (perf_counter() - began) / 60
    sys.stdout.write(f"{done} histories, {done / minutes:.0f} a minute, all stores equal\n")
