"""A server on the test's own database, and a client in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.types import CallToolResult

from pgmem.mcp.server import create_server
from pgmem.settings import Settings, load

Answer = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def settings(dsn: str, tmp_path: Path) -> Settings:
    return load(dsn=dsn, data_dir=tmp_path, embedding_provider="none", retry_wait_s=0, toolsets="all")


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[Client]:
    async with Client(create_server(settings)) as client:
        yield client


@pytest.fixture
def answer(client: Client) -> Answer:
    """`await answer("save_decision", title=…)`: what a tool answers, which must be no error."""

    async def answer(tool: str, **arguments: object) -> dict[str, Any]:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, text_of(result)
        found: dict[str, Any] | None = result.structured_content
        assert found is not None
        return found

    return answer


def text_of(result: CallToolResult) -> str:
    return " ".join(getattr(part, "text", "") for part in result.content)
