"""Two sessions in each other's way. The second is seen waiting for a lock before the first goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from pgmem import Memory
from pgmem.errors import WrongIsolation
from pgmem.models import MemoryScope
from tests.concurrency.conftest import OpenSession
from tests.conftest import Call, caller, past_the_pooler, stores_of
from tests.waiting import TIMEOUT

Connection = psycopg.Connection[DictRow]
DECISION: dict[str, Any] = {
    "title": "Use PostgreSQL for storage",
    "rationale": "One system for all.",
    "project_id": "shop",
}


@pytest.fixture
def shop(call: Call) -> None:
    call("save_session", objective="Set up", project_id="shop")


@pytest.fixture
def past_a_front(dsn: str) -> Iterator[Connection]:
    """A session of the store: the settings of one at a front, such as lock_timeout, are not those of its cell."""
    store = past_the_pooler(stores_of(dsn)[0])
    with psycopg.connect(store, autocommit=True, row_factory=dict_row) as connection:
        yield connection


def nodes(connection: Connection, label: str) -> list[DictRow]:
    """The nodes of a label, oldest first."""
    return connection.execute("select * from pgmem.node where label = %s order by seq", (label,)).fetchall()


def one_after_the_other(
    session: OpenSession,
    first: tuple[str, dict[str, Any]],
    second: tuple[str, dict[str, Any]],
    *,
    commits: bool = True,
) -> tuple[DictRow, DictRow]:
    """Ann calls a verb, Bob one that is seen waiting for her, she commits or rolls back, he commits: both answers."""
    ann, bob = session("ann"), session("bob")
    said = ann.call(first[0], **first[1])
    waiting = bob.start(second[0], **second[1])
    bob.is_seen_waiting()
    if commits:
        ann.commit()
    else:
        ann.rollback()
    answered = waiting.result()
    bob.commit()
    return said, answered


def count(connection: Connection, table: str) -> int:
    row = connection.execute(f"select count(*) from pgmem.{table}".encode()).fetchone()
    assert row is not None
    return int(row["count"])


@pytest.mark.usefixtures("shop")
def test_the_second_of_two_equal_decisions_waits_and_returns_the_first(
    connection: Connection, session: OpenSession
) -> None:
    same = ("save_decision", DECISION)
    first, second = one_after_the_other(session, same, same)
    assert (first["dedup_outcome"], second["dedup_outcome"]) == ("new", "duplicate_skip")
    assert second["artifact_id"] == first["artifact_id"]
    assert [row["id"] for row in nodes(connection, "Decision")] == [first["artifact_id"]]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("commits", [True, False])
def test_the_second_of_two_that_contradict_each_other_at_once_sees_the_first(
    connection: Connection, session: OpenSession, commits: bool
) -> None:
    first, second = one_after_the_other(
        session,
        ("save_context", {"content": "The staging database runs on PostgreSQL 15.", "project_id": "shop"}),
        ("save_context", {"content": "The staging database runs on PostgreSQL 16.", "project_id": "shop"}),
        commits=commits,
    )
    named = [conflict["id"] for conflict in second["conflicts"]]
    assert named == ([str(first["artifact_id"])] if commits else [])
    edges = connection.execute(
        "select s.id as newer, d.id as older from pgmem.edge e join pgmem.node s on s.seq = e.src"
        " join pgmem.node d on d.seq = e.dst where e.rel = 'OUTDATES'"
    ).fetchall()
    found = [(row["newer"], row["older"]) for row in edges]
    assert found == ([(second["artifact_id"], first["artifact_id"])] if commits else [])


@pytest.mark.usefixtures("shop")
def test_the_second_of_two_equal_decisions_is_new_when_the_first_is_rolled_back(
    connection: Connection, session: OpenSession
) -> None:
    same = ("save_decision", DECISION)
    _, second = one_after_the_other(session, same, same, commits=False)
    assert (second["status"], second["dedup_outcome"]) == ("saved", "new")
    assert [row["id"] for row in nodes(connection, "Decision")] == [second["artifact_id"]]


@pytest.mark.parametrize(
    ("title", "status", "outcome", "alive"),
    [
        ("Use PostgreSQL for all storage", "saved", "supersede", "Use PostgreSQL for all storage"),
        ("Use PostgreSQL for search", "failed", "manual_review", "Use PostgreSQL for storage"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_a_near_copy_waits_and_sees_the_first(
    connection: Connection, session: OpenSession, title: str, status: str, outcome: str, alive: str
) -> None:
    near = {**DECISION, "title": title, "rationale": "Another reason."}
    first, second = one_after_the_other(session, ("save_decision", DECISION), ("save_decision", near))
    assert (second["status"], second["dedup_outcome"]) == (status, outcome)
    assert second["candidate_id"] == first["artifact_id"]
    live = [row["title"] for row in nodes(connection, "Decision") if row["status"] == "active"]
    assert live == [alive]


@pytest.mark.usefixtures("shop")
def test_one_save_id_at_the_same_time_is_one_save_with_one_result(
    connection: Connection, session: OpenSession
) -> None:
    same = ("save_context", {"content": "Once.", "project_id": "shop", "save_id": uuid4()})
    first, second = one_after_the_other(session, same, same)
    assert second == first
    assert [row["id"] for row in nodes(connection, "Context")] == [first["artifact_id"]]


@pytest.mark.usefixtures("shop")
def test_two_sessions_that_use_a_focus_area_first_make_one(
    connection: Connection, session: OpenSession
) -> None:
    place = {"project_id": "shop", "focus": "billing"}
    _, second = one_after_the_other(
        session,
        ("save_context", {"content": "From Ann.", **place}),
        ("save_context", {"content": "From Bob.", **place}),
    )
    assert second["status"] == "saved"
    (area,) = nodes(connection, "FocusArea")
    assert [row["focus_seq"] for row in nodes(connection, "Context")] == [area["seq"]] * 2


def test_two_sessions_that_open_a_project_make_one(connection: Connection, session: OpenSession) -> None:
    _, second = one_after_the_other(
        session,
        ("save_session", {"objective": "From Ann.", "project_id": "shop"}),
        ("save_session", {"objective": "From Bob.", "project_id": "shop"}),
    )
    assert second["status"] == "saved"
    (project,) = nodes(connection, "Project")
    assert [row["project_seq"] for row in nodes(connection, "Session")] == [project["seq"]] * 2


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.usefixtures("shop")
def test_one_token_is_good_for_one_of_two_global_saves(
    connection: Connection, call: Call, session: OpenSession, commits: bool
) -> None:
    token = call("request_global_write_approval", content_preview="A rule for all.")["token"]
    # One text, by two saves: a token is good for no other text than the one that was shown.
    rule = {"content": "A rule for all.", "project_id": "shop", "scope": "global", "governance_token": token}
    first, second = one_after_the_other(
        session,
        ("save_context", {**rule, "relevance_score": 0.1}),
        ("save_context", {**rule, "relevance_score": 0.2}),
        commits=commits,
    )
    assert first["status"] == "saved"
    if commits:
        assert second["status"] == "failed"
        assert "already used" in second["message"]
    else:
        assert second["status"] == "saved"
    kept = 0.1 if commits else 0.2
    assert [row["props"]["relevance_score"] for row in nodes(connection, "Context")] == [kept]


@pytest.mark.usefixtures("shop")
def test_two_sessions_that_relate_the_same_memories_make_one_edge(
    connection: Connection, call: Call, session: OpenSession
) -> None:
    one = call("save_decision", title="Cache on the client", rationale="Fast.", project_id="shop")
    two = call("save_decision", title="Never store anything remotely", rationale="Safe.", project_id="shop")
    edge = {"from_label": "Decision", "rel_type": "CONFLICTS_WITH", "to_label": "Decision"}
    there = {**edge, "from_key": str(one["artifact_id"]), "to_key": str(two["artifact_id"])}
    back = {**edge, "from_key": str(two["artifact_id"]), "to_key": str(one["artifact_id"])}
    first, second = one_after_the_other(session, ("relate", there), ("relate", back))
    assert (first["created"], second["created"]) == (True, False)
    assert count(connection, "edge") == 1


@pytest.mark.usefixtures("shop")
def test_two_sessions_that_save_an_entity_keep_both_facts(
    connection: Connection, session: OpenSession
) -> None:
    redis = {"entity_name": "Redis", "project_id": "shop"}
    _, second = one_after_the_other(
        session,
        ("upsert_entity", {**redis, "fact": "Holds sessions."}),
        ("upsert_entity", {**redis, "fact": "Holds nothing."}),
    )
    assert second["status"] == "saved"
    assert [row["props"]["fact"] for row in nodes(connection, "EntityFact")] == ["Holds nothing."]
    (earlier,) = connection.execute(
        "select props from pgmem.node_version where label = 'EntityFact'"
    ).fetchall()
    assert earlier["props"]["fact"] == "Holds sessions."


@pytest.mark.usefixtures("shop")
def test_a_new_order_of_words_waits_for_a_running_save_of_the_scope(
    connection: Connection, call: Call, session: OpenSession
) -> None:
    call("save_decision", **DECISION)
    other = {**DECISION, "title": "Sell tea in bags", "rationale": "Another reason."}
    _, ordered = one_after_the_other(session, ("save_decision", other), ("refresh_dedup", {}))
    assert count(connection, "dedup_token") == ordered["refresh_dedup"] == 6
    assert connection.execute("select counted from pgmem.title_order").fetchall() == [{"counted": 2}]


@pytest.mark.usefixtures("shop")
def test_a_save_waits_for_a_new_order_of_words_of_its_scope_and_goes_by_it(
    call: Call, session: OpenSession
) -> None:
    first = call("save_decision", **DECISION)
    near = {**DECISION, "title": "Use PostgreSQL for all storage", "rationale": "Another reason."}
    _, second = one_after_the_other(session, ("refresh_dedup", {}), ("save_decision", near))
    assert (second["dedup_outcome"], second["candidate_id"]) == ("supersede", first["artifact_id"])


def test_a_new_order_of_words_holds_up_no_save_of_another_tenant_or_scope(
    past_a_front: Connection, session: OpenSession
) -> None:
    """Ann's order is not committed while Bob, who would wait for no lock, saves elsewhere; each is found again after it."""
    connection = past_a_front
    connection.execute("set lock_timeout = '1ms'")
    ann, call = session("ann"), caller(connection)
    places: list[tuple[str, str, str]] = [("acme", "shop", "project"), ("acme", "mill", "project"), ("globex", "shop", "project")]  # fmt: skip
    saved = {}
    for org, project, scope in places:
        connection.execute("select set_config('pgmem.org_id', %s, false)", (org,))
        call("save_session", objective="Set up", project_id=project)
        saved[org, project] = call("save_decision", **{**DECISION, "project_id": project, "scope": scope})
    connection.execute("select set_config('pgmem.org_id', 'acme', false)")
    call("save_decision", **{**DECISION, "title": "Sell tea in bags", "rationale": "Another reason."})
    assert ann.call("refresh_dedup")["refresh_dedup"] == 6
    near = {"title": "Use PostgreSQL for all storage", "rationale": "Another reason."}
    for org, project, _ in places[1:]:
        connection.execute("select set_config('pgmem.org_id', %s, false)", (org,))
        found = call("save_decision", **{**DECISION, **near, "project_id": project})
        assert (found["dedup_outcome"], found["candidate_id"]) == ("supersede", saved[org, project]["artifact_id"])  # fmt: skip
    connection.execute("select set_config('pgmem.org_id', 'acme', false)")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        call("save_decision", **{**DECISION, **near})
    ann.commit()
    found = call("save_decision", **{**DECISION, **near})
    assert (found["dedup_outcome"], found["candidate_id"]) == (
        "supersede",
        saved["acme", "shop"]["artifact_id"],
    )


@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_order_of_steps_a_title_is_found_under_every_order_of_words(
    connection: Connection, session: OpenSession, seed: int
) -> None:
    """Two tenants save while the order of either is made anew, at every step of the other: no near title is missed."""
    dice = random.Random(seed)
    one, two, worker = session("one"), session("two"), session("worker")
    one.act_for("acme", "ann")
    two.act_for("globex", "bob")
    for each in (one, two):
        each.call("save_session", objective="Set up", project_id="shop")
        each.commit()
    words = [f"word{n}" for n in range(12)]
    for turn in range(12):
        # Who orders is chosen by the last change: the largest change is ordered first.
        if dice.random() < 0.6:
            worker.call("refresh_dedup")
            (held,) = worker.connection.execute(
                "select tenant from pgmem.title_order order by last_seq desc, tenant limit 1"
            ).fetchall() or [{"tenant": ""}]
        else:
            held = {"tenant": ""}
        title = " ".join([*dice.sample(words, 4), f"only{turn}"])
        for each, org in ((one, "acme"), (two, "globex")):
            ask = {"title": title, "rationale": f"{org} {turn}", "project_id": "shop"}
            waits = org in held["tenant"]
            if waits:
                running = each.start("save_decision", **ask)
                each.is_seen_waiting()
                worker.commit()
                running.result()
            else:
                each.call("save_decision", **ask)
            each.commit()
            held = {"tenant": ""} if waits else held
            again = each.call("check_duplicate", title=f"{title} more", rationale="x", project_id="shop")
            assert again["dedup_outcome"] == "supersede", (turn, org)
            each.commit()
        worker.commit()


def test_batches_over_the_same_places_in_any_order_never_deadlock(
    dsn: str, connection: Connection, call: Call
) -> None:
    """Every round has new projects and focus areas, so that first uses meet too."""
    threads, rounds = 4, 25
    connection.execute("select set_config('pgmem.org_id', 'acme', false)")
    for turn in range(rounds):
        call("save_session", objective="Set up", project_id=f"project{turn}")
    together = Barrier(threads)

    def work(number: int) -> list[str]:
        dice = random.Random(number)
        answers = []
        with psycopg.connect(past_the_pooler(dsn), autocommit=True, row_factory=dict_row) as own:
            own.execute(
                "select set_config('pgmem.org_id', 'acme', false), set_config('pgmem.user_id', 'ann', false)"
            )
            save = caller(own)
            for turn in range(rounds):
                places = [
                    {"scope": scope, "share": share}
                    for scope in ("project", "focus")
                    for share in ("private", "org")
                ]
                lists: dict[str, list[dict[str, Any]]] = {
                    "decisions": [{"title": uuid4().hex, "rationale": "r", **place} for place in places],
                    "patterns": [
                        {"trigger": uuid4().hex, "repeatable_steps": ["s"], **place} for place in places
                    ],
                }
                for children in lists.values():
                    dice.shuffle(children)
                    del children[dice.randint(1, 4) :]
                session = {"objective": "o", "share": dice.choice(["private", "org"])}
                together.wait(TIMEOUT)
                row = save(
                    "store_session_with_learnings",
                    session=session,
                    project_id=f"project{turn}",
                    focus="billing",
                    **lists,
                )
                answers.append(row["overall"])
        return answers

    with ThreadPoolExecutor(threads) as pool:
        answers = list(pool.map(work, range(threads)))
    assert answers == [["saved"] * rounds] * threads
    areas = connection.execute(
        "select count(*), count(distinct (project, key, tenant)) as different from pgmem.node"
        " where label = 'FocusArea'"
    ).fetchone()
    assert areas is not None
    assert areas["count"] == areas["different"] > rounds


def test_batches_that_share_a_new_focus_area_differently_do_not_deadlock(
    connection: Connection, call: Call, session: OpenSession
) -> None:
    """Ann's needs the organisation's focus area for a decision only; Bob's needs it from the start."""
    ann, bob, third = session("ann"), session("bob"), session("third")
    connection.execute("select set_config('pgmem.org_id', 'acme', false)")
    call("save_session", objective="Set up", project_id="shop")
    for client in (ann, bob):
        client.act_for("acme", "ann")
    third.connection.execute(
        "select pgmem.lock_scope(pgmem.scope_key(n.tenant, n.seq::text, 'Decision')) from pgmem.node n"
        " where n.label = 'Project'"
    )
    batch = {"session": {"objective": "o"}, "project_id": "shop", "focus": "billing"}
    decision = {"title": "From Ann", "rationale": "r", "share": "org"}
    first = ann.start("store_session_with_learnings", **batch, decisions=[decision])
    ann.is_seen_waiting()
    decision = {"title": "Bob's own", "rationale": "r"}
    second = bob.start("store_session_with_learnings", **batch, decisions=[decision], share="org")
    bob.is_seen_waiting()
    third.commit()
    assert first.result()["overall"] == "saved"
    ann.commit()
    assert second.result()["overall"] == "saved"
    bob.commit()
    assert len(nodes(connection, "FocusArea")) == 2


@pytest.mark.anyio
@pytest.mark.usefixtures("shop")
async def test_a_callers_own_repeatable_read_transaction_is_refused(dsn: str, connection: Connection) -> None:
    async with await psycopg.AsyncConnection.connect(stores_of(dsn)[0]) as own:
        await own.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        with pytest.raises(WrongIsolation, match="READ COMMITTED"):
            await Memory.on(own).save_context("Too late a snapshot.", "shop")
        await own.rollback()
    assert nodes(connection, "Context") == []


@pytest.mark.anyio
@pytest.mark.usefixtures("shop")
async def test_a_callers_transaction_keeps_or_drops_what_was_saved_in_it(
    dsn: str, connection: Connection
) -> None:
    async with await psycopg.AsyncConnection.connect(stores_of(dsn)[0]) as own:
        memory = Memory.on(own, MemoryScope(org_id="acme", user_id="ann"))
        await own.execute("create table invoice (number integer)")
        result = await memory.save_context("Dropped with the rest.", "shop")
        assert result.status == "saved"
        await own.rollback()
        assert nodes(connection, "Context") == []
        await own.execute("create table invoice (number integer)")
        await memory.save_context("Kept with the rest.", "shop")
        await own.commit()
    (kept,) = nodes(connection, "Context")
    assert (kept["props"]["content"], kept["org_id"], kept["user_id"]) == (
        "Kept with the rest.",
        "acme",
        "ann",
    )


@pytest.mark.anyio
@pytest.mark.usefixtures("shop")
async def test_on_a_callers_autocommit_connection_each_verb_is_made_under_its_own_name(
    dsn: str, connection: Connection
) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as own:
        memory = Memory.on(own).acting_as(MemoryScope(org_id="acme", user_id="ann"))
        assert (await memory.save_context("Ann's alone.", "shop")).status == "saved"
        after = await own.execute("select coalesce(current_setting('pgmem.user_id', true), '')")
        assert await after.fetchone() == ("",)
    (kept,) = nodes(connection, "Context")
    assert (kept["org_id"], kept["user_id"], kept["source"]) == ("acme", "ann", "sdk")
