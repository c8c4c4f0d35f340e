"""`pgmem worker` as a process: probes, logs, many at once, and its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from uuid import uuid4

import httpx2
import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.database.database import Database
from pgmem.models import MemoryScope
from pgmem.outbox import QueuedSave
from pgmem.settings import Settings
from tests.conftest import Call
from tests.servers.roots import free_port

Start = Callable[..., subprocess.Popen[str]]
CANARY = "xylophone"


@pytest.fixture
def surroundings(surroundings: dict[str, str | None], store: str) -> dict[str, str | None]:
    """A worker is one of a store, also behind a front."""
    return {**surroundings, "PGMEM_DSN": store}


@pytest.fixture
def start(surroundings: dict[str, str | None]) -> Iterator[Start]:
    """`start("--health-port", "1")`: a worker; a worker that still runs at the end is killed."""
    with ExitStack() as stack:

        def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
            given = {name: value for name, value in surroundings.items() if value is not None}
            process = subprocess.Popen(
                [sys.executable, "-m", "pgmem", "worker", *arguments],
                env={**os.environ, **given, **variables},
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def until(what: Callable[[], bool], seconds: float = 60) -> None:
    end = monotonic() + seconds
    while not what():
        assert monotonic() < end, "it did not come about"


def answer(port: int, path: str) -> httpx2.Response | None:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=10)
    except httpx2.TransportError:
        return None


def is_ready(port: int) -> bool:
    found = answer(port, "/health/ready")
    return found is not None and found.status_code == 200


def queue(dsn: str, folder: Path) -> None:
    """A save that was promised while the database was away."""
    save = QueuedSave(
        save_id=uuid4(),
        verb="save_context",
        params={"content": CANARY, "project_id": "shop"},
        scope=MemoryScope(),
        source="mcp",
        made_at=datetime.now(UTC),
    )
    Database(Settings(dsn=dsn, data_dir=folder)).outbox.put(save)


@pytest.mark.usefixtures("vectors")
def test_a_worker_answers_probes_does_its_rounds_and_ends_at_a_signal(
    start: Start, call: Call, store: str, tmp_path: Path, connection: psycopg.Connection[DictRow]
) -> None:
    call("save_session", objective=CANARY, project_id="shop")
    port = free_port()
    worker = start(
        *("--health-port", str(port)),
        PGMEM_WORKER_INTERVAL_S="0.1",
        PGMEM_LOG_FORMAT="json",
        PGMEM_LOG_LEVEL="info",
        EMBEDDING_PROVIDER="static",
    )
    until(lambda: is_ready(port))
    queue(store, tmp_path / "data")
    counted = 'pgmem_worker_done_total{task="%s"} %s.0'

    def done() -> bool:
        page = answer(port, "/metrics")
        return page is not None and all(
            counted % wanted in page.text for wanted in (("arrived", 1), ("embedded", 2))
        )

    until(done)
    assert connection.execute("select count(*) as n from pgmem.embedding").fetchall() == [{"n": 2}]
    live = answer(port, "/health/live")
    assert live is not None
    assert live.json() == {"status": "alive"}
    worker.send_signal(signal.SIGTERM)
    _, written = worker.communicate(timeout=20)
    assert worker.returncode == 0, written
    assert CANARY not in written
    lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    assert {"embedded": 1, "arrived": 1}.items() <= {
        name: max(line.get(name, 0) for line in lines) for name in ("embedded", "arrived")
    }.items()


@pytest.mark.usefixtures("vectors")
def test_a_stopped_worker_stores_the_batch_it_is_at(
    start: Start, call: Call, dsn: str, connection: psycopg.Connection[DictRow]
) -> None:
    call("register_model", name="static:l2_supercat_256", dimensions=256)
    call("save_session", objective="Open the shop", project_id="shop")
    with psycopg.connect(dsn) as blocking:
        # Its store waits for us; then it gets the signal to stop.
        blocking.execute("lock table pgmem.embedding in share mode")
        worker = start(PGMEM_WORKER_INTERVAL_S="60", EMBEDDING_PROVIDER="static")
        waits = "select count(*) as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        until(lambda: connection.execute(waits).fetchall() == [{"n": 1}])
        worker.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            worker.wait(0.3)
    worker.communicate(timeout=20)
    assert worker.returncode == 0
    assert connection.execute("select count(*) as n from pgmem.embedding").fetchall() == [{"n": 1}]


@pytest.mark.usefixtures("vectors")
def test_workers_at_once_embed_each_text_once(
    start: Start, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    call("register_model", name="static:l2_supercat_256", dimensions=256)
    call("save_session", objective="Open the shop", project_id="shop")
    connection.execute(
        "select count(s.*) from generate_series(1, 200) i cross join lateral"
        " pgmem.save_context(p_content => 'note ' || i, p_project_id => 'shop') s"
    )
    workers = [start("--once", "--json", EMBEDDING_PROVIDER="static") for _ in range(2)]
    assert [worker.wait(120) for worker in workers] == [0, 0]
    tried = connection.execute("select count(*) as n, count(distinct node_seq) as d from pgmem.embedding")
    assert tried.fetchall() == [{"n": 201, "d": 201}]
    assert connection.execute("select * from pgmem.embedding_queue").fetchall() == []


def test_a_port_that_is_taken_is_one_line_and_exit_code_1(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        worker = start("--health-port", str(port))
        _, written = worker.communicate(timeout=60)
    assert worker.returncode == 1
    assert (
        written
        == f"pgmem: Cannot listen at 127.0.0.1 port {port}: another program does; give another port.\n"
    )
    assert written.count("\n") == 1
