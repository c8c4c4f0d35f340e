"""Hostile clients of the HTTP server, each in a separate process until it is stopped."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.synchronize import Event
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2

from benchmarks.databases import PROJECT
from benchmarks.served import request

_AT_ONCE = 9
_PAGES_AT_ONCE = 12
_SLOW = 1100
_UNREAD = 240
_LISTENING = 5
_NEWEST = "2026-07-28"
_HOST = "host: 127.0.0.1\r\n"

Answers = dict[str, int]


class Attack:
    """One attack while it runs.

    Args:
        address: of the server.
        token: of the attacker.
        begun: set with the first answer, or once all connections are open.
        stopped: set when it has to end.
    """

    def __init__(self, address: str, token: str, begun: Event, stopped: Event) -> None:
        self.address, self.token = address, token
        self.begun, self.stopped = begun, stopped
        self.answers: Answers = {}
        self.headers = {
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "mcp-protocol-version": "2025-06-18",
        }

    def count(self, answer: object) -> None:
        """Count an answer of the server, by its HTTP status or what happened instead."""
        self.answers[str(answer)] = self.answers.get(str(answer), 0) + 1

    async def at_once(self, many: int, one: Callable[[int], Awaitable[None]]) -> None:
        """Do something over and over, so many at once, until stopped."""

        async def again(place: int) -> None:
            while not self.stopped.is_set():
                try:
                    await one(place)
                except (OSError, anyio.BrokenResourceError, httpx2.TransportError):
                    self.count("closed")

        async with anyio.create_task_group() as tasks:
            for place in range(many):
                tasks.start_soon(again, place)

    async def posting(self, many: int, body: Callable[[int], bytes], headers: dict[str, str]) -> None:
        """Send requests to /mcp, so many at once."""
        async with httpx2.AsyncClient(base_url=self.address, timeout=120) as http:

            async def one(place: int) -> None:
                answer = await http.post("/mcp", content=body(place), headers=headers)
                self.count(answer.status_code)
                self.begun.set()

            await self.at_once(many, one)

    async def holding(self, many: int, sent: str) -> None:
        """Open connections, send this on each, and read nothing; one that is closed is opened again."""
        port, standing = urlsplit(self.address).port or 80, 0

        async def one(_place: int) -> None:
            nonlocal standing
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                standing += 1
                if standing >= many:
                    self.begun.set()
                await stream.send(sent.encode())
                while not self.stopped.is_set():
                    await asyncio.sleep(0.5)
                    await stream.send(b" ")

        await self.at_once(many, one)


async def _saves(attack: Attack, steps: list[str]) -> None:
    def body(place: int) -> bytes:
        given = {
            "trigger": f"flood {place} {time.time_ns()}",
            "repeatable_steps": steps,
            "project_id": PROJECT,
        }
        return json.dumps(request("save_pattern", given)).encode()

    await attack.posting(_AT_ONCE, body, attack.headers)


async def _slow_forms(attack: Attack) -> None:
    kind = "content-type: application/x-www-form-urlencoded\r\ncontent-length: 5000\r\n\r\n"
    await attack.holding(_SLOW, f"POST /ui/enter HTTP/1.1\r\n{_HOST}{kind}")


async def _unread(attack: Attack) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    headers = "".join(f"{name}: {value}\r\n" for name, value in attack.headers.items())
    one = f"POST /mcp HTTP/1.1\r\n{_HOST}{headers}content-length: {len(body)}\r\n\r\n{body}"
    await attack.holding(_UNREAD, one * 50)


async def _pages(attack: Attack) -> None:
    """Load the page of a memory of 30 long versions over and over."""
    async with httpx2.AsyncClient(base_url=attack.address, timeout=120) as http:
        for number in range(31):
            fact = f"version {number} word{number} " * 4000
            sent = request("upsert_entity", {"entity_name": "Large", "fact": fact, "project_id": PROJECT})
            saved = (await http.post("/mcp", json=sent, headers=attack.headers)).json()
        await http.post("/ui/enter", data={"token": attack.token})
        page = f"/ui/memory/{saved['result']['structuredContent']['artifact_id']}"

        async def one(_place: int) -> None:
            attack.count((await http.get(page)).status_code)
            attack.begun.set()

        await attack.at_once(_PAGES_AT_ONCE, one)


async def _listening(attack: Attack) -> None:
    about = {
        "io.modelcontextprotocol/protocolVersion": _NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": about}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    ).encode()
    more = {"mcp-protocol-version": _NEWEST, "mcp-method": "subscriptions/listen"}
    asyncio.get_running_loop().call_later(5, attack.begun.set)  # a stream has no answer that ends
    await attack.posting(_LISTENING, lambda _: body, {**attack.headers, **more})


# The list of 150 000 is refused by its length; 2 000 is the largest that is taken.
ATTACKS: dict[str, Callable[[Attack], Awaitable[None]]] = {
    "150 000 steps": partial(_saves, steps=["s"] * 150_000),
    "2 000 steps": partial(_saves, steps=["A step of the flood that is taken."] * 2_000),
    "2 000 long steps": partial(
        _saves, steps=["A long step of the flood, as long as a request may be. " * 30] * 2_000
    ),
    "slow forms": _slow_forms,
    "unread answers": _unread,
    "large pages": _pages,
    "listening clients": _listening,
}
"""The acts of each attacker, by name."""

WITHIN = frozenset({"listening clients"})
"""Attacks whose victim is of the attacker's own tenant."""


@contextmanager
def attacking(address: str, token: str, kind: str, answers: Answers) -> Iterator[None]:
    """Attack from another process for the time of the block, once it has begun; add up what the server answered."""
    context = multiprocessing.get_context("spawn")
    begun, stopped, counted = context.Event(), context.Event(), context.Queue()
    process = context.Process(
        target=_attack, args=(address, token, kind, begun, stopped, counted), daemon=True
    )
    process.start()
    try:
        begun.wait(60)
        yield
    finally:
        stopped.set()
        for answer, count in counted.get(timeout=60).items():
            answers[answer] = answers.get(answer, 0) + count
        process.join(60)


def _attack(address: str, token: str, kind: str, begun: Event, stopped: Event, counted: Any) -> None:
    os.nice(10)  # an attacker would run on another machine
    with suppress(ImportError):  # on Windows
        import resource

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    attack = Attack(address, token, begun, stopped)

    async def run() -> None:
        async def end(scope: anyio.CancelScope) -> None:
            await anyio.to_thread.run_sync(stopped.wait, abandon_on_cancel=True)
            scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end, tasks.cancel_scope)
            await ATTACKS[kind](attack)

    asyncio.run(run())
    counted.put(attack.answers)
