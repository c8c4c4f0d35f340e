"""A program whose store is upgraded while it runs: it reports the upgrade and queues saves, and a server exits to be restarted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from pgmem import Memory
from pgmem.errors import SchemaOutdated
from pgmem.install import schema
from pgmem.settings import Settings
from tests.conftest import past_the_pooler

pytestmark = pytest.mark.anyio

Upgrade = Callable[[], None]

# Names that a later release has changed.
RENAMED = {
    "core/reading/42-search-memory.sql": ("p_min_relevance", "p_least_relevance"),
    "core/saving/28-plain-kinds.sql": ("relevance_score", "relevance"),
}


@pytest.fixture
def upgrade(dsn: str, tmp_path: Path) -> Upgrade:
    """`upgrade()`: another process brings the store to a later release, by a real upgrade."""

    def upgrade() -> None:
        folder = tmp_path / "sql"
        shutil.copytree(schema._SQL, folder)
        for chapter, (old, new) in RENAMED.items():
            text = (folder / chapter).read_text(encoding="utf-8")
            assert old in text, (chapter, old)
            (folder / chapter).write_text(text.replace(old, new), encoding="utf-8")
        script = (
            "import sys; from pathlib import Path; from pgmem.install import schema;"
            " schema._SQL = Path(sys.argv[2]); schema.release = lambda: '99.0.0'; print(schema.upgrade(sys.argv[1], ()))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, past_the_pooler(dsn), str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "changed=True" in done.stdout, done.stderr[-2000:]

    return upgrade


@pytest.fixture
def settings(dsn: str, tmp_path: Path) -> Settings:
    return Settings(dsn=dsn, data_dir=tmp_path, embedding_provider="none")


async def test_a_call_that_the_upgraded_store_does_not_know_says_to_restart(
    settings: Settings, upgrade: Upgrade
) -> None:
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        upgrade()
        with pytest.raises(SchemaOutdated) as caught:
            await memory.search_memory("tea", min_relevance=0.1)
        assert str(caught.value) == (
            "The store was upgraded while this program ran: restart it."
            f" The store holds pgmem schema 99.0.0, the program is {schema.release()}."
        )
        # Unchanged verbs are served on.
        assert (await memory.get_scope_state("shop")).project_exists


async def test_a_program_that_is_newer_than_its_store_says_that_it_was_taken_back(
    settings: Settings, dsn: str
) -> None:
    async with Memory.connect(settings) as memory:
        with psycopg.connect(past_the_pooler(dsn), autocommit=True) as connection:
            connection.execute("drop function pgmem.get_scope_state")
            connection.execute("update pgmem.schema_version set release = '0.0.1', digest = 'another'")
        with pytest.raises(
            SchemaOutdated, match="taken back to an earlier release while this program ran: restart"
        ):
            await memory.get_scope_state("shop")


async def test_an_error_in_a_store_of_this_release_stays_what_it_is(settings: Settings, dsn: str) -> None:
    async with Memory.connect(settings) as memory:
        with psycopg.connect(past_the_pooler(dsn), autocommit=True) as connection:
            connection.execute("drop function pgmem.get_scope_state")
        with pytest.raises(psycopg.errors.UndefinedFunction):
            await memory.get_scope_state("shop")


async def test_a_save_that_the_upgraded_store_does_not_know_waits_for_the_next_program(
    settings: Settings, upgrade: Upgrade
) -> None:
    first, second = uuid4(), uuid4()
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        upgrade()
        saved = await memory.save_context("the till is open", "shop", relevance_score=0.5, save_id=first)
        assert saved.status == "pending_retry"
        assert "upgraded while this program ran" in str(saved.message)
        assert "Restart" in str(saved.next_step)
        # A later save of the project stays behind it, though the store knows its call.
        later = await memory.save_decision("Sell tea", "they ask", "shop", save_id=second)
        assert later.status == "pending_retry"
        assert await memory.replay_outbox() == 0
        assert memory.outbox_depth() == 2


async def test_a_global_save_that_the_upgraded_store_does_not_know_fails_and_is_not_queued(
    settings: Settings, upgrade: Upgrade
) -> None:
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        upgrade()
        saved = await memory.save_context("for all", "shop", scope="global", relevance_score=0.5)
        assert saved.status == "failed"
        assert "restart it" in str(saved.message)
        assert memory.outbox_depth() == 0


async def test_a_round_of_the_worker_ends_with_the_reason(settings: Settings, dsn: str) -> None:
    async with Memory.connect(settings) as memory:
        with psycopg.connect(past_the_pooler(dsn), autocommit=True) as connection:
            connection.execute("drop function pgmem.sweep")
            connection.execute("update pgmem.schema_version set release = '99.0.0', digest = 'another'")
        with pytest.raises(SchemaOutdated, match="restart it"):
            await memory.maintain()
