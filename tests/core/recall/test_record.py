"""Tools and hooks record the memories they brought, after they have answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from mcp.client.client import Client
from psycopg.rows import DictRow, dict_row

from pgmem.mcp.server import create_server
from pgmem.settings import load
from tests.conftest import past_the_pooler
from tests.features.editor.conftest import Hook, context, data_dir, hook, repository

__all__ = ["data_dir", "hook"]


@pytest.fixture
def recalled(dsn: str) -> Callable[[], list[DictRow]]:
    """`recalled()`: the view recall, oldest first."""

    def recalled() -> list[DictRow]:
        with psycopg.connect(past_the_pooler(dsn), row_factory=dict_row) as connection:
            return connection.execute("select * from pgmem.recall order by at, by").fetchall()

    return recalled


def server(dsn: str, tmp_path: Path, **settings: Any) -> Client:
    return Client(
        create_server(load(dsn=dsn, data_dir=tmp_path, embedding_provider="none", toolsets="all", **settings))
    )


async def save(client: Client) -> str:
    await client.call_tool("save_session", {"objective": "Open the shop", "project_id": "shop"})
    saved = await client.call_tool(
        "save_context", {"content": "The gate of the yard squeaks in winter", "project_id": "shop"}
    )
    assert saved.structured_content is not None
    return str(saved.structured_content["artifact_id"])


@pytest.mark.anyio
async def test_what_a_tool_brought_is_on_record_when_the_server_has_closed(
    dsn: str, tmp_path: Path, recalled: Callable[[], list[DictRow]]
) -> None:
    async with server(dsn, tmp_path) as client:
        saved = await save(client)
        found = await client.call_tool(
            "search_memory", {"query": "does the gate squeak?", "project_id": "shop"}
        )
        await client.call_tool("retrieve_context", {"project_id": "shop"})
        await client.call_tool("search_memory", {"query": "xylophone", "project_id": "shop"})
        said = await client.call_tool("feedback", {"id": saved, "verdict": "used"})
        assert said.structured_content == {"used": 1, "wrong": 0, "outdated": 0}
    said_row, context_row, search = sorted(recalled(), key=lambda row: str(row["by"]))
    assert (said_row["act"], said_row["memory_ids"]) == ("used", search["memory_ids"])
    assert (search["by"], context_row["by"]) == ("search_memory", "retrieve_context")
    assert [str(one) for one in search["memory_ids"]] == [saved]
    assert saved in {str(one) for one in context_row["memory_ids"]}
    assert {search["act"], context_row["act"]} == {"retrieved"}
    assert search["tokens"] == len(found.content[0].text) // 4  # type: ignore[union-attr]
    assert search["project"] == "shop"


@pytest.mark.anyio
async def test_a_store_that_cannot_be_written_answers_and_records_nothing(
    dsn: str, tmp_path: Path, recalled: Callable[[], list[DictRow]]
) -> None:
    async with server(dsn, tmp_path) as client:
        await save(client)
    read_only = f"{dsn} options='-c default_transaction_read_only=on'"
    async with server(read_only, tmp_path) as client:
        with anyio.fail_after(30):
            for _ in range(2):
                found = await client.call_tool("search_memory", {"query": "the gate", "project_id": "shop"})
                assert not found.is_error
    assert recalled() == []


def test_what_a_hook_brought_is_on_record_with_its_conversation(
    hook: Hook, tmp_path: Path, dsn: str, recalled: Callable[[], list[DictRow]]
) -> None:
    root = repository(tmp_path / "yard")
    event = {"cwd": str(root), "session_id": "s-1"}
    hook({"hook_event_name": "SessionStart", **event})
    assert recalled() == []
    with psycopg.connect(past_the_pooler(dsn), row_factory=dict_row) as connection:
        saved = connection.execute(
            "select artifact_id from pgmem.save_context(p_content => 'The gate of the yard squeaks in winter',"
            " p_project_id => 'yard')"
        ).fetchone()
    assert saved is not None
    text = context(hook({"hook_event_name": "SessionStart", **event}), "SessionStart")
    assert "squeaks" in text
    (row,) = recalled()
    assert row["memory_ids"] == [saved["artifact_id"]]
    assert (row["act"], row["by"], row["session_id"]) == ("injected", "SessionStart", "claude-code:s-1")
    assert (row["agent_id"], row["project"], row["tokens"]) == ("claude-code", "yard", len(text) // 4)


def test_a_hook_over_a_store_that_cannot_be_written_answers_all_the_same(
    hook: Hook, tmp_path: Path, dsn: str, recalled: Callable[[], list[DictRow]]
) -> None:
    root = repository(tmp_path / "yard")
    event = {"hook_event_name": "SessionStart", "cwd": str(root), "session_id": "s-1"}
    hook(event)
    with psycopg.connect(past_the_pooler(dsn)) as connection:
        connection.execute(
            "select pgmem.save_context(p_content => 'The gate of the yard squeaks', p_project_id => 'yard')"
        )
    answer = hook(event, PGMEM_DSN=f"{dsn} options='-c default_transaction_read_only=on'")
    assert "squeaks" in context(answer, "SessionStart")
    assert recalled() == []
