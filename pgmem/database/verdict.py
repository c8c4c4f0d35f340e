"""One judgement of an error, for all who sent a call: it may be sent again, is kept, has failed, or nobody knows."""

from __future__ import annotations

from typing import Literal, TypeAlias

import psycopg

from pgmem.errors import (
    Busy,
    DatabaseUnavailable,
    EmbeddedServerError,
    OutcomeUnknown,
    OutOfResources,
    SchemaOutdated,
)

Verdict: TypeAlias = Literal["again", "queue", "fail", "uncertain"]
"""The verdict on a call.

- again: the server answers and has done nothing; the same call may be sent again, in a moment.
- queue: nothing was done, and this process reaches no server that would do it: a save is kept.
- uncertain: it may be done or not; only a call that the store knows again is sent again.
- fail: it was refused, and would be again.
"""

# SQLSTATE classes of errors that a later call may not meet: deadlock, lack of resources, locks, timeout and shutdown.
_TEMPORARY = ("40", "53", "55", "57")


def verdict(error: Exception, *, by_front: bool = False) -> Verdict:
    """Return the verdict on a call that ended with an error.

    Args:
        error: of pgmem or of PostgreSQL.
        by_front: whether a front sent it to a cell, which may have gone on after the front gave up.
    """
    if isinstance(error, OutcomeUnknown):
        return "uncertain"
    if isinstance(error, Busy | OutOfResources):
        return "again"
    if isinstance(error, DatabaseUnavailable | EmbeddedServerError | SchemaOutdated):
        return "queue"
    if not isinstance(error, psycopg.Error):
        return "fail"
    if by_front and _may_be_done(error):
        return "uncertain"
    return "again" if (error.sqlstate or "").startswith(_TEMPORARY) else "fail"


def _may_be_done(error: psycopg.Error) -> bool:
    """Whether the cell may have done it: the front gave up waiting, or an upgrade replaced its functions meanwhile."""
    return isinstance(error, psycopg.errors.QueryCanceled) or (
        isinstance(error, psycopg.errors.InternalError_) and "cache lookup failed" in str(error)
    )
