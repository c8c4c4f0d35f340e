"""A server of pgmem as clients meet it, in a separate process, and the processor time that its calls take."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.streams.buffered
import httpx2
import psutil
import psycopg

from pgmem.errors import PgmemError
from pgmem.programs import AGAIN

_START_S = 60.0
_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


class Cpu:
    """Processor seconds of a PostgreSQL server and of one other process.

    Args:
        dsn: of a server on this machine.
        pid: of the other process; None: this one.
    """

    def __init__(self, dsn: str, pid: int | None = None) -> None:
        with psycopg.connect(dsn) as connection:
            row = connection.execute("select pg_backend_pid()").fetchone()
            assert row is not None
            self._postmaster = psutil.Process(psutil.Process(int(row[0])).ppid())
        self._other = psutil.Process(pid)

    def seconds(self) -> float:
        """Return the processor time that both have used, with the children of the server that have ended."""
        own = self._other.cpu_times()
        total = float(own.user + own.system)
        ended = self._postmaster.cpu_times()
        total += ended.user + ended.system + ended.children_user + ended.children_system
        for child in self._postmaster.children():
            try:
                times = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
        return float(total)


def issue(dsn: str, org: str, user: str) -> str:
    """Return a new token of a tenant."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select token from pgmem.issue_token(%s, %s)", (org, user)).fetchone()
    assert row is not None
    return str(row[0])


def request(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call of a tool as JSON-RPC."""
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


class Client:
    """A client over HTTP with a token, whose connection stays open.

    Args:
        http: of one address.
        token: the bearer token.
    """

    def __init__(self, http: httpx2.AsyncClient, token: str) -> None:
        self._http = http
        self._headers = {**_HEADERS, "authorization": f"Bearer {token}"}

    async def call(self, tool: str, **arguments: Any) -> None:
        """Call a tool.

        Raises:
            PgmemError: the server or the tool refuses.
        """
        answer = await self._http.post("/mcp", json=request(tool, arguments), headers=self._headers)
        if answer.status_code != 200 or answer.json().get("result", {}).get("isError", True):
            raise PgmemError(f"{tool} over HTTP: {answer.status_code} {answer.text[:200]}")


class PipeClient:
    """A client over stdin and stdout of a server.

    Args:
        process: the server.
    """

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        self.pid = process.pid
        self._into = process.stdin
        self._from = anyio.streams.buffered.BufferedByteReceiveStream(process.stdout)

    async def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        await self._into.send(json.dumps(message).encode() + b"\n")
        while True:
            line = await self._from.receive_until(b"\n", 64 * 1024 * 1024)
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == message["id"]:
                return answer

    async def begin(self) -> None:
        """Initialize the session."""
        given = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        await self._exchange({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": given})
        await self._into.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    async def call(self, tool: str, **arguments: Any) -> None:
        """Call a tool.

        Raises:
            PgmemError: the server or the tool refuses.
        """
        answer = await self._exchange(request(tool, arguments))
        if answer.get("result", {}).get("isError", True):
            raise PgmemError(f"{tool} over stdio: {str(answer)[:200]}")


def _environment(dsn: str, folder: Path, user: str = "") -> dict[str, str]:
    given = {
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(folder),
        "EMBEDDING_PROVIDER": "none",
        "DEFAULT_USER_ID": user,
    }
    # As a module from the same place as this one, whatever is installed.
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": path, **given}


@contextmanager
def over_http(dsn: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Start a server over HTTP on a free port; yield its address and the id of its process.

    Raises:
        PgmemError: it does not become ready.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [*AGAIN, "mcp", "--transport", "http", "--port", str(port)]
    process = subprocess.Popen(command, env=_environment(dsn, folder), stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _await_ready(address)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait(_START_S)


def _await_ready(address: str) -> None:
    transport = httpx2.HTTPTransport(retries=12)  # it waits longer after each attempt
    with httpx2.Client(transport=transport, timeout=_START_S) as client:
        for _ in range(200):
            if client.get(f"{address}/health/ready").status_code == 200:
                return
    raise PgmemError(f"The server at {address} does not become ready.")


@asynccontextmanager
async def over_stdio(dsn: str, folder: Path, user: str) -> AsyncIterator[PipeClient]:
    """Start a server over stdio that acts for a user, and begin a session."""
    command = [*AGAIN, "mcp"]
    async with await anyio.open_process(
        command, env=_environment(dsn, folder, user), stderr=subprocess.DEVNULL
    ) as process:
        client = PipeClient(process)
        await client.begin()
        yield client
        process.terminate()
