"""The fixtures of the tests of the feed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.concurrency.conftest import OpenSession, no_embedding, session
from tests.conftest import Call

__all__ = ["OpenSession", "no_embedding", "session"]

Read = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def read(dsn: str, call: Call) -> Read:
    """`read(after)`: the changes after a cursor, page by page; `read.cursor` is where the next call goes on."""

    def read(after: str | None = None, **options: object) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            page = call("changes", after=after, **options)
            found += page["changes"]
            after = page["cursor"]
            if not page["more"]:
                return found

    return read
