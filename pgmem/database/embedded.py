"""The PostgreSQL that pgmem brings along: one server per data directory, shared by all processes naming it.

Two locks inside the data directory decide who may do what. start.lock is held exclusively while somebody
starts, attaches to or stops the server; clients.lock is held shared by each client for its life. Both are
kernel locks (flock): a client that is killed lets go of them at that moment, so there is no list of them.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import logging
import os
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
from psycopg.conninfo import make_conninfo

from pgmem.errors import EmbeddedServerError

__all__ = ["EmbeddedServer", "shared_memory_is_small"]

_logger = logging.getLogger(__name__)

_PATIENCE = 60  # seconds to wait for another process, or for a server that is coming up or going down
_SOCKET = ".s.PGSQL.5432"  # the port is only part of the socket's name: nothing listens on TCP
_LOG_LIMIT = 10 * 1024 * 1024

# The database compares and folds case by the builtin C.UTF-8, the same on every platform, forever. The
# full-text parser asks LC_CTYPE instead: under C it takes dashes and quotes beyond ASCII for letters.
_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
_INITDB = (
    *("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--lc-ctype={_LOCALE}"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--text-search-config=simple"),
    *("-c", "jit=off"),  # compiling a statement takes longer than any statement here runs,
    *("-c", "max_parallel_workers_per_gather=0"),  # and so does starting workers; index builds still use them
    *("-c", "shared_buffers=128MB", "-c", "work_mem=8MB", "-c", "maintenance_work_mem=64MB"),
    *("-c", "max_connections=200", "-c", "wal_compression=off"),
    *("-c", "fsync=on", "-c", "synchronous_commit=on"),
)


class _Postmaster(NamedTuple):
    """What postmaster.pid says, whether or not it is still true."""

    pid: int
    port: str
    socket_dir: str
    identity: list[bytes]  # pid, directory, start time: the lines that stay the same while it runs


class EmbeddedServer:
    """A PostgreSQL of our own under a data directory, shared by every process that names the same directory.

    The calls block. After `os.fork` the child is a client of its own once it has called `start` itself.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = Path(data_dir).expanduser().resolve()
        self._cluster = self._data_dir / "postgres"
        self._log = self._data_dir / "server.log"
        self._mutex = threading.RLock()
        self._clients: int | None = None  # the descriptor that holds clients.lock
        self._holder = 0  # the pid that took it: a forked child inherits it, but is no client
        self._account: tuple[int, int] | None = None  # uid and gid the server runs as when we are root

    @property
    def bin_dir(self) -> Path:
        """Where psql, pg_dump, pg_restore and the other programs of the server are.

        Raises:
            EmbeddedServerError: No PostgreSQL comes with pgmem on this platform.
        """
        spec = importlib.util.find_spec("pgserver")  # the import itself costs more than attaching
        if spec is None or spec.origin is None:
            raise EmbeddedServerError(
                "no embedded PostgreSQL exists for this platform: set PGMEM_DSN to a server of yours"
            )
        return Path(spec.origin).parent / "pginstall" / "bin"

    def start(self) -> str:
        """Start the server or attach to the running one; after a crash, call it again to recover.

        Returns:
            The conninfo of the database pgmem, which is made if it is missing.

        Raises:
            EmbeddedServerError: The server cannot be started or reached; the message says why.
        """
        with self._mutex:
            try:
                self._check_version()
                self._make_data_dir()
                with self._alone():
                    self._join()
                    try:
                        return self._serve()
                    except BaseException:
                        self._leave()
                        raise
            except (OSError, subprocess.SubprocessError, psycopg.Error) as error:
                raise EmbeddedServerError(
                    f"the embedded PostgreSQL under {self._data_dir} cannot be used: {error}"
                ) from error

    def close(self) -> None:
        """Let go of the server; the last living client stops it. Runs at exit too, and never raises."""
        with self._mutex:
            try:
                if self._clients is not None and self._holder == os.getpid():
                    with self._alone():
                        self._leave()
            except (OSError, EmbeddedServerError) as error:
                # The server goes on; whoever starts and closes next finds himself the last and stops it.
                _logger.warning("the PostgreSQL under %s is left running: %s", self._data_dir, error)
            finally:
                self._let_go()

    def __enter__(self) -> EmbeddedServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The data directory and its locks

    def _check_version(self) -> None:
        # Before attaching too: a newer pgmem must not upgrade a schema in a server it could not start again.
        catalog = self.bin_dir.parent / "share" / "postgresql" / "postgres.bki"
        with catalog.open(encoding="utf-8") as lines:
            ours = lines.readline().split()[-1]  # "# PostgreSQL 18", the line initdb itself goes by
        with contextlib.suppress(FileNotFoundError):
            theirs = (self._cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
            if theirs != ours:
                raise EmbeddedServerError(
                    f"{self._cluster} is of PostgreSQL {theirs} and this pgmem brings PostgreSQL {ours}: "
                    "run `pgmem backup` with the pgmem that made it, then move the directory away and run "
                    "`pgmem restore` here"
                )

    def _make_data_dir(self) -> None:
        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = self._data_dir.stat().st_mode
        # To close /tmp or a home directory to everybody else would break the machine.
        if mode & stat.S_ISVTX or self._data_dir in (Path("/"), Path(os.path.expanduser("~"))):
            raise EmbeddedServerError(
                f"{self._data_dir} serves others too: set PGMEM_DATA_DIR to a directory for pgmem alone"
            )
        if stat.S_IMODE(mode) != 0o700:
            self._data_dir.chmod(0o700)

    def _open(self, name: str) -> int:
        # Python's descriptors close at exec, so that the server inherits no lock.
        path = self._data_dir / name
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        if os.geteuid() == 0:  # the directory may be another user's, who must be able to open it too
            owner = self._data_dir.stat()
            os.fchown(lock, owner.st_uid, owner.st_gid)
        return lock

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold start.lock: nobody else starts, attaches or stops meanwhile."""
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
        """Hold clients.lock, under start.lock: no closing client can be just finding itself the last."""
        if self._clients is not None:
            with contextlib.suppress(FileNotFoundError):
                current = (self._data_dir / "clients.lock").stat()
                if self._holder == os.getpid() and os.path.samestat(os.fstat(self._clients), current):
                    return
            self._let_go()  # it was a forked parent's, or of a directory that has been removed since
        self._clients, self._holder = self._open("clients.lock"), os.getpid()
        atexit.register(self.close)
        if not _flock(self._clients, exclusive=False):
            self._let_go()
            raise EmbeddedServerError(f"{self._data_dir / 'clients.lock'} is held by a process that hangs")

    def _leave(self) -> None:
        """Let go, under start.lock, and stop the server if no other client lives."""
        try:
            if self._clients is not None and _flock(self._clients, exclusive=True):
                self._stop()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._clients is not None:
            atexit.unregister(self.close)
            if self._holder == os.getpid():
                _unlock(self._clients)
            else:
                os.close(self._clients)  # to unlock it would unlock it for the parent too
            self._clients = None

    # The server

    def _serve(self) -> str:
        """Attach; where nothing answers and no postmaster lives, start one; until it works or time is up."""
        deadline = time.monotonic() + _PATIENCE
        pause = 0.05
        while True:
            postmaster = self._read_postmaster()
            why = "no server runs"
            if postmaster is not None:
                # Whether it answers comes before whether it lives: in another container it has no pid here.
                try:
                    return self._connect(postmaster)
                except psycopg.OperationalError as error:
                    why = str(error)
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
        lines += [b""] * 5  # a postmaster that is coming up has written only some of them
        return _Postmaster(pid, os.fsdecode(lines[3]), os.fsdecode(lines[4]), lines[:3])

    def _is_alive(self, postmaster: _Postmaster) -> bool:
        """Whether the pid is a postgres of this cluster: no zombie, and nobody who got the number later."""
        import psutil  # only when nothing answers

        # Start times are not compared: psutil reckons them by a clock that is set back and forth, so a living
        # server could look dead; another process does not have this cluster's path by accident.
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
                    raise  # it is there; something else is wrong
                connection.execute("create database pgmem")
        return conninfo

    @contextlib.contextmanager
    def _session(self, conninfo: str, postmaster: _Postmaster) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(conninfo, autocommit=True, connect_timeout=10) as connection:
            # A server that reads the same file as we do is this cluster's, wherever either has it mounted.
            row = connection.execute("select pg_read_binary_file('postmaster.pid')").fetchone()
            if row is None or row[0].splitlines()[:3] != postmaster.identity:
                raise psycopg.OperationalError(f"another server answers in {postmaster.socket_dir}")
            yield connection

    def _start_postmaster(self) -> bool:
        """Run pg_ctl start; False when it is worth another try."""
        self._choose_account()
        for left_over in self._data_dir.glob("postgres.init-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        if not (self._cluster / "PG_VERSION").exists():
            self._make_cluster()
        size = self._log.stat().st_size if self._log.exists() else 0
        if size > _LOG_LIMIT:
            self._log.replace(self._log.with_suffix(".log.1"))
            size = 0
        options = ["-D", str(self._cluster), "-c", "listen_addresses=", "-c", "port=5432"]
        options += ["-c", f"unix_socket_directories={self._make_socket_dir()}"]
        options += ["-c", "unix_socket_permissions=0700"]
        if shared_memory_is_small():
            options += ["-c", "dynamic_shared_memory_type=mmap"]
        # pg_ctl hands a shell what it is given, so the options go quoted and the cluster's path by PGDATA.
        start = ("start", "-w", "-t", str(_PATIENCE), "-l", self._log.name, "-o", shlex.join(options))
        code, output = self._run("pg_ctl", *start)
        if code == 0:
            return True
        tail = self._log_tail(size)
        # Backends of a killed postmaster die only when they notice, and hold its shared memory until then.
        if "already exists" in tail or "still in use" in tail or self._read_postmaster() is not None:
            return False
        raise EmbeddedServerError(f"the PostgreSQL under {self._data_dir} does not start: {output}\n{tail}")

    def _make_socket_dir(self) -> Path:
        # The kernel takes about 100 bytes of path, and PostgreSQL takes a comma for the path's end.
        if len(os.fsencode(self._cluster / _SOCKET)) <= 100 and "," not in str(self._cluster):
            return self._cluster
        return self._give_away(Path(tempfile.mkdtemp(prefix="pgmem-socket-", dir="/tmp")))

    def _make_cluster(self) -> None:
        """Make it beside its place and move it in when complete: a killed initdb leaves no half one."""
        new = self._give_away(Path(tempfile.mkdtemp(prefix="postgres.init-", dir=self._data_dir)))
        code, output = self._run("initdb", "-D", str(new), *_INITDB)
        if code != 0:
            raise EmbeddedServerError(f"initdb failed under {self._data_dir}: {output}")
        new.rename(self._cluster)  # the system refuses if files are there, which are then not ours to remove
        directory = os.open(self._data_dir, os.O_RDONLY)
        try:
            os.fsync(directory)  # a power cut must not bring back the name that left-overs have
        finally:
            os.close(directory)

    def _stop(self) -> None:
        """Fast shutdown; by a signal, as pg_ctl would also signal a process that only has the number."""
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
        """Remove what a dead postmaster left: PostgreSQL does not start where its pid is another's by now."""
        # Safe while its backends live: PostgreSQL finds their shared memory by the directory's inode as well.
        for name in ("postmaster.pid", _SOCKET, f"{_SOCKET}.lock"):
            (self._cluster / name).unlink(missing_ok=True)
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
        """As root, which PostgreSQL refuses to run as: choose a user and let him through to his files."""
        if os.geteuid() != 0:
            return
        owner = self._data_dir.stat()
        if owner.st_uid != 0:  # a user's own directory, used under sudo, stays his
            self._account = owner.st_uid, owner.st_gid
        else:
            self._account = _system_account("pgserver")
            for path in (self._data_dir, self._data_dir / "start.lock", self._data_dir / "clients.lock"):
                self._give_away(path)
        package = self.bin_dir.parent.parent
        for parent in (*self._data_dir.parents, *package.parents):
            _permit(parent, 0o1, *self._account)
        for tree in (package, *package.parent.glob("pgserver*.libs")):  # beside it: what auditwheel bundled
            for part in (tree, *tree.rglob("*")):
                _permit(part, 0o5, *self._account)

    def _give_away(self, path: Path) -> Path:
        if self._account is not None:
            os.chown(path, *self._account, follow_symlinks=False)
        return path

    def _run(self, program: str, *arguments: str) -> tuple[int, str]:
        """Run a program of the wheel as the server's user; its exit status and its output."""
        # Few variables: PGPORT and its like change the server, and the caller's keys are not its business.
        kept = {name: os.environ[name] for name in ("PATH", "TZ", "LD_LIBRARY_PATH") if name in os.environ}
        uid, gid = self._account or (None, None)
        with tempfile.TemporaryFile() as output:  # a pipe would stay open while any child of pg_ctl lives
            done = subprocess.run(
                [str(self.bin_dir / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._data_dir,  # the caller's own may be closed to the server's user
                env={**kept, "PGDATA": str(self._cluster), "LC_ALL": _LOCALE},
                user=uid,
                group=gid,
                extra_groups=None if uid is None else [],
                check=False,
            )
            output.seek(0)
            return done.returncode, output.read().decode(errors="replace").strip()


def _flock(descriptor: int, *, exclusive: bool) -> bool:
    """Take the lock if that needs no waiting; whether it was taken."""
    import fcntl  # not on Windows, where this module still has to say what to do instead

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(descriptor: int) -> None:
    import fcntl

    # Closing alone is not enough: a child that was forked meanwhile shares the lock and would keep it.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def shared_memory_is_small() -> bool:
    """Whether /dev/shm is too small for parallel index builds, as it is in most containers."""
    if sys.platform != "linux":
        return False
    try:
        shm = os.statvfs("/dev/shm")
    except OSError:
        return True
    return shm.f_frsize * shm.f_blocks < 256 * 1024 * 1024


def _system_account(name: str) -> tuple[int, int]:
    """The uid and gid of a system user, made if missing."""
    import fcntl
    import pwd

    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        directory = os.open("/etc", os.O_RDONLY)
        try:
            # One at a time: useradd looks before it locks, so of two at once the second replaces the uid of the first.
            fcntl.flock(directory, fcntl.LOCK_EX)
            command = ["useradd", "--system", "--shell", "/usr/sbin/nologin", name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            entry = pwd.getpwnam(name)  # whether we made it or another process did before us
        except KeyError:
            raise EmbeddedServerError(
                f"PostgreSQL refuses to run as root, and no user {name} can be made: {done.stderr.strip()}"
            ) from None
        finally:
            _unlock(directory)
    return entry.pw_uid, entry.pw_gid


def _permit(path: Path, bits: int, uid: int, gid: int) -> None:
    """Give a user what he lacks of bits (4 read, 1 enter or run) on a path."""
    status = path.stat()
    if not status.st_mode & stat.S_IXUSR:
        bits &= ~1  # a file that nobody runs
    wanted = bits << (6 if status.st_uid == uid else 3 if status.st_gid == gid else 0)
    if status.st_mode & wanted != wanted:
        path.chmod(stat.S_IMODE(status.st_mode) | wanted)
