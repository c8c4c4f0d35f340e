"""The MCP server on a real port, and a client that speaks plain JSON-RPC to it."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
import httpx2
import psutil

from pgmem.features.http.auth import http_app
from pgmem.features.http.listening import Server, configured
from pgmem.settings import Settings


@asynccontextmanager
async def serving(dsn: str, folder: Path, **given: Any) -> AsyncIterator[str]:
    """The server on a free port; its address."""
    settings = Settings(dsn=dsn, data_dir=folder, embedding_provider="none", **given)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = Server(configured(http_app(settings), proxies=settings.http_proxies))
        server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
        ended = anyio.Event()

        async def serve() -> None:
            try:
                await server.serve([listening])
            finally:
                ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            with anyio.fail_after(20):
                while not server.started:
                    await anyio.lowlevel.checkpoint()
            try:
                yield address
            finally:
                # A test that fails cancels the tasks beside it: a server that is not waited for leaves its
                # connections open.
                server.should_exit = True
                with anyio.CancelScope(shield=True):
                    await ended.wait()


class Agent:
    """A client with a token, speaking plain JSON-RPC; over a new connection each time, or over `client`."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        client: httpx2.AsyncClient | None = None,
    ) -> None:
        self._address, self._client = address, client
        self._headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-06-18",
            **({"authorization": f"Bearer {token}"} if token else {}),
            **(headers or {}),
        }

    async def post(self, method: str, params: dict[str, Any] | None = None) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        url = f"{self._address}/mcp"
        if self._client is not None:
            return await self._client.post(url, json=body, headers=self._headers)
        async with httpx2.AsyncClient(timeout=30) as client:
            return await client.post(url, json=body, headers=self._headers)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.post("tools/call", {"name": tool, "arguments": arguments})
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        assert not result.get("isError"), result
        return dict(result["structuredContent"])


@contextmanager
def process(dsn: str, folder: Path, *, files: int = 1024) -> Iterator[tuple[str, psutil.Process, Path]]:
    """The server in a process that may open so many files: its address, the process, and its stderr."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    log = folder / "stderr"
    given = {"PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(folder), "EMBEDDING_PROVIDER": "none"}
    with log.open("wb") as stderr:
        started = subprocess.Popen(
            [sys.executable, "-m", "pgmem", "mcp", "--transport", "http", "--port", str(port)],
            env={**os.environ, **given},
            stderr=stderr,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        )
    address = f"http://127.0.0.1:{port}"
    try:
        # It connects again until somebody listens, and waits longer each time.
        with httpx2.Client(transport=httpx2.HTTPTransport(retries=12), timeout=60) as client:
            until = monotonic() + 60
            while (answer := client.get(f"{address}/health/ready")).status_code != 200:
                assert started.poll() is None, log.read_text()
                assert monotonic() < until, (answer.text, log.read_text())
        yield address, psutil.Process(started.pid), log
    finally:
        started.kill()  # it would wait for connections that are open
        started.wait(60)
