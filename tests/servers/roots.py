"""A distribution's PostgreSQL in a separate root file system, made by debootstrap; needs root and a mirror.

Nothing is compiled and nothing of the machine is changed: the server and its pooler run in a chroot, on a port of this
machine, and their files are deleted when they stop.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

PASSWORD = "only-for-tests"
DEBIAN = "http://deb.debian.org/debian"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
DEBIAN_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DATA = "/srv/pgmem-"  # and the pid: two runs may use one root
# Thrown away in the end: it need not survive a power cut, and the tests make thousands of databases.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "checkpoint_timeout": "1h",
    "max_connections": "200",
}


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Where a server's packages come from."""

    title: str
    major: int
    suite: str
    packages: tuple[str, ...]
    mirror: str = DEBIAN
    components: str = "main"


def free_port() -> int:
    """A port on which no server listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Root:
    """One root file system."""

    def __init__(self, folder: Path, distribution: Distribution) -> None:
        self.folder, self.distribution = folder, distribution
        self.bin = f"/usr/lib/postgresql/{distribution.major}/bin"
        self.data = f"{DATA}{os.getpid()}"

    def command(self, *arguments: str, user: str = "postgres") -> list[str]:
        """A command inside the root."""
        return ["chroot", f"--userspec={user}:{user}", str(self.folder), *arguments]

    def run(self, *arguments: str, user: str = "postgres", stdin: str = "") -> str:
        """Run a command inside the root; its output.

        Raises:
            RuntimeError: it failed; the message holds the end of its output.
        """
        done = subprocess.run(
            self.command(*arguments, user=user),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "LC_ALL": "C.UTF-8",
                "DEBIAN_FRONTEND": "noninteractive",
            },
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stdout[-2000:]}")
        return done.stdout

    @property
    def _made(self) -> Path:
        return self.folder / "made"

    def is_made(self) -> bool:
        """Whether the root is there, with the packages it should have."""
        return self._made.exists() and self._made.read_text() == " ".join(self.distribution.packages)

    def make(self, keyring: Path = DEBIAN_KEYS) -> None:
        """Make the root anew; the mirror's files are signed by a key of the ring.

        Raises:
            RuntimeError: it cannot be made; the message says why.
        """
        if os.geteuid() != 0:
            raise RuntimeError("a root file system is made by root")
        if shutil.which("debootstrap") is None:
            raise RuntimeError("debootstrap is missing: apt-get install debootstrap")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        host = subprocess.run(
            [
                "debootstrap",
                "--variant=minbase",
                f"--components={self.distribution.components}",
                f"--keyring={keyring}",
                self.distribution.suite,
                str(self.folder),
                self.distribution.mirror,
                # The script of debootstrap for a release of Ubuntu that is newer than itself.
                *(["gutsy"] if self.distribution.mirror == UBUNTU else []),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if host.returncode:
            raise RuntimeError(f"debootstrap: {host.stdout[-2000:]}")
        # No service starts by being installed, and no cluster is made.
        forbid = self.folder / "usr/sbin/policy-rc.d"
        forbid.write_text("#!/bin/sh\nexit 101\n")
        forbid.chmod(0o755)
        (self.folder / "etc/postgresql-common").mkdir(parents=True, exist_ok=True)
        (self.folder / "etc/postgresql-common/createcluster.conf").write_text("create_main_cluster = false\n")
        self.install(*self.distribution.packages)
        self._made.write_text(" ".join(self.distribution.packages))

    def install(self, *packages: str) -> None:
        """Install packages from the suite."""
        # Some packages make their folders by systemd-tmpfiles, which looks into /proc.
        proc = str(self.folder / "proc")
        subprocess.run(["mount", "-t", "proc", "proc", proc], check=False, capture_output=True)
        try:
            self.run("apt-get", "install", "--yes", "--no-install-recommends", *packages, user="root")
        finally:
            subprocess.run(["umount", proc], check=False, capture_output=True)

    @contextmanager
    def server(self, settings: Sequence[str] = ()) -> Iterator[str]:
        """The server, running on an empty cluster; the DSN of its superuser."""
        with ExitStack() as stack:
            stack.enter_context(self._memory())
            port = free_port()
            password = self.folder / f"{self.data.removeprefix('/')}/password"
            password.write_text(PASSWORD)
            password.chmod(0o644)
            self.run(
                f"{self.bin}/initdb",
                *("--pgdata", f"{self.data}/data", "--username", "postgres", "--auth", "scram-sha-256"),
                *("--pwfile", f"{self.data}/password", "--encoding", "UTF8", "--locale", "C.UTF-8"),
            )
            options = [f"{name}={value}" for name, value in SETTINGS.items()]
            options += ["listen_addresses=127.0.0.1", "unix_socket_directories=", *settings]
            command = [f"{self.bin}/postgres", "-D", f"{self.data}/data", "-p", str(port)]
            stack.enter_context(
                self.process(*command, *(word for option in options for word in ("-c", option)))
            )
            dsn = make_conninfo(
                host="127.0.0.1", port=port, user="postgres", password=PASSWORD, dbname="postgres"
            )
            wait_for(dsn)
            yield dsn

    @contextmanager
    def process(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A program of the root, as its user postgres, until it is no longer needed; its output goes to a file."""
        with tempfile.TemporaryFile() as log:
            # In a separate session: an interrupt of the tests does not end their server before them.
            running = subprocess.Popen(
                self.command(*arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                yield running
            except Exception:
                log.seek(0)
                print(log.read()[-4000:].decode(errors="replace"))
                raise
            finally:
                running.send_signal(signal.SIGINT)
                try:
                    running.wait(30)
                except subprocess.TimeoutExpired:
                    running.kill()
                    running.wait()

    @contextmanager
    def _memory(self) -> Iterator[None]:
        """The data directory: in memory where this process may mount it there, else on the disk."""
        for stale in self.folder.glob(f"{DATA.removeprefix('/')}*"):
            if not psutil.pid_exists(int(stale.name.rpartition("-")[2])):  # of a run that was killed
                subprocess.run(["umount", str(stale)], check=False, capture_output=True)
                shutil.rmtree(stale, ignore_errors=True)
        place = self.folder / self.data.removeprefix("/")
        place.mkdir(parents=True)
        mounted = (
            subprocess.run(
                ["mount", "-t", "tmpfs", "tmpfs", str(place)], check=False, capture_output=True
            ).returncode
            == 0
        )
        self.run("chown", "postgres:postgres", self.data, user="root")
        try:
            yield
        finally:
            if mounted:
                subprocess.run(["umount", str(place)], check=False)
            shutil.rmtree(place, ignore_errors=True)


def wait_for(dsn: str, seconds: float = 60) -> None:
    """Until the server answers."""
    deadline = monotonic() + seconds
    while True:
        try:
            psycopg.connect(dsn, connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            if monotonic() > deadline:
                raise
