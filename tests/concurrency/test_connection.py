"""The outcome of a call when its connection is lost, its server says nothing, or its caller goes away."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar
from uuid import uuid4

import anyio
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.errors import DatabaseUnavailable, InvalidArgument, MemoryNotFound
from pgmem.models import SaveResult
from pgmem.settings import load
from tests.concurrency.conftest import Configure, Gate, OpenSession, Session, wait_until_blocked
from tests.conftest import Call, past_the_pooler, stores_of
from tests.fixtures.fronts import connect
from tests.waiting import until, until_the_server_says

Connection = psycopg.Connection[DictRow]
pytestmark = pytest.mark.anyio

PATIENT = 20.0  # seconds for waits that the test does not measure
SLACK = 15.0  # seconds, for a machine with other things to do; who waits without a bound waits for minutes


@pytest.fixture(autouse=True)
def shop(call: Call) -> None:
    call("save_session", objective="Set up", project_id="shop")


def contents(connection: Connection) -> list[str]:
    """The texts of the contexts, in the order they were written."""
    rows = connection.execute("select props from pgmem.node where label = 'Context' order by seq").fetchall()
    return [row["props"]["content"] for row in rows]


def end_all_but(kept: Connection, dsn: str) -> None:
    """End the sessions of a database but that of a test, and see that they have ended."""
    own = [each.info.backend_pid for each in (kept, *getattr(kept, "cells", ()))]
    others = (
        "from pg_stat_activity where datname = current_database() and pid <> all (%s || pg_backend_pid())"
    )
    # A pooler may still give a session that has ended.
    with connect(past_the_pooler(dsn), autocommit=True) as admin:
        admin.execute(f"select pg_terminate_backend(pid) {others}".encode(), (own,))
        until(
            lambda: admin.execute(f"select count(*) {others}".encode(), (own,)).fetchone() == (0,),
            admin,
            "the connections did not end",
        )


def waiting_files(settings_dir: Path) -> list[Path]:
    return sorted((settings_dir / "outbox").glob("*.json"))


async def seen_waiting(dsn: str, application_name: str, sessions: int = 1) -> None:
    await anyio.to_thread.run_sync(wait_until_blocked, dsn, application_name, sessions)


def hold_the_scope(session: Session, label: str) -> None:
    """Hold the lock that a save of this label beside a session needs, as the save of another caller would."""
    session.connection.execute(
        "select pgmem.lock_scope(pgmem.scope_key(n.tenant, n.place, %s)) from pgmem.node n"
        " where n.label = 'Session'",
        (label,),
    )


DECISION: dict[str, Any] = {
    "title": "Use PostgreSQL",
    "rationale": "One system for all.",
    "project_id": "shop",
}


# A connection that is lost


async def test_a_save_whose_commit_is_not_heard_of_is_made_once(
    gate: Gate, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    async with Memory.connect(settings(connect_timeout_s=PATIENT)) as memory:
        gate.cut_at(b"saved")
        result = await memory.save_context("Once.", "shop")
    assert result.status == "saved"
    assert contents(connection) == ["Once."]
    row = connection.execute(
        "select attempts, artifact_id from pgmem.save_attempt where verb = 'save_context'"
    )
    assert row.fetchall() == [{"attempts": 1, "artifact_id": result.artifact_id}]
    assert waiting_files(tmp_path) == []


async def test_a_commit_not_heard_of_before_the_network_goes_is_replayed_to_its_first_result(
    gate: Gate, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    async with Memory.connect(settings()) as memory:
        gate.cut_at(b"saved", for_good=True)
        result = await memory.save_context("Once.", "shop")
        assert result.status == "pending_retry"
        assert contents(connection) == ["Once."]
    gate.mend()
    async with Memory.connect(settings(connect_timeout_s=PATIENT)) as memory:  # replays
        status = await memory.get_save_status("shop", save_id=result.save_id)
    assert (status.status, len(status.artifact_ids)) == ("saved", 1)
    assert contents(connection) == ["Once."]
    assert waiting_files(tmp_path) == []


async def test_a_global_save_with_an_unknown_outcome_is_reported_and_not_made_twice(
    gate: Gate, settings: Configure, connection: Connection, tmp_path: Path
) -> None:
    async with Memory.connect(settings()) as memory:
        token = (await memory.request_global_write_approval("A rule.")).token
        gate.cut_at(b"COMMIT\0", for_good=True)
        first = await memory.save_context("A rule.", "shop", scope="global", governance_token=token)
        assert (first.status, waiting_files(tmp_path)) == ("failed", [])
        assert "may be saved or not" in (first.message or "")
    gate.mend()
    async with Memory.connect(settings(connect_timeout_s=PATIENT)) as memory:
        again = await memory.save_context(
            "A rule.", "shop", scope="global", governance_token=token, save_id=first.save_id
        )
    assert again.status == "saved"
    assert contents(connection) == ["A rule."]


async def test_connections_that_died_while_idle_are_replaced_unseen(
    settings: Configure, connection: Connection, dsn: str
) -> None:
    async with Memory.connect(settings(pool_size=4, connect_timeout_s=PATIENT)) as memory:
        async with anyio.create_task_group() as group:  # as many as the pool may hold
            for number in range(4):
                group.start_soon(memory.save_context, f"Before {number}.", "shop")
        for place in dict.fromkeys((*stores_of(dsn), dsn)):  # those between a front and its cell too
            end_all_but(connection, place)
        assert (await memory.get_scope_state("shop")).project_exists
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(memory.get_scope_state, "shop")
        assert (await memory.save_context("After.", "shop")).status == "saved"


async def test_a_search_takes_one_round_trip(gate: Gate, settings: Configure) -> None:
    async with Memory.connect(settings(pool_size=1, connect_timeout_s=PATIENT)) as memory:
        assert (await memory.save_context("The cache holds an hour.", "shop")).status == "saved"
        await memory.search_memory("cache", project_id="shop")  # asks for the names of the project as well
        before = gate.round_trips
        found = await memory.search_memory("cache", project_id="shop")
        assert [result.title for result in found.results] == ["The cache holds an hour."]
        assert gate.round_trips == before + 1


async def test_a_search_whose_answer_is_lost_is_made_again(gate: Gate, settings: Configure) -> None:
    async with Memory.connect(settings(connect_timeout_s=PATIENT)) as memory:
        assert (await memory.save_context("The cache holds an hour.", "shop")).status == "saved"
        gate.cut_at(b"hybrid")
        found = await memory.search_memory("cache", project_id="shop")
        assert [result.title for result in found.results] == ["The cache holds an hour."]


async def test_a_client_goes_on_by_itself_when_the_network_is_back(
    gate: Gate, settings: Configure, connection: Connection
) -> None:
    async with Memory.connect(settings(connect_timeout_s=3.0)) as memory:
        gate.cut()
        with pytest.raises(DatabaseUnavailable):
            await memory.get_scope_state("shop")
        gate.mend()
        assert (await memory.get_scope_state("shop")).project_exists


# A server that says nothing


async def test_a_save_waits_a_bounded_time_for_a_server_that_is_away(gate: Gate, settings: Configure) -> None:
    """Two attempts wait `connect_timeout_s` each; 4 s more are for starting an embedded server."""
    async with Memory.connect(settings(connect_timeout_s=1.0, retry_wait_s=0.5)) as memory:
        gate.cut()
        began = monotonic()
        result = await memory.save_context("Later.", "shop")
        assert result.status == "pending_retry"
        assert monotonic() - began < 1.0 + 0.5 + 4.0 + 1.0 + SLACK


async def test_a_server_that_says_nothing_any_more_is_not_waited_for(
    gate: Gate, settings: Configure, connection: Connection
) -> None:
    async with Memory.connect(settings(connect_timeout_s=0.5)) as memory:
        gate.freeze()
        began = monotonic()
        result = await memory.save_context("Once.", "shop")
        assert result.status == "pending_retry"
        assert monotonic() - began < 0.5 + 4.0 + 0.5 + SLACK
    gate.thaw()
    async with Memory.connect(settings(connect_timeout_s=PATIENT)):  # replays
        pass
    assert contents(connection) == ["Once."]


async def test_a_search_waits_a_bounded_time_for_a_server_that_says_nothing_and_then_less(
    gate: Gate, settings: Configure
) -> None:
    async with Memory.connect(settings(connect_timeout_s=1.0, retrieval_timeout_s=1.0)) as memory:
        await memory.search_memory("cache", project_id="shop")
        gate.freeze()
        took = []
        for _ in range(2):
            began = monotonic()
            with pytest.raises(DatabaseUnavailable, match="answer"):
                await memory.search_memory("cache", project_id="shop")
            took.append(monotonic() - began)
        assert took[1] < took[0] < 1.0 + 1.0 + SLACK
        gate.thaw()
        assert (await memory.search_memory("cache", project_id="shop")).results == []


async def test_a_pooler_that_answers_for_a_server_that_is_away_is_found_out_once(
    gate: Gate, settings: Configure, connection: Connection
) -> None:
    """Logins alone were taken for an answer, so that each save waited for both its attempts anew."""
    async with Memory.connect(settings(connect_timeout_s=2.0)) as memory:
        gate.silence()
        took = []
        for content in ("First.", "Second."):
            began = monotonic()
            assert (await memory.save_context(content, "shop")).status == "pending_retry"
            took.append(monotonic() - began)
        assert took[1] < took[0] / 2
        gate.thaw()
        assert (await memory.save_context("Third.", "shop")).status == "saved"
    assert contents(connection) == ["First.", "Second.", "Third."]


async def test_a_server_that_falls_silent_in_the_middle_of_a_save_gets_it_once(
    gate: Gate, settings: Configure, connection: Connection, session: OpenSession, dsn: str
) -> None:
    ann = session("ann")
    hold_the_scope(ann, "Decision")
    given = settings(dsn=f"{gate.dsn} application_name=bob", connect_timeout_s=0.5, write_timeout_s=2.0)
    async with Memory.connect(given) as memory:
        results = []

        async def save() -> None:
            results.append(await memory.save_decision(**DECISION))

        async with anyio.create_task_group() as group:
            group.start_soon(save)
            await seen_waiting(dsn, "bob")
            gate.freeze()
            ann.commit()
        assert [result.status for result in results] == ["pending_retry"]
    gate.thaw()
    async with Memory.connect(settings(connect_timeout_s=PATIENT)):  # replays
        pass
    rows = connection.execute("select title from pgmem.node where label = 'Decision'").fetchall()
    assert rows == [{"title": DECISION["title"]}]


async def test_saves_behind_one_that_a_silent_server_never_answers_are_queued(
    gate: Gate,
    settings: Configure,
    connection: Connection,
    session: OpenSession,
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The unanswered save holds the tenant's only connection; the others were answered with failed."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)  # a share of one connection
    # The first save waits for four seconds for its answer, the others for one for its connection.
    given = settings(
        dsn=f"{gate.dsn} application_name=bob",
        connect_timeout_s=3.0,
        write_timeout_s=1.0,
        org_id="acme",
        user_id="bob",
    )
    statuses = []

    async def save(verb: Callable[..., Awaitable[SaveResult]], **arguments: Any) -> None:
        statuses.append((await verb(**arguments)).status)

    ann = session("ann")
    async with Memory.connect(given) as memory:
        memory.caller.database.share_out()
        await memory.save_session("Set up", "shop")
        hold_the_scope(ann, "Decision")
        async with anyio.create_task_group() as group:
            group.start_soon(partial(save, memory.save_decision, **DECISION))
            await seen_waiting(dsn, "bob")
            gate.freeze()
            for content in ("Second.", "Third."):
                group.start_soon(partial(save, memory.save_context, content=content, project_id="shop"))
        assert statuses == ["pending_retry"] * 3
    ann.commit()
    gate.thaw()
    async with Memory.connect(settings(connect_timeout_s=PATIENT)):  # replays
        pass
    assert sorted(contents(connection)) == ["Second.", "Third."]


@pytest.mark.direct(
    "a save that a front gave up waiting for may be made, and is kept: tests/features/cells/test_ways_in.py"
)
async def test_a_save_that_runs_out_of_time_has_failed_and_can_be_retried(
    dsn: str, settings: Configure, session: OpenSession
) -> None:
    ann = session("ann")
    hold_the_scope(ann, "Decision")
    async with Memory.connect(settings(write_timeout_s=0.3, connect_timeout_s=PATIENT)) as memory:
        result = await memory.save_decision(**DECISION)
        assert (result.status, "timeout" in (result.message or "")) == ("failed", True)
        status = await memory.get_save_status("shop")
        assert [save.save_id for save in status.saves] == [result.save_id]
        ann.commit()
        assert result.save_id is not None
        again = await memory.save_decision(**DECISION, save_id=result.save_id)
        assert (again.status, again.dedup_outcome) == ("saved", "new")
        assert (await memory.retry_save(result.save_id)).artifact_id == again.artifact_id


# Deadlocks


class Deadlock:
    """Ann holds the scope that Bob's save locks last. Carl keeps Bob from asking for it until Ann waits for Bob."""

    decision: ClassVar = {**DECISION, "focus": "till"}

    def __init__(self, dsn: str, session: OpenSession) -> None:
        self._dsn, self.ann, self._carl = dsn, session("ann"), session("carl")
        self.ann.connection.execute("set deadlock_timeout = '1h'")
        self.ann.connection.execute(
            "select pgmem.hold_lock(pgmem.scope_key(n.tenant, n.place, 'Decision')) from pgmem.node n"
            " where n.label = 'Session'"
        )
        self._carl.connection.execute(
            "select pgmem.hold_lock(pgmem.scope_key(n.tenant, n.project_seq::text, 'FocusArea')) from pgmem.node n"
            " where n.label = 'Session'"
        )

    async def close(self, save_id: str) -> None:
        """Let Bob close the circle, so that his wait is the one that finds it; returns when Ann has his lock."""
        await seen_waiting(self._dsn, "bob")
        async with anyio.create_task_group() as group:
            wanted = ("select pgmem.hold_save(e'\\x1f', %s)", (save_id,))
            group.start_soon(anyio.to_thread.run_sync, partial(self.ann.connection.execute, *wanted))
            await seen_waiting(self._dsn, "ann")
            self._carl.commit()


@pytest.fixture
def deadlock(superuser: None, dsn: str, connection: Connection, session: OpenSession) -> Deadlock:
    """Two sessions that will meet in a deadlock, which Bob notices and Ann never does."""
    name = conninfo_to_dict(stores_of(dsn)[0])["dbname"]
    connection.execute(f"alter database {name} set deadlock_timeout = '50ms'".encode())
    return Deadlock(dsn, session)


async def test_a_deadlock_is_retried_once_around_a_transaction_of_our_own(
    dsn: str, settings: Configure, connection: Connection, deadlock: Deadlock
) -> None:
    save_id = uuid4()
    async with Memory.connect(
        settings(dsn=f"{dsn} application_name=bob", connect_timeout_s=PATIENT)
    ) as memory:
        results = []

        async def save() -> None:
            results.append(await memory.save_decision(**deadlock.decision, save_id=save_id))

        async with anyio.create_task_group() as group:
            group.start_soon(save)
            await deadlock.close(str(save_id))  # returns when Bob got his error
            await seen_waiting(dsn, "bob")  # and tries again
            deadlock.ann.commit()
    assert [(result.status, result.dedup_outcome) for result in results] == [("saved", "new")]
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    until_the_server_says(f"({deadlocks}) = 1", dsn, {}, "the deadlock was not counted")


async def test_a_deadlock_is_never_retried_inside_a_callers_transaction(
    dsn: str, connection: Connection, deadlock: Deadlock
) -> None:
    save_id = uuid4()
    async with await psycopg.AsyncConnection.connect(stores_of(dsn)[0], application_name="bob") as own:
        states = []

        async def save() -> None:
            with pytest.raises(psycopg.errors.DeadlockDetected) as error:
                await Memory.on(own).save_decision(**deadlock.decision, save_id=save_id)
            states.append(error.value.sqlstate)

        async with anyio.create_task_group() as group:
            group.start_soon(save)
            await deadlock.close(str(save_id))
        assert states == ["40P01"]
        assert own.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
        await own.rollback()
    assert connection.execute("select from pgmem.node where label = 'Decision'").fetchall() == []


# Errors and cancellation


async def test_a_refused_call_reports_the_reason_and_leaves_the_connection_usable(
    dsn: str, tmp_path: Path
) -> None:
    async with Memory.connect(load(dsn=dsn, data_dir=tmp_path, pool_size=1, prepare=True)) as memory:
        for _ in range(8):  # more often than it takes for a statement to be prepared
            with pytest.raises(InvalidArgument, match="repeatable_steps must not be empty"):
                await memory.save_pattern("On every release", [], "shop")
            with pytest.raises(MemoryNotFound, match="No single save"):
                await memory.retry_save(uuid4())
            assert (await memory.save_pattern("On every release", [uuid4().hex], "shop")).status == "saved"


async def test_a_cancelled_save_costs_the_pool_nothing(
    dsn: str, tmp_path: Path, connection: Connection, session: OpenSession
) -> None:
    ann = session("ann")
    hold_the_scope(ann, "Decision")
    given = load(dsn=f"{dsn} application_name=bob", data_dir=tmp_path, pool_size=2, write_timeout_s=600)
    async with Memory.connect(given) as memory:
        for _ in range(5):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: memory.save_decision(**DECISION))
                group.start_soon(lambda: memory.save_decision(**DECISION))
                await seen_waiting(dsn, "bob", 2)
                group.cancel_scope.cancel()
            # Nobody waits for the lock any more, which is still held: the server got the cancellation.
            until_the_server_says(
                "not exists (select from pg_locks where not granted and database ="
                " (select oid from pg_database where datname = current_database()))",
                dsn,
                {},
                "a cancelled save still waits in the server",
            )
        ann.commit()
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(memory.save_context, f"{number}", "shop")
    assert sorted(contents(connection)) == ["0", "1", "2", "3"]


async def test_a_statement_of_more_than_the_network_takes_at_once_is_sent_whole(settings: Configure) -> None:
    async with Memory.connect(settings(write_timeout_s=5.0)) as memory:
        token = "x" * 20_000_000
        answer = await memory.save_context("c", "shop", scope="global", governance_token=token)
        assert (answer.status, answer.message) == (
            "failed",
            "Governance token is invalid, expired, or already used.",
        )


# The way in


async def test_a_dsn_that_does_not_answer_is_an_error_and_nothing_else_is_used(
    gate: Gate, settings: Configure, tmp_path: Path
) -> None:
    gate.cut()
    with pytest.raises(DatabaseUnavailable, match="PGMEM_DSN does not answer"):
        async with Memory.connect(settings()):
            pass
    assert list(tmp_path.iterdir()) == []


async def test_a_dsn_of_an_unknown_database_is_an_error(dsn: str, settings: Configure) -> None:
    with pytest.raises(DatabaseUnavailable, match="no_such_database"):
        async with Memory.connect(settings(dsn=f"{dsn} dbname=no_such_database")):
            pass


async def test_a_malformed_dsn_is_named_without_its_secrets(settings: Configure) -> None:
    with pytest.raises(InvalidArgument, match="Invalid PGMEM_DSN: use a connection string") as error:
        async with Memory.connect(settings(dsn="postgres//ann:secret@server")):
            pass
    assert "secret" not in str(error.value)
