"""Saves made while the database is away: their answers, and their replay."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import anyio
import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.database.database import Database
from pgmem.errors import SaveIdReused
from pgmem.models import MemoryScope
from pgmem.outbox import Outbox, QueuedSave, lane
from tests.concurrency.conftest import Configure, Gate, StartWriter
from tests.conftest import Call, new_database

Connection = psycopg.Connection[DictRow]
pytestmark = pytest.mark.anyio
PATIENT = 20.0


@pytest.fixture(autouse=True)
def projects(call: Call) -> None:
    call("save_session", objective="Set up", project_id="shop")
    call("save_session", objective="Set up", project_id="bank")


@pytest.fixture
def away(settings: Configure) -> Configure:
    """Settings of a client that soon gives up waiting."""
    return lambda **given: settings(**{"connect_timeout_s": 0.3, **given})


@pytest.fixture
def environment(gate: Gate, tmp_path: Path) -> dict[str, str]:
    """A process whose client waits until the database is back."""
    return {"PGMEM_DSN": gate.dsn, "PGMEM_DATA_DIR": str(tmp_path), "PGMEM_CONNECT_TIMEOUT_S": str(PATIENT)}


def queued(folder: Path) -> list[Path]:
    return sorted((folder / "outbox").glob("*.json"))


def written(connection: Connection, label: str, what: str) -> list[str]:
    """A property of the nodes of a label, in the order they were written."""
    rows = connection.execute(
        "select props from pgmem.node where label = %s order by seq", (label,)
    ).fetchall()
    return [row["props"][what] for row in rows]


async def replay(settings: Configure) -> None:
    """Connect when the database is back; that replays the outbox."""
    async with Memory.connect(settings(connect_timeout_s=PATIENT)):
        pass


# The promise


async def test_a_save_is_on_disk_for_its_owner_alone_before_it_is_promised(
    gate: Gate, away: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def recording(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", recording)
    async with Memory.connect(away()) as memory:
        gate.cut()
        result = await memory.save_context("Later.", "shop")
    assert result.status == "pending_retry"
    (file,) = queued(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert synced == [file.stat().st_ino, file.parent.stat().st_ino]
    assert list(file.parent.iterdir()) == [file]


async def test_that_saves_are_queued_is_logged_once_and_their_number_once_a_round(
    gate: Gate, away: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    async with Memory.connect(away()) as memory:
        gate.cut()
        for n in range(5):
            assert (await memory.save_context(f"Later {n}.", "shop")).status == "pending_retry"
        assert (await memory.save_context("Later.", "bank")).status == "pending_retry"
        warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert len([line for line in warnings if "could not be sent" in line]) == 1
        caplog.clear()
        assert await memory.replay_outbox() == 0
        (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert line.startswith("6 saves stay in the outbox: ")
        gate.mend()


async def test_a_save_that_cannot_be_kept_is_not_promised(
    gate: Gate, away: Configure, tmp_path: Path
) -> None:
    (tmp_path / "outbox").write_text("no folder")
    async with Memory.connect(away()) as memory:
        assert (await memory.save_context("Now.", "shop")).status == "saved"
        gate.cut()
        result = await memory.save_context("Later.", "shop")
    assert result.status == "failed"
    assert f"the outbox {tmp_path / 'outbox'} cannot be written" in (result.message or "")


async def test_a_global_save_is_never_queued(gate: Gate, away: Configure, tmp_path: Path) -> None:
    async with Memory.connect(away(connect_timeout_s=2)) as memory:
        token = (await memory.request_global_write_approval("A rule.")).token
        gate.cut()
        result = await memory.save_context("A rule.", "shop", scope="global", governance_token=token)
        batch = await memory.store_session_with_learnings(
            {"objective": "o"},
            "shop",
            [{"title": "t", "rationale": "r", "scope": "global"}],
            governance_token=token,
        )
    assert (result.status, batch.overall) == ("failed", "failed")
    assert "never queued" in (result.message or "")
    assert queued(tmp_path) == []


async def test_the_same_save_twice_waits_once_and_another_under_its_save_id_is_refused(
    gate: Gate, away: Configure, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    save_id = uuid4()
    async with Memory.connect(away()) as memory:
        gate.cut()
        for _ in range(2):
            again = await memory.save_context("Later.", "shop", save_id=save_id)
            assert (again.status, again.save_id) == ("pending_retry", save_id)
        with pytest.raises(SaveIdReused):
            await memory.save_context("Something else.", "shop", save_id=save_id)
    assert len(queued(tmp_path)) == 1
    gate.mend()
    await replay(settings)
    assert written(connection, "Context", "content") == ["Later."]


async def test_what_waits_is_warnings_while_the_database_is_away(gate: Gate, away: Configure) -> None:
    async with Memory.connect(away()) as memory:
        gate.cut()
        one = await memory.save_context("Later.", "shop")
        await memory.save_context("Elsewhere.", "bank")
        status = await memory.get_save_status("shop")
        assert (status.status, status.count) == ("pending_retry", 1)
        assert status.saves[0].save_id == one.save_id
        assert (await memory.get_save_status("shop", save_id=one.save_id)).status == "pending_retry"


# The replay


async def test_saves_arrive_in_the_order_of_their_project_under_the_name_and_time_they_were_made(
    gate: Gate, away: Configure, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    scope = MemoryScope(org_id="acme", user_id="ann", agent_id="planner", session_id="s1")
    connection.execute("select set_config('pgmem.org_id', 'acme', false)")
    async with Memory.connect(away(), scope=scope, source="cli") as memory:
        gate.cut()
        began = datetime.now(UTC)
        for number in range(4):
            for project in ("shop", "bank"):
                result = await memory.save_context(f"{project} {number}", project)
                assert result.status == "pending_retry"
        ended = datetime.now(UTC)
    gate.mend()
    await replay(settings)  # as another
    assert queued(tmp_path) == []
    rows = connection.execute("select * from pgmem.node where label = 'Context' order by seq").fetchall()
    for project in ("shop", "bank"):
        own = [row for row in rows if row["project"] == project]
        assert [row["props"]["content"] for row in own] == [f"{project} {number}" for number in range(4)]
    for row in rows:
        assert [row[name] for name in ("org_id", "user_id", "agent_id", "session_id", "source")] == [
            *("acme", "ann", "planner", "s1", "cli")
        ]
    made = [row["created_at"] for row in sorted(rows, key=lambda row: row["created_at"])]
    assert began <= made[0] < made[-1] <= ended
    attempts = connection.execute("select created_at from pgmem.save_attempt where verb = 'save_context'")
    assert sorted(row["created_at"] for row in attempts.fetchall()) == made


async def test_of_two_decisions_made_while_away_the_later_supersedes_the_earlier(
    gate: Gate, away: Configure, connection: Connection
) -> None:
    """The second waits behind the first, although the database is back when it is made."""
    async with Memory.connect(away(connect_timeout_s=2.0)) as memory:
        gate.cut()
        first = await memory.save_decision("Use MySQL for all of our storage", "Known.", "shop")
        gate.mend()
        second = await memory.save_decision("Use MySQL for all our storage", "Proven.", "shop")
    assert (first.status, second.status, second.dedup_outcome) == ("pending_retry", "saved", "supersede")
    rows = connection.execute(
        "select title, status from pgmem.node where label = 'Decision' order by seq"
    ).fetchall()
    assert [row["status"] for row in rows] == ["superseded", "active"]


async def test_a_save_neither_overtakes_its_project_nor_waits_for_another(
    gate: Gate, away: Configure, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    async with Memory.connect(away(connect_timeout_s=2.0)) as memory:
        gate.cut()
        await memory.save_context("First.", "shop")
        (file,) = queued(tmp_path)
        gate.mend()
        with Outbox(tmp_path / "outbox", "").holding(file) as state:  # another process is at it
            assert state == "ours"
            behind = await memory.save_context("Second.", "shop")
            beside = await memory.save_context("Other.", "bank")
        assert (behind.status, beside.status) == ("pending_retry", "saved")
    await replay(settings)
    assert written(connection, "Context", "content") == ["Other.", "First.", "Second."]


async def test_what_other_projects_have_waiting_arrives_with_the_next_save(
    gate: Gate, away: Configure, connection: Connection, tmp_path: Path
) -> None:
    async with Memory.connect(away(connect_timeout_s=2.0)) as memory:
        gate.cut()
        await memory.save_context("Waits.", "shop")
        gate.mend()
        await memory.save_context("Goes on.", "bank")
    assert written(connection, "Context", "content") == ["Goes on.", "Waits."]
    assert queued(tmp_path) == []


async def test_two_that_replay_at_once_make_each_save_once_and_in_order(
    gate: Gate, away: Configure, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    queue = Queue(tmp_path, gate.dsn)
    for number in range(60):
        queue.put(f"{number}")
    patient = settings(connect_timeout_s=PATIENT)
    arrived = []
    database = Database(patient)
    await database.open()  # Memory.connect would replay the outbox
    one = Memory(database)
    async with Memory.connect(patient) as two:

        async def work(memory: Memory) -> None:
            arrived.append(await memory.replay_outbox())

        async with anyio.create_task_group() as group:
            for memory in (one, two, one, two):
                group.start_soon(work, memory)
    await database.close()
    assert written(connection, "Context", "content") == [f"{number}" for number in range(60)]
    assert queued(tmp_path) == []


class Queue:
    """The outbox of a client behind the gate, filled by hand."""

    def __init__(self, data_dir: Path, dsn: str) -> None:
        from pgmem.settings import load

        self.outbox = Database(load(dsn=dsn, data_dir=data_dir)).outbox

    def put(self, content: object, *, made_at: datetime | None = None, project: str = "shop") -> QueuedSave:
        save = QueuedSave(
            save_id=uuid4(),
            verb="save_context",
            params={"content": content, "project_id": project},
            scope=MemoryScope(),
            source="sdk",
            made_at=made_at or datetime.now(UTC),
        )
        self.outbox.put(save)
        return save


async def test_a_save_older_than_seven_days_is_put_on_record_as_failed(
    gate: Gate, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    queue = Queue(tmp_path, gate.dsn)
    old = queue.put("Too old.", made_at=datetime.now(UTC) - timedelta(days=7, minutes=1))
    queue.put("Just in time.", made_at=datetime.now(UTC) - timedelta(days=6, hours=23))
    async with Memory.connect(settings(connect_timeout_s=PATIENT)) as memory:
        status = await memory.get_save_status("shop")
        assert (status.status, status.count, status.oldest_pending_at) == ("failed", 1, old.made_at)
        assert status.saves[0].save_id == old.save_id
        assert "7 days" in str(status.saves[0].message)
        assert written(connection, "Context", "content") == ["Just in time."]
        retried = await memory.retry_save(old.save_id)  # a person may still want it
        assert retried.status == "saved"
    assert queued(tmp_path) == []


async def test_a_save_the_verb_refuses_is_on_record_and_holds_nobody_up(
    gate: Gate, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    queue = Queue(tmp_path, gate.dsn)
    bad = queue.put("")
    queue.put("Good.")
    async with Memory.connect(settings(connect_timeout_s=PATIENT)) as memory:
        assert (await memory.get_save_status("shop", save_id=bad.save_id)).status == "failed"
    assert written(connection, "Context", "content") == ["Good."]
    assert queued(tmp_path) == []


async def test_a_file_that_cannot_be_read_is_put_aside(
    gate: Gate, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    queue = Queue(tmp_path, gate.dsn)
    queue.put("Broken.")
    queue.put("Good.")
    broken = queued(tmp_path)[0]
    broken.write_text("{")
    await replay(settings)
    assert written(connection, "Context", "content") == ["Good."]
    assert list((tmp_path / "outbox").iterdir()) == [broken.with_suffix(".unreadable")]


async def test_a_save_for_one_database_never_arrives_in_another(
    gate: Gate,
    away: Configure,
    settings: Configure,
    server: str,
    template: str,
    connection: Connection,
    tmp_path: Path,
) -> None:
    async with Memory.connect(away()) as memory:
        gate.cut()
        await memory.save_context("For the first.", "shop")
    with new_database(server, template) as other:
        async with Memory.connect(settings(dsn=other, connect_timeout_s=PATIENT)) as memory:
            await memory.save_session("Set up", "shop")
            assert await memory.replay_outbox() == 0
            assert (await memory.get_save_status("shop")).status == "saved"
    assert len(queued(tmp_path)) == 1
    gate.mend()
    await replay(settings)
    assert written(connection, "Context", "content") == ["For the first."]


def test_saves_keep_their_order_when_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Queue(tmp_path, "host=somewhere dbname=pgmem")
    queue.put("First.")
    monkeypatch.setattr("pgmem.outbox.time.time_ns", lambda: 1_000_000_000)
    queue.put("Second.")
    saves = [queue.outbox.read(path) for path in queue.outbox.pending(lane(MemoryScope(), "shop"))]
    assert [save.params["content"] for save in saves if save is not None] == ["First.", "Second."]


# A client that is killed


async def test_a_save_promised_by_a_client_that_was_killed_arrives_once(
    gate: Gate, environment: dict[str, str], connection: Connection, tmp_path: Path, writer: StartWriter
) -> None:
    impatient = {**environment, "PGMEM_CONNECT_TIMEOUT_S": "1", "PGMEM_RETRY_WAIT_S": "0"}
    client = writer("die_after_queueing", "Promised.", **impatient)
    client.is_ready()
    gate.cut()
    client.go()
    assert client.finish() == -9
    assert '"pending_retry"' in client.acknowledged.read_text()
    gate.mend()
    replayer = writer("replay", **environment)  # it replays as it connects
    replayer.is_ready()
    assert written(connection, "Context", "content") == ["Promised."]
    assert queued(tmp_path) == []


async def test_a_replayer_killed_between_commit_and_removal_doubles_nothing(
    gate: Gate,
    settings: Configure,
    environment: dict[str, str],
    connection: Connection,
    tmp_path: Path,
    writer: StartWriter,
) -> None:
    client = writer("die_before_removing", **environment)
    client.is_ready()
    queue = Queue(tmp_path, gate.dsn)
    queue.put("First.")
    queue.put("Second.")
    client.go()
    assert client.finish() == -9
    assert written(connection, "Context", "content") == ["First."]
    assert len(queued(tmp_path)) == 2
    await replay(settings)
    assert written(connection, "Context", "content") == ["First.", "Second."]
    assert queued(tmp_path) == []


async def test_processes_that_replay_at_once_make_each_save_once_and_in_order(
    gate: Gate, environment: dict[str, str], connection: Connection, tmp_path: Path, writer: StartWriter
) -> None:
    clients = [writer("replay", **environment) for _ in range(3)]
    for client in clients:
        client.is_ready()
    queue = Queue(tmp_path, gate.dsn)
    for number in range(100):
        queue.put(f"{number}", project=("shop", "bank")[number % 2])
    for client in clients:
        client.go()
    assert [client.finish() for client in clients] == [0, 0, 0]
    arrived = [int(content) for content in written(connection, "Context", "content")]
    for rest in (0, 1):
        assert [number for number in arrived if number % 2 == rest] == list(range(rest, 100, 2))
    assert queued(tmp_path) == []
