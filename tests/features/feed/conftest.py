"""The fixtures of the tests of the feed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from pgmem import Memory
from pgmem.settings import Settings
from tests.concurrency.conftest import OpenSession, no_embedding, session
from tests.conftest import Call, new_database
from tests.fixtures.verbs import unheld_changes

__all__ = ["OpenSession", "no_embedding", "session"]

Read = Callable[..., list[dict[str, Any]]]
Pair = tuple[Memory, Memory]


@pytest.fixture
def read(dsn: str, call: Call) -> Read:
    """`read(after)`: the changes after a cursor, page by page, also those that wait for a transaction of the server's own."""

    def read(after: str | None = None, **options: object) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            page = unheld_changes(call, after=after, **options)
            found += page["changes"]
            after = page["cursor"]
            if not page["more"]:
                return found

    return read


@pytest.fixture
def other_dsn(server: str, template: str) -> Iterator[str]:
    """A second database with pgmem installed."""
    with new_database(server, template) as dsn:
        yield dsn


@pytest.fixture
async def pair(dsn: str, other_dsn: str, tmp_path: Path) -> AsyncIterator[Pair]:
    """The memories of a laptop and of a server, as a person uses them."""
    async with AsyncExitStack() as stack:
        opened = []
        for name, each in (("laptop", dsn), ("server", other_dsn)):
            settings = Settings(dsn=each, data_dir=tmp_path / name, embedding_provider="none")
            opened.append(await stack.enter_async_context(Memory.connect(settings, source="cli")))
        yield opened[0], opened[1]
