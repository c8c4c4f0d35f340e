"""A verdict of used or wrong changes the ranking within bounds; being found changes nothing."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Rows

pytestmark = pytest.mark.usefixtures("shop")

QUERY = "which tea do we keep"


@pytest.fixture
def tea(call: Call) -> list[UUID]:
    """Two memories that answer alike; the later one is first."""
    contents = ("The shop keeps green tea in tins", "The shop keeps black tea in jars")
    return [call("save_context", content=text, project_id="shop")["artifact_id"] for text in contents]


def ranked(each: Each, **arguments: Any) -> list[DictRow]:
    found = each("search_memory", query=QUERY, project_id="shop", labels=["Context"], **arguments)
    assert len(found) == 2
    return found


def test_a_memory_named_as_used_is_placed_higher_and_explain_says_by_how_much(
    call: Call, each: Each, tea: list[UUID]
) -> None:
    before = ranked(each, explain=True)
    assert {row["explanation"]["usefulness"] for row in before} == {0}
    last = before[-1]["id"]
    assert call("feedback", id=last, verdict="used") == {
        "used": 1, "wrong": 0, "outdated": 0, "next_step": None, "noise": 0, "same": [], "rests": [],
    }  # fmt: skip
    after = ranked(each, explain=True)
    assert after[0]["id"] == last
    assert after[0]["explanation"]["usefulness"] == pytest.approx(0.1 / 3)
    assert after[1]["explanation"]["usefulness"] == 0
    assert [row["id"] for row in ranked(each, without=["usefulness"])] == [row["id"] for row in before]
    assert [row["id"] for row in ranked(each, weights={"hybrid_usefulness_weight": 0})] == [
        row["id"] for row in before
    ]


def test_being_found_a_hundred_times_changes_nothing(call: Call, each: Each, tea: list[UUID]) -> None:
    before = [(row["id"], row["score"]) for row in ranked(each)]
    for _ in range(100):
        call("record_recall", by="search_memory", memory_ids=[str(before[-1][0])])
    assert [(row["id"], row["score"]) for row in ranked(each)] == before


def test_the_factor_is_bounded_whatever_is_said(
    call: Call, each: Each, tea: list[UUID], act_as: ActAs, rows: Rows
) -> None:
    for agent in range(50):
        rows("select set_config('pgmem.agent_id', %s, false)", f"agent {agent}")
        call("feedback", id=tea[0], verdict="wrong")
        call("feedback", id=tea[1], verdict="used")
    parts = {row["id"]: row["explanation"]["usefulness"] for row in ranked(each, explain=True)}
    assert -0.1 < parts[tea[0]] < -0.09
    assert 0.09 < parts[tea[1]] < 0.1


def test_the_last_word_of_an_agent_counts_once_in_the_cooldown(
    call: Call, tea: list[UUID], clock: Any, rows: Rows
) -> None:
    rows("select set_config('pgmem.agent_id', 'ann', false)")
    clock("2026-05-01 10:00+00")
    for _ in range(3):
        call("feedback", id=tea[0], verdict="used")
    assert call("feedback", id=tea[0], verdict="wrong")["wrong"] == 1
    (row,) = rows("select used, wrong from pgmem.most_used")
    assert row == {"used": 0, "wrong": 1}
    rows("select set_config('pgmem.agent_id', 'bob', false)")
    assert call("feedback", id=tea[0], verdict="used")["used"] == 1
    clock("2026-05-02 11:00+00")
    assert call("feedback", id=tea[0], verdict="used")["used"] == 2


def test_feedback_changes_no_memory_and_makes_no_version(call: Call, tea: list[UUID], rows: Rows) -> None:
    def state() -> list[DictRow]:
        return rows("select id, version, updated_at, trust_level from pgmem.memory order by id")

    before = state()
    answer = call("feedback", id=tea[0], verdict="outdated")
    assert answer["next_step"] == "Save what holds instead."
    assert state() == before


@pytest.mark.parametrize(
    ("sent", "state"), [({"id": str(uuid4()), "verdict": "used"}, "PM002"), ({"verdict": "great"}, "PM001")]
)
def test_bad_feedback_is_refused_with_what_to_send(
    call: Call, tea: list[UUID], sent: dict[str, Any], state: str, rows: Rows
) -> None:
    with pytest.raises(psycopg.Error) as refused:
        call("feedback", **{"id": tea[0], **sent})
    assert refused.value.sqlstate == state


def test_a_tenant_judges_a_public_memory_for_itself_alone(
    call: Call, each: Each, tea: list[UUID], act_as: ActAs
) -> None:
    act_as("acme", "ana")
    call("feedback", id=tea[0], verdict="used")
    parts = {row["id"]: row["explanation"]["usefulness"] for row in ranked(each, explain=True)}
    assert parts[tea[0]] > 0
    act_as("globex", "gus")
    assert {row["explanation"]["usefulness"] for row in ranked(each, explain=True)} == {0}
    act_as()
    assert {row["explanation"]["usefulness"] for row in ranked(each, explain=True)} == {0}


def test_a_memory_of_another_tenant_cannot_be_judged(call: Call, act_as: ActAs) -> None:
    act_as("acme", "ana")
    call("save_session", objective="open", project_id="hidden")
    mine = call("save_context", content="The safe is behind the shelf", project_id="hidden")["artifact_id"]
    act_as("globex", "gus")
    with pytest.raises(psycopg.Error, match="No memory .* found; search_memory"):
        call("feedback", id=mine, verdict="wrong")


def test_what_was_recalled_is_seen_by_its_tenant_for_recall_days(
    call: Call, tea: list[UUID], clock: Any, rows: Rows, act_as: ActAs
) -> None:
    clock("2026-05-01 10:00+00")
    act_as("acme", "ana")
    sent = {"by": "UserPromptSubmit", "act": "injected", "tokens": 40, "project_id": "shop"}
    assert call("record_recall", memory_ids=[str(tea[1]), str(uuid4()), str(tea[0])], client="codex",
                session_id="s1", **sent)  # fmt: skip
    (row,) = rows("select * from pgmem.recall")
    assert (row["session_id"], row["memory_ids"], row["user_id"]) == ("codex:s1", [tea[1], tea[0]], "ana")
    assert (row["act"], row["by"], row["tokens"], row["project"]) == (
        "injected",
        "UserPromptSubmit",
        40,
        "shop",
    )
    act_as("globex", "gus")
    assert rows("select * from pgmem.recall") == []
    act_as()
    clock("2026-06-02 10:00+00")
    rows("select pgmem.sweep()")
    act_as("acme", "ana")
    assert rows("select * from pgmem.recall") == []


def test_an_answer_of_unknown_length_is_no_word_on_a_memory(call: Call, tea: list[UUID], each: Each) -> None:
    """The page of recall failed on it."""
    call("record_recall", by="search_memory", memory_ids=[str(tea[0])])
    call("feedback", id=tea[0], verdict="used")
    assert [(row["act"], row["tokens"]) for row in each("list_recall")] == [("used", None), ("retrieved", 0)]


def test_with_recall_days_0_nothing_that_was_brought_is_recorded(
    call: Call, tea: list[UUID], rows: Rows
) -> None:
    call("set_setting", name="recall_days", value="0")
    call("record_recall", by="search_memory", memory_ids=[str(tea[0])])
    assert rows("select * from pgmem.recall") == []


def test_never_used_says_since_when_a_use_would_have_been_recorded(
    call: Call, tea: list[UUID], clock: Any, rows: Rows
) -> None:
    assert {tea[0], tea[1]} <= {row["id"] for row in rows("select id from pgmem.never_used")}
    clock("2100-01-01 10:00+00")
    call("record_recall", by="search_memory", memory_ids=[str(tea[0])])
    never = {
        row["id"]: row["watched_since"] for row in rows("select id, watched_since from pgmem.never_used")
    }
    assert (tea[0] in never, tea[1] in never) == (False, True)
    assert never[tea[1]].year == 2100, "saved before the record of recall began"
    call("feedback", id=tea[1], verdict="used")
    assert tea[1] not in {row["id"] for row in rows("select id from pgmem.never_used")}


@pytest.mark.anyio
async def test_entries_that_are_numbered_as_in_a_cell_are_read_page_by_page(
    memory: Memory, connection: psycopg.Connection[DictRow]
) -> None:
    connection.execute("alter table pgmem.recall_event alter column seq restart with 1099511627776")
    saved = await memory.save_session("open the shop", "shop")
    for tokens in (1, 2):
        await memory.record_recall(
            "search_memory", [str(saved.artifact_id)], tokens=tokens, project_id="shop"
        )
    (last,) = await memory.list_recall("shop", limit=1)
    (first,) = await memory.list_recall("shop", after=last.seq)
    assert (last.tokens, first.tokens) == (2, 1)
