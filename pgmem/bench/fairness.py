"""What one tenant notices when another one floods the HTTP server: quiet and flooded turns alternate in one run.

The flood comes from a process of its own, so that the client that is measured waits for the server and not for it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import anyio
import httpx2

from pgmem.bench.databases import PROJECT, Progress, filled_database
from pgmem.bench.served import Client, issue, over_http, request
from pgmem.bench.timing import Report, quantile

_USERS = ("measured", "flooding")
_MEMORIES = 2_000
_AT_ONCE = 9
_BAR = 3.0
# The attack of the report, whose list is refused by its length, and the largest list that is taken.
_FLOODS = {
    "150 000 steps": ["s"] * 150_000,
    "2 000 steps": ["A step of the flood that is taken."] * 2_000,
    "2 000 long steps": ["A long step of the flood, as long as a request may be. " * 30] * 2_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessRow:
    """A kind of call beside a kind of flood, in milliseconds.

    Attributes:
        flood: what the other tenant sends, nine at a time.
        call: the tool that is measured.
        quiet_p95_ms: without the flood.
        flooded_p95_ms: beside it.
        ratio: the second by the first.
        met: whether it is below 3.
        flood_answers: answers that the flood got, by HTTP status.
    """

    flood: str
    call: str
    quiet_p95_ms: float
    flooded_p95_ms: float
    ratio: float
    met: bool
    flood_answers: dict[int, int]


async def run(
    server: str, *, turns: int = 4, calls: int = 50, progress: Progress | None = None
) -> Report[FairnessRow]:
    """Run the benchmark.

    Args:
        server: the DSN of a server where databases can be created.
        turns: quiet turns, and flooded ones, of each kind of flood.
        calls: calls of each tool in a turn.
        progress: called as the work advances.
    """
    tell = progress or (lambda _step, _done, _total: None)
    rows: list[FairnessRow] = []
    with (
        filled_database(server, _MEMORIES, users=_USERS, progress=progress) as dsn,
        tempfile.TemporaryDirectory(prefix="pgmem-bench-") as folder,
        over_http(dsn, Path(folder)) as (address, _),
    ):
        tokens = [issue(dsn, "", user) for user in _USERS]
        async with httpx2.AsyncClient(base_url=address, timeout=60) as http:
            client = Client(http, tokens[0])
            await _turn(client, 10, {})
            for flood in _FLOODS:
                quiet: dict[str, list[float]] = {}
                flooded: dict[str, list[float]] = {}
                answers: dict[int, int] = {}
                for number in range(turns):
                    tell(f"beside a flood of {flood}", number, turns)
                    await _turn(client, calls, quiet)
                    with _flood(address, tokens[1], flood, answers):
                        await _turn(client, calls, flooded)
                rows += _rows(flood, quiet, flooded, answers)
    return Report(bench="fairness", rows=rows)


def _rows(
    flood: str, quiet: dict[str, list[float]], flooded: dict[str, list[float]], answers: dict[int, int]
) -> list[FairnessRow]:
    rows = []
    for call in quiet:
        before, beside = quantile(quiet[call], 0.95), quantile(flooded[call], 0.95)
        ratio = round(beside / before, 2)
        rows.append(
            FairnessRow(
                flood=flood,
                call=call,
                quiet_p95_ms=round(before, 1),
                flooded_p95_ms=round(beside, 1),
                ratio=ratio,
                met=ratio < _BAR,
                flood_answers=answers,
            )
        )
    return rows


_number = iter(range(10**9))


async def _turn(client: Client, calls: int, times: dict[str, list[float]]) -> None:
    for _ in range(calls):
        text = f"Measured decision {next(_number)} of a quiet tenant"
        for tool, arguments in (
            ("get_scope_state", {"project_id": PROJECT}),
            ("retrieve_context", {"project_id": PROJECT}),
            ("save_decision", {"title": text, "rationale": text, "project_id": PROJECT}),
        ):
            began = time.perf_counter()
            await client.call(tool, **arguments)
            times.setdefault(tool, []).append((time.perf_counter() - began) * 1000)


@contextmanager
def _flood(address: str, token: str, kind: str, answers: dict[int, int]) -> Iterator[None]:
    """Flood from another process for the time of the block, once the first answer is there; add up its answers."""
    context = multiprocessing.get_context("spawn")
    begun, stopped, counted = context.Event(), context.Event(), context.Queue()
    process = context.Process(
        target=_flooding, args=(address, token, kind, begun, stopped, counted), daemon=True
    )
    process.start()
    try:
        begun.wait(60)
        yield
    finally:
        stopped.set()
        for status, count in counted.get(timeout=60).items():
            answers[status] = answers.get(status, 0) + count
        process.join(60)


def _flooding(address: str, token: str, kind: str, begun: Event, stopped: Event, counted: Any) -> None:
    os.nice(10)  # an attacker has a machine of its own
    asyncio.run(_send(address, token, kind, begun, stopped, counted))


async def _send(address: str, token: str, kind: str, begun: Event, stopped: Event, counted: Any) -> None:
    answers: dict[int, int] = {}
    headers = {
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "mcp-protocol-version": "2025-06-18",
    }

    async def one(place: int) -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            given = {"trigger": f"flood {place} {number} {time.time()}", "repeatable_steps": _FLOODS[kind]}
            body = httpx2.Request(
                "POST", "http://x", json=request("save_pattern", {**given, "project_id": PROJECT})
            )
            answer = await http.post("/mcp", content=body.content, headers=headers)
            answers[answer.status_code] = answers.get(answer.status_code, 0) + 1
            begun.set()

    async with httpx2.AsyncClient(base_url=address, timeout=120) as http, anyio.create_task_group() as tasks:
        for place in range(_AT_ONCE):
            tasks.start_soon(one, place)
    counted.put(answers)
