"""Reads on a real streaming replica, made by pg_basebackup: its reads, how far behind it may be, its death."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import monotonic
from typing import Any

import anyio
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner

from pgmem import Memory
from pgmem.cli import app
from pgmem.database import replica
from pgmem.database.watch import Call, Save
from pgmem.errors import InvalidArgument
from pgmem.models import MemoryScope
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import Settings, load
from pgmem.telemetry.metrics import Metrics
from tests.fixtures.clusters import CopyTo
from tests.fixtures.places import roomy_place

pytestmark = [pytest.mark.anyio, pytest.mark.embedded]


class Standby:
    """A streaming replica of an embedded server, with the same programs in another directory."""

    def __init__(self, programs: Path, primary: str, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        owner = Path(str(conninfo_to_dict(primary)["host"])).stat()
        self._owner = owner.st_uid, owner.st_gid
        # A separate directory, because the copy brings along the lock of the primary's socket.
        self._socket = Path(mkdtemp(dir=folder.parent))
        os.chown(self._socket, *self._owner)
        self.dsn = make_conninfo(primary, host=str(self._socket))
        self._run(
            *("pg_basebackup", "-d", make_conninfo(primary, dbname="postgres"), "-D", str(folder)),
            *("--checkpoint=fast", "--write-recovery-conf", "--no-sync"),
        )

    def _run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL as the user of the primary; it has to succeed."""
        uid, gid = self._owner
        with (self._folder.parent / f"{program}.log").open("w+b") as output:
            done = subprocess.run(
                [self._programs / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder.parent,
                user=uid,
                group=gid,
                extra_groups=[] if os.getuid() == 0 else None,
                check=False,
            )
            output.seek(0)
            assert done.returncode == 0, output.read().decode(errors="replace")

    def start(self) -> None:
        options = f"-c listen_addresses= -c unix_socket_directories={self._socket} -c hot_standby_feedback=on -c shared_buffers=16MB"
        self._run("pg_ctl", "start", "-w", "-D", str(self._folder), "-l", "standby.log", "-o", options)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self._folder))

    def pause(self) -> None:
        self._ask("select pg_wal_replay_pause()")
        until(lambda: self._ask("select pg_get_wal_replay_pause_state()") == "paused")

    def resume(self) -> None:
        self._ask("select pg_wal_replay_resume()")

    def _ask(self, question: str) -> object:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            row = connection.execute(question.encode()).fetchone()
            return row[0] if row else None


@pytest.fixture(scope="module")
def servers(installed: CopyTo) -> Iterator[tuple[str, Standby]]:
    """A primary with pgmem, and its replica."""
    folder = Path(mkdtemp(prefix="pgmem-replica-", dir=roomy_place()))
    installed(folder)
    with EmbeddedServer(folder) as server:
        primary = server.start()
        standby = Standby(server.bin_dir, primary, folder / "standby")
        standby.start()
        try:
            yield primary, standby
        finally:
            standby.stop()
    rmtree(folder, ignore_errors=True)


@pytest.fixture
def standby(servers: tuple[str, Standby]) -> Iterator[Standby]:
    yield servers[1]
    servers[1].resume()


class Watched:
    """A memory over both servers, and where its calls went."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._calls: list[Call] = []
        memory.watch(self._tell)

    def _tell(self, seen: Call | Save) -> None:
        if isinstance(seen, Call):
            self._calls.append(seen)

    async def went(self, ask: Callable[[Memory], Awaitable[Any]]) -> str:
        """Return which server answered the last call of `ask`."""
        await ask(self.memory)
        return "replica" if self._calls[-1].replica else "primary"

    async def until_it_goes(self, where: str, ask: Callable[[Memory], Awaitable[Any]]) -> None:
        with anyio.fail_after(30):
            while await self.went(ask) != where:
                await anyio.lowlevel.checkpoint()


Open = Callable[..., Any]


@pytest.fixture
def reading(servers: tuple[str, Standby], tmp_path: Path) -> Open:
    """`async with reading(read_max_lag_s=1) as watched`: a memory over both servers."""

    @asynccontextmanager
    async def open(scope: MemoryScope | None = None, **given: Any) -> AsyncIterator[Watched]:
        settings = Settings(
            **{"dsn": servers[0], "read_dsn": servers[1].dsn, "data_dir": tmp_path, **given},
            embedding_provider="none",
        )
        async with Memory.connect(settings, scope=scope) as memory:
            yield Watched(memory)

    return open


def until(what: Callable[[], bool], seconds: float = 30) -> None:
    end = monotonic() + seconds
    while not what():
        assert monotonic() < end, "it did not come about"


async def search(memory: Memory) -> Any:
    return await memory.search_memory("tea")


async def retrieve(memory: Memory) -> Any:
    return await memory.retrieve_context("shop", "project")


async def save(memory: Memory) -> None:
    result = await memory.save_session("Sell tea", "shop")
    assert result.status == "saved", result.message


@pytest.mark.usefixtures("standby")
async def test_writes_go_to_the_primary_and_reads_follow_on_the_replica(reading: Open) -> None:
    async with reading() as watched:
        assert await watched.went(save) == "primary"
        for read in (search, retrieve):
            await watched.until_it_goes("replica", read)
        found = await watched.memory.search_memory("tea")
        assert [result.title for result in found.results][:1] == ["Sell tea"]
        for kept in (
            lambda m: m.get_save_status("shop"),
            lambda m: m.check_duplicate("t", "r", "shop"),
            lambda m: m.run_hygiene("shop"),
            Memory.list_settings,
        ):
            assert await watched.went(kept) == "primary"
        assert (await watched.memory.run_hygiene("shop")).total == 0


@pytest.mark.usefixtures("standby")
async def test_the_first_read_of_a_process_goes_to_a_replica_that_is_fresh(reading: Open) -> None:
    async with reading() as watched:
        assert await watched.went(search) == "replica"
        behind = watched.memory.replica_behind_s()
        assert behind is not None
        assert behind < 10
        page = (await Metrics().page(watched.memory)).decode()
        assert "\npgmem_replica_behind_seconds 0." in page


async def test_nobody_misses_what_he_has_just_saved(reading: Open, standby: Standby) -> None:
    async with reading(read_max_lag_s=3600) as watched:
        await watched.until_it_goes("replica", search)
        standby.pause()
        await watched.memory.save_session("Sell black coffee", "shop")
        found = await watched.memory.search_memory("black coffee")
        assert [result.title for result in found.results] == ["Sell black coffee"]
        assert await watched.went(search) == "primary"
        standby.resume()
        await watched.until_it_goes("replica", search)


async def test_another_tenant_goes_on_reading_from_the_replica(reading: Open, standby: Standby) -> None:
    async with reading(read_max_lag_s=3600) as watched:
        await watched.until_it_goes("replica", search)
        standby.pause()
        other = watched.memory.acting_as(MemoryScope(org_id="acme", user_id="alice"))
        assert (await other.save_session("Sell milk", "dairy")).status == "saved"
        assert await watched.went(search) == "replica"
        assert await watched.went(lambda _: other.search_memory("milk")) == "primary"


async def test_reads_leave_a_replica_that_lags_by_more_than_they_may(reading: Open, standby: Standby) -> None:
    async with reading(read_max_lag_s=0.5) as watched, reading() as writer:
        await watched.until_it_goes("replica", search)
        standby.pause()
        await writer.memory.save_session("Sell green tea", "shop")
        await watched.until_it_goes("primary", search)
        found = await watched.memory.search_memory("green")
        assert [result.title for result in found.results] == ["Sell green tea"]
        standby.resume()
        await watched.until_it_goes("replica", search)


async def test_an_idle_primary_makes_no_replica_stale(reading: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with reading() as watched:
        await watched.until_it_goes("replica", search)
        # An hour without a write: by the time of its last transaction the replica would be an hour behind.
        monkeypatch.setattr(replica, "monotonic", lambda: monotonic() + 3600)
        assert await watched.went(search) == "replica"


async def test_the_replica_may_die_and_come_back(
    reading: Open, standby: Standby, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading() as watched:
        await watched.until_it_goes("replica", search)
        standby.stop()
        try:
            for read in (search, retrieve, search):
                assert await watched.went(read) == "primary"
            assert (await watched.memory.retrieve_context("shop", "project")).retrieval_status == "succeeded"
            await save(watched.memory)
        finally:
            standby.start()
        monkeypatch.setattr(replica, "_REST_S", 0.1)
        ahead = monotonic
        monkeypatch.setattr(replica, "monotonic", lambda: ahead() + 10)  # it is left alone for a while
        await watched.until_it_goes("replica", search)


async def test_reads_go_on_while_the_primary_is_away(
    reading: Open, servers: tuple[str, Standby], tmp_path: Path
) -> None:
    primary = servers[0]
    way = tmp_path / "way"
    way.symlink_to(str(conninfo_to_dict(primary)["host"]))
    given = {"dsn": make_conninfo(primary, host=str(way)), "connect_timeout_s": 0.5, "retry_wait_s": 0}
    async with reading(read_max_lag_s=3600, **given) as watched:
        await watched.until_it_goes("replica", search)
        way.unlink()
        with psycopg.connect(primary, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        assert await watched.went(search) == "replica"
        assert (await watched.memory.save_session("Sell tea", "shop")).status == "pending_retry"


async def test_a_process_starts_while_its_replica_is_away(
    reading: Open, servers: tuple[str, Standby]
) -> None:
    nowhere = make_conninfo(servers[0], host="/nonexistent")
    async with reading(read_dsn=nowhere) as watched:
        assert await watched.went(search) == "primary"
        await save(watched.memory)


async def test_a_server_that_is_not_a_replica_is_not_read_from(
    reading: Open, servers: tuple[str, Standby], dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    for wrong, why in ((servers[0], "it is not a replica"), (dsn, "it is another database")):
        caplog.clear()
        async with reading(read_dsn=wrong) as watched:
            assert await watched.went(search) == "primary"
            assert await watched.went(search) == "primary"
        assert why in caplog.text


async def test_every_verb_that_may_read_there_does_so_in_a_transaction_that_cannot_write(
    reading: Open, servers: tuple[str, Standby]
) -> None:
    reads: list[Callable[[Memory], Awaitable[Any]]] = [
        lambda m: m.get_scope_state("shop"),
        retrieve,
        lambda m: m.retrieve_context("shop", "project", topic="tea"),
        search,
        lambda m: m.search_memory("tea", explain=True, project_id="shop"),
        lambda m: m.memory_history("Project", "shop"),
        lambda m: m.memory_freshness("shop"),
        lambda m: m.memory_health("shop"),
        lambda m: m.memory_surface("sell tea", "shop"),
        lambda m: m.surface_insights(),
        lambda m: m.route_analysis("compare two services"),
        lambda m: m.neighbours("Project", "shop"),
        lambda m: m.get_node("Project", "shop"),
        lambda m: m.validate_claims("nothing", "shop"),
        lambda m: m.query_engineering_memory("shop", "status"),
        lambda m: m.describe_schema(),
        lambda m: m.status(),
    ]
    async with reading() as watched:
        await save(watched.memory)
        await watched.until_it_goes("replica", search)
        went = [await watched.went(read) for read in reads]
        assert went == ["replica"] * len(reads)


def test_doctor_sees_the_replica_and_its_small_buffers(servers: tuple[str, Standby], tmp_path: Path) -> None:
    def doctor(**given: str) -> dict[str, dict[str, str]]:
        surroundings = {"PGMEM_DATA_DIR": str(tmp_path), "EMBEDDING_PROVIDER": "none", **given}
        result = CliRunner().invoke(app, ["doctor", "--json"], env=surroundings)
        return {each["check"]: each for each in json.loads(result.stdout)}

    primary, standby = servers[0], servers[1].dsn
    assert doctor(PGMEM_DSN=primary, PGMEM_READ_DSN=standby)["replica"]["level"] == "ok"
    found = doctor(PGMEM_DSN=standby)["shared_buffers"]
    assert found["level"] == "hint"
    assert found["message"].startswith("shared_buffers is 16 MB")


def test_every_verb_that_writes_nothing_is_known_by_where_it_may_read(servers: tuple[str, Standby]) -> None:
    with psycopg.connect(servers[0]) as connection:
        found = connection.execute(
            "select proname from pg_proc where pronamespace = 'pgmem'::regnamespace and provolatile <> 'v' and prosecdef"
        ).fetchall()
    stable = {str(row[0]) for row in found}
    assert len(replica.READS | replica.ON_PRIMARY) > 30
    assert replica.READS - stable == set()
    assert replica.ON_PRIMARY - stable == {"check_graph", "run_cypher"}  # volatile, as Cypher is
    assert not replica.READS & replica.ON_PRIMARY
    verbs = {name for name in stable if hasattr(Memory, name)}
    assert verbs - replica.READS - replica.ON_PRIMARY == {"get_relevant_memory"}  # refreshes the cards first


def test_a_replica_of_nothing_is_a_setting_that_cannot_be() -> None:
    with pytest.raises(InvalidArgument, match=r"^PGMEM_READ_DSN needs PGMEM_DSN, .*\.$"):
        load(read_dsn="host=replica")
