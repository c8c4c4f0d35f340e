"""The cost of an interface: the same calls through the library, over stdio and over HTTP, in turns, in one run.

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

from benchmarks.databases import PROJECT, Progress, filled_database, unseen
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
class InterfaceRow:
    """One kind of call through one interface.

    Attributes:
        call: the tool.
        interface: library, stdio or http.
        calls_per_s: by the clock, one client.
        calls_per_core_s: by the processor time of the process that serves and of PostgreSQL.
        share: calls_per_core_s as a share of the library's.
        met: whether HTTP reaches half of the library's; None for the other interfaces and for single tools.
    """

    call: str
    interface: str
    calls_per_s: float
    calls_per_core_s: float
    share: float
    met: bool | None = None


@dataclass(slots=True)
class _Interface:
    call: Call
    cpu: Cpu
    seconds: dict[str, float]
    cpu_seconds: dict[str, float]
    saved: int = 0


async def run(
    server: str, *, rounds: int = 10, each: int = 20, progress: Progress = unseen
) -> Report[InterfaceRow]:
    """Run the benchmark.

    Args:
        server: the DSN of a server on this machine where databases can be created.
        rounds: turns of each interface.
        each: calls of a tool in one turn.
        progress: called as the work advances.
    """
    with (
        filled_database(server, _MEMORIES, users=[_USER], progress=progress) as dsn,
        tempfile.TemporaryDirectory(prefix="pgmem-bench-") as folder,
    ):
        async with AsyncExitStack() as stack:
            interfaces = await _interfaces(dsn, Path(folder), stack)
            for interface in interfaces.values():
                await _turn(interface, 5, measured=False)
            for number in range(rounds):
                progress("calls through three interfaces", number, rounds)
                for interface in interfaces.values():
                    await _turn(interface, each, measured=True)
            return Report(bench="http", rows=_rows(interfaces, rounds * each))


async def _interfaces(dsn: str, folder: Path, stack: AsyncExitStack) -> dict[str, _Interface]:
    """Open the interfaces; over stdio the tenant is that of the settings, over HTTP that of a token."""
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
    return {name: _Interface(call, Cpu(dsn, process), {}, {}) for name, (call, process) in calls.items()}


async def _turn(interface: _Interface, each: int, *, measured: bool) -> None:
    """Make calls of each tool and add up what they took."""
    for tool in ("get_scope_state", "search_memory", "retrieve_context", "save_decision"):
        cpu, began = interface.cpu.seconds(), time.perf_counter()
        for _ in range(each):
            await interface.call(tool, **_arguments(tool, interface))
        if measured:
            interface.seconds[tool] = interface.seconds.get(tool, 0) + time.perf_counter() - began
            interface.cpu_seconds[tool] = interface.cpu_seconds.get(tool, 0) + interface.cpu.seconds() - cpu


def _arguments(tool: str, interface: _Interface) -> dict[str, Any]:
    if tool == "search_memory":
        return {"query": "how is the cache of the service kept", "project_id": PROJECT}
    if tool == "save_decision":
        interface.saved += 1
        text = f"{id(interface):x} keeps its number {interface.saved}"
        return {"title": text, "rationale": text, "project_id": PROJECT}
    return {"project_id": PROJECT}


def _rows(interfaces: dict[str, _Interface], calls: int) -> list[InterfaceRow]:
    floor = interfaces["library"]
    rows = []
    for tool in (*floor.seconds, "all"):
        for name, interface in interfaces.items():
            seconds, cpu, base = (
                sum(figures.values()) if tool == "all" else figures[tool]
                for figures in (interface.seconds, interface.cpu_seconds, floor.cpu_seconds)
            )
            made = calls * len(floor.seconds) if tool == "all" else calls
            share = round(base / cpu, 2)
            rows.append(
                InterfaceRow(
                    call=tool,
                    interface=name,
                    calls_per_s=round(made / seconds, 1),
                    calls_per_core_s=round(made / cpu, 1),
                    share=share,
                    met=share >= _BAR if (tool, name) == ("all", "http") else None,
                )
            )
    return rows
