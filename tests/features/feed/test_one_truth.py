"""The same knowledge is the same truth: saved in one store, in another order, at once, by import, or by sync of two stores."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from tests.core.model.facts import STEP
from tests.features.feed.test_sync_model import BEGIN, Store, stores
from tests.features.feed.test_sync_periods import in_step, said

__all__ = ["stores"]

HISTORIES = int(os.environ.get("PGMEM_TRUTHS", "8"))
"""How many histories are played; 5000 for a release."""
PARTS = ("vocabulary", "project", "focus", "node", "edge", "save")
MONTH = timedelta(days=30)


@dataclass(frozen=True)
class Telling:
    """A fact about the pilot for a period; one of the same word and begin corrects the end."""

    word: str
    begins: datetime
    ends: datetime | None


def knowledge(choose: Random) -> list[Telling]:
    """Open states that begin in different months, some of which end; short ones within a month; ends that are corrected.

    An end that is the begin withdraws a state. A short state that is saved for a period takes it from whatever was said
    before, so only those that lie within a month say the same in any order.
    """
    months = [BEGIN + number * MONTH for number in sorted(choose.sample(range(-8, 6), choose.randint(1, 4)))]
    tellings = []
    for number, begins in enumerate(months):
        state = Telling(f"word {number}", begins, None)
        tellings.append(state)
        if choose.random() < 0.5:  # its end is set later, and that may be corrected
            for _ in range(choose.randint(1, 2)):
                until = months[number + 1] if number + 1 < len(months) else begins + 5 * MONTH
                days = choose.choice([0, choose.randint(1, (until - begins).days - 1)])
                tellings.append(replace(state, ends=begins + timedelta(days=days)))
        if choose.random() < 0.4:
            within = begins + timedelta(days=choose.randint(2, 12))
            tellings.append(
                Telling(f"short {number}", within, within + timedelta(days=choose.randint(0, 10)))
            )
    return tellings


def any_order(choose: Random, tellings: list[Telling]) -> list[Telling]:
    """An order in which a correction stays behind its fact, and that behind the states that begin before it.

    One that is saved in between leaves for good the time that the other one held then (0037).
    """
    left = list(tellings)
    order: list[Telling] = []
    while left:
        first = {(t.word, t.begins): t for t in reversed(left)}
        able = [
            t for t in first.values()
            if left.count(t) + sum(o.word == t.word and o != t for o in left) == 1 or t.begins == min(o.begins for o in left)
            or (t.ends is not None and any(o.word == t.word for o in order))
        ]  # fmt: skip
        order.append(found := choose.choice(able))
        left.remove(found)
    return order


def truth(tellings: list[Telling], day: datetime) -> str | None:
    """The latest begin of the states that hold on a day, each with the end that was set last."""
    last = {(t.word, t.begins): t for t in tellings}
    holds = [t for t in last.values() if t.begins <= day and (t.ends is None or day <= t.ends)]
    return max(holds, key=lambda t: t.begins).word if holds else None


def begin(store: Store, user: str) -> None:
    store.late = timedelta()
    store.call(user, BEGIN, "save_session", objective="open", project_id="quay")


def save(store: Store, user: str, now: datetime, telling: Telling) -> None:
    answer = store.call(
        user, now, "remember", label="Technology", properties={"name": "Pilot", "notes": telling.word}, project_id="quay",
        valid_from=telling.begins, valid_to=telling.ends,
    )  # fmt: skip
    assert answer["status"] in ("active", "saved"), answer


def imported(store: Store, user: str, now: datetime, other: str) -> None:
    """Bring the memories of a user to another one."""
    lines: list[Any] = []
    for part in PARTS:
        begin(store, user)  # whose connection it is
        rows = store.connection.execute("select record from pgmem.export_records(%s)", (part,)).fetchall()
        lines += [json.loads(row["record"]) for row in rows]
    store.call(other, now, "import_records", records=lines, own=True)


def play(stores: list[Store], seed: int) -> None:
    choose = Random(seed)
    tellings = knowledge(choose)
    here, there, *_ = stores
    days = sorted(
        {day + step for t in tellings for day in (t.begins, t.ends or t.begins, t.begins + MONTH) for step in (-STEP, 0 * STEP, STEP)}
    )  # fmt: skip
    moments = [BEGIN]
    for _ in tellings:
        moments.append(moments[-1] + timedelta(days=choose.choice([0, 0, 3]), minutes=1))
    now = moments[-1]
    ways = {"as given": tellings, "another order": any_order(choose, tellings)}
    last = list({(t.word, t.begins): t for t in tellings}.values())
    # One that is saved with its end takes the whole period from earlier facts, also from a short one within.
    ways["at once"] = [
        telling
        for is_short in (False, True)
        for telling in any_order(choose, [t for t in last if t.word.startswith("short") == is_short])
    ]
    for way, order in ways.items():
        begin(here, f"{way} {seed}")
        for moment, telling in zip(moments, order, strict=False):
            save(here, f"{way} {seed}", moment, telling)
    imported(here, f"as given {seed}", now, f"imported {seed}")
    apart = f"apart {seed}"
    begin(here, apart)
    begin(there, apart)
    for moment, telling in zip(moments, tellings, strict=False):
        save(choose.choice([here, there]), apart, moment, telling)
        if choose.random() < 0.3:
            asyncio.run(in_step([here, there], apart, moment))
    asyncio.run(in_step([here, there], apart, now))
    asyncio.run(in_step([there, here], apart, now))
    asked = [(here, f"{way} {seed}") for way in (*ways, "imported")] + [(here, apart), (there, apart)]
    wanted = [truth(tellings, day) for day in days]
    for later in (now + STEP, now + 2 * MONTH):
        live = [word] if (word := truth(tellings, later)) else []
        for store, user in asked:
            assert said(store, user, later, days) == [*wanted, live], (seed, user, later)


@pytest.mark.parametrize("part", range(4))
def test_the_same_knowledge_is_the_same_truth_however_it_is_given(stores: list[Store], part: int) -> None:
    for seed in range(part, HISTORIES, 4):
        play(stores, seed)


def test_what_an_open_state_covered_holds_again_behind_an_end_that_is_set_later(stores: list[Store]) -> None:
    january, february, march = (BEGIN.replace(month=month) for month in (1, 2, 3))
    one, two = Telling("one", january, None), Telling("two", february, None)
    april = BEGIN.replace(month=4)
    for user, order in (
        ("two saves", [one, replace(two, ends=march)]),
        ("three saves", [one, two, replace(two, ends=march)]),
    ):
        begin(stores[0], user)
        for number, telling in enumerate(order):
            save(stores[0], user, BEGIN + number * STEP, telling)
        assert said(stores[0], user, april, [february, march, april]) == ["two", "two", "one", ["one"]]


def test_a_change_without_a_start_takes_the_place_of_all_that_the_present_state_covers(
    stores: list[Store],
) -> None:
    user, (store, *_) = "undated", stores
    begin(store, user)
    for number, (fact, begins) in enumerate((("one", 1), ("two", 2))):
        when = BEGIN.replace(month=begins)
        store.call(user, BEGIN + number * STEP, "upsert_entity", entity_name="Pilot", fact=fact, project_id="quay", valid_from=when)  # fmt: skip
    for moment, ends in ((BEGIN + MONTH, None), (BEGIN + 2 * MONTH, BEGIN + 2 * MONTH)):
        store.call(
            user, moment, "upsert_entity", entity_name="Pilot", fact="three", project_id="quay", valid_to=ends
        )
    days = [BEGIN.replace(month=1), BEGIN, BEGIN + MONTH + STEP, BEGIN + 3 * MONTH]
    found = store.connection.execute(
        "select (select s.props ->> 'fact' from pgmem.states_at(d, null) s where s.label = 'EntityFact') as fact"
        " from unnest(%s::timestamptz[]) with ordinality as q(d, place) order by place",
        (days,),
    ).fetchall()
    assert [row["fact"] for row in found] == ["one", "two", "three", None]
