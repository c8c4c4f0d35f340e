"""A tenant whose cell does not answer: one call in two seconds asks, and the others are refused at once."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from pgmem.database import silent
from pgmem.errors import CellSilent

ANA, BOB = ("acme", "ana"), ("globex", "bob")
Clock = Callable[[float], None]


@pytest.fixture
def after(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let so many seconds pass."""
    now = [1000.0]
    monkeypatch.setattr(silent, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


def asks(known: silent.Silent, tenant: tuple[str, str], outcome: BaseException | None = None) -> bool:
    """Whether a call is made; it ends with this outcome."""
    made = False
    try:
        with known.asking(tenant):
            made = True
            if outcome is not None:
                raise outcome
    except (CellSilent, ValueError, psycopg.Error):
        pass
    return made


def test_a_tenant_that_got_no_answer_is_asked_for_by_one_call_in_two_seconds(after: Clock) -> None:
    known = silent.Silent()
    assert asks(known, ANA, CellSilent())
    assert not asks(known, ANA)
    assert asks(known, BOB)
    after(2.1)
    with known.asking(ANA):
        assert not asks(known, ANA)  # another call asks already
    assert asks(known, ANA)
    assert ANA not in known


def test_a_call_that_ends_otherwise_leaves_the_tenant_as_it_was(after: Clock) -> None:
    known = silent.Silent()
    assert asks(known, BOB, ValueError())
    assert BOB not in known
    assert asks(known, ANA, CellSilent())
    after(2.1)
    assert asks(known, ANA, ValueError())
    assert ANA in known
    assert not asks(known, ANA)


def test_a_verb_that_refuses_a_call_is_an_answer_of_the_cell(after: Clock) -> None:
    class Refused(psycopg.Error):
        sqlstate = "PM001"

    known = silent.Silent()
    assert asks(known, ANA, CellSilent())
    after(2.1)
    assert asks(known, ANA, Refused())
    assert ANA not in known


def test_calls_of_other_tenants_leave_one_that_got_no_answer_alone_for_a_while(after: Clock) -> None:
    known = silent.Silent()
    assert not known.rests(ANA)
    asks(known, ANA, CellSilent())
    after(31)
    assert known.rests(ANA)
    after(2)
    assert not known.rests(ANA)
