"""Turns of conversations: kept as they were said, once, and found only where they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.verbs import Rows

SAID = [
    {"id": "a1", "role": "user", "content": "Does the checkout talk to Zephyrpay over mTLS?"},
    {"id": "a2", "role": "assistant", "content": "Yes, the certificate lies in vault/zephyrpay."},
]


def capture(call: Call, turns: list[dict[str, str]] = SAID, **more: object) -> dict[str, object]:
    given = {"client": "claude-code", "session_id": "s-1", "project_id": "shop", **more}
    return call("capture_turns", turns=turns, **given)


def found(rows: Rows, query: str, **labels: object) -> list[str]:
    return [
        str(row["title"])
        for row in rows(
            "select title from pgmem.search_memory(%s, p_project_id => 'shop', p_labels => %s)",
            query,
            labels.get("labels"),
        )
    ]


def test_a_first_session_makes_its_project_and_a_transcript_sent_again_adds_only_what_is_new(
    call: Call,
) -> None:
    assert capture(call) == {
        "session_id": "claude-code:s-1",
        "project_id": "shop",
        "project_created": True,
        "captured": 2,
        "known": 0,
    }
    again = capture(call, [*SAID, {"id": "a3", "role": "user", "content": "And in staging?"}])
    assert (again["project_created"], again["captured"], again["known"]) == (False, 1, 2)
    # The same ids in another session or client are other turns.
    assert capture(call, session_id="s-2")["captured"] == 2
    assert capture(call, client="codex")["captured"] == 2


def test_turns_are_found_where_their_label_is_named_and_in_no_context(call: Call, rows: Rows) -> None:
    capture(call)
    call("save_context", content="Zephyrpay settles at noon", project_id="shop", topic="settlement")
    assert found(rows, "zephyrpay certificate") == ["settlement"]
    assert found(rows, "zephyrpay certificate", labels=["Turn"])[0].startswith("Yes, the certificate")
    assert len(found(rows, "zephyrpay", labels=["Turn", "Context"])) == 3
    context = call("retrieve_context", project_id="shop")
    assert [item["label"] for item in context["items"]] == ["Context"]
    assert call("retrieve_context", project_id="shop", topic="certificate")["items"] == []
    assert call("status")["memories"] == {"Context": 1}
    assert rows("select count(*) as n from pgmem.hygiene_node where label = 'Turn'") == [{"n": 0}]
    assert [r["role"] for r in rows("select role from pgmem.turn order by place")] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("query", "shown"), [("the certificate lies", True), ("certificate in staging", False)]
)
def test_a_search_without_an_answer_counts_the_turns_that_hold_its_words(
    call: Call, query: str, shown: bool
) -> None:
    capture(call)
    for answers_only in (None, True, False):
        step = call("search_answer", query=query, project_id="shop", answers_only=answers_only)["next_step"]
        said = "1 turn of a conversation holds all these words: search with labels Turn."
        assert step.endswith(said) is shown, answers_only
    context = call("retrieve_context", project_id="shop", topic=query)
    assert context["next_step"].endswith(said) is shown


def test_turns_do_not_change_how_memories_rank(call: Call, rows: Rows) -> None:
    call("save_context", content="Zephyrpay settles at noon", project_id="shop", topic="settlement")
    call("save_context", content="The cart keeps a week", project_id="shop", topic="cart")
    query = "select title, score, relevance from pgmem.search_memory('when does zephyrpay settle')"
    before = rows(query)
    capture(call, [{"id": str(i), "role": "user", "content": f"zephyrpay settle {i}"} for i in range(100)])
    assert rows(query) == before
    rows("select pgmem.refresh_statistics(true)")
    assert rows(query) == before


def test_a_turn_is_trusted_less_than_what_an_agent_saves(call: Call, rows: Rows) -> None:
    capture(call)
    assert rows("select distinct trust_level as t from pgmem.turn") == [{"t": 0.3}]


def test_a_forgotten_or_purged_turn_does_not_come_back_with_the_transcript(call: Call, rows: Rows) -> None:
    capture(call)
    one, two = (str(r["id"]) for r in rows("select id from pgmem.turn order by place"))
    call("forget", label="Turn", key=one)
    call("forget", label="Turn", key=two, purge=True)
    assert capture(call)["captured"] == 0
    assert rows("select count(*) as n from pgmem.turn") == [{"n": 0}]


def test_turns_expire_by_setting(call: Call, rows: Rows, clock: Callable[[str], None]) -> None:
    clock("2026-01-01T00:00:00Z")
    capture(call)
    clock("2026-03-01T00:00:00Z")
    capture(call, [{"id": "b1", "role": "user", "content": "Later"}])
    assert call("sweep")["turns_expired"] == 0
    clock("2026-04-15T00:00:00Z")
    assert call("sweep")["turns_expired"] == 2
    rows("select pgmem.set_setting('turn_days', '0')")
    clock("2030-01-01T00:00:00Z")
    assert call("sweep")["turns_expired"] == 0
    assert [r["content"] for r in rows("select content from pgmem.turn")] == ["Later"]


def test_a_clock_that_is_ahead_does_not_hide_a_turn(call: Call, rows: Rows) -> None:
    capture(call, [{**SAID[0], "at": "2199-01-01T00:00:00Z"}])
    assert len(found(rows, "zephyrpay", labels=["Turn"])) == 1


@pytest.mark.parametrize(
    ("turns", "sentence"),
    [
        ({"id": "1"}, "turns must be a list"),
        ([{"id": "1", "role": "user"}], "Turn 1 needs an id and a content"),
        ([SAID[0], {"role": "user", "content": "x"}], "Turn 2 needs an id and a content"),
        (
            [{"id": "1", "role": "robot", "content": "x"}],
            "role is user, assistant, system or tool, not robot",
        ),
        ([SAID[0], {**SAID[1], "at": "soon"}], "at is not a valid date"),
    ],
)
def test_a_bad_turn_is_refused_with_what_to_send_and_nothing_is_kept(
    call: Call, rows: Rows, turns: object, sentence: str
) -> None:
    with pytest.raises(psycopg.Error, match=sentence):
        capture(call, turns)  # type: ignore[arg-type]
    assert rows("select count(*) as n from pgmem.turn") == [{"n": 0}]


def test_turns_are_isolated_by_tenant(call: Call, rows: Rows) -> None:
    rows("select set_config('pgmem.org_id', 'acme', false), set_config('pgmem.user_id', 'ada', false)")
    capture(call)
    rows("select set_config('pgmem.user_id', 'bob', false)")
    assert rows("select count(*) as n from pgmem.turn") == [{"n": 0}]
    assert found(rows, "zephyrpay", labels=["Turn"]) == []
