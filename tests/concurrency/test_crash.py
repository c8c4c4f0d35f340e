"""The server is killed while others write: its recovery, the clients' retry and the outbox meet."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from pgmem import Memory
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import load
from tests.concurrency.conftest import StartWriter, Writer, read_until
from tests.concurrency.writer import PROJECT
from tests.fixtures.clusters import CopyTo

pytestmark = pytest.mark.embedded
WRITERS = 4


@pytest.fixture
async def server(place: Path, installed: CopyTo, monkeypatch: pytest.MonkeyPatch) -> EmbeddedServer:
    """An embedded server of this test's own, with a project in it."""
    monkeypatch.delenv("PGMEM_DSN", raising=False)
    installed(place / "data")
    async with Memory.connect(load(data_dir=place / "data")) as memory:
        await memory.save_session("Set up", PROJECT)
    return EmbeddedServer(place / "data")


def postmaster(place: Path) -> int:
    return int((place / "data" / "postgres" / "postmaster.pid").read_text().split()[0])


def kill_the_server(place: Path) -> int:
    pid = postmaster(place)
    os.kill(pid, signal.SIGKILL)
    return pid


def start(writer: StartWriter, saves: int, **environment: str) -> list[Writer]:
    names = [f"writer{number}" for number in range(WRITERS)]
    writers = [writer("own_contexts", name, str(saves), **environment) for name in names]
    for process in writers:
        process.is_ready()
    for process in writers:
        process.go()
    return writers


async def all_arrived(dsn: str, place: Path, writers: list[Writer], saves: int) -> Counter[str]:
    """Every save acknowledged is there, once, and nothing else is; how many of each status."""
    expected = {f"writer{name} {number}" for name in range(WRITERS) for number in range(saves)}
    assert [process.finish() for process in writers] == [0] * WRITERS
    answers = {answer["what"]: answer for process in writers for answer in process.answers()}
    assert set(answers) == expected
    async with Memory.connect(load(dsn=dsn, data_dir=place / "data")) as memory:
        await memory.replay_outbox()  # the beginning of a connection takes five seconds at most for it
        status = await memory.get_save_status(PROJECT)
    assert (status.status, status.count) == ("saved", 0)
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "select props ->> 'content', id from pgmem.node where label = 'Context'"
        ).fetchall()
        assert Counter(content for content, _ in rows) == dict.fromkeys(expected, 1)
        saved = {
            what: UUID(answer["artifact_id"])
            for what, answer in answers.items()
            if answer["status"] == "saved"
        }
        assert saved.items() <= dict(rows).items()
        attempts = connection.execute(
            "select artifact_id from pgmem.save_attempt where verb = 'save_context' and status = 'saved'"
        ).fetchall()
        assert {row[0] for row in attempts} == {id for _, id in rows}
        assert len(attempts) == len(expected)
    return Counter(answer["status"] for answer in answers.values())


@pytest.mark.anyio
async def test_killing_the_embedded_server_in_the_middle_of_1000_saves_loses_and_doubles_none(
    place: Path, server: EmbeddedServer, writer: StartWriter
) -> None:
    with server:
        writers = start(writer, 250, PGMEM_DATA_DIR=str(place / "data"))
        acknowledged = killed = 0

        def kill_at_300_and_600(_: Writer, put_out: bytes) -> bool:
            nonlocal acknowledged, killed
            acknowledged += put_out.count(b"\n")
            if acknowledged >= 300 * (killed + 1):
                kill_the_server(place)
                killed += 1
            return killed == 2

        first = postmaster(place)
        read_until(writers, kill_at_300_and_600)
        assert acknowledged < 1000
        statuses = await all_arrived(server.start(), place, writers, 250)
        assert statuses.total() == statuses["saved"] + statuses["pending_retry"]
        assert statuses["saved"] > 600
        assert postmaster(place) != first
        assert list((place / "data").glob("outbox/*.json")) == []


@pytest.mark.anyio
async def test_killing_a_server_that_nobody_starts_again_for_a_while_loses_and_doubles_none(
    place: Path, server: EmbeddedServer, writer: StartWriter
) -> None:
    """The writers know it by its DSN, so that their saves have to wait in the outbox."""
    with server:
        dsn = server.start()
        environment = {
            "PGMEM_DSN": dsn,
            "PGMEM_DATA_DIR": str(place / "data"),
            "PGMEM_CONNECT_TIMEOUT_S": "1",
        }
        writers = start(writer, 50, **environment)
        acknowledged, killed, waiting = 0, False, set()

        def some_wait(process: Writer, put_out: bytes) -> bool:
            nonlocal acknowledged, killed
            acknowledged += put_out.count(b"\n")
            if acknowledged >= 80 and not killed:
                kill_the_server(place)
                killed = True
            if b"pending_retry" in put_out:
                waiting.add(process)
            return len(waiting) == WRITERS

        read_until(writers, some_wait)
        assert server.start() == dsn
        statuses = await all_arrived(dsn, place, writers, 50)
        assert statuses.total() == statuses["saved"] + statuses["pending_retry"]
        assert statuses["pending_retry"] >= WRITERS
