"""The real process behind a client: `python -m pgmem mcp` over its stdin and stdout."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.fixtures.amounts import mostly_long
from tests.fixtures.clusters import CopyTo

TIMEOUT = 90


@contextmanager
def process(
    data_dir: Path, dsn: str | None = None, errors: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    given = {"PGMEM_DATA_DIR": str(data_dir), "EMBEDDING_PROVIDER": "none"}
    environment = {name: value for name, value in os.environ.items() if name != "PGMEM_DSN"} | given
    with subprocess.Popen(
        [sys.executable, "-m", "pgmem", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment if dsn is None else {**environment, "PGMEM_DSN": dsn},
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def ask(server: subprocess.Popen[str], line: str | dict[str, Any]) -> dict[str, Any]:
    """Send one line; the answer."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    server.stdin.flush()
    assert select.select([server.stdout], [], [], TIMEOUT)[0], "the server says nothing"
    found: dict[str, Any] = json.loads(server.stdout.readline())
    return found


def greet(server: subprocess.Popen[str]) -> dict[str, Any]:
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    answer = ask(server, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})
    assert server.stdin is not None
    server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    server.stdin.flush()
    return answer


def call(tool: str, **arguments: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}


@pytest.mark.anyio
async def test_a_client_starts_the_server_and_what_it_saves_is_there_next_time(
    dsn: str, tmp_path: Path
) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pgmem", "mcp"],
        env={**os.environ, "PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(tmp_path), "EMBEDDING_PROVIDER": "none"},
    )
    async with Client(stdio_client(parameters)) as client:
        await client.call_tool("save_session", {"objective": "Open the shop", "project_id": "shop"})
        saved = await client.call_tool(
            "save_decision", {"title": "Sell tea", "rationale": "r", "project_id": "shop"}
        )
    async with Client(stdio_client(parameters)) as client:
        found = await client.call_tool("retrieve_context", {"project_id": "shop", "categories": ["Decision"]})
    assert saved.structured_content is not None
    assert found.structured_content is not None
    assert saved.structured_content["status"] == "saved"
    assert [item["title"] for item in found.structured_content["items"]] == ["Sell tea"]


def test_a_line_that_cannot_be_read_is_answered_and_the_next_is_served(dsn: str, tmp_path: Path) -> None:
    with process(tmp_path, dsn) as server:
        assert greet(server)["result"]["serverInfo"]["name"] == "pgmem"
        half = json.dumps(call("save_session", objective="half \ud83d an emoji", project_id="p"))
        refused = ask(server, half)
        assert refused["id"] == 2
        assert refused["result"]["isError"] is True
        assert "lone surrogate" in refused["result"]["content"][0]["text"]
        assert ask(server, "hello?")["error"]["code"] == -32700
        assert ask(server, '{"jsonrpc": "2.0", "id": 7}')["error"]["code"] == -32600
        kept = ask(server, call("save_session", objective="whole \U0001f600 emoji", project_id="p"))
        assert kept["result"]["structuredContent"]["status"] == "saved"
        state = ask(server, call("get_save_status", project_id="p"))
        assert state["result"]["structuredContent"]["count"] == 0


def test_a_server_says_once_which_variable_the_store_overrules(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRID_ALPHA", "0.9")
    with process(tmp_path, dsn, subprocess.PIPE) as server:
        greet(server)
        ask(server, call("get_scope_state", project_id="p"))
        ask(server, call("get_scope_state", project_id="q"))
        assert server.stdin is not None
        assert server.stderr is not None
        server.stdin.close()
        said = server.stderr.read()
    assert said.count("HYBRID_ALPHA is 0.9 and the store has 0.5, which is in force") == 1


def test_when_stdin_closes_the_process_ends_and_stops_the_server_it_started(
    place: Path, installed: CopyTo
) -> None:
    installed(place / "data")
    with process(place / "data") as server:
        greet(server)
        saved = ask(server, call("save_session", objective="x", project_id="p"))
        assert saved["result"]["structuredContent"]["status"] == "saved"
        postmaster = place / "data" / "postgres" / "postmaster.pid"
        assert postmaster.exists()
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(TIMEOUT) == 0
        assert not postmaster.exists()


@pytest.mark.parametrize("number", mostly_long([signal.SIGTERM, signal.SIGINT], [signal.SIGTERM]))
def test_a_process_ends_at_a_signal_while_it_waits_for_a_line(
    dsn: str, tmp_path: Path, number: signal.Signals
) -> None:
    with process(tmp_path, dsn) as server:
        greet(server)
        server.send_signal(number)
        assert server.wait(TIMEOUT) == 128 + number
