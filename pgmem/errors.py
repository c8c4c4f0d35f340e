"""Every error pgmem raises on purpose.

PgmemError
├── InvalidArgument        PM001  an argument cannot be taken; the message says what to send instead
├── MemoryNotFound         PM002  no memory of that name or id is visible here
├── AmbiguousName          PM003  a name fits several memories; the message lists them
├── NotPermitted           PM004  this caller may not do that
├── WrongIsolation         PM005  a writing verb was called outside READ COMMITTED
├── IdentityRequired       PM006  the store has tenants and the caller has no identity
├── SaveIdReused           PM007  a save_id came again with other arguments
├── TierMissing            PM008  the server lacks the extension this needs
├── CapacityReached        PM009  a limit on the number of rows is reached
├── ContractError          PM010  a call breaks the contract of engineering memory
├── RelationNotAllowed     PM011  a relation does not join these memories, or only the verbs make it
├── DatabaseUnavailable           the database cannot be reached
│   └── OutcomeUnknown            the connection was lost after the call was sent: it may have been committed
├── SchemaOutdated                the database holds another version of the schema
├── UnsuitableDatabase            the database cannot hold a pgmem schema (collation, version)
└── EmbeddedServerError           the embedded PostgreSQL cannot be started or reached
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

__all__ = [
    "AmbiguousName",
    "CapacityReached",
    "ContractError",
    "DatabaseUnavailable",
    "EmbeddedServerError",
    "IdentityRequired",
    "InvalidArgument",
    "MemoryNotFound",
    "NotPermitted",
    "OutcomeUnknown",
    "PgmemError",
    "RelationNotAllowed",
    "SaveIdReused",
    "SchemaOutdated",
    "TierMissing",
    "UnsuitableDatabase",
    "WrongIsolation",
    "first_line",
    "summary",
    "translate",
]

_BY_SQLSTATE: dict[str, type[PgmemError]] = {}


class PgmemError(Exception):
    """Base of every error pgmem raises on purpose; a subclass names the SQLSTATE it stands for."""

    sqlstate: str | None = None

    def __init_subclass__(cls, sqlstate: str | None = None) -> None:
        """Register the class under its SQLSTATE, so that `translate` finds it."""
        super().__init_subclass__()
        cls.sqlstate = sqlstate
        if sqlstate is not None:
            _BY_SQLSTATE[sqlstate] = cls


class InvalidArgument(PgmemError, sqlstate="PM001"):
    """An argument cannot be taken; the message says what to send instead."""


class MemoryNotFound(PgmemError, sqlstate="PM002"):
    """No memory of that name or id is visible here."""


class AmbiguousName(PgmemError, sqlstate="PM003"):
    """A name fits several memories; the message lists them."""


class NotPermitted(PgmemError, sqlstate="PM004"):
    """This caller may not do that."""


class WrongIsolation(PgmemError, sqlstate="PM005"):
    """A writing verb was called in a transaction that is not READ COMMITTED."""


class IdentityRequired(PgmemError, sqlstate="PM006"):
    """The store has tenants and the caller has no identity."""


class SaveIdReused(PgmemError, sqlstate="PM007"):
    """A save_id came again with other arguments."""


class TierMissing(PgmemError, sqlstate="PM008"):
    """The server lacks the extension this needs."""


class CapacityReached(PgmemError, sqlstate="PM009"):
    """A limit on the number of rows is reached."""


class ContractError(PgmemError, sqlstate="PM010"):
    """A call breaks the contract of engineering memory."""


class RelationNotAllowed(PgmemError, sqlstate="PM011"):
    """A relation does not join these memories, or only the verbs that mean it make it."""


class DatabaseUnavailable(PgmemError):
    """The database cannot be reached, or the outcome of a commit is unknown."""


class OutcomeUnknown(DatabaseUnavailable):
    """The connection was lost after the call was sent: it may have been committed or not."""


class SchemaOutdated(PgmemError):
    """The database holds another version of the schema; the message names `pgmem init`."""


class UnsuitableDatabase(PgmemError):
    """The database cannot hold a pgmem schema: its collation or its version does not serve."""


class EmbeddedServerError(PgmemError):
    """The embedded PostgreSQL cannot be started or reached."""


# What a server says of itself, and not of a value it was sent: connection, resources, locks, shutdown, system.
_NO_CONTENTS = ("08", "40", "53", "55", "57", "58")


def summary(error: BaseException) -> str:
    """An error for a log: what happened, and never what a memory says.

    What PostgreSQL refuses is told by class, SQLSTATE and constraint, because its message may quote the value.
    """
    cause = error.__cause__
    if isinstance(error, PgmemError) and error.sqlstate is None and not isinstance(cause, psycopg.Error):
        return first_line(error)
    found = error if isinstance(error, psycopg.Error) else cause
    if not isinstance(found, psycopg.Error):
        return first_line(error) if isinstance(error, OSError) else type(error).__name__
    if found.sqlstate is None or found.sqlstate.startswith(_NO_CONTENTS):
        return first_line(error)
    told = [type(error).__name__, found.sqlstate, found.diag.constraint_name]
    return " ".join(part for part in told if part)


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its class where it has none."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


@contextmanager
def translate() -> Iterator[None]:
    """Turn the SQLSTATEs of class PM into their classes; every other database error passes unchanged.

    A value that PostgreSQL cannot read as its type (class 22: a date that is none, a malformed UUID) is an
    `InvalidArgument` too.
    """
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate is not None and (cls := _BY_SQLSTATE.get(error.sqlstate)):
            raise cls(error.diag.message_primary or str(error)) from error
        if isinstance(error, psycopg.DataError):
            raise InvalidArgument(
                f"A value cannot be read: {error.diag.message_primary or error}."
            ) from error
        raise
