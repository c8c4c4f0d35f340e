"""The verdict on a call that ended with an error, for each error that a caller can meet."""

from __future__ import annotations

import psycopg
import pytest

from pgmem import errors
from pgmem.database.connection import losing
from pgmem.database.verdict import Verdict, verdict

OF_PGMEM: tuple[tuple[type[errors.PgmemError], Verdict], ...] = (
    (errors.Busy, "again"),
    (errors.OutOfResources, "again"),
    (errors.DatabaseUnavailable, "queue"),
    (errors.EmbeddedServerError, "queue"),
    (errors.SchemaOutdated, "queue"),
    (errors.OutcomeUnknown, "uncertain"),
    (errors.CellSilent, "uncertain"),
    (errors.InvalidArgument, "fail"),
    (errors.NotPermitted, "fail"),
    (errors.SaveIdReused, "fail"),
    (errors.MemoryNotFound, "fail"),
)
OF_POSTGRESQL: tuple[tuple[type[psycopg.Error], Verdict, Verdict], ...] = (
    # the error, the verdict, and that of a front
    (psycopg.errors.DeadlockDetected, "again", "again"),
    (psycopg.errors.SerializationFailure, "again", "again"),
    (psycopg.errors.ConfigurationLimitExceeded, "again", "again"),
    (psycopg.errors.LockNotAvailable, "again", "again"),
    (psycopg.errors.QueryCanceled, "again", "uncertain"),
    (psycopg.errors.InternalError_, "fail", "uncertain"),
    (psycopg.errors.UniqueViolation, "fail", "fail"),
    (psycopg.errors.UndefinedFunction, "fail", "fail"),
    (psycopg.DataError, "fail", "fail"),
)


@pytest.mark.parametrize(("kind", "expected"), OF_PGMEM)
def test_an_error_of_pgmem_has_one_verdict(kind: type[errors.PgmemError], expected: Verdict) -> None:
    assert verdict(kind("x")) == verdict(kind("x"), by_front=True) == expected


@pytest.mark.parametrize(("kind", "expected", "of_a_front"), OF_POSTGRESQL)
def test_an_error_of_postgresql_is_judged_by_its_state(
    kind: type[psycopg.Error], expected: Verdict, of_a_front: Verdict
) -> None:
    error = kind("cache lookup failed for function 1")
    assert (verdict(error), verdict(error, by_front=True)) == (expected, of_a_front)


def test_what_python_refuses_has_failed() -> None:
    assert verdict(TypeError("a UUID cannot be queued")) == "fail"


@pytest.mark.parametrize(
    "kind", [psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement]
)
def test_a_statement_that_a_pooler_lost_names_the_setting_and_is_queued(kind: type[psycopg.Error]) -> None:
    """156 of 200 saves failed for good behind PgBouncer, with the words of the server."""
    with pytest.raises(errors.DatabaseUnavailable, match="PGMEM_PREPARE") as raised, errors.translate():
        raise kind('prepared statement "_pg3_0" does not exist')
    assert verdict(raised.value) == "queue"


@pytest.mark.parametrize(
    "words",
    [
        "consuming input failed: server closed the connection unexpectedly\n\tThis probably means the server terminated",
        "sending query failed: could not send data to server: Broken pipe",
        "consuming input failed: SSL connection has been closed unexpectedly",
        "the connection is closed",
    ],
)
def test_a_cut_connection_is_told_in_a_sentence_and_not_in_the_words_of_libpq(words: str) -> None:
    with pytest.raises(errors.DatabaseUnavailable) as raised, losing(errors.OutcomeUnknown):
        raise psycopg.OperationalError(words)
    assert str(raised.value) == "The connection was lost: the server ended it."
    assert errors.first_line(psycopg.OperationalError(words)) == "the server ended the connection"


def test_the_address_of_a_server_that_is_not_reached_stays() -> None:
    words = 'connection failed: connection to server at "10.0.0.1", port 5432 failed: server closed the connection unexpectedly'
    assert "10.0.0.1" in errors.first_line(psycopg.OperationalError(words))
