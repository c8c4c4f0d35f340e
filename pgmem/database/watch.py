"""What a database tells whoever watches it: calls and saves, by name and number, never what they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import psycopg

from pgmem.errors import DatabaseUnavailable, PgmemError

__all__ = ["Call", "Outcome", "Save", "Watcher", "outcome_of"]

Outcome = Literal["ok", "refused", "timeout", "unavailable", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a verb: when it began (nanoseconds since 1970), seconds it took, rows it gave, and where."""

    verb: str
    began_ns: int
    seconds: float
    outcome: Outcome
    rows: int
    replica: bool


@dataclass(frozen=True, slots=True)
class Save:
    """The status a save was answered with, one that waits in the outbox included."""

    verb: str
    status: str
    dedup_outcome: str | None


Watcher = Callable[[Call | Save], None]


def outcome_of(error: BaseException) -> Outcome:
    """How a call ended that raised."""
    if isinstance(error, DatabaseUnavailable):
        return "unavailable"
    if isinstance(error, PgmemError):
        return "refused"
    if isinstance(error, psycopg.errors.QueryCanceled):
        return "timeout"
    return "error" if isinstance(error, Exception) else "cancelled"
