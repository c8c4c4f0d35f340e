"""Random histories of a memory against a plain Python model: a state once recorded can always be asked for again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any
from uuid import uuid4

import psycopg
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.core.model.facts import HISTORIES, NOW, Thing
from tests.fixtures.verbs import ActAs

START = datetime(2026, 1, 1, tzinfo=UTC)
days = st.integers(-40, 80)
moment = days.map(lambda day: START + timedelta(days=day))
step = st.one_of(
    st.tuples(
        st.just("remember"),
        st.dictionaries(st.sampled_from(["summary", "details"]), st.sampled_from(["a", "b", None])),
        st.none() | moment,
        st.none() | moment,
    ),
    st.tuples(st.just("forget")),
    st.tuples(st.just("revert"), st.integers(1, 4)),
)


@settings(
    max_examples=HISTORIES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
    phases=[Phase.generate],  # making a failing history shorter takes minutes
)
@given(
    steps=st.lists(st.tuples(step, st.integers(1, 20)), min_size=1, max_size=12),
    extra=st.lists(moment, max_size=3),
)
def test_what_was_recorded_can_always_be_asked_for_again(
    call: Call,
    connection: psycopg.Connection[DictRow],
    clock: Callable[[str], None],
    act_as: ActAs,
    steps: list[tuple[tuple[Any, ...], int]],
    extra: list[datetime],
) -> None:
    act_as(f"history {uuid4()}")
    name, model, now = f"thing {uuid4()}", Thing("Concept", ""), START
    moments = {START - timedelta(days=1), *extra}
    for action, wait in steps:
        now += timedelta(days=wait)
        clock(now.isoformat())
        moments |= {now, now - timedelta(seconds=1)}
        _do(call, model, name, action, now)
    asked = [pair for pair in product([None, *sorted(moments)], repeat=2) if pair != (None, None)]
    for known_at, as_of in Random(len(asked)).sample(asked, min(len(asked), 60)):
        wanted = model.at(as_of, known_at)
        found = _ask(call, name, known_at, as_of)
        assert (found is None) == (wanted is None), (known_at, as_of, model.facts)
        if wanted is not None and found is not None:
            version, fact = wanted
            assert (found["version"], found["properties"]) == (version, {"name": name, **fact.content[1]})
            assert (found["valid_from"], found["valid_to"]) == (fact.valid_from, fact.end)
    history = (
        connection.execute(
            "select status, ingested_at, replaced_at from pgmem.memory_history('Concept', %s)", (name,)
        ).fetchall()
        if model.facts
        else []
    )
    assert [tuple(row.values()) for row in history] == [
        (fact.status, fact.recorded, None if fact.replaced == NOW else fact.replaced)
        for _, fact in sorted(model.facts.items())
    ]


def _do(call: Call, model: Thing, name: str, action: tuple[Any, ...], now: datetime) -> None:
    # A refused call stores nothing, not even a state that has become true.
    last = model.present_at(now) if model.facts else None
    if action[0] == "remember":
        _, props, valid_from, valid_to = action
        begins = valid_from or (last.valid_from if last else None)
        arguments = {"label": "Concept", "properties": {"name": name, **props}}
        arguments |= {"valid_from": valid_from, "valid_to": valid_to}
        if begins and valid_to and valid_to < begins:
            assert _refused(call, "remember", **arguments) == "PM001"
            return
        answer = call("remember", **arguments)
        assert answer["created"] == (last is None)
        expected, contradicts = model.remember(now, (name, props), valid_from, valid_to)
        assert (answer["conflict"] is not None) == (
            contradicts or (last is not None and last.end is not None)
        )
        assert (answer["conflict"] and answer["conflict"]["action"]) == (
            "review" if contradicts else expected
        )
    elif last is None:
        assert _refused(call, action[0], label="Concept", key=name, **_version(action)) == "PM002"
    elif action[0] == "forget":
        call("forget", label="Concept", key=name)
        model.settle(now)
        model.become(now, "archived")
    elif action[1] > len(model.facts) or action[1] == last.version == len(model.facts):
        assert _refused(call, "revert", label="Concept", key=name, version=action[1]) == "PM002"
    else:
        call("revert", label="Concept", key=name, version=action[1])
        model.settle(now)
        model.revert(now, action[1])


def _version(action: tuple[Any, ...]) -> dict[str, object]:
    return {"version": action[1]} if action[0] == "revert" else {}


def _ask(call: Call, name: str, known_at: datetime | None, as_of: datetime | None) -> DictRow | None:
    try:
        return call("get_node", label="Concept", key=name, known_at=known_at, as_of=as_of)
    except psycopg.Error as error:
        assert error.sqlstate == "PM002"
        return None


def _refused(call: Call, verb: str, **arguments: object) -> str | None:
    try:
        call(verb, **arguments)
    except psycopg.Error as error:
        return error.sqlstate
    return None
