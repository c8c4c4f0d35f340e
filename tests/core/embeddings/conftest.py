"""Fixtures: a server that speaks the protocols, and waits that take no time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .server import EmbeddingServer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


class Waits(list[float]):
    """A `sleep` that takes no time and remembers how long it was asked to take."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()
