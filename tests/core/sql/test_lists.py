"""Memories by their ids, lists of them, edits and near names: what the verbs refuse, and what they leave as it was."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.verbs import Each


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


def near(each: Each, **given: object) -> list[tuple[str, str, str | None]]:
    return [(one["name"], one["other_name"], one["verb"]) for one in each("list_near_names", **given)]


def test_near_names_wait_until_a_person_says_what_they_are(call: Call, each: Each) -> None:
    call("save_session", objective="Begin", project_id="webshop")
    call("save_session", objective="Begin", project_id="webshops")
    for name in ("PostgreSQL", "Postgre SQL", "Redis"):
        call("upsert_entity", entity_name=name, fact="It keeps things.", project_id="webshop")
    items: list[dict[str, Any]] = [
        {"namespace": ["users"], "name": name, "value": {}} for name in ("profile-1", "profile-2")
    ]
    call("put_items", items=psycopg.types.json.Jsonb(items))
    assert near(each) == [("webshops", "webshop", None), ("Postgre SQL", "PostgreSQL", "merge_entities")]
    assert near(each, project_id="webshops") == [("webshops", "webshop", None)]
    call(
        "relate",
        from_label="Project",
        from_key="webshop",
        rel_type="SIMILAR_TO",
        to_label="Project",
        to_key="webshops",
    )
    call("merge_entities", entity="Postgre SQL", into="PostgreSQL", project_id="webshop", by="ada")
    assert near(each) == []


def test_two_things_of_any_one_label_are_merged_by_their_ids(call: Call, each: Each) -> None:
    call("save_session", objective="Begin", project_id="webshop")
    for name in ("Clickhouse DB", "Clickhouse DBs"):
        call(
            "remember",
            label="Technology",
            properties=psycopg.types.json.Jsonb({"name": name}),
            project_id="webshop",
        )
    (pair,) = each("list_near_names")
    assert pair["verb"] == "merge_entities"
    assert call("merge_entities", by="ada", **pair["arguments"])["title"] == "Clickhouse DBs"
    assert call("get_node", label="Technology", key="Clickhouse DB")["status"] == "active"
    assert each("list_near_names") == []
    with pytest.raises(psycopg.Error, match="leave it out for a Technology"):
        call("merge_entities", fact="It counts.", **pair["arguments"])


def test_a_name_that_none_has_is_answered_with_those_that_hold_it(call: Call, each: Each) -> None:
    call("save_session", objective="Begin", project_id="webshop")
    for title in ("Cache pages for an hour", "Send mail at night"):
        call("save_decision", title=title, rationale="r", project_id="webshop")
    with pytest.raises(psycopg.Error, match=r"found\. Did you mean 'Cache pages for an hour'\?"):
        call("forget", label="Decision", key="cache PAGES")
    with pytest.raises(psycopg.Error, match=r"found\.\n"):
        call("forget", label="Decision", key="100%_")
    with pytest.raises(psycopg.Error, match="An EntityFact needs a name"):
        call("get_node", label="EntityFact", key=" ")


def test_several_memories_are_read_at_once_and_not_too_many(call: Call, kept: dict[str, Any]) -> None:
    assert call("find_memories", ids=[kept["id"], uuid4()])["title"] == "Use PostgreSQL"
    with pytest.raises(psycopg.Error, match="200 at most"):
        call("find_memories", ids=[uuid4()] * 201)


def test_the_author_of_an_earlier_state_is_kept_beside_it(
    call: Call, each: Each, connection: psycopg.Connection[Any]
) -> None:
    call("save_session", objective="Begin", project_id="webshop")
    for agent, fact in (("claude", "It keeps carts."), ("codex", "It keeps carts and sessions.")):
        connection.execute("select set_config('pgmem.agent_id', %s, false)", (agent,))
        call("upsert_entity", entity_name="Redis", fact=fact, project_id="webshop")
    (found,) = each("find_memories", ids=[each("list_memories", labels=["EntityFact"])[0]["id"]])
    assert found["agent_id"] == "codex"
    history = each("memory_history", label="EntityFact", key="Redis")
    assert [(one["version"], one["agent_id"]) for one in history] == [(1, "claude"), (2, "codex")]
    changed = connection.execute(
        "select version, agent_id from pgmem.memory_change where title = 'Redis' order by version"
    ).fetchall()
    assert [(one["version"], one["agent_id"]) for one in changed] == [(1, "claude"), (2, "codex")]
