"""A server without memory or disk space counts as away: saves are queued, reads report it, and the probe is not ready."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import httpx2
import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.errors import OutOfResources
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import load
from tests.fixtures.clusters import CopyTo
from tests.fixtures.places import roomy_place
from tests.serving import Agent, serving

pytestmark = pytest.mark.anyio

FILL = "select count(pg_try_advisory_lock(i)) from generate_series(1::bigint, 1000000) i"


@pytest.fixture
def alone(installed: CopyTo) -> Iterator[str]:
    """The DSN of a server that no other test uses."""
    folder = Path(mkdtemp(prefix="pgmem-short-", dir=roomy_place()))
    installed(folder)
    with EmbeddedServer(folder) as server:
        yield server.start()
    rmtree(folder, ignore_errors=True)


@contextmanager
def refusing(connection: psycopg.Connection[DictRow], state: str) -> Iterator[None]:
    """The server refuses to store a memory, with this SQLSTATE."""
    connection.execute(
        "create function public.refuse() returns trigger language plpgsql as"
        f" $$ begin raise sqlstate '{state}' using message = 'no room'; end $$;"
        " create trigger refuse before insert on pgmem.node execute function public.refuse()".encode()
    )
    try:
        yield
    finally:
        connection.execute("drop function public.refuse() cascade")


@pytest.mark.embedded
async def test_while_the_lock_table_is_full_saves_are_kept_and_nothing_is_ready(
    alone: str, tmp_path: Path
) -> None:
    with psycopg.connect(alone) as connection:
        row = connection.execute("select token from pgmem.issue_token('acme', 'alice')").fetchone()
        assert row is not None
    async with (
        serving(alone, tmp_path, connect_timeout_s=1.0, retry_wait_s=0) as address,
        httpx2.AsyncClient(base_url=address) as client,
    ):
        agent = Agent(address, row[0])
        await agent.call("save_session", objective="open", project_id="shop")
        with psycopg.connect(alone, autocommit=True) as filling:
            with pytest.raises(psycopg.errors.OutOfMemory):
                filling.execute(FILL)
            kept = [
                await agent.call("save_context", content=f"kept {n}", project_id="shop") for n in range(2)
            ]
            assert [save["status"] for save in kept] == ["pending_retry"] * 2
            ready = await client.get("/health/ready")
            assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert (await agent.call("save_context", content="after it", project_id="shop"))["status"] == "saved"
        assert (await client.get("/health/ready")).status_code == 200
    with psycopg.connect(alone) as connection:
        found = connection.execute(
            "select props ->> 'content' from pgmem.node where label = 'Context' order by seq"
        ).fetchall()
    assert found == [("kept 0",), ("kept 1",), ("after it",)]


@pytest.mark.parametrize("state", ["53000", "53100", "53200", "53300"])
async def test_a_save_that_the_server_has_no_room_for_is_kept_and_made_later(
    dsn: str, tmp_path: Path, connection: psycopg.Connection[DictRow], state: str
) -> None:
    settings = load(dsn=dsn, data_dir=tmp_path, retry_wait_s=0, embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        with refusing(connection, state):
            assert (await memory.save_context("kept", "shop")).status == "pending_retry"
            assert await memory.trouble_now() == "the database has no memory or disk space left"
            with pytest.raises(OutOfResources):
                await memory.remember("Concept", {"name": "n"})
        assert not memory.caller.database.is_away
        assert (await memory.save_context("after it", "shop")).status == "saved"
        assert memory.outbox_depth() == 0
        assert await memory.trouble_now() is None


async def test_a_limit_of_the_login_is_not_a_want_of_the_server(
    dsn: str, tmp_path: Path, connection: psycopg.Connection[DictRow]
) -> None:
    """A statement that exceeds temp_file_limit would exceed it again."""
    settings = load(dsn=dsn, data_dir=tmp_path, retry_wait_s=0, embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        with refusing(connection, "53400"):
            assert (await memory.save_context("not kept", "shop")).status == "failed"
        assert (memory.outbox_depth(), await memory.trouble_now()) == (0, None)


async def test_a_read_that_the_server_has_no_room_for_is_answered_as_while_it_is_away(
    dsn: str, tmp_path: Path, connection: psycopg.Connection[DictRow]
) -> None:
    for verb in ("retrieve_context", "get_scope_state"):
        row = connection.execute(
            "select format('create or replace function pgmem.%%I(%%s) returns %%s language plpgsql as %%L', proname,"
            " pg_get_function_arguments(oid), pg_get_function_result(oid),"
            " 'begin raise sqlstate ''53200'' using message = ''out of memory''; end') as made"
            " from pg_proc where pronamespace = 'pgmem'::regnamespace and proname = %s",
            (verb,),
        ).fetchone()
        assert row is not None
        connection.execute(str(row["made"]).encode())
    async with Memory.connect(load(dsn=dsn, data_dir=tmp_path, embedding_provider="none")) as memory:
        found = await memory.retrieve_context("shop", "project")
        assert found.retrieval_status == "failed"
        assert "go on without it" in str(found.next_step)
        with pytest.raises(OutOfResources, match="no resources left: out of memory"):
            await memory.get_scope_state()
