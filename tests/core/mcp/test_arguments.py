"""The message that an agent gets for invalid arguments of a tool: one sentence that says what to send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from psycopg.rows import DictRow

from tests.core.mcp.conftest import Answer, text_of

pytestmark = pytest.mark.anyio

WRONG: tuple[tuple[str, Mapping[str, Any], str], ...] = (
    ("save_decision", {"rationale": "r", "project_id": "p"}, "save_decision: title is missing, send text."),
    (
        "save_decision",
        {"title": 3, "project_id": "p", "confidence": "much"},
        "save_decision: title must be text, not 3; rationale is missing, send text; "
        'confidence must be a number from 0 to 1, not "much".',
    ),
    (
        "save_decision",
        {"title": "t", "rationale": "r", "project_id": "p", "confidence": 1.5},
        "save_decision: confidence must be a number from 0 to 1, not 1.5.",
    ),
    (
        "save_decision",
        {"title": "t", "rationale": "r", "project_id": "p", "date": "31/12/2026"},
        'save_decision: date must be a date as YYYY-MM-DD, not "31/12/2026".',
    ),
    (
        "save_decision",
        {"title": "t", "rationale": "r", "project_id": "p", "save_id": "mine"},
        'save_decision: save_id must be a UUID, not "mine".',
    ),
    (
        "save_decision",
        {"title": "t", "rationale": "r", "project_id": "p", "scope": "universe"},
        'save_decision: scope must be one of global, project, focus, not "universe".',
    ),
    (
        "save_decision",
        {"titel": "t", "rationale": "r", "project_id": "p"},
        'save_decision has no argument "titel": did you mean title?',
    ),
    (
        "get_scope_state",
        {"colour": "red"},
        'get_scope_state has no argument "colour". It takes project_id, focus.',
    ),
    (
        "save_pattern",
        {"trigger": "t", "repeatable_steps": ["a", 2], "project_id": "p"},
        "save_pattern: repeatable_steps[1] must be text, not 2.",
    ),
    (
        "save_pattern",
        {"trigger": "t", "repeatable_steps": "a", "project_id": "p"},
        'save_pattern: repeatable_steps must be a list of texts, not "a".',
    ),
    (
        "upsert_entity",
        {"entity_name": "n", "fact": "f", "project_id": "p", "related_entities": [{"entity_id": 5}]},
        "upsert_entity: related_entities[0].entity_id must be text, not 5.",
    ),
    (
        "store_session_with_learnings",
        {"session": 1, "project_id": "p", "atomic": "perhaps"},
        "store_session_with_learnings: session must be an object, not 1; "
        'atomic must be true or false, not "perhaps".',
    ),
    (
        "search_memory",
        {"query": "q", "limit": 0},
        "search_memory: limit must be a whole number from 1 to 100, not 0.",
    ),
    (
        "search_memory",
        {"query": "q", "limit": -5},
        "search_memory: limit must be a whole number from 1 to 100, not -5.",
    ),
    (
        "neighbours",
        {"label": "Decision", "key": "x", "hops": 99},
        "neighbours: hops must be a whole number from 1 to 5, not 99.",
    ),
    (
        "save_decision",
        {"title": "half \ud83d an emoji", "rationale": "r", "project_id": "p"},
        "title holds a lone surrogate at position 5; send well-formed Unicode.",
    ),
    (
        "store_session_with_learnings",
        {"session": {"objective": "half \ud83d an emoji"}, "project_id": "p"},
        "session holds a lone surrogate at position 5; send well-formed Unicode.",
    ),
    (
        "save_decision",
        {"title": "", "rationale": "r", "project_id": "p"},
        "title must not be empty; send a text.",
    ),
)


@pytest.mark.parametrize(("tool", "arguments", "message"), WRONG)
async def test_wrong_arguments_are_answered_with_what_to_send_and_write_nothing(
    client: Client,
    answer: Answer,
    connection: psycopg.Connection[DictRow],
    tool: str,
    arguments: Mapping[str, Any],
    message: str,
) -> None:
    await answer("save_session", objective="x", project_id="p")
    before = _rows(connection)
    result = await client.call_tool(tool, dict(arguments))
    assert (result.is_error, text_of(result)) == (True, message)
    assert _rows(connection) == before


async def test_a_tool_that_does_not_exist_is_an_error_of_the_protocol_that_lists_those_that_do(
    client: Client,
) -> None:
    """The protocol has -32602 for an unknown tool."""
    with pytest.raises(MCPError) as caught:
        await client.call_tool("remember_everything", {})
    assert caught.value.code == -32602
    assert caught.value.message.startswith("Unknown tool 'remember_everything'. Known: get_scope_state, ")


async def test_an_empty_optional_argument_is_an_absent_one(client: Client, answer: Answer) -> None:
    """In strict mode a model sends every argument, empty where it knows none."""
    await answer("save_session", objective="x", project_id="p", focus="", save_id="", governance_token="")
    saved = await answer(
        "save_decision", title="t", rationale="r", project_id="p", date="", owner="", focus=None
    )
    assert saved["status"] == "saved"
    batch = await answer(
        "store_session_with_learnings",
        session={"objective": "y", "next_actions": [], "open_items": None},
        decisions=[{"title": "u v w", "rationale": "r", "owner": None, "date": ""}],
        project_id="p",
    )
    assert batch["overall"] == "saved"
    await answer("remember", label="Technology", properties={"name": "Redis", "description": "a cache"})
    await answer("remember", label="Technology", properties={"name": "Redis", "description": "", "title": ""})
    (node,) = [await answer("get_node", label="Technology", key="Redis")]
    assert node["properties"] == {"name": "Redis", "description": "a cache"}
    await answer("remember", label="Technology", properties={"name": "Redis", "description": None})
    assert (await answer("get_node", label="Technology", key="Redis"))["properties"] == {"name": "Redis"}


async def test_relations_are_taken_as_a_list_of_targets_or_by_relation(answer: Answer) -> None:
    """The listed schema has a list, which converts to strict mode; the form of the verb is taken too."""
    for name, relations in (
        ("web", [{"type": "USES", "name": "Redis", "label": "Technology"}]),
        ("api", {"USES": ["Kafka", {"name": "Redis", "label": "Technology"}]}),
    ):
        found = await answer("remember", label="Technology", properties={"name": name}, relations=relations)
        assert {made["name"] for made in found["relations_made"]} <= {"Redis", "Kafka"}
        assert found["relations_made"]


async def test_an_unknown_field_of_a_part_is_refused_and_not_dropped(client: Client, answer: Answer) -> None:
    """Typed objects stay open, so that a field that SQL refuses reaches it."""
    await answer("save_session", objective="x", project_id="p")
    batch = await answer(
        "store_session_with_learnings",
        session={"objective": "y"},
        decisions=[{"title": "t", "rationale": "r", "colour": "red"}],
        project_id="p",
    )
    assert batch["decisions"][0]["status"] == "failed"
    assert "colour" in batch["decisions"][0]["message"]


async def test_a_field_that_a_part_has_not_is_named_beside_the_one_that_is_missing(client: Client) -> None:
    found = await client.call_tool(
        "remember",
        {
            "label": "Technology",
            "properties": {"name": "Redis"},
            "relations": [{"rel_type": "USES", "name": "Kafka"}],
        },
    )
    assert text_of(found) == (
        "remember: relations[0].type is missing, send text; relations[0].rel_type is not an argument: leave it out."
    )


async def test_control_characters_are_stripped_from_texts_and_refused_in_keys(
    client: Client, answer: Answer
) -> None:
    await answer("save_session", objective="x", project_id="p")
    await answer("save_context", content="Hello\x00world\tline\nbreak", topic="to\x00pic", project_id="p")
    (item,) = (await answer("retrieve_context", project_id="p", categories=["Context"]))["items"]
    assert (item["content"], item["title"]) == ("Helloworld\tline\nbreak", "topic")
    for project in ("p\x00", "p\x07"):
        result = await client.call_tool("save_session", {"objective": "x", "project_id": project})
        assert result.is_error
        assert "project_id" in text_of(result)


@pytest.mark.parametrize("text", ["'; drop schema pgmem cascade; --", "$$; select 1; $$", "%s %(x)s {} \\"])
async def test_sql_in_a_text_is_a_text(
    answer: Answer, connection: psycopg.Connection[DictRow], text: str
) -> None:
    await answer("save_session", objective=text, project_id=text)
    await answer("save_decision", title=text, rationale=text, project_id=text, owner=text, focus=text)
    found = await answer("retrieve_context", project_id=text, scope="focus", focus=text)
    assert [item["title"] for item in found["items"]] == [text, text]
    assert (await answer("search_memory", query=text))["answered"]
    assert connection.execute("select count(*) from pgmem.decision").fetchone() == {"count": 1}


@pytest.mark.parametrize(
    ("title", "rationale", "message"),
    [
        ("t" * 600, "r", "title has 600 characters; send at most 500 and put the rest into the text."),
        (
            "t",
            "r" * 1_000_000,
            "rationale has 1000000 characters; send at most 100000 (setting max_text_chars).",
        ),
    ],
)
async def test_a_long_text_is_refused_and_not_cut(
    client: Client, answer: Answer, title: str, rationale: str, message: str
) -> None:
    await answer("save_session", objective="x", project_id="p")
    result = await client.call_tool(
        "save_decision", {"title": title, "rationale": rationale, "project_id": "p"}
    )
    assert (result.is_error, text_of(result)) == (True, message)


def _rows(connection: psycopg.Connection[DictRow]) -> DictRow | None:
    return connection.execute(
        "select (select count(*) from pgmem.node) as nodes, (select count(*) from pgmem.edge) as edges,"
        " (select count(*) from pgmem.save_attempt) as saves"
    ).fetchone()


@pytest.mark.parametrize(
    "topic",
    ['["x"]', "[]", '{"a": 1}', "null", "true", "[draft] the till", '[1, 2, {"b": null}]', '"quoted"'],
)
async def test_a_text_that_looks_like_json_stays_a_text_where_text_is_optional(
    answer: Answer, connection: psycopg.Connection[DictRow], topic: str
) -> None:
    await answer("save_session", objective="open", project_id="shop")
    saved = await answer("save_context", content="The till opens at nine.", project_id="shop", topic=topic)
    row = connection.execute("select title from pgmem.node where id = %s", (saved["artifact_id"],)).fetchone()
    assert row == {"title": topic}


async def test_a_list_or_an_object_may_still_be_sent_as_json_text(answer: Answer) -> None:
    await answer("save_session", objective="open", project_id="shop", next_actions='["lock up"]')
    found = await answer("search_memory", query="open", project_id="shop", labels='["Session"]')
    assert len(found["results"]) == 1
