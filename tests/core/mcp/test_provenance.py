"""Who saved a memory over MCP: the client as it introduces itself, and the conversation that its hooks know."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp.client.client import Client
from mcp.types import Implementation
from psycopg.rows import DictRow

from pgmem import conversations
from pgmem.mcp.server import create_server
from pgmem.settings import Settings
from tests.conftest import Call

CLIENT = """
import json, subprocess, sys
hook, server = json.loads(sys.argv[1]), json.loads(sys.argv[2])
event = {"session_id": sys.argv[3], "cwd": sys.argv[4], "hook_event_name": "SessionStart", "source": "startup"}
subprocess.run(hook, input=json.dumps(event), text=True, check=True, stdout=subprocess.DEVNULL)
with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
    def ask(number, method, **params):
        sent = {"jsonrpc": "2.0", "method": method, "params": params}
        process.stdin.write(json.dumps({**sent, **({"id": number} if number else {})}) + "\\n")
        process.stdin.flush()
        while number and json.loads(process.stdout.readline()).get("id") != number:
            pass
    ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": sys.argv[5], "version": "1"})
    ask(0, "notifications/initialized")
    ask(2, "tools/call", name="save_session", arguments={"objective": "begin", "project_id": "shop"})
    ask(3, "tools/call", name="save_decision", arguments={
        "title": "Keep carts in Redis", "rationale": "They expire by themselves.", "project_id": "shop"})
    process.stdin.close()
"""


def saved_by(
    connection: psycopg.Connection[DictRow], title: str = "Keep carts in Redis"
) -> tuple[str | None, str | None]:
    row = connection.execute(
        "select author, session_id from pgmem.memory where title = %s", (title,)
    ).fetchone()
    assert row is not None
    return row["author"], row["session_id"]


@pytest.mark.parametrize(
    ("hook_of", "introduced", "session"),
    [
        ("claude-code", "claude-code", "claude-code:4b6f"),
        ("codex", "codex-mcp-client", "codex:4b6f"),
        ("codex", "claude-code", None),  # another client of the same terminal
    ],
)
def test_a_save_names_its_client_and_the_conversation_of_its_hooks(
    connection: psycopg.Connection[DictRow],
    dsn: str,
    tmp_path: Path,
    hook_of: str,
    introduced: str,
    session: str | None,
) -> None:
    """A process that starts the hook and the server, as a client does."""
    command = [sys.executable, "-m", "pgmem"]
    arguments = [
        json.dumps([*command, "hook", "SessionStart", "--client", hook_of]),
        json.dumps([*command, "mcp"]),
        "4b6f",
        str(tmp_path),
        introduced,
    ]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PGMEM_", "DEFAULT_"))}
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CLIENT), *arguments],
        check=True,
        timeout=120,
        cwd=Path(__file__).parents[3],
        env={
            **kept,
            "PGMEM_DSN": dsn,
            "PGMEM_DATA_DIR": str(tmp_path / "data"),
            "EMBEDDING_PROVIDER": "none",
            "PGMEM_PROJECT": "shop",
        },
    )
    author, found = saved_by(connection)
    assert author == introduced
    if session is None:
        assert found is not None
        assert found.startswith(f"{introduced}:")
        assert not found.endswith("4b6f")
    else:
        assert found == session


async def _save(settings: Settings, client: str, title: str) -> None:
    async with Client(create_server(settings), client_info=Implementation(name=client, version="1")) as asked:
        for tool, arguments in (
            ("save_session", {"objective": "begin"}),
            ("save_decision", {"title": title, "rationale": "They expire by themselves."}),
        ):
            answer = await asked.call_tool(tool, {**arguments, "project_id": "shop"})
            assert not answer.is_error, answer


@pytest.mark.anyio
async def test_a_client_without_hooks_has_the_connection_as_its_session(
    settings: Settings, connection: psycopg.Connection[DictRow]
) -> None:
    await _save(settings, "zed\x00\n", "Keep carts in Redis")
    await _save(settings, "zed", "Send invoices as PDF")
    first, second = saved_by(connection), saved_by(connection, "Send invoices as PDF")
    assert first[0] == second[0] == "zed"
    assert str(first[1]).startswith("zed:")
    assert first[1] != second[1]


@pytest.mark.anyio
async def test_a_name_that_was_set_is_kept_before_the_name_of_the_client(
    settings: Settings, connection: psycopg.Connection[DictRow]
) -> None:
    await _save(
        settings.model_copy(update={"agent_id": "night shift", "session_id": "tuesday"}),
        "zed",
        "Keep carts in Redis",
    )
    assert saved_by(connection) == ("night shift", "tuesday")


@pytest.mark.anyio
async def test_the_author_stays_when_a_person_edits(
    settings: Settings, connection: psycopg.Connection[DictRow], call: Call
) -> None:
    await _save(settings, "zed", "Keep carts in Redis")
    entry = connection.execute(
        "select id, version, agent_id, author from pgmem.list_memories('shop') where label = 'Decision'"
    ).fetchone()
    assert entry is not None
    assert (entry["agent_id"], entry["author"]) == ("zed", "zed")
    call(
        "edit_memory",
        id=entry["id"],
        version=entry["version"],
        properties={"rationale": "They expire after a day."},
        by="ada",
        whole=True,
    )
    for view in ("decision", "memory"):
        row = connection.execute(
            f"select agent_id, author from pgmem.{view} where id = %s", (entry["id"],)
        ).fetchone()
        assert row == {"agent_id": "ada", "author": "zed"}
    node: dict[str, Any] = call("get_node", label="Decision", key="Keep carts in Redis", project_id="shop")
    assert (node["agent_id"], node["author"]) == ("ada", "zed")


def test_a_note_of_another_process_does_not_count(tmp_path: Path) -> None:
    conversations.note(tmp_path, "claude-code", "a")
    assert conversations.current(tmp_path, "claude-code") == "claude-code:a"
    assert conversations.current(tmp_path, "codex") is None
    conversations.note(tmp_path, "claude-code", "b")  # the person began a new one in the same client
    assert conversations.current(tmp_path, "claude-code") == "claude-code:b"
    for path in (tmp_path / "hooks" / "processes").iterdir():
        path.rename(path.with_name(f"1{path.name}"))
    assert conversations.current(tmp_path, "claude-code") is None
