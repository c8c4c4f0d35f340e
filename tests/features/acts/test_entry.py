"""The toolset entry: four tools for a day of work, in few tokens, and a save that names the kind that it found."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from typer.testing import CliRunner

from pgmem.cli import app as command_line
from pgmem.mcp.server import create_server
from pgmem.settings import Settings, load

pytestmark = pytest.mark.anyio

MOST_TOKENS = 900


@pytest.fixture
def settings(dsn: str, tmp_path: Path) -> Settings:
    """A server that lists the toolset entry."""
    return load(dsn=dsn, data_dir=tmp_path, toolsets="entry", embedding_provider="none", retry_wait_s=0)


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[Client]:
    """A client of the server."""
    async with Client(create_server(settings)) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


async def test_four_tools_are_listed_as_a_model_sees_them(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == {"recall", "save", "get_save_status", "feedback"}
    seen = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in tools
    ]
    size = len(json.dumps(seen, separators=(",", ":"), ensure_ascii=False).encode()) / 4
    print(f"toolset entry: {size:.0f} tokens at four bytes each; `python -m benchmarks acts` counts them")
    assert size <= MOST_TOKENS


async def test_a_day_of_work_needs_no_other_tool(client: Client) -> None:
    begun = await called(client, "recall", project_id="shop")
    assert not begun.get("memories")
    kinds = [
        await called(client, "save", project_id="shop", **fields)
        for fields in (
            {"content": "Charge cards through Mollie", "reason": "It supports iDEAL."},
            {"content": "A release is due", "steps": ["Run the tests.", "Tag the commit."]},
            {"content": "The till is green.", "about": "till"},
            {"content": "The warehouse closes at five."},
            {"content": "Built the basket.", "open_items": ["The discount is missing."]},
        )
    ]
    assert [(one["kind"], one["status"]) for one in kinds] == [
        (kind, "saved") for kind in ("decision", "pattern", "fact", "note", "session")
    ]
    assert kinds[0]["message"] == "The project shop was new and is made."
    assert "message" not in kinds[1]
    found = await called(client, "recall", project_id="shop", question="Who charges the cards?")
    assert "Mollie" in found["memories"][0]["text"]
    assert found["memories"][0]["id"] == kinds[0]["id"]
    assert (await called(client, "feedback", id=kinds[0]["id"], verdict="used"))["used"] == 1
    status = await called(client, "get_save_status", project_id="shop")
    assert status["count"] == 0
    newest = await called(client, "recall", project_id="shop")
    assert len(newest["memories"]) >= 5


async def test_a_project_that_is_nearly_named_is_not_made(client: Client) -> None:
    await called(client, "save", project_id="webshop", content="The till is green.")
    wrong = await called(client, "save", project_id="webshp", content="The till is red.")
    assert wrong["status"] == "blocked_scope"
    assert "webshop" in f"{wrong.get('message')} {wrong.get('next_step')}"


async def test_a_near_decision_names_how_it_ended(client: Client) -> None:
    await called(
        client, "save", project_id="shop", content="Keep the orders in one large table", reason="One system."
    )
    near = await called(
        client, "save", project_id="shop", content="Store the orders in a single large table", reason="One."
    )
    assert near["kind"] == "decision"
    assert near["status"] == "failed"
    assert near["save_id"]


def test_connect_writes_the_toolset_and_takes_it_out_again(tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    file.write_text('{\n  "theme": "dark"\n}\n')
    before = file.read_bytes()
    run = CliRunner().invoke
    done = run(command_line, ["connect", "claude-code", "--home", str(tmp_path), "--tools", "entry"])
    assert done.exit_code == 0, done.output
    assert json.loads(file.read_text())["mcpServers"]["pgmem"]["env"]["PGMEM_TOOLSETS"] == "entry"
    assert run(command_line, ["connect", "claude-code", "--home", str(tmp_path), "--undo"]).exit_code == 0
    assert file.read_bytes() == before
    wrong = run(command_line, ["connect", "claude-code", "--home", str(tmp_path), "--tools", "entri"])
    assert wrong.exit_code != 0
    assert "entry" in wrong.output
