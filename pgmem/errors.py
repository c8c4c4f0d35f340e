"""The exceptions of pgmem.

PgmemError
├── InvalidArgument        PM001  an argument is invalid; the message says what to send instead
├── MemoryNotFound         PM002  no memory with that name or id is visible to the caller
├── AmbiguousName          PM003  a name matches several memories; the message lists them
├── NotPermitted           PM004  the caller may not do that
├── WrongIsolation         PM005  a writing verb was called outside READ COMMITTED
├── IdentityRequired       PM006  the store has tenants and the caller has no identity
├── SaveIdReused           PM007  a save_id was sent again with other arguments
├── TierMissing            PM008  the server lacks an extension that the verb needs
├── CapacityReached        PM009  a limit on the number of rows is reached
├── ContractError          PM010  a call violates the contract of engineering memory
├── RelationNotAllowed     PM011  a relation cannot join these labels, or only other verbs create it
├── CursorLost             PM012  a cursor of the feed cannot be used; start anew from an export
├── MemoryNotOpen                 a memory is used before it is opened, or after it is closed
├── DatabaseUnavailable           the database cannot be reached
│   ├── OutcomeUnknown            the connection was lost after the call was sent; it may be committed
│   │   └── CellSilent            a front answers and the cell of the organisation does not
│   └── OutOfResources            the server has no memory, disk space or connection left; nothing was done
├── Busy                          a server that answers has no connection left for the caller; nothing was done
├── SchemaOutdated                the database holds another version of the schema
├── UnsuitableDatabase            the collation or version of the database is unsuitable
└── EmbeddedServerError           the embedded PostgreSQL cannot be started or reached
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

_BY_SQLSTATE: dict[str, type[PgmemError]] = {}


class PgmemError(Exception):
    """Base class of the exceptions of pgmem; `sqlstate` is the code that a subclass stands for, or None."""

    sqlstate: str | None = None

    def __init_subclass__(cls, sqlstate: str | None = None) -> None:
        """Register the class under its SQLSTATE, so that `translate` finds it."""
        super().__init_subclass__()
        cls.sqlstate = sqlstate
        if sqlstate is not None:
            _BY_SQLSTATE[sqlstate] = cls


class InvalidArgument(PgmemError, sqlstate="PM001"):
    """An argument is invalid; the message says what to send instead."""


class MemoryNotFound(PgmemError, sqlstate="PM002"):
    """No memory with that name or id is visible to the caller."""


class AmbiguousName(PgmemError, sqlstate="PM003"):
    """A name matches several memories; the message lists them."""


class NotPermitted(PgmemError, sqlstate="PM004"):
    """The caller may not do that."""


class WrongIsolation(PgmemError, sqlstate="PM005"):
    """A writing verb was called in a transaction that is not READ COMMITTED."""


class IdentityRequired(PgmemError, sqlstate="PM006"):
    """The store has tenants and the caller has no identity."""


class SaveIdReused(PgmemError, sqlstate="PM007"):
    """A save_id was sent again with other arguments."""


class TierMissing(PgmemError, sqlstate="PM008"):
    """The server lacks an extension that the verb needs."""


class CapacityReached(PgmemError, sqlstate="PM009"):
    """A limit on the number of rows is reached."""


class ContractError(PgmemError, sqlstate="PM010"):
    """A call violates the contract of engineering memory."""


class RelationNotAllowed(PgmemError, sqlstate="PM011"):
    """A relation cannot join these labels, or only other verbs create it."""


class CursorLost(PgmemError, sqlstate="PM012"):
    """A cursor is of another store, ahead of it, or older than its feed; start anew from an export."""


class MemoryNotOpen(PgmemError):
    """A memory is used before it is opened, or after it is closed; the message says how to open it."""


class DatabaseUnavailable(PgmemError):
    """The database cannot be reached, or the outcome of a commit is unknown."""


class OutcomeUnknown(DatabaseUnavailable):
    """The connection was lost after the call was sent; it may be committed or not."""


class CellSilent(OutcomeUnknown):
    """The front answers and the cell of the organisation does not; the call may be committed or not."""


class OutOfResources(DatabaseUnavailable):
    """The server has no memory, disk space or connection left (SQLSTATE class 53); nothing was done."""


class Busy(PgmemError):
    """The tenant uses all of its share of the server, or no connection is left; the same call succeeds later."""


class SchemaOutdated(PgmemError):
    """The database holds another version of the schema; the message names `pgmem init`, or says to restart."""


class UnsuitableDatabase(PgmemError):
    """The collation or the version of the database is unsuitable for a pgmem schema."""


class EmbeddedServerError(PgmemError):
    """The embedded PostgreSQL cannot be started or reached."""


# SQLSTATE classes whose messages are about the server and quote no values: connection, transaction rollback,
# resources, object state and locks, operator intervention, system.
_NO_CONTENTS = ("08", "40", "53", "55", "57", "58")


def summary(error: BaseException) -> str:
    """Describe an error for a log, without the contents of memories.

    An error of PostgreSQL whose message may quote a value is described by class, SQLSTATE and constraint.
    """
    cause = error.__cause__
    if isinstance(error, PgmemError) and error.sqlstate is None and not isinstance(cause, psycopg.Error):
        return first_line(error)
    found = error if isinstance(error, psycopg.Error) else cause
    if not isinstance(found, psycopg.Error):
        return first_line(error) if isinstance(error, OSError) else type(error).__name__
    if found.sqlstate is None or found.sqlstate.startswith(_NO_CONTENTS):
        return first_line(error)
    parts = [type(error).__name__, found.sqlstate, found.diag.constraint_name]
    return " ".join(part for part in parts if part)


def described(error: BaseException) -> str:
    """Return an error as a person reads it: its public class, and its message if it has one."""
    name = next(cls.__name__ for cls in type(error).__mro__ if not cls.__name__.startswith("_"))
    return f"{name}: {error}" if str(error) else name


_CUT = re.compile(
    r"([a-z ]+ failed: )?(server closed the connection unexpectedly|SSL connection has been closed unexpectedly"
    r"|no connection to the server|could not (receive data from|send data to) server|the connection is (closed|lost))"
)
"""Words of libpq and psycopg for a connection that the other side has ended."""

CUT = "the server ended the connection"


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an error, or the name of its class if it has no message.

    The words of libpq for a connection that was cut name neither the server nor its end; they become `CUT`.
    """
    if isinstance(error, psycopg.Error) and error.sqlstate is None and _CUT.match(str(error)):
        return CUT
    return str(error).strip().partition("\n")[0] or type(error).__name__


def cannot_listen(host: str, port: int, error: OSError) -> str:
    """Return why a server cannot listen at an address, and what to do if another program listens there."""
    taken = "another program does; give another port"
    why = taken if error.errno == errno.EADDRINUSE else error.strerror or first_line(error)
    return f"Cannot listen at {host} port {port}: {why}."


@contextmanager
def translate() -> Iterator[None]:
    """Raise database errors of SQLSTATE class PM as the exceptions of pgmem; other database errors pass unchanged.

    Raises:
        PgmemError: the class that belongs to the SQLSTATE.
        InvalidArgument: also if a value cannot be converted to its type (class 22), such as a malformed UUID.
        DatabaseUnavailable: also if a pooler lost a prepared statement; nothing was done.
    """
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate is not None and (cls := _BY_SQLSTATE.get(error.sqlstate)):
            raise cls(error.diag.message_primary or str(error)) from error
        if isinstance(
            error, psycopg.errors.InvalidSqlStatementName | psycopg.errors.DuplicatePreparedStatement
        ):
            raise DatabaseUnavailable(
                "A pooler gives each transaction another connection, and prepared statements belong to one: "
                "unset PGMEM_PREPARE."
            ) from error
        if isinstance(error, psycopg.DataError):
            raise InvalidArgument(
                f"A value cannot be read: {error.diag.message_primary or error}."
            ) from error
        raise
