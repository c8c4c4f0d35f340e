"""A cell that is silent, its processes stopped, while agents of two organisations save over HTTP."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic
from uuid import uuid4

import httpx2
import psutil
import pytest

from tests.conftest import caller
from tests.features.cells.fleet import Fleet, Server
from tests.features.cells.running import started
from tests.serving import process
from tests.waiting import until

pytestmark = pytest.mark.long
AGENTS = 3
BEFORE, DURING = 5.0, 25.0
LONGEST = 12.0
"""Seconds: PgBouncer gives a silent cell up after 8, and the machine may be busy."""


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """Its connections stay open, and nothing answers."""
    processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
    for one in processes:
        one.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for one in processes:
            one.send_signal(signal.SIGCONT)


@dataclass(frozen=True)
class Save:
    """The saves of an agent and their answers."""

    cell: int
    content: str
    status: str
    begun: float
    seconds: float


def save(client: httpx2.Client, cell: int, content: str) -> Save:
    arguments = {"content": content, "project_id": "shop"}
    params = {"name": "save_context", "arguments": arguments}
    begun = monotonic()
    answer = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    status = f"HTTP {answer.status_code}"
    if answer.status_code == 200:
        result = answer.json()["result"]
        status = str(result.get("structuredContent", result).get("status", result))
    return Save(cell, content, status, begun, monotonic() - begun)


def test_a_silent_cell_keeps_no_agent_of_another_waiting_and_its_own_not_for_long(
    wide: Fleet, tmp_path: Path
) -> None:
    """Saves for its organisation wait in the outbox, and are there once when it answers again."""
    orgs = {number: wide.org_in(number, f"s{uuid4().hex[:8]}") for number in wide.numbers}
    with wide.session() as connection:
        call = caller(connection)
        tokens = {n: str(call("issue_token", org_id=org, user_id="ana")["token"]) for n, org in orgs.items()}
    for org in orgs.values():
        started(wide, org)
    saves: list[Save] = []
    over = Event()
    with process(wide.dsn, tmp_path) as (address, _, _), ThreadPoolExecutor(2 * AGENTS) as pool:

        def agent(cell: int, number: int) -> None:
            headers = {
                "Authorization": f"Bearer {tokens[cell]}",
                "Accept": "application/json, text/event-stream",
            }
            with httpx2.Client(base_url=address, headers=headers, timeout=120) as client:
                made = 0
                while not over.is_set():
                    made += 1
                    saves.append(save(client, cell, f"note {made} of agent {number} in cell {cell}"))
                    over.wait(0.1)

        def saves_again() -> bool:
            return any(s.status == "saved" and s.cell == 1 and s.begun > ended for s in saves)

        agents = [pool.submit(agent, cell, number) for number in range(AGENTS) for cell in orgs]
        try:
            over.wait(BEFORE)
            with stopped(wide.servers[1]):
                begun = monotonic()
                over.wait(DURING)
                ended = monotonic()
            with wide.session() as connection:
                until(saves_again, connection, "the cell saves nothing when it answers again")
                again = monotonic() - ended
        finally:
            over.set()
        for one in agents:
            one.result()
        with wide.session() as connection:
            until(lambda: not list(tmp_path.glob("outbox/*.json")), connection, "saves stay in the outbox")
    for cell in orgs:
        during = [s for s in saves if s.cell == cell and begun <= s.begun < ended]
        statuses, slowest = Counter(s.status for s in during), max(s.seconds for s in during)
        print(f"cell {cell}: {dict(statuses)}, the slowest in {slowest:.1f} s")
        assert set(statuses) == {"pending_retry" if cell else "saved"}
        assert slowest < (LONGEST if cell else LONGEST / 2)
    print(f"cell 1 saves {again:.1f} s after it answers")
    for cell, org in orgs.items():
        with wide.cell(cell) as store:
            kept = (
                "select props ->> 'content' as said from pgmem.node where org_id = %s and label = 'Context'"
            )
            held = Counter(row["said"] for row in store.execute(kept.encode(), (org,)))
        assert held == Counter(s.content for s in saves if s.cell == cell)
