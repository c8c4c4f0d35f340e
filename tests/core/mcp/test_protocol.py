"""Demands of the protocol beside tools: codes of errors, completion, templates, progress, a quiet stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from pgmem.mcp import server as server_module
from tests.conftest import stores_of
from tests.core.mcp.conftest import Answer
from tests.fixtures.amounts import amount
from tests.fixtures.clusters import CopyTo

pytestmark = pytest.mark.anyio

PROJECT, FOCUS = "pgmem://project/{project_id}", "pgmem://project/{project_id}/{focus}"
WRONG_PROMPTS: tuple[tuple[str, Mapping[str, str], str], ...] = (
    ("begin", {}, "Unknown prompt 'begin'. Known: start_session, "),
    ("start_session", {}, "start_session: project_id is missing, send text."),
    ("start_session", {"project_id": "p", "colour": "red"}, 'start_session has no argument "colour".'),
)


@pytest.mark.parametrize(("name", "arguments", "message"), WRONG_PROMPTS)
async def test_a_wrong_request_for_a_prompt_is_invalid_parameters(
    client: Client, name: str, arguments: dict[str, str], message: str
) -> None:
    """-32602, which the protocol has for it; it was 0 or -32603."""
    with pytest.raises(MCPError) as caught:
        await client.get_prompt(name, dict(arguments))
    assert caught.value.code == -32602
    assert caught.value.message.startswith(message)


def requests(protocol: str) -> list[dict[str, Any]]:
    """A session of one protocol in which every request but the last is wrong."""
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("prompts/get", {"name": "nope"}),
        ("prompts/get", {"name": "start_session"}),
        ("tools/call", {"name": "nope", "arguments": {}}),
        ("tools/call", {"arguments": {}}),
        ("resources/read", {"uri": "pgmem://nope"}),
        ("resources/read", {"uri": "pgmem://session/yesterday"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "nope"}, "argument": {"name": "a", "value": ""}},
        ),
        ("nope/nope", {}),
        ("tools/call", {"name": "save_session", "arguments": {"objective": "x", "project_id": "p"}}),
    ]
    key = "io.modelcontextprotocol/"
    who = {"name": "t", "version": "1"}
    meta = {f"{key}protocolVersion": protocol, f"{key}clientInfo": who, f"{key}clientCapabilities": {}}
    modern = {"_meta": meta} if protocol >= "2026" else {}
    lines = [
        {"jsonrpc": "2.0", "id": n, "method": m, "params": p | modern} for n, (m, p) in enumerate(wrong, 2)
    ]
    if modern:
        return lines
    hello = {"protocolVersion": protocol, "capabilities": {}, "clientInfo": who}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *lines,
    ]


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
def test_wrong_requests_get_their_codes_and_leave_stderr_empty(
    dsn: str, tmp_path: Path, protocol: str
) -> None:
    """Each error over stdio printed a traceback of twenty lines, and the codes differed between protocols."""
    environment = {
        **os.environ,
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(tmp_path),
        "EMBEDDING_PROVIDER": "none",
    }
    command = [sys.executable, "-m", "pgmem", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
    ) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        answers = {}
        for request in requests(protocol):
            started.stdin.write(json.dumps(request) + "\n")
            started.stdin.flush()
            if "id" in request:
                answers[request["id"]] = json.loads(started.stdout.readline())
        _, errors = started.communicate(timeout=60)
    codes = [answers[n]["error"]["code"] for n in range(2, 10)]
    assert codes == [-32602] * 7 + [-32601]
    assert answers[10]["result"]["structuredContent"]["status"] == "saved"
    assert errors == ""


def test_short_sessions_side_by_side_end_without_a_word(place: Path, installed: CopyTo) -> None:
    """A session that ended while another stopped the embedded server said that it does not answer."""
    installed(place / "data")
    environment = {name: value for name, value in os.environ.items() if name != "PGMEM_DSN"}
    environment |= {"PGMEM_DATA_DIR": str(place / "data"), "EMBEDDING_PROVIDER": "none"}
    command, pipe = [sys.executable, "-m", "pgmem", "mcp"], subprocess.PIPE
    for _ in range(amount(1, 2)):
        sessions = [
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
            for _ in range(3)
        ]
        hello = "\n".join(json.dumps(line) for line in requests("2025-11-25")[:2])
        ended = [session.communicate(hello, timeout=120) for session in sessions]
        assert [error for _, error in ended] == ["", "", ""]
        assert [session.returncode for session in sessions] == [0, 0, 0]


async def test_projects_focus_areas_labels_and_sessions_are_completed(client: Client, answer: Answer) -> None:
    for project, focus in (("shop", "checkout"), ("shop", "Chat"), ("Shed", "roof"), ("web", None)):
        await answer("save_session", objective="x", project_id=project, **({"focus": focus} if focus else {}))
    start = PromptReference(name="start_session")
    complete = client.complete
    assert (await complete(start, {"name": "project_id", "value": "sh"})).completion.values == [
        "Shed",
        "shop",
    ]
    found = await complete(start, {"name": "focus", "value": "ch"}, context_arguments={"project_id": "shop"})
    assert found.completion.values == ["Chat", "checkout"]
    area = ResourceTemplateReference(uri=FOCUS)
    found = await complete(area, {"name": "focus", "value": ""}, context_arguments={"project_id": "Shed"})
    assert found.completion.values == ["roof"]
    whole = ResourceTemplateReference(uri="pgmem://memory/{label}/{key}")
    labels = (await complete(whole, {"name": "label", "value": "de"})).completion.values
    assert labels == ["Decision"]
    sessions = ResourceTemplateReference(uri="pgmem://session/{session_id}")
    assert len((await complete(sessions, {"name": "session_id", "value": ""})).completion.values) == 4
    assert (await complete(whole, {"name": "key", "value": "a"})).completion.values == []
    with pytest.raises(MCPError) as caught:
        await complete(PromptReference(name="nope"), {"name": "project_id", "value": ""})
    assert caught.value.code == -32602


async def test_a_focus_area_and_a_memory_are_resources_by_name(client: Client, answer: Answer) -> None:
    await answer("save_session", objective="x", project_id="shop", focus="till")
    await answer("upsert_entity", entity_name="Ada", fact="Keeps the till", project_id="shop")
    templates = [t.uri_template for t in (await client.list_resource_templates()).resource_templates]
    assert {PROJECT, FOCUS, "pgmem://memory/{label}/{key}"} <= set(templates)
    for uri, held in (
        ("pgmem://project/shop/till", "items"),
        ("pgmem://memory/EntityFact/Ada", "properties"),
    ):
        (content,) = (await client.read_resource(uri)).contents
        assert held in json.loads(getattr(content, "text", "")), uri
    with pytest.raises(MCPError) as caught:
        await client.read_resource("pgmem://memory/EntityFact/Nobody")
    assert caught.value.code == -32602


async def test_a_long_call_reports_its_progress(
    client: Client, answer: Answer, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that sends a progress token hears from a call that waits for a lock; nobody else does."""
    monkeypatch.setattr(server_module, "_TICK_S", 0.05)
    await answer("save_session", objective="x", project_id="p")
    reported: list[float] = []
    enough = anyio.Event()

    async def note_progress(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)
        if len(reported) == 3:
            enough.set()

    async with await psycopg.AsyncConnection.connect(stores_of(dsn)[0]) as other:
        await other.execute("lock table pgmem.node in access exclusive mode")
        async with anyio.create_task_group() as tasks:

            async def save() -> None:
                note = {"content": "n", "project_id": "p"}
                result = await client.call_tool("save_context", note, progress_callback=note_progress)
                assert not result.is_error

            tasks.start_soon(save)
            with anyio.fail_after(20):
                await enough.wait()
            await other.rollback()
    assert reported == sorted(set(reported))
