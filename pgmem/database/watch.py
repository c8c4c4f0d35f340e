"""The events that a database gives to its watchers: calls and saves, as names and numbers without contents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, time_ns
from typing import Literal

import psycopg

from pgmem.errors import DatabaseUnavailable, PgmemError

Outcome = Literal["ok", "refused", "timeout", "unavailable", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a verb.

    Attributes:
        verb: its name.
        began_ns: nanoseconds since 1970.
        seconds: its duration.
        outcome: its end.
        rows: number of rows it returned.
        replica: whether the replica answered.
    """

    verb: str
    began_ns: int
    seconds: float
    outcome: Outcome
    rows: int
    replica: bool


@dataclass(frozen=True, slots=True)
class Save:
    """The status that a save returned; `pending_retry` if it is in the outbox."""

    verb: str
    status: str
    dedup_outcome: str | None


Watcher = Callable[[Call | Save], None]


def outcome_of(error: BaseException) -> Outcome:
    """Return the outcome of a call that raised this error."""
    if isinstance(error, DatabaseUnavailable):
        return "unavailable"
    if isinstance(error, PgmemError):
        return "refused"
    if isinstance(error, psycopg.errors.QueryCanceled):
        return "timeout"
    return "error" if isinstance(error, Exception) else "cancelled"


@dataclass(slots=True)
class Observation:
    """The result of an observed call; the fields are those of `Call`."""

    rows: int = 0
    replica: bool = False


@contextmanager
def observed(verb: str, notice: Callable[[Call], None]) -> Iterator[Observation]:
    """Time a call and give it to `notice` when it ends, also when it raises or is cancelled."""
    began_ns, began = time_ns(), monotonic()
    outcome: Outcome = "ok"
    seen = Observation()
    try:
        yield seen
    except BaseException as error:
        outcome = outcome_of(error)
        raise
    finally:
        notice(Call(verb, began_ns, monotonic() - began, outcome, seen.rows, seen.replica))
