"""The verbs of the pages: what they refuse, and what they leave as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.database.call import clean, statement
from tests.conftest import Call

Rows = Callable[..., list[DictRow]]


@pytest.fixture
def kept(call: Call) -> dict[str, Any]:
    call("save_session", objective="Begin", project_id="shop")
    saved = call("save_decision", title="Use PostgreSQL", rationale="One system.", project_id="shop")
    return call("find_memory", id=saved["artifact_id"])


def edit(call: Call, node: dict[str, Any], **given: Any) -> dict[str, Any]:
    arguments = {"version": node["version"], "properties": {}, "by": "ada", **given}
    arguments["properties"] = psycopg.types.json.Jsonb(arguments["properties"])
    return call("edit_memory", id=node["id"], **arguments)


def test_an_edit_changes_what_was_sent_and_is_found_by_its_new_words(
    call: Call, kept: dict[str, Any]
) -> None:
    done = edit(call, kept, properties={"rationale": "Zebras like it."}, title="Use PostgreSQL 18")
    assert (done["title"], done["version"]) == ("Use PostgreSQL 18", 2)
    assert call("search_memory", query="zebras")["id"] == kept["id"]
    again = call("save_decision", title="Use PostgreSQL 18", rationale="Zebras like it.", project_id="shop")
    assert again["dedup_outcome"] == "duplicate_skip"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"version": 7}, "has changed since it was shown: it is at version 1"),
        ({"by": " "}, "by must not be empty"),
        (
            {"properties": {"rationale": None}},
            "'rationale' of this Decision cannot be edited so; edit its texts: date, rationale.",
        ),
        ({"properties": {"rationale": ["a"]}}, "'rationale' of this Decision cannot be edited so"),
        ({"properties": {"rationale": " "}}, "rationale must not be empty"),
        ({"title": "x" * 501}, "500"),
        ({"properties": []}, "properties must be an object"),
    ],
)
def test_a_bad_edit_is_one_sentence_and_changes_nothing(
    call: Call, kept: dict[str, Any], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(psycopg.Error) as refused:
        edit(call, kept, **given)
    assert said in str(refused.value)
    assert call("find_memory", id=kept["id"])["version"] == 1


def test_what_is_named_keeps_its_name(call: Call, kept: dict[str, Any]) -> None:
    saved = call("upsert_entity", entity_name="Redis", fact="A cache.", project_id="shop")
    node = call("find_memory", id=saved["artifact_id"])
    with pytest.raises(psycopg.Error, match="keeps its name"):
        edit(call, node, properties={"entity_name": "Valkey"})
    assert edit(call, node, properties={"fact": "A queue."})["version"] == 2


def test_an_unknown_memory_and_an_unknown_save_are_said(call: Call) -> None:
    for verb, argument in (("find_memory", "id"), ("get_review", "save_id")):
        with pytest.raises(psycopg.Error, match="^No (memory|save) "):
            call(verb, **{argument: uuid4()})


def test_a_list_goes_on_after_the_last_of_the_page_before(call: Call, kept: dict[str, Any]) -> None:
    for number in range(5):
        call("save_context", content=f"note {number}", topic=f"Note {number}", project_id="shop")
    first = call("list_memories", limit=1)
    assert first["title"] == "Note 4"
    assert call("list_memories", limit=1, after=first["id"])["title"] == "Note 3"


@pytest.fixture
def rows(connection: psycopg.Connection[DictRow]) -> Rows:
    def rows(verb: str, **given: object) -> list[DictRow]:
        sent = {name: clean(name, value) for name, value in given.items()}
        return connection.execute(statement(verb, sent), sent).fetchall()

    return rows


def near(rows: Rows, **given: object) -> list[tuple[str, str, str | None]]:
    return [(one["name"], one["other_name"], one["verb"]) for one in rows("list_near_names", **given)]


def test_near_names_wait_until_a_person_says_what_they_are(call: Call, rows: Rows) -> None:
    call("save_session", objective="Begin", project_id="webshop")
    call("save_session", objective="Begin", project_id="webshops")
    for name in ("PostgreSQL", "Postgre SQL", "Redis"):
        call("upsert_entity", entity_name=name, fact="It keeps things.", project_id="webshop")
    items: list[dict[str, Any]] = [
        {"namespace": ["users"], "name": name, "value": {}} for name in ("profile-1", "profile-2")
    ]
    call("put_items", items=psycopg.types.json.Jsonb(items))
    assert near(rows) == [("webshops", "webshop", None), ("Postgre SQL", "PostgreSQL", "merge_entities")]
    assert near(rows, project_id="webshops") == [("webshops", "webshop", None)]
    call(
        "relate",
        from_label="Project",
        from_key="webshop",
        rel_type="SIMILAR_TO",
        to_label="Project",
        to_key="webshops",
    )
    call("merge_entities", entity="Postgre SQL", into="PostgreSQL", project_id="webshop", by="ada")
    assert near(rows) == []


def test_two_things_of_any_one_label_are_merged_by_their_ids(call: Call, rows: Rows) -> None:
    call("save_session", objective="Begin", project_id="webshop")
    for name in ("Clickhouse DB", "Clickhouse DBs"):
        call(
            "remember",
            label="Technology",
            properties=psycopg.types.json.Jsonb({"name": name}),
            project_id="webshop",
        )
    (pair,) = rows("list_near_names")
    assert pair["verb"] == "merge_entities"
    assert call("merge_entities", by="ada", **pair["arguments"])["title"] == "Clickhouse DBs"
    assert call("get_node", label="Technology", key="Clickhouse DB")["status"] == "active"
    assert rows("list_near_names") == []
    with pytest.raises(psycopg.Error, match="leave it out for a Technology"):
        call("merge_entities", fact="It counts.", **pair["arguments"])


def test_a_name_that_none_has_is_answered_with_those_that_hold_it(call: Call, rows: Rows) -> None:
    call("save_session", objective="Begin", project_id="webshop")
    for title in ("Cache pages for an hour", "Send mail at night"):
        call("save_decision", title=title, rationale="r", project_id="webshop")
    with pytest.raises(psycopg.Error, match=r"found\. Did you mean 'Cache pages for an hour'\?"):
        call("forget", label="Decision", key="cache PAGES")
    with pytest.raises(psycopg.Error, match=r"found\.\n"):
        call("forget", label="Decision", key="100%_")
    with pytest.raises(psycopg.Error, match="An EntityFact needs a name"):
        call("get_node", label="EntityFact", key=" ")


def test_the_lines_of_decisions_are_counted_and_each_is_listed_once(
    call: Call, rows: Rows, kept: dict[str, Any]
) -> None:
    def decide(title: str, old: object | None = None) -> object:
        new = call("save_decision", title=title, rationale="Because.", project_id="shop")["artifact_id"]
        if old is not None:
            call("supersede", old=str(old), new=str(new), by="ada")
        return new

    decide("Keep nothing at all", decide("Write files by hand", kept["id"]))
    decide("Mail goes at night", decide("Send through a queue"))
    lines = rows("list_lines")
    assert [(one["line"], one["title"]) for one in lines] == [
        (1, "Send through a queue"),
        (1, "Mail goes at night"),
        (2, "Use PostgreSQL"),
        (2, "Write files by hand"),
        (2, "Keep nothing at all"),
    ]
    assert {one["line"] for one in rows("list_lines", limit=1)} == {1}


def test_several_memories_are_read_at_once_and_not_too_many(call: Call, kept: dict[str, Any]) -> None:
    assert call("find_memories", ids=[kept["id"], uuid4()])["title"] == "Use PostgreSQL"
    with pytest.raises(psycopg.Error, match="200 at most"):
        call("find_memories", ids=[uuid4()] * 201)


def test_a_card_says_which_branch_it_is_of(call: Call, rows: Rows, kept: dict[str, Any]) -> None:
    card = {"record_type": "risk_note", "subject_path": "a.py", "project_id": "shop"}
    call("record_candidate", statement="The till rounds.", branch="till", branch_commit="abcdef0", **card)
    call("record_candidate", statement="The till waits.", **card)
    assert {
        one["title"]: one["branch"] for one in rows("list_memories", labels=["Card"], status="draft")
    } == {"a.py: The till rounds.": "till", "a.py: The till waits.": None}
    assert [one["title"] for one in rows("list_memories", branch="till", status="draft")] == [
        "a.py: The till rounds."
    ]
    for one in rows("list_memories", labels=["Card"], status="draft"):
        call("approve_card", card_id=one["id"], by="ada")
    found = rows("search_memory", query="till", labels=["Card"], known_at="2100-01-01")
    assert [one["title"] for one in found] == ["a.py: The till waits."]


@pytest.mark.parametrize("known", [None, "2026-02-15"])
def test_counts_and_lists_of_a_time_are_those_of_the_states(
    call: Call,
    connection: psycopg.Connection[DictRow],
    rows: Rows,
    clock: Callable[[str], None],
    known: str | None,
) -> None:
    """They read the present states from an index, and answer as states_at does."""
    clock("2026-01-01")
    call("save_session", objective="Begin", project_id="shop")
    old = call("save_decision", title="Use MySQL", rationale="Known.", project_id="shop")["artifact_id"]
    gone = call("save_context", topic="Gone", content="Soon.", project_id="shop")["artifact_id"]
    clock("2026-02-01")
    new = call("save_decision", title="Everything in PostgreSQL", rationale="One.", project_id="shop")
    call("supersede", old=str(old), new=str(new["artifact_id"]), by="ada")
    clock("2026-03-01")
    call("forget", label="Context", key=str(gone))
    call("save_pattern", trigger="Slow", repeatable_steps=["Explain"], project_id="shop")
    for as_of in (None, "2026-01-15", "2026-02-15", "2026-03-15"):
        if as_of is None and known is None:
            continue
        when = {"as_of": as_of, "known_at": known}
        states = rows("list_memories", limit=100, **when)
        counted = call("count_memories", **when)
        truth = sorted(
            str(one["title"])
            for one in connection.execute(
                "select title from pgmem.states_at(%s, %s) where pgmem.is_memory(label)", (as_of, known)
            )
        )
        assert sorted(one["title"] for one in states) == truth, when
        assert counted["total"] == len(truth)


def test_the_author_of_an_earlier_state_is_kept_beside_it(
    call: Call, rows: Rows, connection: psycopg.Connection[Any]
) -> None:
    call("save_session", objective="Begin", project_id="webshop")
    for agent, fact in (("claude", "It keeps carts."), ("codex", "It keeps carts and sessions.")):
        connection.execute("select set_config('pgmem.agent_id', %s, false)", (agent,))
        call("upsert_entity", entity_name="Redis", fact=fact, project_id="webshop")
    (found,) = rows("find_memories", ids=[rows("list_memories", labels=["EntityFact"])[0]["id"]])
    assert found["agent_id"] == "codex"
    history = rows("memory_history", label="EntityFact", key="Redis")
    assert [(one["version"], one["agent_id"]) for one in history] == [(1, "claude"), (2, "codex")]
    changed = connection.execute(
        "select version, agent_id from pgmem.memory_change where title = 'Redis' order by version"
    ).fetchall()
    assert [(one["version"], one["agent_id"]) for one in changed] == [(1, "claude"), (2, "codex")]


def test_the_cards_that_pgmem_reads_are_one_entry_of_the_activity(call: Call, rows: Rows, shop: str) -> None:
    report = {
        "modules": [{"path": f"src/{name}.py", "doc": f"The {name}."} for name in ("cart", "mail", "tax")]
    }
    call("refresh_from_run", report=psycopg.types.json.Jsonb(report), project_id=shop)
    call("save_decision", title="Sell tea", rationale="We like it.", project_id=shop)
    call("save_context", topic="The shop", content="It opens at nine.", project_id=shop)
    found = [(one["kind"], one["title"]) for one in rows("list_activity", project_id=shop)]
    assert {("saved", "Sell tea"), ("saved", "The shop: It opens at nine.")} <= set(found)
    (cards,) = [title for kind, title in found if kind == "cards"]
    assert cards == "3 cards"
    assert not [kind for kind, title in found if "src/" in title]
