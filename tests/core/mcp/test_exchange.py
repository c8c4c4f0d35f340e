"""A request over HTTP is answered as the SDK's own application would answer it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pgmem.features.http.exchange import Exchange
from tests.conftest import Call
from tests.serving import serving

pytestmark = pytest.mark.anyio

VERSION = "2025-06-18"
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "get_scope_state", "arguments": {"project_id": "shop"}},
}
ASKED: dict[str, Any] = {**CALL, "method": "tools/list", "params": {}}
HELLO = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
BODIES: dict[str, object] = {
    "a call": CALL,
    "a list": ASKED,
    "no params": {"jsonrpc": "2.0", "id": "é", "method": "ping"},
    "hello": {**CALL, "method": "initialize", "params": HELLO},
    "a broken hello": {**CALL, "method": "initialize", "params": {}},
    "no such method": {**CALL, "method": "tools/fly"},
    "no such tool": {**CALL, "params": {"name": "fly"}},
    "no such argument": {**CALL, "params": {"name": "get_scope_state", "arguments": {"project": "shop"}}},
    "a refusal": {**CALL, "params": {"name": "search_memory", "arguments": {"query": " "}}},
    "arguments in a list": {**CALL, "params": {"name": "get_scope_state", "arguments": []}},
    "params in a list": {**CALL, "params": []},
    "a prompt": {**CALL, "method": "prompts/get", "params": {"name": "none"}},
    "a resource": {**CALL, "method": "resources/read", "params": {"uri": "memory://none"}},
    "a notification": {"jsonrpc": "2.0", "method": "notifications/initialized"},
    "an answer": {"jsonrpc": "2.0", "id": 1, "result": {}},
    "several": [CALL, ASKED],
    "another protocol": {**CALL, "jsonrpc": "1.0"},
    "no protocol": {"id": 1, "method": "ping"},
    "an id of true": {**CALL, "id": True},
    "an id of null": {**CALL, "id": None},
    "an id of a half": {**CALL, "id": 1.5},
    "a large id": {**CALL, "id": 2**70},
    "a text": "ping",
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"jsonrpc": "2.0", "id": "\xff", "method": "ping"}',
    "half a surrogate": b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
    "deep": b"[" * 5000,
}
HEADERS: dict[str, dict[str, str]] = {
    "no version": {},
    "an old version": {"mcp-protocol-version": "2024-11-05"},
    "the newest": {"mcp-protocol-version": "2026-07-28"},
    "no such version": {"mcp-protocol-version": "soon"},
    "JSON alone": {"mcp-protocol-version": VERSION, "accept": "application/json"},
    "a stream alone": {"mcp-protocol-version": VERSION, "accept": "text/event-stream"},
    "another type": {"mcp-protocol-version": VERSION, "content-type": "text/plain"},
    "another host": {"mcp-protocol-version": VERSION, "host": "elsewhere.example"},
    "another origin": {"mcp-protocol-version": VERSION, "origin": "https://elsewhere.example"},
}


async def test_every_request_is_answered_as_by_the_sdk(
    dsn: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("save_session", objective="Open", project_id="shop")
    token = call("issue_token")["token"]

    async def answers(address: str) -> dict[str, tuple[int, object]]:
        found = {}
        async with httpx2.AsyncClient(timeout=30) as client:

            async def post(name: str, body: object, path: str = "/mcp", **headers: str) -> None:
                sent = body if isinstance(body, bytes) else json.dumps(body).encode()
                given = {
                    "authorization": f"Bearer {token}",
                    "accept": "application/json, text/event-stream",
                    "content-type": "application/json",
                    **headers,
                }
                answer = await client.post(f"{address}{path}", content=sent, headers=given)
                found[name] = (answer.status_code, _read(answer.text))

            for name, body in BODIES.items():
                await post(name, body, **{"mcp-protocol-version": VERSION})
            for name, headers in HEADERS.items():
                await post(name, CALL, **headers)
            await post("another path", CALL, "/mcp/x")
        return found

    async with serving(dsn, tmp_path) as address:
        own = await answers(address)
    monkeypatch.setattr(Exchange, "_is_usual", _never)
    async with serving(dsn, tmp_path) as address:
        theirs = await answers(address)
    assert own == theirs
    assert own["a call"][0] == 200


async def test_a_usual_request_is_not_passed_on(
    dsn: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = call("issue_token")["token"]
    passed: list[str] = []
    made: Callable[..., None] = Exchange.__init__

    def watched(self: Exchange, server: Any, app: Any, rest: Any) -> None:
        async def noting(scope: Any, receive: Any, send: Any) -> None:
            passed.append(scope["path"])
            await rest(scope, receive, send)

        made(self, server, app, noting)

    monkeypatch.setattr(Exchange, "__init__", watched)
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient(timeout=30) as client:
        for body, times in ((CALL, 0), (ASKED, 0), (BODIES["a notification"], 1)):
            await client.post(f"{address}/mcp", json=body, headers=headers)
            assert len(passed) == times


def _never(*_: object) -> bool:
    return False


def _read(text: str) -> object:
    """An answer as JSON, so that white space does not count."""
    try:
        return json.loads(text)
    except ValueError:
        return text
