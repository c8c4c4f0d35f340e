"""A fleet for tests: cells on a server of the wheel, a front on a server with PL/Proxy, PgBouncer between them.

The servers are processes of this machine, not containers; each test gets databases, which are cheap.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg.rows import DictRow, dict_row

from pgmem.features.cells import directory
from pgmem.install import schema
from tests import waiting
from tests.servers.roots import free_port

FRONT_BIN = Path("/usr/lib/postgresql/15/bin")
PLPROXY = Path("/usr/share/postgresql/15/extension/plproxy.control")


def missing() -> str | None:
    """Programs that this machine lacks for a fleet."""
    if not PLPROXY.exists():
        return "no PL/Proxy: apt install postgresql-15 postgresql-15-plproxy"
    if shutil.which("pgbouncer") is None:
        return "no PgBouncer: apt install pgbouncer"
    return None


def faketime() -> Path | None:
    """The library that gives a program another clock; None where it is not installed."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


def as_postgres() -> list[str]:
    """How a command begins that root may not run."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []


def as_server(command: list[str | Path]) -> None:
    """Run a program that root may not run."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/tmp", "LANG": "C.UTF-8"}
    # pg_ctl leaves its server behind, which would hold a pipe open.
    subprocess.run(
        [*as_postgres(), *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=True,
    )


def own_by_server(file: Path) -> None:
    """Let a file be read by the account of the servers alone, as libpq wants it of a password file."""
    file.chmod(0o600)
    if os.geteuid() == 0:
        shutil.chown(file, "postgres")


@dataclass
class Server:
    """A PostgreSQL of a test.

    Attributes:
        folder: of its data.
        programs: initdb, pg_ctl and the others.
        port: where it listens.
        clock: by how much its clock is ahead of that of this machine, as `+420` or `-420` seconds; by libfaketime.
    """

    folder: Path
    programs: Path
    port: int = field(default_factory=free_port)
    clock: str = ""

    def dsn(self, database: str, user: str | None = "postgres") -> str:
        return f"host=127.0.0.1 port={self.port} dbname={database}" + (f" user={user}" if user else "")

    def start(self) -> None:
        if not self.folder.exists():
            as_server([self.programs / "initdb", "-D", self.folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"])  # fmt: skip
            with (self.folder / "postgresql.conf").open("a") as settings:
                settings.write(
                    f"port={self.port}\nlisten_addresses='127.0.0.1'\nunix_socket_directories=''\nfsync=off\n"
                    "jit=off\nmax_connections=300\nautovacuum=off\nwal_level=replica\nmax_wal_senders=5\n"
                    "log_min_messages=warning\nidle_in_transaction_session_timeout=60s\n"
                )
        # Set behind the change of user: libfaketime makes a semaphore, which must be that of the server.
        faked: list[str | Path] = (
            ["env", f"LD_PRELOAD={faketime()}", f"FAKETIME={self.clock}", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
            if self.clock
            else []
        )
        as_server(
            [*faked, self.programs / "pg_ctl", "-D", self.folder, "-l", f"{self.folder}.log", "-w", "start"]
        )

    def stop(self, how: str = "immediate") -> None:
        if (self.folder / "postmaster.pid").exists():
            as_server([self.programs / "pg_ctl", "-D", self.folder, "-m", how, "-w", "stop"])

    def allow(self, line: str) -> None:
        """Put a line before those that say who may log in how."""
        rules = self.folder / "pg_hba.conf"
        rules.write_text(f"{line}\n{rules.read_text()}")
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as admin:
            admin.execute("select pg_reload_conf()")

    def restart(self) -> None:
        """End it as a crash does, and start it again: it recovers from its log."""
        self.stop()
        self.start()

    @property
    def pid(self) -> int:
        return int((self.folder / "postmaster.pid").read_text().splitlines()[0])


@contextmanager
def replica_of(server: Server, *settings: str) -> Iterator[Server]:
    """A streaming replica, up to date, with more settings."""
    made = Server(server.folder.parent / f"replica-{uuid4().hex[:6]}", server.programs)
    as_server([server.programs / "pg_basebackup", "-d", server.dsn("postgres"), "-D", made.folder, "-R", "-c", "fast", "-X", "stream"])  # fmt: skip
    with (made.folder / "postgresql.conf").open("a") as file:
        file.write("\n".join((f"port={made.port}", *settings)) + "\n")
    made.start()
    try:
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as primary:
            query = "select state = 'streaming' from pg_stat_replication"
            waiting.until(
                lambda: primary.execute(query.encode()).fetchone() == (True,),
                primary,
                "the replica does not stream",
            )
        yield made
    finally:
        made.stop()


def wheel_programs() -> Path:
    from importlib.util import find_spec

    spec = find_spec("pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


@dataclass
class Pooler:
    """PgBouncer between a front and its cells."""

    folder: Path
    databases: dict[str, str]
    options: str = "auth_type = trust"
    password: str = ""
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = "\n".join(f"{name} = {dsn}" for name, dsn in self.databases.items())
        (self.folder / "users").write_text(
            "".join(f'"{login}" "{self.password}"\n' for login in directory.LOGINS)
        )
        (self.folder / "ini").write_text(
            f"[databases]\n{lines}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\n"
            f"unix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 20\nmax_client_conn = 500\n"
            f"{self.options}\nauth_file = {self.folder}/users\nlogfile = {self.folder}/log\nignore_startup_parameters = extra_float_digits\n"
            "query_timeout = 8\nserver_connect_timeout = 3\nquery_wait_timeout = 6\nserver_login_retry = 1\n"
        )
        subprocess.run(["chmod", "-R", "a+rwX", self.folder], check=True)
        self.process = subprocess.Popen(
            [*as_postgres(), "pgbouncer", "-q", str(self.folder / "ini")], stderr=subprocess.DEVNULL
        )

    def answers(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)


@dataclass
class Fleet:
    """A front and its cells, each a database."""

    front: Server
    servers: list[Server]
    name: str
    pooler: Pooler | None = None

    @property
    def dsn(self) -> str:
        """The front, as a superuser."""
        return self.front.dsn(self.name)

    def cell_dsn(self, number: int) -> str:
        return self.servers[number % len(self.servers)].dsn(f"{self.name}_{number}")

    @contextmanager
    def session(
        self, org: str = "", user: str = "ana", **options: str
    ) -> Iterator[psycopg.Connection[DictRow]]:
        """A session at the front, of an organisation."""
        with psycopg.connect(self.dsn, autocommit=True, row_factory=dict_row, **options) as connection:  # type: ignore[arg-type]
            if org:
                act(connection, org, user)
            yield connection

    @contextmanager
    def cell(self, number: int) -> Iterator[psycopg.Connection[DictRow]]:
        with psycopg.connect(self.cell_dsn(number), autocommit=True, row_factory=dict_row) as connection:
            yield connection

    def home(self, org: str) -> int:
        with directory.Directory.open(self.dsn) as found:
            return found.where(org).cell

    def org_in(self, number: int, prefix: str = "org") -> str:
        """The name of an organisation that comes to a cell."""
        return next(name for name in (f"{prefix}{n}" for n in range(1000)) if self.home(name) == number)

    def rows_of(self, org: str) -> dict[int, int]:
        """How many nodes an organisation has, by cell."""
        found = {}
        for number in self.numbers:
            with self.cell(number) as connection:
                row = connection.execute(
                    "select count(*) as n from pgmem.node where org_id = %s", (org,)
                ).fetchone()
                if row is not None and row["n"]:
                    found[number] = int(row["n"])
        return found

    numbers: list[int] = field(default_factory=list)


def act(connection: psycopg.Connection[DictRow], org: str, user: str = "ana") -> None:
    connection.execute(
        "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false)", (org, user)
    )


def template(server: Server, name: str = "cell_template") -> str:
    """A database with pgmem and its roles, to be copied."""
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as admin:
        admin.execute(f"create database {name}".encode())
    schema.upgrade(server.dsn(name), roles=True)
    return name


@contextmanager
def fleet(
    front: Server, servers: list[Server], name: str, cells: int, pooler: Path | None = None
) -> Iterator[Fleet]:
    """Make a fleet of databases, and drop it in the end."""
    made = Fleet(front, servers, name, numbers=list(range(cells)))
    try:
        with psycopg.connect(front.dsn("postgres"), autocommit=True) as admin:
            admin.execute(f"create database {name}".encode())
        for number in range(cells):
            server = servers[number % len(servers)]
            with psycopg.connect(server.dsn("postgres"), autocommit=True) as admin:
                admin.execute(
                    f"create database {name}_{number} template cell_template strategy file_copy".encode()
                )
            with made.cell(number) as connection:
                connection.execute("select pgmem.number_cell(%s)", (number,))
                # As if it had been installed by itself: each store has another secret.
                connection.execute(
                    "update pgmem.store_secret set secret = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())"
                )
                connection.execute("update pgmem.node set scope_key = pgmem.scope_key(tenant, place, label)")
        if pooler is not None:
            reached = {f"cell{number}": f"host=127.0.0.1 port={servers[number % len(servers)].port} dbname={name}_{number}" for number in range(cells)}  # fmt: skip
            made.pooler = Pooler(pooler, reached)
            made.pooler.start()
            with psycopg.connect(front.dsn("postgres"), autocommit=True) as admin:
                waiting.until(made.pooler.answers, admin, "PgBouncer does not answer")
        directory.init(made.dsn, [])
        with directory.Directory.open(made.dsn) as found:
            for number in range(cells):
                through = (
                    f"host=127.0.0.1 port={made.pooler.port} dbname=cell{number}" if made.pooler else None
                )
                found.add(made.cell_dsn(number), through)
        yield made
    finally:
        if made.pooler is not None:
            made.pooler.stop()
        databases = [
            (front, name),
            *((made.servers[n % len(made.servers)], f"{name}_{n}") for n in range(cells)),
        ]
        for server, database in databases:
            if not (server.folder / "postmaster.pid").exists():
                continue  # stopped by the test
            with psycopg.connect(server.dsn("postgres"), autocommit=True) as admin:
                admin.execute(f"drop database if exists {database} with (force)".encode())
