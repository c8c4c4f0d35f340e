"""The clients that frameworks use, over both transports: the SDK's own and fastmcp's."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import PromptReference

from tests.conftest import Call
from tests.serving import serving

pytestmark = pytest.mark.anyio

COMMAND = ["-m", "pgmem", "mcp"]
TOOLS = 18


@asynccontextmanager
async def place(transport: str, dsn: str, folder: Path, call: Call) -> AsyncIterator[Any]:
    """The environment of a server over stdio, or the address and token of one over HTTP."""
    if transport == "stdio":
        environment = {**os.environ, "PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(folder)}
        yield {**environment, "EMBEDDING_PROVIDER": "none"}
        return
    token = str(call("issue_token", org_id="acme", user_id="alice", name="test")["token"])
    async with serving(dsn, folder) as address:
        yield f"{address}/mcp", token


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_client_of_the_sdk_lists_calls_reads_and_completes(
    dsn: str, tmp_path: Path, call: Call, transport: str
) -> None:
    async with place(transport, dsn, tmp_path, call) as where, httpx2.AsyncClient() as http:
        if transport == "stdio":
            streams = stdio_client(StdioServerParameters(command=sys.executable, args=COMMAND, env=where))
        else:
            http.headers["authorization"] = f"Bearer {where[1]}"
            streams = streamable_http_client(where[0], http_client=http)
        async with Client(streams) as client:
            assert len((await client.list_tools()).tools) == TOOLS
            saved = await client.call_tool("save_session", {"objective": "x", "project_id": "shop"})
            assert (saved.structured_content or {})["status"] == "saved"
            assert (await client.list_prompts()).prompts
            assert (await client.read_resource("pgmem://project/shop")).contents


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_client_of_fastmcp_lists_calls_reads_and_completes(
    dsn: str, tmp_path: Path, call: Call, transport: str
) -> None:
    async with place(transport, dsn, tmp_path, call) as where:
        made = (
            StdioTransport(sys.executable, COMMAND, env=where, keep_alive=False)
            if transport == "stdio"
            else StreamableHttpTransport(where[0], auth=where[1])
        )
        async with FastClient(made) as client:
            assert len(await client.list_tools()) == TOOLS
            saved = await client.call_tool("save_session", {"objective": "x", "project_id": "shop"})
            assert saved.structured_content["status"] == "saved"
            assert (await client.get_prompt("start_session", {"project_id": "shop"})).messages
            assert await client.read_resource("pgmem://project/shop")
            start = PromptReference(name="start_session")
            found = await client.complete(start, {"name": "project_id", "value": "s"})
            assert found.values == ["shop"]
