"""Random histories of a memory against a plain Python model: a state once recorded can always be asked for again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any
from uuid import uuid4

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import DictRow

from tests.conftest import Call

START = datetime(2026, 1, 1, tzinfo=UTC)
SHOWN = ("active", "approved")
TRUE_ONCE = ("active", "approved", "superseded", "expired")


@dataclass(frozen=True)
class State:
    props: dict[str, Any]
    status: str
    valid_from: datetime | None
    valid_to: datetime | None
    ingested_at: datetime = START
    replaced_at: datetime | None = None

    def same(self, other: State) -> bool:
        return (self.props, self.status, self.valid_from, self.valid_to) == (
            other.props,
            other.status,
            other.valid_from,
            other.valid_to,
        )


@dataclass
class Model:
    """What a memory should have been, in the plainest words."""

    states: list[State] = field(default_factory=list)

    def put(self, state: State, now: datetime) -> None:
        if self.states:
            if self.states[-1].same(state):
                return
            self.states[-1] = replace(self.states[-1], replaced_at=now)
        self.states.append(replace(state, ingested_at=now, replaced_at=None))

    def at(self, known_at: datetime | None, as_of: datetime | None, now: datetime) -> State | None:
        for state in self.states:
            known = known_at is None and state.replaced_at is None
            if known_at is not None:
                known = state.ingested_at <= known_at and (
                    state.replaced_at is None or state.replaced_at > known_at
                )
            if not known:
                continue
            day = now if as_of is None else as_of
            begins = state.valid_from if as_of is None else (state.valid_from or self.states[0].ingested_at)
            true = (begins is None or begins <= day) and (state.valid_to is None or state.valid_to >= day)
            return state if true and state.status in (SHOWN if as_of is None else TRUE_ONCE) else None
        return None


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
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    steps=st.lists(st.tuples(step, st.integers(1, 20)), min_size=1, max_size=12),
    extra=st.lists(moment, max_size=3),
)
def test_what_was_recorded_can_always_be_asked_for_again(
    call: Call,
    connection: psycopg.Connection[DictRow],
    clock: Callable[[str], None],
    steps: list[tuple[tuple[Any, ...], int]],
    extra: list[datetime],
) -> None:
    name, model, now = f"thing {uuid4()}", Model(), START
    moments = {START - timedelta(days=1), *extra}
    for action, wait in steps:
        now += timedelta(days=wait)
        clock(now.isoformat())
        moments |= {now, now - timedelta(seconds=1)}
        _do(call, model, name, action, now)
    asked = [pair for pair in product([None, *sorted(moments)], repeat=2) if pair != (None, None)]
    for known_at, as_of in Random(len(asked)).sample(asked, min(len(asked), 60)):
        wanted = model.at(known_at, as_of, now)
        found = _ask(call, name, known_at, as_of)
        assert (found is None) == (wanted is None), (known_at, as_of, model.states)
        if wanted is not None and found is not None:
            assert found["properties"] == {"name": name, **wanted.props}
            assert (found["valid_from"], found["valid_to"]) == (wanted.valid_from, wanted.valid_to)
    history = (
        connection.execute(
            "select status, ingested_at, replaced_at from pgmem.memory_history('Concept', %s)", (name,)
        ).fetchall()
        if model.states
        else []
    )
    assert [tuple(row.values()) for row in history] == [
        (state.status, state.ingested_at, state.replaced_at) for state in model.states
    ]


def _do(call: Call, model: Model, name: str, action: tuple[Any, ...], now: datetime) -> None:
    last = model.states[-1] if model.states else None
    if action[0] == "remember":
        _, props, valid_from, valid_to = action
        begins = valid_from or (last.valid_from if last else None)
        kept = {**(last.props if last else {}), **props}
        wanted = State({k: v for k, v in kept.items() if v is not None}, "active", begins, valid_to)
        arguments = {"label": "Concept", "properties": {"name": name, **props}}
        arguments |= {"valid_from": valid_from, "valid_to": valid_to}
        if begins and valid_to and valid_to < begins:
            assert _refused(call, "remember", **arguments) == "PM001"
            return
        answer = call("remember", **arguments)
        assert answer["created"] == (last is None)
        assert (answer["conflict"] is not None) == (last is not None and last.valid_to is not None)
        model.put(wanted, now)
    elif last is None:
        assert _refused(call, action[0], label="Concept", key=name, **_version(action)) == "PM002"
    elif action[0] == "forget":
        call("forget", label="Concept", key=name)
        model.put(replace(last, status="archived"), now)
    elif action[1] >= len(model.states):
        assert _refused(call, "revert", label="Concept", key=name, version=action[1]) == "PM002"
    else:
        call("revert", label="Concept", key=name, version=action[1])
        model.put(model.states[action[1] - 1], now)


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
