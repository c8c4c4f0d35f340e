"""Two releases on one store: the older one is refused, whatever differs between them."""

from __future__ import annotations

import psycopg
import pytest

from pgmem import SchemaOutdated, UnsuitableDatabase
from pgmem.install import schema


@pytest.fixture
def newer(dsn: str) -> str:
    """A store that a release wrote which has other functions, and no migration that this one lacks."""
    with psycopg.connect(dsn) as connection:
        connection.execute("update pgmem.schema_version set release = '99.0.1', digest = 'another'")
    return dsn


def state(dsn: str) -> tuple[object, ...] | None:
    with psycopg.connect(dsn) as connection:
        return connection.execute("select release, digest, upgraded_at from pgmem.schema_version").fetchone()


def test_an_older_release_does_not_overwrite_the_functions_of_a_newer_one(newer: str) -> None:
    before = state(newer)
    for act in (schema.upgrade, schema.plan):
        with pytest.raises(UnsuitableDatabase, match=r"A newer release of pgmem than .* \(99\.0\.1\)"):
            act(newer)
    assert state(newer) == before
    with psycopg.connect(newer) as connection, pytest.raises(SchemaOutdated, match=r"install 99\.0\.1\."):
        schema.check_version(connection)


def test_the_script_of_an_older_release_stops_too(newer: str) -> None:
    before = state(newer)
    script = "".join(schema.script())
    with psycopg.connect(newer, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.RaiseException, match="A newer release of pgmem wrote this store"):
            connection.execute(script.encode())
        connection.execute("rollback")
    assert state(newer) == before


def test_an_earlier_release_and_a_state_between_two_releases_are_upgraded(dsn: str) -> None:
    for release in ("0.0.1", schema.release()):
        with psycopg.connect(dsn) as connection:
            connection.execute("update pgmem.schema_version set release = %s, digest = 'x'", (release,))
        assert schema.upgrade(dsn).changed
