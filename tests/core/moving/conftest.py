"""Stores to move between: databases of every tier, and a store as lines and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import anyio
import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from pgmem import Memory
from pgmem.models import Imported, MemoryScope
from pgmem.settings import Settings
from tests.conftest import Call, caller, new_database, past_the_pooler, stores_of

NewStore = Callable[[], str]


@pytest.fixture
def new_store(server: str, template: str) -> Iterator[NewStore]:
    """`new_store()`: the DSN of an empty store; dropped in the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(new_database(server, template))


@contextmanager
def opened(dsn: str) -> Iterator[tuple[psycopg.Connection[DictRow], Call]]:
    """A connection to a store whose clock can be set, and its verbs."""
    with psycopg.connect(past_the_pooler(dsn), autocommit=True, row_factory=dict_row) as connection:
        connection.execute("update pgmem.setting set value = 'true' where name = 'test_clock'")
        yield connection, caller(connection)


def settings(dsn: str, **more: Any) -> Settings:
    return Settings(dsn=dsn, data_dir=Path(gettempdir()), **{"EMBEDDING_PROVIDER": "none", **more})


def exported(dsn: str, *, user: MemoryScope | None = None, provider: str = "none", **how: Any) -> list[str]:
    """A store as lines; behind a front its cell, as a front has no snapshot of it."""

    async def run() -> str:
        parts: list[str] = []
        store = stores_of(dsn)[0]
        async with Memory.connect(settings(store, EMBEDDING_PROVIDER=provider), scope=user) as memory:
            await memory.export_lines(parts.append, **how)
        return "".join(parts)

    return anyio.run(run).splitlines(keepends=True)


def imported(
    dsn: str, lines: list[str], *, user: MemoryScope | None = None, provider: str = "none", **how: Any
) -> Imported:
    """Lines taken into a store."""

    async def run() -> Imported:
        async with Memory.connect(settings(dsn, EMBEDDING_PROVIDER=provider), scope=user) as memory:
            return await memory.import_lines(lines, **{"own": True, **how})

    return anyio.run(run)
