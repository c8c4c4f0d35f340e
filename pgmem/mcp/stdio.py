"""Stdio with an answer to every request.

The SDK drops a line that it cannot read, and its client waits for ever. Half an emoji is enough: clients that cut texts
by UTF-16 units send a lone surrogate, which UTF-8 cannot encode.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    JSONRPCResponse,
    TextContent,
)
from pydantic import ValidationError

Received = MemoryObjectReceiveStream[SessionMessage | Exception]


@asynccontextmanager
async def answering_stdio() -> AsyncIterator[tuple[Received, Any]]:
    """Yield stdin and stdout as streams of messages; unreadable lines are answered and not passed on."""
    async with stdio_server() as (received, sent), anyio.create_task_group() as tasks:
        passed_on, readable = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def pass_on(received: AsyncIterable[SessionMessage | Exception]) -> None:
            async with passed_on:
                async for item in received:
                    if isinstance(item, Exception):
                        await sent.send(SessionMessage(answer_to(item)))
                    else:
                        await passed_on.send(item)

        tasks.start_soon(pass_on, received)
        yield readable, sent
        tasks.cancel_scope.cancel()


def answer_to(error: Exception) -> JSONRPCResponse | JSONRPCError:
    """Return the answer to a line that could not be read; a call of a tool gets an error of that tool."""
    line = error.errors()[0]["input"] if isinstance(error, ValidationError) else ""
    try:
        found = json.loads(line) if isinstance(line, str) else line
    except (ValueError, RecursionError):
        found = None
    request = found.get("id") if isinstance(found, dict) else None
    if not isinstance(request, int | str):
        data = ErrorData(code=PARSE_ERROR, message="Invalid JSON-RPC message: send one JSON object a line.")
        return JSONRPCError(jsonrpc="2.0", id=None, error=data)
    if _is_well_formed(found):
        data = ErrorData(
            code=INVALID_REQUEST, message="Invalid JSON-RPC request: send jsonrpc, id, method and params."
        )
        return JSONRPCError(jsonrpc="2.0", id=request, error=data)
    message = "An argument holds a lone surrogate (half of an emoji, say): send well-formed Unicode."
    if found.get("method") != "tools/call":
        return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=INVALID_REQUEST, message=message))
    refused = CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
    return JSONRPCResponse(
        jsonrpc="2.0", id=request, result=refused.model_dump(by_alias=True, exclude_none=True, mode="json")
    )


def _is_well_formed(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
