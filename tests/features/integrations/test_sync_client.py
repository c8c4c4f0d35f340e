"""The client without await."""

from __future__ import annotations

import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import pgmem
from pgmem import Memory, MemoryNotOpen, MemoryScope, Settings
from pgmem._verbs import VERBS
from pgmem.sync import Memory as SyncMemory


def test_it_saves_and_finds(sync_memory: SyncMemory) -> None:
    assert sync_memory.save_session("Open the shop", "shop").status == "saved"
    assert sync_memory.save_decision("Sell tea", "We like it", "shop").dedup_outcome == "new"
    assert sync_memory.search_memory("tea").results[0].title == "Sell tea"


def test_every_verb_has_the_signature_of_the_method_to_await() -> None:
    """Mypy and editors see the same arguments and answers."""
    operators = ("worker", "reviewer", "owner")
    for name, verb in VERBS.items():
        awaited = getattr(Memory, name, None)
        if awaited is None or awaited.__module__ != "pgmem.calls.methods":
            continue
        home = pgmem.sync.Admin if verb.rights in operators else SyncMemory
        assert inspect.signature(getattr(home, name)) == inspect.signature(awaited), name
        assert (getattr(home, name).__doc__ or "").split() == (awaited.__doc__ or "").split(), name


def test_agents_verbs_and_operators_verbs_are_separate(sync_memory: SyncMemory) -> None:
    """Agent verbs and administration shared one class."""
    assert not hasattr(sync_memory, "erase_subject")
    assert not hasattr(sync_memory.admin, "save_decision")
    assert sync_memory.admin.list_tenants() == []


@pytest.mark.anyio
async def test_operators_verbs_are_in_admin(memory: Memory) -> None:
    assert not hasattr(memory.admin, "save_decision")
    assert await memory.admin.list_tenants() == await memory.list_tenants()


def test_a_memory_that_is_not_open_says_how_to_open_it(settings: Settings) -> None:
    """Use outside the block was a bare AttributeError, use after it a message about the database."""
    memory = SyncMemory.connect(settings)
    for use in (lambda: memory.search_memory("tea"), lambda: memory.admin.list_tenants()):
        with pytest.raises(MemoryNotOpen, match=r"is not open: .*with Memory\.connect"):
            use()
    with memory:
        memory.search_memory("tea")
    with pytest.raises(MemoryNotOpen, match="is closed"):
        memory.save_session("Open the shop", "shop")
    memory.open()
    assert memory.search_memory("tea").results == []
    memory.close()
    memory.close()


@pytest.mark.anyio
async def test_the_memory_to_await_says_it_too(settings: Settings) -> None:
    """The same for `pgmem.Memory`."""
    with pytest.raises(MemoryNotOpen, match=r"async with Memory\.connect\(\) as memory"):
        Memory.connect(settings).save_session  # type: ignore[attr-defined]  # noqa: B018
    async with Memory.connect(settings) as memory:
        pass
    with pytest.raises(MemoryNotOpen, match="is closed"):
        await memory.save_session("Open the shop", "shop")
    assert memory.outbox_depth() == 0


def test_threads_share_a_memory(sync_memory: SyncMemory) -> None:
    sync_memory.save_session("Open the shop", "shop")
    with ThreadPoolExecutor(8) as threads:
        saved = list(
            threads.map(
                lambda n: sync_memory.save_context(f"Note {n}", "shop", topic=f"topic {n}"), range(24)
            )
        )
    assert {result.status for result in saved} == {"saved"}
    assert len({result.artifact_id for result in saved}) == 24


def test_acting_as_is_another_caller_over_the_same_memory(sync_memory: SyncMemory) -> None:
    ada = sync_memory.acting_as(MemoryScope(org_id="acme", user_id="ada"))
    ada.save_session("Open the shop", "shop")
    ben = ada.acting_as(MemoryScope(org_id="acme", user_id="ben"))
    assert ada.get_scope_state("shop").project_exists
    assert not ben.get_scope_state("shop").project_exists


@pytest.mark.anyio
async def test_it_works_where_an_event_loop_runs_already(sync_memory: SyncMemory) -> None:
    """As in a notebook."""
    assert sync_memory.save_session("Open the shop", "shop").status == "saved"


def test_a_program_that_forgets_to_close_ends(dsn: str, settings: Settings) -> None:
    program = f"""
from pathlib import Path
from pgmem import Settings
from pgmem.sync import Memory
memory = Memory.connect(Settings(dsn={dsn!r}, data_dir=Path({str(settings.data_dir)!r}))).open()
print(memory.save_session("Open the shop", "shop").status)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "saved\n", "")
