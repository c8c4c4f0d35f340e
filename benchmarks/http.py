"""The price of a door: the same calls through the library, over stdio and over HTTP, in turns, in one run.

A figure is calls a second and a core: calls by the processor seconds of the process that serves and of PostgreSQL. The
clients of stdio and HTTP are not counted; the library has none.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.databases import PROJECT, Progress, filled_database
from benchmarks.served import Client, Cpu, issue, over_http, over_stdio
from benchmarks.timing import Report
from pgmem.memory import Memory
from pgmem.models import MemoryScope
from pgmem.settings import load

_USER = "bench"
_MEMORIES = 2_000
_BAR = 0.5
Call = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorRow:
    """One kind of call through one door.

    Attributes:
        call: the tool.
        door: library, stdio or http.
        calls_per_s: by the clock, one client.
        calls_per_core_s: by the processor time of the process that serves and of PostgreSQL.
        share: calls_per_core_s as a share of the library's.
        met: whether HTTP reaches half of the library's; None for the other doors and for single tools.
    """

    call: str
    door: str
    calls_per_s: float
    calls_per_core_s: float
    share: float
    met: bool | None = None


@dataclass(slots=True)
class _Door:
    call: Call
    cpu: Cpu
    seconds: dict[str, float]
    cpu_seconds: dict[str, float]
    saved: int = 0


async def run(
    server: str, *, rounds: int = 10, each: int = 20, progress: Progress | None = None
) -> Report[DoorRow]:
    """Run the benchmark.

    Args:
        server: the DSN of a server on this machine where databases can be created.
        rounds: turns of each door.
        each: calls of a tool in one turn.
        progress: called as the work advances.
    """
    tell = progress or (lambda _step, _done, _total: None)
    with (
        filled_database(server, _MEMORIES, users=[_USER], progress=progress) as dsn,
        tempfile.TemporaryDirectory(prefix="pgmem-bench-") as folder,
    ):
        async with AsyncExitStack() as stack:
            doors = await _doors(dsn, Path(folder), stack)
            for door in doors.values():
                await _turn(door, 5, measured=False)
            for number in range(rounds):
                tell("calls through three doors", number, rounds)
                for door in doors.values():
                    await _turn(door, each, measured=True)
            return Report(bench="http", rows=_rows(doors, rounds * each))


async def _doors(dsn: str, folder: Path, stack: AsyncExitStack) -> dict[str, _Door]:
    """Open the doors; over stdio the tenant is that of the settings, over HTTP that of a token."""
    settings = load(dsn=dsn, data_dir=folder, embedding_provider="none")
    memory = await stack.enter_async_context(Memory.connect(settings))
    memory = memory.acting_as(MemoryScope(user_id=_USER))
    address, pid = stack.enter_context(over_http(dsn, folder))
    client = await stack.enter_async_context(httpx2.AsyncClient(base_url=address, timeout=30))
    pipe = await stack.enter_async_context(over_stdio(dsn, folder, user=_USER))

    async def library(tool: str, **arguments: Any) -> None:
        await getattr(memory, tool)(**arguments)

    calls = {
        "library": (library, None),
        "stdio": (pipe.call, pipe.pid),
        "http": (Client(client, issue(dsn, "", _USER)).call, pid),
    }
    return {name: _Door(call, Cpu(dsn, process), {}, {}) for name, (call, process) in calls.items()}


async def _turn(door: _Door, each: int, *, measured: bool) -> None:
    """Make calls of each tool and add up what they took."""
    for tool in ("get_scope_state", "search_memory", "retrieve_context", "save_decision"):
        cpu, began = door.cpu.seconds(), time.perf_counter()
        for _ in range(each):
            await door.call(tool, **_arguments(tool, door))
        if measured:
            door.seconds[tool] = door.seconds.get(tool, 0) + time.perf_counter() - began
            door.cpu_seconds[tool] = door.cpu_seconds.get(tool, 0) + door.cpu.seconds() - cpu


def _arguments(tool: str, door: _Door) -> dict[str, Any]:
    if tool == "search_memory":
        return {"query": "how is the cache of the service kept", "project_id": PROJECT}
    if tool == "save_decision":
        door.saved += 1
        text = f"{id(door):x} keeps number {door.saved} of its own"
        return {"title": text, "rationale": text, "project_id": PROJECT}
    return {"project_id": PROJECT}


def _rows(doors: dict[str, _Door], calls: int) -> list[DoorRow]:
    floor = doors["library"]
    rows = []
    for tool in (*floor.seconds, "all"):
        for name, door in doors.items():
            seconds, cpu, base = (
                sum(figures.values()) if tool == "all" else figures[tool]
                for figures in (door.seconds, door.cpu_seconds, floor.cpu_seconds)
            )
            made = calls * len(floor.seconds) if tool == "all" else calls
            share = round(base / cpu, 2)
            rows.append(
                DoorRow(
                    call=tool,
                    door=name,
                    calls_per_s=round(made / seconds, 1),
                    calls_per_core_s=round(made / cpu, 1),
                    share=share,
                    met=share >= _BAR if (tool, name) == ("all", "http") else None,
                )
            )
    return rows
