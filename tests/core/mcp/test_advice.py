"""An agent that calls only listed tools, and follows each answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp.client.client import Client

from pgmem._verbs import VERBS
from pgmem.mcp.server import INSTRUCTIONS, create_server
from pgmem.settings import load

pytestmark = pytest.mark.anyio

SHOP: dict[str, Any] = {"project_id": "shop"}
PATH: list[tuple[str, dict[str, Any]]] = [
    ("get_scope_state", SHOP),
    ("retrieve_context", SHOP),
    ("save_decision", {"title": "Sell tea", "rationale": "We like it", **SHOP}),
    ("save_session", {"objective": "Open the shop", **SHOP}),
    ("save_decision", {"title": "Sell green tea in tins", "rationale": "It keeps", **SHOP}),
    ("save_decision", {"title": "Sell green tea in bags", "rationale": "It is cheap", **SHOP}),
    ("save_pattern", {"trigger": "A new tea", "repeatable_steps": ["Taste it"], **SHOP}),
    ("save_context", {"content": "The till is on the left", "topic": "till", **SHOP}),
    ("upsert_entity", {"entity_name": "till", "fact": "It is green", **SHOP}),
    ("remember", {"label": "Technology", "properties": {"name": "Redis"}, "relations": {"USES": ["x"]}, **SHOP}),
    ("save_context", {"content": "Tea is hot", "topic": "tea", "scope": "global", **SHOP}),
    ("get_save_status", SHOP),
    ("retrieve_context", SHOP),
    ("retrieve_context", {"topic": "nothing of this", **SHOP}),
    ("search_memory", {"query": "where is the till", **SHOP}),
    ("search_memory", {"query": "zeppelins over Friedrichshafen", **SHOP}),
    *(("remember", {"label": "Technology", "properties": {"name": name}, "relations": {"USES": ["Redis"]}, **SHOP})
      for name in ("Cart", "Till", "Shelf")),
    ("save_decision", {"title": "Sell green tea in tins", "rationale": "It keeps for a year", **SHOP}),
    ("forget", {"label": "Decision", "key": "Sell green tea in tins", **SHOP}),
    ("run_hygiene", SHOP),
    ("memory_freshness", SHOP),
]  # fmt: skip
FOLLOWED: dict[str, dict[str, Any]] = {
    **dict(PATH),
    "request_global_write_approval": {"content_preview": "tea: Tea is hot"},
}
"""The arguments of a tool that an answer names; the last of each in PATH."""

BY_NAME = {"revert"}
"""Tools that answers name, whose arguments only those answers hold."""


async def test_what_answers_advise_is_listed_and_ends(dsn: str, tmp_path: Path) -> None:
    settings = load(dsn=dsn, data_dir=tmp_path, embedding_provider="none", retry_wait_s=0)
    async with Client(create_server(settings)) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert set(re.findall(r"\w+_\w+|\w+", INSTRUCTIONS)) & set(VERBS) <= listed
        called, steps, named = set(), list(PATH), set[str]()
        while steps:
            tool, arguments = steps.pop(0)
            result = await client.call_tool(tool, arguments)
            called.add(tool)
            assert result.structured_content is not None, (tool, result)
            said = result.structured_content
            text = f"{said.get('next_step')} {said.get('proactive_hint')} {said.get('message')}"
            text = re.sub(r"A person decides: .*", "", text)  # what an agent has no tool for
            advised = {
                word for word in re.findall(r"\w+", text) if "_" in word or word in ("relate", "revert")
            } & set(VERBS)
            assert advised <= listed, (tool, text)
            steps += [
                (name, FOLLOWED[name])
                for name in sorted(advised - called - BY_NAME)
                if (name, FOLLOWED[name]) not in steps
            ]
            named |= advised
        assert called >= {tool for tool, _ in PATH}
        assert named >= BY_NAME


async def test_a_memory_is_confirmed_by_the_id_that_a_context_shows(dsn: str, tmp_path: Path) -> None:
    settings = load(dsn=dsn, data_dir=tmp_path, embedding_provider="none", retry_wait_s=0)
    async with Client(create_server(settings)) as client:
        for tool, arguments in (
            ("save_session", {"objective": "Open the shop", **SHOP}),
            ("save_context", {"content": "The till is on the left", **SHOP}),
        ):
            await client.call_tool(tool, arguments)
        with psycopg.connect(dsn) as connection:
            connection.execute("update pgmem.node set updated_at = updated_at - interval '90 days'")
        shown = (await client.call_tool("retrieve_context", SHOP)).structured_content
        assert shown is not None
        (item,) = [item for item in shown["items"] if "label" not in item]
        assert item["freshness"] == "stale"
        confirmed = await client.call_tool("confirm", {"id": item["id"]})
        assert confirmed.structured_content is not None
        assert confirmed.structured_content["title"] == "The till is on the left"
