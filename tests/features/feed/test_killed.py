"""The feed while server, writers and readers are killed: nothing is missed, nothing is read twice."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psycopg
import pytest
from psycopg.rows import dict_row

from pgmem.server.embedded import EmbeddedServer
from tests.concurrency.conftest import StartWriter, Writer, read_until, writer
from tests.concurrency.test_crash import kill_the_server, server
from tests.fixtures.amounts import amount

__all__ = ["server", "writer"]

pytestmark = [pytest.mark.embedded, pytest.mark.anyio]
CHANGES = int(os.environ.get("PGMEM_FEED_CHANGES", "100000"))
"""Seeds of the long test."""


class Reader(threading.Thread):
    """Reads on from its cursor; a page counts once it has noted page and cursor together, as a program does."""

    def __init__(self, dsn: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._dsn, self._random = dsn, random.Random(seed)
        self.cursor: str | None = None
        self.seen: list[dict[str, Any]] = []
        self.deaths = 0
        self.ending = threading.Event()

    def run(self) -> None:
        """Read until asked to end and nothing is left; die now and then, and begin again."""
        while True:
            try:
                with psycopg.connect(
                    self._dsn, autocommit=True, row_factory=dict_row, connect_timeout=5
                ) as session:
                    for _ in range(self._random.randint(1, 40)):
                        last = self.ending.is_set()
                        row = session.execute(
                            "select * from pgmem.changes(%s, %s)",
                            (self.cursor, self._random.choice((1, 7, 100, 1000))),
                        ).fetchone()
                        assert row is not None
                        if self._random.random() < 0.1:
                            break  # killed after the answer, before it is noted
                        self.seen += row["changes"]
                        self.cursor = row["cursor"]
                        if last and not row["more"] and not row["held"]:
                            return
                self.deaths += 1
            except psycopg.Error:
                self.ending.wait(0.05)


def stress(
    place: Path, server: EmbeddedServer, writer: StartWriter, count: int, saves: int, kills: int
) -> None:
    """So many writers with so many saves each."""
    with server:
        dsn = server.start()
        readers = [Reader(dsn, seed) for seed in range(3)]
        for reader in readers:
            reader.start()
        writers = [
            writer("own_contexts", f"writer{n}", str(saves), PGMEM_DATA_DIR=str(place / "data"))
            for n in range(count)
        ]
        for process in writers:
            process.is_ready()
        for process in writers:
            process.go()
        done: Counter[Writer] = Counter()
        killed = 0
        dead: set[Writer] = set()

        def enough(process: Writer, put_out: bytes) -> bool:
            nonlocal killed
            done[process] += put_out.count(b"\n")
            if killed < kills and done.total() > (killed + 1) * count * saves // (kills + 2):
                killed += 1
                if killed % 2:
                    kill_the_server(place)
                else:
                    process.process.kill()
                    dead.add(process)
                    return True
            # The dead will write no more.
            return (
                sum(done[each] for each in alive if each not in dead)
                >= (count - len(dead)) * saves * 98 // 100
            )

        alive = list(writers)
        while killed < kills:
            read_until(alive, enough)
            alive = [process for process in alive if process not in dead]
        assert [process.finish() for process in alive] == [0] * len(alive)
        dsn = server.start()
        for reader in readers:
            reader._dsn = dsn
            reader.ending.set()
            reader.join(120 + saves / 10)
            assert not reader.is_alive()
        with psycopg.connect(dsn, row_factory=dict_row) as connection:
            stored = connection.execute(
                "select id::text, version from pgmem.node where label not in ('GlobalScope', 'GovernanceToken')"
                " union all select n.id::text, v.version from pgmem.node_version v join pgmem.node n on n.seq = v.node_seq"
            ).fetchall()
        expected = Counter((row["id"], row["version"]) for row in stored)
        for reader in readers:
            assert reader.deaths
            found = Counter((c["id"], c["version"]) for c in reader.seen if c["kind"] != "confirmed")
            assert found == expected
            order: dict[str, int] = {}
            for change in reader.seen:
                if change["version"] is not None:
                    assert change["version"] >= order.get(change["id"], 0)
                    order[change["id"]] = change["version"]
        deaths = sum(reader.deaths for reader in readers)
        sys.stdout.write(f"{len(stored)} changes, {killed} kills, {deaths} deaths of readers\n")


async def test_writers_readers_and_the_server_are_killed_and_no_change_is_missed_or_read_twice(
    place: Path, server: EmbeddedServer, writer: StartWriter
) -> None:
    await anyio.to_thread.run_sync(stress, place, server, writer, amount(4, 6), amount(30, 60), amount(2, 3))


@pytest.mark.long
async def test_a_hundred_thousand_changes(place: Path, server: EmbeddedServer, writer: StartWriter) -> None:
    await anyio.to_thread.run_sync(stress, place, server, writer, 16, CHANGES // 16, 9)


async def test_a_reader_misses_nothing_where_numbers_of_transactions_are_taken_again_after_a_crash(
    place: Path, server: EmbeddedServer
) -> None:
    """A transaction that ends without a commit need not be on disk, and its number is given again after a crash."""
    saved = "select pgmem.save_context(%s, 'ferry')"
    with server:
        dsn = server.start()
        with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as session:
            session.execute("select pgmem.save_session('begin', 'ferry')")
            session.execute(saved, ("Before the crash",))
            writer = session.execute("select pid from pg_stat_activity where backend_type = 'walwriter'")
            pids = [row["pid"] for row in writer.fetchall()]
            assert len(pids) == 1
            os.kill(pids[0], signal.SIGSTOP)
            for _ in range(50):
                session.execute("begin")
                taken = session.execute("select pg_current_xact_id()::text::bigint as number").fetchone()
                session.execute("rollback")
            cursors = [
                session.execute("select (pgmem.changes(%s)).cursor", (after,)).fetchone()
                for after in (None, "now")
            ]
            kill_the_server(place)
            os.kill(pids[0], signal.SIGKILL)
        with psycopg.connect(server.start(), autocommit=True, row_factory=dict_row) as session:
            again = session.execute("select pg_current_xact_id()::text::bigint as number").fetchone()
            assert taken is not None
            assert again is not None
            assert again["number"] < taken["number"]
            session.execute(saved, ("After the crash",))
            [stored] = session.execute(
                "select id::text from pgmem.node where title = 'After the crash'"
            ).fetchall()
            for _ in range(60):
                session.execute("select pg_current_xact_id()")
            for cursor in cursors:
                assert cursor is not None
                page = session.execute("select * from pgmem.changes(%s)", (cursor["cursor"],)).fetchone()
                assert page is not None
                assert [change["id"] for change in page["changes"]] == [stored["id"]]
