"""The fixtures of the tests of the feed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.concurrency.conftest import OpenSession, no_embedding, session
from tests.conftest import Call
from tests.fixtures.verbs import unheld_changes

__all__ = ["OpenSession", "no_embedding", "session"]

Read = Callable[..., list[dict[str, Any]]]


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
