"""The life of a save: its row on record, get_save_status, retry_save."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Picture, Rows


def blocked(call: Call, project: str = "shop", content: str = "c") -> UUID:
    """The save_id of a save that was blocked."""
    result = call("save_context", content=content, project_id=project)
    assert result["status"] == "blocked_scope"
    return UUID(str(result["save_id"]))


def test_nothing_open_is_saved(call: Call, shop: str) -> None:
    status = call("get_save_status", project_id=shop)
    assert (status["status"], status["count"], status["saves"], status["oldest_pending_at"]) == (
        "saved",
        0,
        [],
        None,
    )


def test_a_save_that_was_not_made_is_listed_with_its_reason(call: Call) -> None:
    save_id = blocked(call)
    status = call("get_save_status", project_id="shop")
    assert (status["status"], status["count"]) == ("failed", 1)
    (save,) = status["saves"]
    assert (save["save_id"], save["verb"], save["status"]) == (str(save_id), "save_context", "blocked_scope")
    assert save["message"] == "No project 'shop' found."
    assert status["oldest_pending_at"] is not None


def test_open_saves_are_listed_oldest_first_and_by_project(call: Call) -> None:
    first, second = blocked(call, content="a"), blocked(call, content="b")
    blocked(call, project="bank")
    status = call("get_save_status", project_id="shop")
    assert [save["save_id"] for save in status["saves"]] == [str(first), str(second)]


def test_one_save_is_found_by_its_id(call: Call, shop: str) -> None:
    save_id = uuid4()
    saved = call("save_context", content="c", project_id=shop, save_id=save_id)
    status = call("get_save_status", project_id=shop, save_id=save_id)
    assert (status["status"], status["count"], status["artifact_ids"]) == ("saved", 1, [saved["artifact_id"]])
    assert status["saves"][0]["artifact_id"] == str(saved["artifact_id"])


def test_an_unknown_save_id_was_not_started(call: Call, shop: str) -> None:
    status = call("get_save_status", project_id=shop, save_id=uuid4())
    assert (status["status"], status["count"], status["artifact_ids"], status["saves"]) == (
        "not_started",
        0,
        [],
        [],
    )


def test_open_saves_are_listed_by_the_session_they_were_made_in(call: Call, act_as: ActAs) -> None:
    act_as(session_id="monday")
    first = blocked(call)
    act_as(session_id="tuesday")
    blocked(call)
    status = call("get_save_status", project_id="shop", session_id="monday")
    assert [save["save_id"] for save in status["saves"]] == [str(first)]


@pytest.mark.parametrize(
    ("project_id", "message"),
    [
        ("", "project_id must not be empty"),
        ("nope", "No project 'nope' found, and no save waits for it"),
        ("'; drop schema pgmem cascade; --", "No project"),
    ],
)
def test_the_status_of_no_project_is_an_error(call: Call, project_id: str, message: str) -> None:
    """A project that never existed answered `saved`."""
    blocked(call)
    with pytest.raises(psycopg.Error, match=message):
        call("get_save_status", project_id=project_id)


def test_a_partial_batch_is_listed_by_its_parts_alone(call: Call, shop: str) -> None:
    batch = call(
        "store_session_with_learnings",
        session={"objective": "o"},
        project_id=shop,
        decisions=[{"title": "", "rationale": "r"}, {"title": "t", "rationale": "r"}],
    )
    assert batch["overall"] == "partial"
    status = call("get_save_status", project_id=shop)
    assert [save["save_id"] for save in status["saves"]] == [batch["decisions"][0]["save_id"]]
    assert call("get_save_status", project_id=shop, save_id=batch["save_id"])["status"] == "partial"


def test_another_tenants_open_saves_are_not_listed(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    save_id = blocked(call)
    act_as("acme", "bob")
    with pytest.raises(psycopg.Error, match="No project 'shop' found"):
        call("get_save_status", project_id="shop")
    assert call("get_save_status", project_id="shop", save_id=save_id)["status"] == "not_started"


def test_two_tenants_may_use_one_save_id_and_each_sees_his_own(call: Call, act_as: ActAs) -> None:
    save_id = uuid4()
    act_as("acme")
    call("save_session", objective="o", project_id="shop")
    call("save_context", content="shared", project_id="shop", save_id=save_id)
    act_as("acme", "alice")
    own = call("save_context", content="own", project_id="shop", save_id=save_id)
    status = call("get_save_status", project_id="shop", save_id=save_id)
    assert status["artifact_ids"] == [own["artifact_id"]]


def test_a_blocked_save_can_be_retried_once_the_project_is_there(call: Call, rows: Rows) -> None:
    save_id = blocked(call)
    call("save_session", objective="o", project_id="shop")
    result = call("retry_save", save_id=save_id)
    assert (result["status"], result["save_id"]) == ("saved", save_id)
    assert rows("select props ->> 'content' as content from pgmem.node where label = 'Context'") == [
        {"content": "c"}
    ]
    assert call("get_save_status", project_id="shop")["count"] == 0


def test_a_retry_that_fails_again_counts_its_attempts(call: Call, rows: Rows) -> None:
    save_id = blocked(call)
    assert call("retry_save", save_id=save_id)["status"] == "blocked_scope"
    assert rows("select attempts from pgmem.save_attempt where save_id = %s", save_id) == [{"attempts": 2}]


def test_a_retry_of_what_is_saved_returns_the_first_result(call: Call, rows: Rows, shop: str) -> None:
    first = call("save_context", content="c", project_id=shop)
    again = call("retry_save", save_id=first["save_id"])
    assert (again["status"], again["artifact_id"]) == ("saved", first["artifact_id"])
    assert rows("select count(*) from pgmem.node where label = 'Context'")[0]["count"] == 1


def test_a_global_save_is_retried_with_a_new_token(call: Call, shop: str) -> None:
    failed = call("save_context", content="c", project_id=shop, scope="global")
    assert call("retry_save", save_id=failed["save_id"])["status"] == "failed"
    token = call("request_global_write_approval", content_preview="c")["token"]
    assert call("retry_save", save_id=failed["save_id"], governance_token=token)["status"] == "saved"


def test_nobody_retries_what_is_not_his(call: Call, act_as: ActAs, picture: Picture) -> None:
    act_as("acme", "alice")
    save_id = blocked(call)
    act_as("acme", "bob")
    before = picture()
    for unknown in (save_id, uuid4()):
        with pytest.raises(psycopg.Error, match="No single save") as caught:
            call("retry_save", save_id=unknown)
        assert caught.value.sqlstate == "PM002"
    assert picture() == before


def test_arguments_are_kept_only_while_a_save_is_open(call: Call, rows: Rows) -> None:
    save_id = blocked(call)
    kept = rows(
        "select arguments ->> 'content' as content from pgmem.save_attempt where save_id = %s", save_id
    )
    assert kept == [{"content": "c"}]
    call("save_session", objective="o", project_id="shop")
    call("retry_save", save_id=save_id)
    assert rows("select arguments from pgmem.save_attempt where save_id = %s", save_id) == [
        {"arguments": None}
    ]


def test_every_save_leaves_one_row(call: Call, rows: Rows, shop: str) -> None:
    call("save_context", content="c", project_id=shop)
    call("save_context", content="c", project_id="nope")
    found = rows("select verb, status from pgmem.save_attempt order by created_at, verb")
    assert [(r["verb"], r["status"]) for r in found] == [
        ("save_session", "saved"), ("save_context", "saved"), ("save_context", "blocked_scope")]  # fmt: skip


def test_a_save_that_is_done_asks_for_no_further_call(call: Call, shop: str) -> None:
    """It advised to retrieve a new save."""
    assert call("save_context", content="c", project_id=shop)["next_step"] is None


def test_a_save_without_a_save_id_gets_one(call: Call, shop: str) -> None:
    first, second = (call("save_context", content="c", project_id=shop)["save_id"] for _ in range(2))
    assert first
    assert first != second


def test_a_failure_of_the_database_is_a_status_and_leaves_only_its_row(
    call: Call, connection: psycopg.Connection[DictRow], picture: Picture, shop: str
) -> None:
    connection.execute("alter table pgmem.node add constraint no_context check (label <> 'Context')")
    before = picture(without={"save_attempt"})
    result = call("save_context", content="c", project_id=shop, focus="checkout")
    assert (result["status"], result["artifact_id"]) == ("failed", None)
    assert "no_context" in result["message"]
    assert picture(without={"save_attempt"}) == before
    assert call("get_save_status", project_id=shop)["count"] == 1
    connection.execute("alter table pgmem.node drop constraint no_context")
    assert call("retry_save", save_id=result["save_id"])["status"] == "saved"


def test_a_save_given_up_by_the_outbox_is_seen(call: Call, shop: str) -> None:
    save_id = uuid4()
    ask = {
        "save_id": save_id,
        "verb": "save_context",
        "arguments": {"content": "c", "project_id": shop},
        "message": "Given up.",
    }
    for _ in range(2):
        call("fail_save", **ask)
    status = call("get_save_status", project_id=shop)
    assert (status["count"], status["saves"][0]["message"]) == (1, "Given up.")
    assert call("retry_save", save_id=save_id)["status"] == "saved"


def test_a_decision_keeps_owner_date_and_confidence(call: Call, rows: Rows, shop: str) -> None:
    call(
        "save_decision",
        title="t",
        rationale="r",
        project_id=shop,
        owner="ana",
        date="2026-04-08",
        confidence=0.5,
    )
    (node,) = rows("select props, initial_confidence from pgmem.node where label = 'Decision'")
    assert node == {
        "props": {"rationale": "r", "owner": "ana", "date": "2026-04-08"},
        "initial_confidence": 0.5,
    }


def test_a_pattern_keeps_its_steps_in_order(call: Call, rows: Rows, shop: str) -> None:
    call(
        "save_pattern",
        trigger="t",
        repeatable_steps=["b", " ", "a"],
        exclusions=["x"],
        project_id=shop,
        last_validated_at="2026-04-08T10:00:00Z",
    )
    (node,) = rows("select props from pgmem.node where label = 'Pattern'")
    assert node["props"]["repeatable_steps"] == ["b", "a"]
    assert node["props"]["exclusions"] == ["x"]
    assert node["props"]["last_validated_at"].startswith("2026-04-08T10:00:00")


def test_control_characters_are_stripped_from_texts_and_lines_stay(call: Call, rows: Rows, shop: str) -> None:
    call("save_context", content="Hello\x00world\tline\nbreak\x07", project_id=shop)
    (node,) = rows("select props ->> 'content' as content from pgmem.node where label = 'Context'")
    assert node["content"] == "Helloworld\tline\nbreak"


def test_a_title_is_one_line(call: Call, rows: Rows, shop: str) -> None:
    call("save_decision", title="  Use\n\tPostgreSQL   now ", rationale="r", project_id=shop)
    assert rows("select title from pgmem.node where label = 'Decision'") == [{"title": "Use PostgreSQL now"}]


def test_the_trust_of_a_memory_follows_the_way_it_came_in(
    call: Call, connection: psycopg.Connection[DictRow], rows: Rows, shop: str
) -> None:
    for source in ("cli", "sync", "sdk", "mcp", "unheard of"):
        connection.execute("select set_config('pgmem.source', %s, false)", (source,))
        call("save_context", content=source, project_id=shop)
    found = rows("select source, trust_level from pgmem.node where label = 'Context' order by seq")
    assert [(r["source"], r["trust_level"]) for r in found] == [
        ("cli", 1.0), ("sync", 1.0), ("sdk", 0.8), ("mcp", 0.5), ("unheard of", 0.5)]  # fmt: skip


def test_the_open_saves_of_every_project_are_listed_with_their_project(call: Call) -> None:
    """A save into a misspelt project is found by who does not know the spelling."""
    call("save_session", objective="open", project_id="shop")
    for name in ("shpo", "warehous"):
        call("save_decision", title="Sell tea", rationale="Asked for.", project_id=name)
    found = call("get_save_status")
    assert [(one["project"], one["status"]) for one in found["saves"]] == [
        ("shpo", "blocked_scope"),
        ("warehous", "blocked_scope"),
    ]
    assert (found["status"], found["count"]) == ("failed", 2)
