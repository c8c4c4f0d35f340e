"""A server that answers and has no connection left is busy, not away: callers are asked to retry after a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from pgmem import Memory
from pgmem.errors import Busy
from pgmem.settings import Settings, load
from tests.conftest import Call
from tests.fixtures.logins import PASSWORD

pytestmark = pytest.mark.anyio

BUSY = "busy: no connection became free for 1 s. Nothing was read or saved; wait 1 s"
NOTE = ("Kept for later", "shop")


def settings(dsn: str, folder: Path, pool_size: int) -> Settings:
    return load(
        dsn=dsn,
        data_dir=folder,
        pool_size=pool_size,
        connect_timeout_s=1.0,
        retry_wait_s=0,
        embedding_provider="none",
    )


async def busy(memory: Memory) -> None:
    """A read and a save meet a memory whose connections are all in use."""
    with pytest.raises(Busy, match=BUSY):
        await memory.get_scope_state("shop")
    saved = await memory.save_context(*NOTE)
    assert (saved.status, saved.save_id is not None) == ("failed", True)
    assert BUSY in str(saved.message)
    assert "Save again with this save_id" in str(saved.next_step)
    # Nothing is kept for a server that answers: queued saves would add to its load.
    assert memory.outbox_depth() == 0
    assert not memory.caller.database.is_away


async def test_a_pool_that_is_exhausted_is_busy_and_not_away(dsn: str, tmp_path: Path) -> None:
    async with Memory.connect(settings(dsn, tmp_path, 2)) as memory:
        await memory.save_session("open", "shop")
        async with memory.caller.database.transaction(), memory.caller.database.transaction():
            await busy(memory)
        assert (await memory.save_context(*NOTE)).status == "saved"


async def test_a_server_without_a_free_connection_is_busy_and_not_away(
    dsn: str, tmp_path: Path, roles: None, make_login: Callable[..., str], call: Call
) -> None:
    """The limit is the login's here; a server or a pooler that is full says as much."""
    name = make_login("pgmem_trusted", "pgmem_writer", "pgmem_reader", attributes="connection limit 1")
    call("save_session", objective="open", project_id="shop")
    limited = make_conninfo(dsn, user=name, password=PASSWORD)
    async with Memory.connect(settings(limited, tmp_path, 4)) as memory:
        async with memory.caller.database.transaction():
            await busy(memory)
        assert (await memory.save_context(*NOTE)).status == "saved"
