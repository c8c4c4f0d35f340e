"""A cell that is a pair of servers under Patroni: its leader is killed while agents save through the front."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from time import monotonic
from uuid import uuid4

import httpx2
import psutil
import psycopg
import pytest

from pgmem.features.cells.directory import Directory
from pgmem.install import schema
from tests.features.cells import fleet as fleets
from tests.features.cells.fleet import Fleet, Server, as_postgres
from tests.features.cells.running import open_folder, started
from tests.features.cells.writers import Writers
from tests.servers.roots import free_port
from tests.waiting import until

pytestmark = pytest.mark.long
PROGRAMS = ("patroni", "etcd")


@dataclass
class Process:
    """A program of the servers' account, which is ended with its children."""

    log: Path
    running: subprocess.Popen[bytes] | None = None

    def start(self, *command: str | Path) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": "/tmp", "LANG": "C.UTF-8"}
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                [*as_postgres(), *command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        if self.running is not None:
            self.running.kill()
            self.running.wait(20)
            self.running = None


@dataclass
class Node:
    """A PostgreSQL that Patroni looks after.

    Attributes:
        server: its folder and port.
        patroni: the program beside it.
        rest: the port at which Patroni reports its role.
    """

    server: Server
    patroni: Process
    rest: int = field(default_factory=free_port)

    def is_(self, what: str) -> bool:
        """Whether it is `primary`, `replica`, `sync` or another that Patroni answers for."""
        try:
            return httpx2.get(f"http://127.0.0.1:{self.rest}/{what}", timeout=2).status_code == 200
        except httpx2.HTTPError:
            return False

    def kill(self) -> None:
        """End the server and its supervisor at once, as a machine does that loses its power."""
        self.patroni.kill()
        with suppress(FileNotFoundError, psutil.NoSuchProcess, ProcessLookupError):
            postmaster = psutil.Process(self.server.pid)
            if str(self.server.folder) not in postmaster.cmdline():
                return  # it has ended, and its number is another's
            for child in postmaster.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    child.send_signal(signal.SIGKILL)
            postmaster.send_signal(signal.SIGKILL)


def settings_of(node: Node, etcd: int) -> dict[str, object]:
    """The settings of docs/how-to/run-in-cells.md for a cell under Patroni, on ports of this machine."""
    return {
        "scope": "cell0",
        "name": node.server.folder.name,
        "restapi": {"listen": f"127.0.0.1:{node.rest}", "connect_address": f"127.0.0.1:{node.rest}"},
        "etcd3": {"host": f"127.0.0.1:{etcd}"},
        "bootstrap": {
            "dcs": {
                "ttl": 20,
                "loop_wait": 5,
                "retry_timeout": 5,
                "synchronous_mode": True,
                "postgresql": {
                    "use_pg_rewind": True,
                    "parameters": {"max_connections": 100, "wal_log_hints": "on", "jit": "off"},
                },
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}],
        },
        "postgresql": {
            "listen": f"127.0.0.1:{node.server.port}",
            "connect_address": f"127.0.0.1:{node.server.port}",
            "data_dir": str(node.server.folder),
            "bin_dir": str(node.server.programs),
            "pgpass": f"{node.server.folder}.pgpass",
            "authentication": {
                "superuser": {"username": "postgres"},
                "replication": {"username": "postgres"},
            },
            "parameters": {"unix_socket_directories": "", "fsync": "off"},
            "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
        },
    }


@dataclass
class Pair:
    """Two servers of which one is the leader."""

    nodes: list[Node]

    def leader(self) -> Node | None:
        return next((node for node in self.nodes if node.is_("primary")), None)

    def other(self, node: Node) -> Node:
        return next(one for one in self.nodes if one is not node)

    def dsn(self, database: str, user: str | None = "postgres") -> str:
        """Whichever is the leader, by the libpq of who connects."""
        ports = ",".join(str(node.server.port) for node in self.nodes)
        hosts = ",".join("127.0.0.1" for _ in self.nodes)
        return (
            f"host={hosts} port={ports} dbname={database} target_session_attrs=read-write connect_timeout=3"
            + (f" user={user}" if user else "")
        )


@dataclass
class Paired(Fleet):
    """A fleet whose only cell is a pair."""

    store: str = ""

    def cell_dsn(self, number: int) -> str:
        return self.store


@contextmanager
def pair(folder: Path, admin: psycopg.Connection[object]) -> Iterator[Pair]:
    """A leader and its synchronous standby."""
    etcd, client, peer = Process(folder / "etcd.log"), free_port(), free_port()
    nodes = [
        Node(Server(folder / name, fleets.wheel_programs()), Process(folder / f"{name}.log")) for name in "ab"
    ]
    made = Pair(nodes)
    try:
        etcd.start(
            *("etcd", "--data-dir", folder / "etcd", "--listen-client-urls", f"http://127.0.0.1:{client}"),
            *("--advertise-client-urls", f"http://127.0.0.1:{client}"),
            *("--listen-peer-urls", f"http://127.0.0.1:{peer}", "--unsafe-no-fsync"),
            *("--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"),
            *("--initial-cluster", f"default=http://127.0.0.1:{peer}"),
        )
        for node in nodes:
            settings = folder / f"{node.server.folder.name}.yaml"
            settings.write_text(json.dumps(settings_of(node, client)))  # which is YAML too
            settings.chmod(0o644)
            start(node)
            until(lambda: made.leader() is not None, admin, "no leader")
        until(lambda: any(node.is_("sync") for node in nodes), admin, "the standby is not synchronous")
        yield made
    finally:
        for node in nodes:
            node.kill()
        etcd.kill()


def start(node: Node) -> None:
    node.patroni.start("patroni", node.server.folder.parent / f"{node.server.folder.name}.yaml")


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder("patroni") as made:
        yield made


def test_a_leader_that_is_killed_is_followed_by_its_standby_and_nothing_is_lost(
    servers: tuple[Server, Server], folder: Path, tmp_path: Path
) -> None:
    """The front's address of the cell names both servers; the leader that was comes back as a standby."""
    if missing := [program for program in PROGRAMS if which(program) is None]:
        pytest.skip(f"no {' and '.join(missing)}: apt install patroni etcd-server")
    front, _ = servers
    org, database = f"p{uuid4().hex[:10]}", "memory"
    with psycopg.connect(front.dsn("postgres"), autocommit=True) as admin, pair(folder, admin) as cell:
        leader = cell.leader()
        assert leader is not None
        with psycopg.connect(cell.dsn("postgres"), autocommit=True) as owner:
            owner.execute(f"create database {database}".encode())
        schema.upgrade(cell.dsn(database), roles=True, cell=0)
        with fleets.fleet(front, [], f"patroni_{uuid4().hex[:8]}", 0) as made:
            with Directory.open(made.dsn) as found:
                found.add(cell.dsn(database), cell.dsn(database, None))
            fleet = Paired(front, [], made.name, numbers=[0], store=cell.dsn(database))
            started(fleet, org)
            with Writers(fleet, org, tmp_path, 100_000, 4, pause=0.02) as writers:
                until(lambda: writers.acknowledged() > 100, admin, "nothing is saved")
                leader.kill()
                killed, at_kill = monotonic(), writers.acknowledged()
                until(lambda: cell.other(leader).is_("primary"), admin, "no new leader")
                elected = monotonic() - killed
                until(lambda: writers.acknowledged() > at_kill + 20, admin, "no save after the failover")
                again = monotonic() - killed
                start(leader)
                until(lambda: leader.is_("replica"), admin, "the former leader does not come back")
                until(lambda: leader.is_("sync"), admin, "the former leader does not follow")
                # And back, as for maintenance: the former leader becomes the leader once more.
                second = cell.other(leader)
                second.kill()
                at_kill = writers.acknowledged()
                until(lambda: leader.is_("primary"), admin, "no leader after the second failover")
                until(lambda: writers.acknowledged() > at_kill + 20, admin, "no save after the second")
                writers.stop()
                counts = writers.check()
            print(f"leader after {elected:.1f} s, saves again after {again:.1f} s, {dict(counts)}")
