"""Every tool: its description for clients, and its answers on a real database."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator, ValidationError
from mcp.client.client import Client
from mcp.types import Tool

from pgmem.mcp.server import create_server
from pgmem.settings import Settings, load
from tests.core.mcp.conftest import Answer, text_of

pytestmark = pytest.mark.anyio

SAVE_ID = "00000000-0000-4000-8000-000000000001"
# One call of each tool, in an order in which each finds its input, with the text that its answer must hold.
DAY: tuple[tuple[str, Mapping[str, Any], Mapping[str, Any]], ...] = (
    ("get_scope_state", {"project_id": "shop"}, {"scope_state": "uncertain", "write_permitted": False}),
    ("save_session", {"objective": "Open the shop", "project_id": "shop"}, {"status": "saved"}),
    (
        "save_decision",
        {"title": "Sell tea", "rationale": "We like it", "project_id": "shop", "save_id": SAVE_ID},
        {"status": "saved", "dedup_outcome": "new", "save_id": SAVE_ID},
    ),
    (
        "save_pattern",
        {"trigger": "Morning", "repeatable_steps": ["Open", "Sweep"], "project_id": "shop"},
        {"status": "saved", "dedup_outcome": "new"},
    ),
    (
        "save_context",
        {"content": "The gate squeaks", "topic": "gate", "project_id": "shop"},
        {"status": "saved"},
    ),
    (
        "upsert_entity",
        {"entity_name": "Ada", "fact": "Keeps the till", "project_id": "shop"},
        {"status": "saved", "dedup_outcome": "new"},
    ),
    (
        "store_session_with_learnings",
        {
            "session": {"objective": "Close the shop"},
            "project_id": "shop",
            "decisions": [{"title": "Never sell coffee", "rationale": "The neighbour does"}],
            "patterns": [{"trigger": "Evening", "repeatable_steps": ["Count the till"]}],
        },
        {"overall": "saved"},
    ),
    ("request_global_write_approval", {"content_preview": "Be kind"}, {"ttl_seconds": 60}),
    ("get_save_status", {"project_id": "shop"}, {"count": 0}),
    ("list_projects", {}, {}),
    (
        "relate",
        {
            "from_label": "Decision",
            "from_key": "Sell tea",
            "rel_type": "CONFLICTS_WITH",
            "to_label": "Decision",
            "to_key": "Never sell coffee",
            "project_id": "shop",
        },
        {"rel_type": "CONFLICTS_WITH", "created": True},
    ),
    ("neighbours", {"label": "Decision", "key": "Sell tea", "project_id": "shop"}, {}),
    ("search_memory", {"query": "what about the gate?", "project_id": "shop"}, {}),
    ("forget", {"label": "Context", "key": "gate", "project_id": "shop"}, {"status": "archived"}),
    (
        "revert",
        {"label": "Context", "key": "gate", "version": 1, "project_id": "shop"},
        {"status": "active", "reverted_to": 1},
    ),
    ("retrieve_context", {"project_id": "shop"}, {"retrieval_status": "conflicted", "conflicts_found": True}),
    (
        "remember",
        {"label": "Technology", "properties": {"name": "Till"}, "project_id": "shop"},
        {"status": "active"},
    ),
    ("run_hygiene", {"project_id": "shop"}, {}),
    ("memory_freshness", {"project_id": "shop"}, {}),
    ("reflect", {}, {}),
    ("surface_insights", {}, {}),
    ("route_analysis", {"task_description": "Plan the phases of the project"}, {}),
)


async def tools_of(settings: Settings) -> list[Tool]:
    async with Client(create_server(settings)) as client:
        return (await client.list_tools()).tools


async def test_every_tool_answers_with_what_its_output_schema_says(client: Client, answer: Answer) -> None:
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    for tool, arguments, expected in DAY:
        found = await answer(tool, **arguments)
        Draft202012Validator(schemas[tool] or {"not": {}}).validate(found)
        assert {name: found[name] for name in expected} == expected, tool


async def test_every_tool_of_core_is_called_here(settings: Settings) -> None:
    listed = await tools_of(settings.model_copy(update={"toolsets": ("core", "graph", "quality")}))
    day = [tool for tool, _, _ in DAY]
    assert {tool.name for tool in listed} >= set(day)
    core = {tool.name for tool in await tools_of(settings.model_copy(update={"toolsets": ("core",)}))}
    # These take an id: tests/core/recall and the next test.
    assert core - {"feedback", "confirm"} <= set(day)


async def test_an_agent_confirms_what_it_found(client: Client, answer: Answer) -> None:
    await answer("save_session", objective="Open the shop", project_id="shop")
    made = await answer("save_decision", title="Sell tea", rationale="We like it", project_id="shop")
    done = await answer("confirm", id=made["artifact_id"])
    (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "confirm"]
    Draft202012Validator(tool.output_schema or {"not": {}}).validate(done)
    assert (done["id"], done["title"]) == (made["artifact_id"], "Sell tea")


async def test_every_tool_says_what_it_does_to_the_world_and_what_it_answers(client: Client) -> None:
    tools = (await client.list_tools()).tools
    for tool in tools:
        hints = tool.annotations
        assert hints is not None, tool.name
        assert hints.read_only_hint is not None, tool.name
        assert hints.open_world_hint is False, tool.name
        assert hints.read_only_hint or hints.destructive_hint is not None, tool.name
        assert hints.idempotent_hint in (True, None), tool.name  # left out means false
        assert tool.output_schema, tool.name
        Draft202012Validator.check_schema(tool.output_schema)
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.description, tool.name
    readers = {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint}
    assert readers & {"get_scope_state", "retrieve_context", "search_memory", "neighbours", "get_save_status"}
    assert not [
        name for name in readers if name.startswith(("save_", "upsert", "store_", "relate", "request_"))
    ]


async def test_an_output_schema_refuses_what_no_tool_answers(client: Client, answer: Answer) -> None:
    (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "save_session"]
    assert tool.output_schema is not None
    found = await answer("save_session", objective="x", project_id="p")
    for broken in ({**found, "status": "perhaps"}, {k: v for k, v in found.items() if k != "status"}):
        with pytest.raises(ValidationError):
            Draft202012Validator(tool.output_schema).validate(broken)


@pytest.mark.parametrize(
    ("toolsets", "seen", "served"), [(None, 2600, 3450), ("core,graph", 3120, 4060), ("all", 4950, 6320)]
)
async def test_the_list_of_tools_leaves_the_agent_its_context(
    settings: Settings, toolsets: str | None, seen: int, served: int
) -> None:
    """The list as a model sees it, and as it is served, with output schemas, at four bytes a token."""
    tools = await tools_of(load(dsn=settings.dsn, data_dir=settings.data_dir, toolsets=toolsets))
    whole = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]
    short = [{part: tool[part] for part in ("name", "description", "inputSchema")} for tool in whole]
    sizes = [
        len(json.dumps({"tools": each}, separators=(",", ":"), ensure_ascii=False).encode()) / 4
        for each in (short, whole)
    ]
    print(
        f"toolsets {toolsets or 'by default'}: {len(tools)} tools, {sizes[0]:.0f} tokens, {sizes[1]:.0f} served"
    )
    assert sizes[0] <= seen
    assert sizes[1] <= served


async def test_a_description_says_in_sentences_when_to_call(settings: Settings) -> None:
    for tool in await tools_of(settings.model_copy(update={"toolsets": ("core",)})):
        assert re.match(r"Call this (when|before|to|for) ", tool.description or ""), tool.name
        assert (tool.description or "").endswith("."), tool.name


async def test_every_parameter_is_described_and_every_object_typed(settings: Settings) -> None:
    """An agent learns the arguments from the list, not from errors."""
    for tool in await tools_of(settings):
        assert tool.description, tool.name
        for name, part in tool.input_schema["properties"].items():
            assert part.get("description"), f"{tool.name}.{name}"
        for path, part in parts(tool.input_schema, tool.name):
            assert part.get("type"), path
            assert part["type"] != "object" or "properties" in part, path
            assert part["type"] != "array" or part["items"].get("type"), path


async def test_no_schema_has_a_format_a_reference_or_a_null_that_a_client_may_refuse(
    settings: Settings,
) -> None:
    """Some clients refuse formats but date-time, references and lists of types."""
    for tool in await tools_of(settings):
        for path, part in [
            *parts(tool.input_schema, tool.name),
            *parts(tool.output_schema or {}, f"{tool.name}()"),
        ]:
            assert part.get("format") in (None, "date-time"), path
            assert not {"$ref", "$defs", "anyOf", "allOf", "oneOf"} & set(part), path
            assert not isinstance(part.get("type"), list), path


async def test_every_tool_converts_to_the_strict_mode_of_openai(settings: Settings) -> None:
    """28 of 28, as openai-agents converts the tools of a server: an open object without fields is refused."""
    from agents.strict_schema import ensure_strict_json_schema

    tools = await tools_of(settings)
    for tool in tools:
        strict = ensure_strict_json_schema(copy.deepcopy(tool.input_schema), _reject_open_objects=True)
        assert strict["additionalProperties"] is False, tool.name
        assert strict["required"] == list(strict["properties"]), tool.name
    print(f"{len(tools)} of {len(tools)} tools convert to strict mode")


def parts(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas inside a schema, with their places."""
    for name, part in schema.get("properties", {}).items():
        if path.endswith("()"):  # an answer names its choices alone
            part = {"type": "string", **part}
        yield f"{path}.{name}", part
        yield from parts(part, f"{path}.{name}")
    if "items" in schema:
        yield f"{path}[]", schema["items"]
        yield from parts(schema["items"], f"{path}[]")


async def test_what_is_saved_asks_for_no_further_call(answer: Answer) -> None:
    """Advice to confirm a save costs a call each time."""
    await answer("save_session", objective="x", project_id="p")
    saved = await answer("save_decision", title="t", rationale="r", project_id="p")
    assert set(saved) == {"status", "artifact_id", "dedup_outcome", "save_id"}


async def test_arguments_that_are_not_listed_are_taken(client: Client, answer: Answer) -> None:
    """Fields that programs use and models do without cost no tokens."""
    (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "save_session"]
    assert "save_id" not in tool.input_schema["properties"]
    first = await answer("save_session", objective="x", project_id="p", save_id=SAVE_ID)
    again = await answer("save_session", objective="x", project_id="p", save_id=SAVE_ID)
    assert first["artifact_id"] == again["artifact_id"]


async def test_the_same_decision_again_is_skipped_and_a_near_one_goes_to_a_person(answer: Answer) -> None:
    await answer("save_session", objective="x", project_id="p")
    first = await answer("save_decision", title="a b c", rationale="r", project_id="p")
    again = await answer("save_decision", title="A, b: c!", rationale="R", project_id="p")
    assert (again["status"], again["dedup_outcome"]) == ("saved", "duplicate_skip")
    assert again["artifact_id"] == first["artifact_id"]
    half = await answer("save_decision", title="a b d", rationale="r", project_id="p")
    assert (half["status"], half["dedup_outcome"]) == ("failed", "manual_review")
    assert half["candidate_id"] == first["artifact_id"]
    waiting = await answer("get_save_status", project_id="p")
    assert (waiting["status"], waiting["count"]) == ("failed", 1)
    assert UUID(waiting["saves"][0]["save_id"]) == UUID(half["save_id"])


async def test_a_refusal_by_the_rules_is_a_status_and_no_error(answer: Answer) -> None:
    blocked = await answer("save_decision", title="t", rationale="r", project_id="nowhere")
    assert blocked["status"] == "blocked_scope"
    assert "artifact_id" not in blocked
    await answer("save_session", objective="x", project_id="p")
    ungoverned = await answer("save_decision", title="t", rationale="r", project_id="p", scope="global")
    assert ungoverned["status"] == "failed"
    assert "governance token" in ungoverned["message"]
    token = (await answer("request_global_write_approval", content_preview="t: r"))["token"]
    governed = await answer(
        "save_decision", title="t", rationale="r", project_id="p", scope="global", governance_token=token
    )
    assert governed["status"] == "saved"


async def test_an_answer_is_sent_without_nulls_and_on_one_line(client: Client, answer: Answer) -> None:
    """An agent pays for every null and every blank of an indentation."""
    await answer("save_session", objective="x", project_id="p")
    await answer("save_decision", title="keep it short", rationale="r", project_id="p")
    found = await client.call_tool("retrieve_context", {"project_id": "p"})
    text = text_of(found)
    assert "null" not in text
    assert len(text.splitlines()) == 1
    assert json.loads(text) == found.structured_content
    assert found.structured_content is not None
    decision = next(item for item in found.structured_content["items"] if item["label"] == "Decision")
    assert decision["title"] == "keep it short"
    assert "actions_taken" not in decision


async def test_a_batch_answers_for_each_of_its_parts(answer: Answer) -> None:
    await answer("save_session", objective="first", project_id="p")
    await answer("save_decision", title="one two three", rationale="r", project_id="p")
    parts = {
        "session": {"objective": "x", "open_items": ["y"]},
        "decisions": [{"title": "ten", "rationale": "r"}, {"title": "one two four", "rationale": "r"}],
    }
    whole = await answer("store_session_with_learnings", project_id="p", atomic=True, **parts)
    assert whole["overall"] == "failed"
    batch = await answer("store_session_with_learnings", project_id="p", **parts)
    assert batch["overall"] == "partial"
    assert [part["dedup_outcome"] for part in batch["decisions"]] == ["new", "manual_review"]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"title": "", "rationale": "x"}, "title"),
        ({"title": "Warm the oven first"}, "rationale"),
        ({"title": 5, "rationale": ["x"]}, "title"),
        ({"title": "x" * 501, "rationale": "x"}, "title"),
    ],
)
async def test_a_part_that_is_refused_leaves_the_others_of_a_batch_saved(
    answer: Answer, part: dict[str, object], said: str
) -> None:
    await answer("save_session", objective="first", project_id="p")
    good = {"title": "Bake the rye at dawn", "rationale": "It sells by nine"}
    batch = await answer(
        "store_session_with_learnings", session={"objective": "x"}, decisions=[part, good], project_id="p"
    )
    assert batch["overall"] == "partial"
    assert [batch["session"]["status"], *(d["status"] for d in batch["decisions"])] == [
        "saved",
        "failed",
        "saved",
    ]
    assert said in batch["decisions"][0]["message"]


async def test_the_message_of_a_refusing_verb_has_no_prefix(client: Client) -> None:
    result = await client.call_tool("neighbours", {"label": "Decision", "key": "unheard of"})
    assert (result.is_error, text_of(result)) == (True, "No Decision named 'unheard of' found.")
    result = await client.call_tool("search_memory", {"query": "x", "labels": ["Rumour"]})
    assert result.is_error
    assert text_of(result).startswith("Unknown label 'Rumour'. Known: ")


async def test_an_agent_searches_the_past(client: Client, answer: Answer) -> None:
    """Search_memory takes as_of and known_at."""
    await answer("save_session", objective="open", project_id="shop")
    await answer("upsert_entity", entity_name="till", fact="beside the gate", project_id="shop")
    for when in ({"as_of": "2100-01-01"}, {"known_at": "2100-01-01"}):
        found = await answer("search_memory", query="gate", **when)
        assert [result["title"] for result in found["results"]] == ["till"]
        assert found["search_mode"]["mode"] == "fulltext_only"
        assert "recorded states" in found["search_mode"]["reason"]
    assert (await answer("search_memory", query="gate", as_of="1999-01-01"))["results"] == []
