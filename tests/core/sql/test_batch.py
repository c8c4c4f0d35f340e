"""store_session_with_learnings: a session and its learnings, in one call."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Picture, Rows

SESSION: dict[str, Any] = {
    "objective": "choose the payment",
    "actions_taken": ["asked"],
    "open_items": ["cash?"],
}
LOGS = {"save_attempt", "change"}  # a refused save is on record, and the feed has its review
CARDS = {"title": "Take cards", "rationale": "customers ask"}
CASH = {"title": "Refuse cash", "rationale": "it costs"}
RELEASE = {"trigger": "a release", "repeatable_steps": ["tag it"]}


def store(call: Call, session: dict[str, Any] = SESSION, **more: object) -> DictRow:
    return call("store_session_with_learnings", **{"session": session, "project_id": "shop", **more})


def labels(rows: Rows) -> list[str]:
    return [r["label"] for r in rows("select label from pgmem.node where scope is not null order by seq")]


def produced(rows: Rows, session: dict[str, Any]) -> set[str]:
    found = rows(
        "select d.id::text from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst"
        " where e.rel = 'PRODUCED' and s.id = %s",
        UUID(session["artifact_id"]),
    )
    return {row["id"] for row in found}


def test_all_of_a_batch_is_saved_and_joined_to_its_session(call: Call, rows: Rows, shop: str) -> None:
    batch = store(call, decisions=[CARDS, CASH], patterns=[RELEASE])
    assert batch["overall"] == "saved"
    results = [batch["session"], *batch["decisions"], *batch["patterns"]]
    assert [result["status"] for result in results] == ["saved"] * 4
    assert produced(rows, batch["session"]) == {
        r["artifact_id"] for r in (*batch["decisions"], *batch["patterns"])
    }


def test_results_come_in_the_order_of_what_was_sent(call: Call, rows: Rows, shop: str) -> None:
    batch = store(call, decisions=[CARDS, CASH, {"title": "x y z", "rationale": "r"}])
    ids = [UUID(result["artifact_id"]) for result in batch["decisions"]]
    titles = [rows("select title from pgmem.node where id = %s", one)[0]["title"] for one in ids]
    assert titles == ["Take cards", "Refuse cash", "x y z"]


def test_a_session_alone_is_a_batch(call: Call, shop: str) -> None:
    batch = store(call)
    assert (batch["overall"], batch["decisions"], batch["patterns"]) == ("saved", [], [])


def test_a_batch_keeps_the_sessions_lists(call: Call, rows: Rows, shop: str) -> None:
    batch = store(call)
    (props,) = rows("select props from pgmem.node where id = %s", UUID(batch["session"]["artifact_id"]))
    assert props["props"] == {**SESSION, "decisions_made": [], "next_actions": []}


def test_a_known_decision_is_joined_to_the_session_too(call: Call, rows: Rows, shop: str) -> None:
    known = call("save_decision", project_id=shop, **CARDS)
    batch = store(call, decisions=[CARDS])
    assert batch["overall"] == "saved"
    assert batch["decisions"][0]["dedup_outcome"] == "duplicate_skip"
    assert produced(rows, batch["session"]) == {str(known["artifact_id"])}


def test_two_near_decisions_of_one_batch_meet_each_other(call: Call, rows: Rows, shop: str) -> None:
    batch = store(
        call,
        decisions=[
            {"title": "a b c d e f g", "rationale": "r"},
            {"title": "a b c d e f h", "rationale": "r"},
        ],
    )
    assert [d["dedup_outcome"] for d in batch["decisions"]] == ["new", "supersede"]
    assert len(produced(rows, batch["session"])) == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"title": "", "rationale": "r"},
        {"title": "t"},
        {"title": "t", "rationale": "r", "scope": "galaxy"},
        {"title": "t", "rationale": "r", "scope": "focus"},
        {"title": "t", "rationale": "r", "confidence": 2},
        {"title": "t", "rationale": "r", "confidence": "high"},
        {"title": "t", "rationale": "r", "date": "yesterday"},
        {"title": "t", "rationale": "r", "share": "everybody"},
        {"title": "x" * 501, "rationale": "r"},
        {},
    ],
)
def test_one_bad_decision_makes_the_batch_partial(
    call: Call, rows: Rows, shop: str, bad: dict[str, Any]
) -> None:
    batch = store(call, decisions=[CARDS, bad], patterns=[RELEASE])
    assert batch["overall"] == "partial"
    good, refused = batch["decisions"]
    assert (good["status"], refused["status"], refused["artifact_id"]) == ("saved", "failed", None)
    assert refused["message"]
    assert labels(rows) == ["Session", "Session", "Decision", "Pattern"]
    assert produced(rows, batch["session"]) == {good["artifact_id"], batch["patterns"][0]["artifact_id"]}


def test_a_bad_pattern_makes_the_batch_partial(call: Call, shop: str) -> None:
    batch = store(call, decisions=[CARDS], patterns=[{"trigger": "t", "repeatable_steps": []}])
    assert (batch["overall"], batch["patterns"][0]["status"]) == ("partial", "failed")
    assert "repeatable_steps must not be empty" in batch["patterns"][0]["message"]


def test_a_batch_all_of_which_is_refused_has_failed(
    call: Call, rows: Rows, picture: Picture, shop: str
) -> None:
    before = picture(without=LOGS)
    batch = store(
        call, session={"objective": ""}, decisions=[{"title": "", "rationale": "r"}], focus="checkout"
    )
    assert (batch["overall"], batch["session"]["status"], batch["decisions"][0]["status"]) == ("failed",) * 3
    assert picture(without=LOGS) == before


def test_a_decision_that_waits_for_review_makes_the_batch_partial(call: Call, shop: str) -> None:
    call("save_decision", title="a b c", rationale="r", project_id=shop)
    batch = store(call, decisions=[{"title": "a b d", "rationale": "r"}, CARDS])
    assert batch["overall"] == "partial"
    assert batch["decisions"][0]["dedup_outcome"] == "manual_review"
    resolved = call("resolve_review", save_id=UUID(batch["decisions"][0]["save_id"]), outcome="new", by="ana")
    assert resolved["status"] == "saved"


@pytest.mark.parametrize(
    "second",
    [{"title": "a b d", "rationale": "r"}, {"title": "t", "rationale": "r", "confidence": 2}],
    ids=["manual review", "unreadable"],
)
def test_an_atomic_batch_is_all_or_nothing(
    call: Call, picture: Picture, shop: str, second: dict[str, Any]
) -> None:
    call("save_decision", title="a b c", rationale="r", project_id=shop)
    before = picture(without=LOGS)
    try:
        overall = store(call, decisions=[CARDS, second], atomic=True, focus="checkout")["overall"]
    except psycopg.Error as error:
        assert error.sqlstate == "PM001"
        overall = "failed"
    assert overall == "failed"
    assert picture(without=LOGS) == before


def test_an_atomic_batch_says_which_part_was_refused(call: Call, shop: str) -> None:
    call("save_decision", title="a b c", rationale="r", project_id=shop)
    batch = store(call, decisions=[CARDS, {"title": "a b d", "rationale": "r"}], atomic=True)
    assert batch["message"].startswith(
        "Nothing was saved: decisions 'a b d' was not. Not saved: it may be the same decision as “a b c”"
    )


def test_an_atomic_batch_of_good_parts_is_saved(call: Call, rows: Rows, shop: str) -> None:
    assert store(call, decisions=[CARDS], patterns=[RELEASE], atomic=True)["overall"] == "saved"
    assert labels(rows) == ["Session", "Session", "Decision", "Pattern"]


def test_the_focus_of_a_batch_is_the_focus_of_its_parts(call: Call, rows: Rows, shop: str) -> None:
    batch = store(call, decisions=[{**CARDS, "scope": "focus"}], focus="checkout")
    assert batch["overall"] == "saved"
    found = rows("select label, scope, focus from pgmem.node where focus is not null order by seq")
    assert found == [
        {"label": "Session", "scope": "project", "focus": "checkout"},
        {"label": "Decision", "scope": "focus", "focus": "checkout"},
    ]


def test_a_part_cannot_leave_the_project_of_its_batch(call: Call, rows: Rows, shop: str) -> None:
    call("save_session", objective="o", project_id="bank")
    store(call, decisions=[CARDS, {**CARDS, "title": "elsewhere", "project_id": "bank"}])
    assert rows("select project from pgmem.node where label = 'Decision'") == [{"project": "shop"}]


@pytest.mark.parametrize(
    "key", ["id", "created_at", "trust_level", "org_id", "user_id", "source", "_x", "status", "seq"]
)
def test_what_no_caller_may_choose_is_refused(call: Call, rows: Rows, shop: str, key: str) -> None:
    batch = store(call, decisions=[CARDS, {**CARDS, "title": "other", key: "2001-01-01"}])
    assert batch["decisions"][1]["status"] == "failed"
    assert f"no argument {key}" in batch["decisions"][1]["message"]
    (node,) = rows("select n.*, to_jsonb(n)::text as all from pgmem.node n where label = 'Decision'")
    assert "2001-01-01" not in node["all"]
    assert (node["trust_level"], node["source"]) == (0.5, "sql")


def test_a_batch_given_again_under_its_save_id_returns_the_first_result(
    call: Call, rows: Rows, shop: str
) -> None:
    save_id = UUID("00000000-0000-4000-8000-000000000001")
    first = store(call, decisions=[CARDS], save_id=save_id)
    again = store(call, decisions=[CARDS], save_id=save_id)
    assert again == first
    assert labels(rows) == ["Session", "Session", "Decision"]


def test_a_partial_batch_given_again_returns_the_first_result(call: Call, rows: Rows, shop: str) -> None:
    save_id = UUID("00000000-0000-4000-8000-000000000001")
    parts: dict[str, Any] = {"decisions": [CARDS, {"title": "", "rationale": "r"}], "save_id": save_id}
    first = store(call, **parts)
    assert store(call, **parts) == first
    assert labels(rows) == ["Session", "Session", "Decision"]


@pytest.mark.parametrize(
    "parts",
    [
        {"session": [1]},
        {"session": "o"},
        {"decisions": {"title": "t"}},
        {"decisions": ["t"]},
        {"patterns": 5},
        {"decisions": [None]},
    ],
    ids=str,
)
def test_a_batch_of_the_wrong_shape_is_an_error_that_says_what_to_send(
    connection: psycopg.Connection[DictRow], picture: Picture, shop: str, parts: dict[str, Any]
) -> None:
    from psycopg.types.json import Jsonb

    before = picture()
    sent = {
        name: Jsonb(value)
        for name, value in {"session": SESSION, "decisions": [], "patterns": [], **parts}.items()
    }
    with pytest.raises(
        psycopg.Error, match="Send session as an object, decisions, patterns and memories as lists of objects"
    ):
        connection.execute(
            "select pgmem.store_session_with_learnings(%(session)s, 'shop', %(decisions)s, %(patterns)s)",
            sent,
        )
    assert picture() == before


def test_a_batch_shared_with_the_organisation_is_all_of_it_shared(
    call: Call, rows: Rows, act_as: ActAs
) -> None:
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop", share="org")
    store(call, decisions=[CARDS], patterns=[RELEASE], share="org", focus="checkout")
    assert {r["user_id"] for r in rows("select distinct user_id from pgmem.node where org_id = 'acme'")} == {
        ""
    }


def test_a_save_made_in_a_session_is_joined_to_it(call: Call, rows: Rows, act_as: ActAs, shop: str) -> None:
    session = call("save_session", objective="o", project_id=shop)
    act_as(session_id=str(session["artifact_id"]))
    saved = call("save_decision", project_id=shop, **CARDS)
    assert produced(rows, {"artifact_id": str(session["artifact_id"])}) == {str(saved["artifact_id"])}


@pytest.mark.parametrize(
    "session_id", ["my session", "00000000-0000-4000-8000-000000000009", "'; drop schema pgmem; --"]
)
def test_an_unknown_session_name_is_only_recorded(
    call: Call, rows: Rows, act_as: ActAs, shop: str, session_id: str
) -> None:
    act_as(session_id=session_id)
    assert call("save_decision", project_id=shop, **CARDS)["status"] == "saved"
    assert rows("select count(*) from pgmem.edge")[0]["count"] == 0
    assert rows("select session_id from pgmem.node where label = 'Decision'") == [{"session_id": session_id}]
