"""Sessions that are seen waiting, a gate between client and server, and writers in separate processes."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

from pgmem.settings import Settings, load
from tests.conftest import caller, past_the_pooler, stores_of
from tests.waiting import TIMEOUT, until_the_server_says


@pytest.fixture(autouse=True)
def no_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors play no part here."""
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")


def wait_until_blocked(dsn: str, application_name: str, sessions: int = 1) -> None:
    """The other session is *seen* waiting for a lock before the test goes on.

    Through a front it has another name in the cell, as all that come from there.
    """
    until_the_server_says(
        "count(*) = %(sessions)s from pg_stat_activity where datname = current_database()"
        " and (application_name = %(name)s or usename ^@ 'pgmem_front_' and not exists (select from pg_stat_activity s"
        " where s.datname = current_database() and s.application_name = %(name)s)) and state = 'active' and wait_event_type = 'Lock'",
        dsn,
        {"name": application_name, "sessions": sessions},
        f"{application_name} never waited for a lock",
    )


class Session:
    """A separate database session, in a transaction from its first call on."""

    def __init__(self, dsn: str, name: str) -> None:
        self._dsn, self._name = dsn, name
        self.connection = psycopg.connect(past_the_pooler(dsn), application_name=name, row_factory=dict_row)
        self.call = caller(self.connection)
        self._thread = ThreadPoolExecutor(1)

    def start(self, verb: str, **arguments: object) -> Future[DictRow]:
        """Call a verb that will have to wait."""
        return self._thread.submit(self.call, verb, **arguments)

    def is_seen_waiting(self) -> None:
        wait_until_blocked(self._dsn, self._name)

    def act_for(self, org_id: str, user_id: str) -> None:
        self.connection.execute(
            "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false)",
            (org_id, user_id),
        )
        self.connection.commit()

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()

    def close(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as admin:  # it may still wait, in a test that failed
            admin.execute("select pg_terminate_backend(%s)", (self.connection.info.backend_pid,))
        self._thread.shutdown()
        self.connection.close()


OpenSession = Callable[[str], Session]


@contextmanager
def sessions(dsn: str) -> Iterator[OpenSession]:
    """The opener of sessions by their names; they are closed at the end."""
    opened: list[Session] = []

    def open_session(name: str) -> Session:
        opened.append(Session(dsn, name))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()


@pytest.fixture
def session(dsn: str) -> Iterator[OpenSession]:
    """`session("ann")` opens a session of that name on the test's database; through a front, at its cell.

    A transaction of more than one save is one of the store itself, also where others save through a front.
    """
    with sessions(stores_of(dsn)[0]) as open_session:
        yield open_session


_STATEMENTS = (
    b"Q",
    b"P",
    b"B",
)  # how messages begin that hold one: of the simple protocol, and of the extended one


class Gate:
    """A TCP port before the server's socket: a network to cut, to freeze, or to cut at a given answer."""

    def __init__(self, dsn: str) -> None:
        given = conninfo_to_dict(dsn)
        self._host, self._target_port = str(given["host"]), int(given.get("port") or 5432)
        self._listener = self._listen(0)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._flowing = threading.Event()
        self._flowing.set()
        self._serving = threading.Event()
        self._serving.set()
        self._fatal: bytes | None = None
        self._cut_for_good = False
        self._answering = True
        self.round_trips = 0
        """How often the client has sent something after the last answer."""
        self.dsn = make_conninfo(
            dsn, host="127.0.0.1", port=self._port, sslmode="disable", gssencmode="disable"
        )

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        self._port = listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._host.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{self._host}/.s.PGSQL.{self._target_port}")
        else:
            server = socket.create_connection((self._host, self._target_port))
        self._pairs.append((client, server))
        with client, server:
            answers = threading.Thread(target=self._pump, args=(server, client, True), daemon=True)
            answers.start()
            self._pump(client, server, False)
            answers.join()

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self._fatal is not None and self._fatal in data:
                    self._fatal = None
                    if self._cut_for_good:
                        self.cut()
                    break
                self._flowing.wait()
                self.round_trips += self._answering and not answers
                self._answering = answers
                if not answers and data[:1] in _STATEMENTS:
                    self._serving.wait()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut_at(self, answer: bytes, *, for_good: bool = False) -> None:
        """Lose the connection whose server is about to send this answer, and with `for_good` the network."""
        self._cut_for_good, self._fatal = for_good, answer

    def cut(self) -> None:
        """The server stops: connections break, and new ones are refused."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for pair in self._pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def mend(self) -> None:
        """The server is back, at the same address."""
        self._listener = self._listen(self._port)

    def freeze(self) -> None:
        """Nothing arrives any more, in either direction, and nothing breaks."""
        self._flowing.clear()

    def silence(self) -> None:
        """Logins are answered and statements are not: a pooler whose server is away."""
        self._serving.clear()

    def thaw(self) -> None:
        """Everything arrives again."""
        self._flowing.set()
        self._serving.set()


@pytest.fixture
def gate(dsn: str) -> Iterator[Gate]:
    """The way to the test's database by `gate.dsn`, which the test can cut."""
    gate = Gate(dsn)
    yield gate
    gate.thaw()
    gate.cut()


Configure = Callable[..., Settings]


@pytest.fixture
def settings(gate: Gate, tmp_path: Path) -> Configure:
    """Settings of a client behind the gate, with short waits; `settings(pool_size=1)` changes some."""

    def configure(**given: Any) -> Settings:
        short = {"dsn": gate.dsn, "data_dir": tmp_path, "connect_timeout_s": 1.0, "retry_wait_s": 0.0}
        return load(**{**short, **given})

    return configure


class Writer:
    """tests.concurrency.writer in a separate process."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.acknowledged = folder / "acknowledged"
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-W",
                    "error",
                    "-m",
                    "tests.concurrency.writer",
                    str(self.acknowledged),
                    *arguments,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    "EMBEDDING_PROVIDER": "none",
                    **environment,
                },
                text=True,
            )

    def is_ready(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", self.log.read_text()

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def finish(self) -> int:
        """Its exit status, once it has ended."""
        self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode

    def answers(self) -> list[dict[str, Any]]:
        """The answers it was given."""
        return [json.loads(line) for line in self.acknowledged.read_text().splitlines()]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def read_until(writers: Sequence[Writer], enough: Callable[[Writer, bytes], bool]) -> None:
    """Read the output of writers until for one of them, or for all together, it is enough."""
    with selectors.DefaultSelector() as selector:
        for writer in writers:
            assert writer.process.stdout is not None
            selector.register(writer.process.stdout, selectors.EVENT_READ, writer)
        while True:
            ready = selector.select(TIMEOUT)
            assert ready, "the writers have stopped"
            for key, _ in ready:
                put_out = os.read(key.fd, 65536)
                if not put_out:  # it has done its part
                    assert key.data.process.wait(TIMEOUT) == 0, key.data.log.read_text()
                    selector.unregister(key.fileobj)
                elif enough(key.data, put_out):
                    return


StartWriter = Callable[..., Writer]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[StartWriter]:
    """`writer("save-all", "4", PGMEM_DSN=…)` starts a writer process."""
    started: list[Writer] = []

    def start(*arguments: str, **environment: str) -> Writer:
        started.append(Writer(tmp_path / f"writer{len(started)}", *arguments, **environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
