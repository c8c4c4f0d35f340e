"""The latency of one tenant while another one attacks the HTTP server: quiet and attacked turns alternate in one run.

The attack comes from a separate process, so that the client that is measured waits for the server and not for it.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import httpx2

from benchmarks.attackers import ATTACKS, WITHIN, Answers, attacking
from benchmarks.databases import PROJECT, Progress, filled_database, unseen
from benchmarks.served import Client, issue, over_http
from benchmarks.timing import Report, quantile

_USERS = ("measured", "flooding")
_MEMORIES = 2_000
_BAR = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessRow:
    """A kind of call beside a kind of attack, in milliseconds.

    Attributes:
        flood: what the attacker does.
        call: the tool that is measured.
        quiet_p95_ms: without the attack.
        flooded_p95_ms: beside it.
        ratio: the second by the first.
        met: whether it is below 3.
        flood_answers: answers that the attacker got, by HTTP status, and connections of his that were closed.
    """

    flood: str
    call: str
    quiet_p95_ms: float
    flooded_p95_ms: float
    ratio: float
    met: bool
    flood_answers: Answers


async def run(
    server: str, *, turns: int = 4, calls: int = 50, progress: Progress = unseen
) -> Report[FairnessRow]:
    """Run the benchmark.

    Args:
        server: the DSN of a server where databases can be created.
        turns: quiet turns, and flooded ones, of each kind of attack.
        calls: calls of each tool in a turn.
        progress: called as the work advances.
    """
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
            for flood in ATTACKS:
                quiet: dict[str, list[float]] = {}
                flooded: dict[str, list[float]] = {}
                answers: Answers = {}
                for number in range(turns):
                    progress(f"beside {flood}", number, turns)
                    await _turn(client, calls, quiet)
                    with attacking(address, tokens[flood not in WITHIN], flood, answers):
                        await _turn(client, calls, flooded)
                rows += _rows(flood, quiet, flooded, answers)
    return Report(bench="fairness", rows=rows)


def _rows(
    flood: str, quiet: dict[str, list[float]], flooded: dict[str, list[float]], answers: Answers
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
