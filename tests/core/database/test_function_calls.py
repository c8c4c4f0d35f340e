"""The work of the client for a save and a search, in function calls: load does not move them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow

from benchmarks.counted import Counts
from pgmem.memory import Memory
from pgmem.settings import load

pytestmark = pytest.mark.anyio
MOST = 900


async def counted(call: Callable[[int], Awaitable[object]]) -> tuple[int, int]:
    """The fewest calls of Python functions, and of functions in C, that one of ten calls took."""
    found = []
    for number in range(20):
        counts = Counts()
        sys.setprofile(counts)
        await call(number)
        sys.setprofile(None)
        found.append((counts.python.total(), counts.c))
    return min(found[10:])


async def test_a_save_with_its_vector_and_a_search_take_few_function_calls(
    dsn: str, vectors: None, tmp_path: Path
) -> None:
    settings = load(dsn=dsn, data_dir=tmp_path, prepare=True, embedding_provider="static")
    async with Memory.connect(settings) as memory:
        await memory.register_embedder()
        await memory.save_session("begin", "shop")
        embedded = await memory.save_decision("Sell tea", "long " * 1_000, "shop")  # which loads the model
        assert embedded.status == "saved"
        save, in_c = await counted(
            lambda n: memory.save_decision(f"Order {n} jars of {n} teas", f"Box {n} leaked.", "shop")
        )
        search, _ = await counted(lambda n: memory.search_memory(f"which jar {n}", 10, "shop"))
    assert (save <= MOST, search <= MOST, in_c <= MOST) == (True, True, True), (save, search, in_c)


async def test_a_save_is_one_round_trip_and_is_committed(
    dsn: str, connection: psycopg.Connection[DictRow], tmp_path: Path
) -> None:
    """Nothing is sent after the answer: the transaction ends with the statement."""
    settings = load(dsn=dsn, data_dir=tmp_path, embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("begin", "shop")
        waits = Counts()
        sys.setprofile(waits)
        saved = await memory.save_decision("Sell tea", "They asked.", "shop")
        sys.setprofile(None)
    begun = [n for name, n in waits.by_name().items() if name.endswith("BaseConnection._commit_gen")]
    assert (saved.status, begun) == ("saved", [])


async def test_a_save_over_a_connection_that_died_idle_is_saved_once(
    dsn: str, connection: psycopg.Connection[DictRow], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = load(dsn=dsn, data_dir=tmp_path, embedding_provider="none", pool_size=1)
    async with Memory.connect(settings) as memory:
        await memory.save_session("begin", "shop")
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid() and application_name !~ 'test'"
            )
        saved = await memory.save_decision("Sell tea", "They asked.", "shop")
        found = await memory.search_memory("tea", 10, "shop")
    assert saved.status == "saved"
    assert [result.title for result in found.results if result.label == "Decision"] == ["Sell tea"]
    assert "could not be sent" not in caplog.text
