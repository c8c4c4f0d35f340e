"""A store that older extensions filled, on the server of docker/: restored from its dump, and after alter extension."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from pgmem.doctor.database import examine_server
from pgmem.install import schema
from pgmem.server.embedded import EmbeddedServer
from tests.conftest import caller
from tests.core.schema.conftest import Program, program
from tests.core.schema.test_tiers import fill, walk
from tests.docker.conftest import images
from tests.docker.stack import run, until
from tests.servers.roots import free_port, wait_for

__all__ = ["program"]

pytestmark = pytest.mark.docker
pgserver = pytest.importorskip("pgserver", reason="the older extensions are those of the embedded server")
OLDER = {"age": "1.7.0", "vector": "0.8.1"}
PATHS = "select pgmem.run_cypher('match (a)-[*1..2]->(b) return count(*) as paths') ->> 'paths' as paths"
HELD = "select id, label, title, props, tenant, status, tsv from pgmem.node order by seq"


@pytest.fixture(scope="module")
def newer(tree: Path) -> Iterator[str]:
    """The server of docker/, where the older versions of the extensions can be created too."""
    port, name = free_port(), f"pgmem-test-{uuid4().hex[:8]}"
    run(
        *("docker", "run", "--detach", "--rm", "--name", name, "--publish", f"127.0.0.1:{port}:5432"),
        *("--env", "POSTGRES_PASSWORD=only-for-tests", images()["PGMEM_POSTGRES_IMAGE"]),
    )
    dsn = make_conninfo(host="127.0.0.1", port=port, user="postgres", password="only-for-tests")
    try:
        scripts = Path(pgserver.__file__).parent / "pginstall/share/postgresql/extension"
        for extension, version in OLDER.items():
            script = f"{extension}--{version}.sql"
            run("docker", "cp", str(scripts / script), f"{name}:/usr/share/postgresql/18/extension/{script}")
        until(
            lambda: "accepting" in run("docker", "exec", name, "sh", "-c", "pg_isready || true"), "no server"
        )
        wait_for(dsn)
        yield dsn
    finally:
        run("docker", "rm", "--force", "--volumes", name)


@pytest.fixture
def store(newer: str) -> Iterator[str]:
    """An empty database on that server."""
    name = f"pgmem_{uuid4().hex[:8]}"
    with psycopg.connect(newer, autocommit=True) as admin:
        admin.execute(f"create database {name} template template0 encoding 'UTF8'".encode())
        yield make_conninfo(newer, dbname=name)
        admin.execute(f"drop database {name} with (force)".encode())


def versions(connection: psycopg.Connection[DictRow]) -> dict[str, str]:
    query = "select extname, extversion from pg_extension where extname in ('age', 'vector')"
    return {row["extname"]: row["extversion"] for row in connection.execute(query).fetchall()}


def paths(connection: psycopg.Connection[DictRow]) -> int:
    row = connection.execute(PATHS).fetchone()
    assert row is not None
    return int(row["paths"])


def require_good(dsn: str, before: list[DictRow]) -> None:
    """Everything is there, is found again, and a session that walks sees the saves of another."""
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        assert connection.execute("select * from pgmem.check_graph()").fetchall() == []
        assert connection.execute(HELD).fetchall() == before
        assert ("choose the payment", 1) in walk(connection)
        again = call("save_decision", title="Refuse cash", rationale="r", project_id="shop")
        assert again["dedup_outcome"] == "duplicate_skip"
        known = paths(connection)
        for n in range(3):
            with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as other:
                saved = caller(other)("save_context", content=f"later {n}", project_id="shop")
                assert saved["status"] == "saved"
                truth = paths(other)
            assert paths(connection) == truth != known
            known = truth
    assert [found for found in examine_server(dsn, 10) if found.level == "look"] == []


def test_a_store_of_older_extensions_is_restored_on_newer_ones(
    store: str, program: Program, place: Path
) -> None:
    with EmbeddedServer(place / "older") as server:
        older = server.start()
        schema.upgrade(older)
        with psycopg.connect(older, autocommit=True, row_factory=dict_row) as connection:
            assert versions(connection) == OLDER
            fill(caller(connection))
            before = connection.execute(HELD).fetchall()
        program("pg_dump", "--format", "custom", "--no-owner", "--file", str(place / "dump"), older)
    program("pg_restore", "--no-owner", "--exit-on-error", "--dbname", store, str(place / "dump"))
    schema.upgrade(store)
    with psycopg.connect(store, autocommit=True, row_factory=dict_row) as connection:
        assert set(versions(connection).values()).isdisjoint(OLDER.values())
        caller(connection)("rebuild_graph")
    require_good(store, before)


def test_extensions_are_updated_under_a_full_store(store: str) -> None:
    with psycopg.connect(store, autocommit=True, row_factory=dict_row) as connection:
        for extension, version in OLDER.items():
            connection.execute(f"create extension {extension} version '{version}'".encode())
        schema.upgrade(store)
        assert versions(connection) == OLDER
        fill(caller(connection))
        before = connection.execute(HELD).fetchall()
        for extension in OLDER:
            connection.execute(f"alter extension {extension} update".encode())
        assert set(versions(connection).values()).isdisjoint(OLDER.values())
    require_good(store, before)
