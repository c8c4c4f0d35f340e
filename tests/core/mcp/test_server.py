"""The server around the tools: its offers, and its answers while its database is away."""

from __future__ import annotations

import fcntl
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from pgmem.errors import InvalidArgument
from pgmem.install.schema import release
from pgmem.mcp.server import create_server
from pgmem.server import embedded
from pgmem.settings import Settings, load
from tests.core.mcp.conftest import Answer, text_of

pytestmark = pytest.mark.anyio

CORE = {
    *(
        "get_scope_state",
        "retrieve_context",
        "search_memory",
        "save_session",
        "save_decision",
        "save_pattern",
    ),
    *("save_context", "upsert_entity", "store_session_with_learnings", "request_global_write_approval"),
    *("get_save_status", "forget", "remember", "run_hygiene", "revert"),
    *("confirm", "feedback", "list_projects"),
}
SAVE = {"title": "t", "rationale": "r", "project_id": "p"}


@pytest.fixture
def nowhere(tmp_path: Path) -> Settings:
    """A DSN with a port on which no server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    return away(f"host=127.0.0.1 port={port} dbname=x", tmp_path)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Settings]:
    """A DSN where connections are taken and nothing is ever answered."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield away(f"host=127.0.0.1 port={listening.getsockname()[1]} dbname=x", tmp_path)


def away(dsn: str | None, data_dir: Path) -> Settings:
    return load(dsn=dsn, data_dir=data_dir, embedding_provider="none", retry_wait_s=0, connect_timeout_s=2)


# While the database is away


async def test_a_client_is_greeted_and_gets_the_tools_before_the_database_answers(silent: Settings) -> None:
    async with Client(create_server(silent)) as client:
        assert client.server_info is not None
        assert client.server_info.version == release()
        assert client.instructions is not None
        assert "get_scope_state" in client.instructions
        assert {tool.name for tool in (await client.list_tools()).tools} >= CORE
        assert [prompt.name for prompt in (await client.list_prompts()).prompts]


async def test_a_save_is_kept_for_a_database_that_is_away(nowhere: Settings) -> None:
    async with Client(create_server(nowhere)) as client:
        result = await client.call_tool("save_decision", SAVE)
        assert result.structured_content is not None
        assert result.structured_content["status"] == "pending_retry"
        assert "outbox" in result.structured_content["message"]
        batch = await client.call_tool(
            "store_session_with_learnings", {"session": {"objective": "x"}, "project_id": "p"}
        )
        assert batch.structured_content is not None
        assert batch.structured_content["overall"] == "pending_retry"
    assert len(list(nowhere.outbox_dir.rglob("*.json"))) == 2


async def test_a_global_save_is_not_kept_for_later(nowhere: Settings) -> None:
    async with Client(create_server(nowhere)) as client:
        result = await client.call_tool("save_decision", {**SAVE, "scope": "global", "governance_token": "x"})
    assert result.structured_content is not None
    assert result.structured_content["status"] == "failed"
    assert not list(nowhere.outbox_dir.rglob("*.json"))


async def test_a_context_is_failed_and_other_reads_say_why(nowhere: Settings) -> None:
    async with Client(create_server(nowhere)) as client:
        found = (await client.call_tool("retrieve_context", {"project_id": "p"})).structured_content
        assert found is not None
        assert (found["retrieval_status"], found["items"]) == ("failed", [])
        assert found["next_step"]
        for tool, arguments in (
            ("get_scope_state", {"project_id": "p"}),
            ("search_memory", {"query": "q"}),
            ("get_save_status", {"project_id": "p"}),
            ("forget", {"label": "Decision", "key": "t"}),
            ("request_global_write_approval", {"content_preview": "c"}),
        ):
            result = await client.call_tool(tool, arguments)
            assert result.is_error, tool
            assert text_of(result).startswith("PGMEM_DSN does not answer: "), tool
            assert text_of(result).endswith("Try again later; a save would be queued."), tool
        with pytest.raises(MCPError, match="PGMEM_DSN does not answer"):
            await client.read_resource("pgmem://status")


async def test_no_save_is_promised_where_the_outbox_cannot_be_written(nowhere: Settings) -> None:
    nowhere.outbox_dir.parent.mkdir(parents=True, exist_ok=True)
    nowhere.outbox_dir.write_text("a file in the place of the folder")
    async with Client(create_server(nowhere)) as client:
        result = await client.call_tool("search_memory", {"query": "q"})
        assert result.is_error
        assert text_of(result).endswith(". Try again later.")


async def test_a_store_without_schema_names_the_command_that_makes_it(
    server: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = load(dsn=server, data_dir=tmp_path, embedding_provider="none")
    async with Client(create_server(settings)) as client:
        for tool, arguments in (("save_decision", SAVE), ("retrieve_context", {"project_id": "p"})):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert "pgmem init" in text_of(result)
    assert not list(tmp_path.rglob("*.json"))
    assert len([line for line in caplog.messages if "no pgmem schema" in line]) == 1, "each call repeats it"


async def test_an_embedded_server_that_is_being_started_elsewhere_delays_nothing_but_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_PATIENCE", 0.2)
    settings = away(None, tmp_path)
    with (tmp_path / "start.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        async with Client(create_server(settings)) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} >= CORE
            saved = (await client.call_tool("save_decision", SAVE)).structured_content
            assert saved is not None
            assert saved["status"] == "pending_retry"
            result = await client.call_tool("get_scope_state", {"project_id": "p"})
            assert result.is_error
            assert "another process has been starting or stopping" in text_of(result)
    assert not (tmp_path / "postgres").exists()


# Its offers


async def test_without_a_choice_core_is_listed_and_the_other_tools_answer(dsn: str, tmp_path: Path) -> None:
    """The list is short; an agent that knows a tool by its name may call it."""
    settings = Settings(dsn=dsn, data_dir=tmp_path, prepare=True, embedding_provider="none")
    async with Client(create_server(settings)) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert "save_decision" in listed
        assert "memory_history" not in listed
        assert not (await client.call_tool("memory_surface", {"query": "a bug"})).is_error
    chosen = settings.model_copy(update={"toolsets": ("core",)})
    async with Client(create_server(chosen)) as client:
        with pytest.raises(MCPError, match="Unknown tool 'memory_surface'"):
            await client.call_tool("memory_surface", {"query": "a bug"})


async def test_toolsets_are_chosen_by_the_environment(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGMEM_TOOLSETS", "core, graph")
    async with Client(create_server(load(dsn=dsn))) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
    assert listed > CORE
    assert {"get_node", "neighbours"} <= listed
    monkeypatch.setenv("PGMEM_TOOLSETS", "core")
    async with Client(create_server(load(dsn=dsn))) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == CORE
    monkeypatch.setenv("PGMEM_TOOLSETS", "core,kitchen")
    with pytest.raises(InvalidArgument, match=r"^PGMEM_TOOLSETS: "):
        load(dsn=dsn)


async def test_what_is_decided_by_a_person_is_not_a_tool(client: Client) -> None:
    listed = {tool.name for tool in (await client.list_tools()).tools}
    by_people = {
        *("resolve_review", "retry_save", "merge_entities", "supersede", "decay_scores", "forget_by_ttl"),
        *("approve_card", "reject_card", "archive_card", "erase_subject", "issue_token", "set_setting"),
        *("rebuild_graph", "check_graph", "reindex", "run_cypher"),
    }
    assert not listed & by_people


async def test_the_resources_are_the_schema_the_status_a_project_and_a_session(
    client: Client, answer: Answer
) -> None:
    session = await answer("save_session", objective="Open the shop", project_id="shop")
    await answer("save_decision", title="Sell tea", rationale="r", project_id="shop")
    templates = [t.uri_template for t in (await client.list_resource_templates()).resource_templates]
    assert set(templates) >= {"pgmem://project/{project_id}", "pgmem://session/{session_id}"}
    listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
    assert listed >= {"pgmem://schema", "pgmem://status"}

    schema = json.loads(await read(client, "pgmem://schema"))
    assert "Decision" in [label["name"] for label in schema["labels"]]
    status = json.loads(await read(client, "pgmem://status"))
    assert status["memories"] == {"Decision": 1, "Session": 1}
    project = json.loads(await read(client, "pgmem://project/shop"))
    assert [item["title"] for item in project["items"]] == ["Sell tea", "Open the shop"]
    found = json.loads(await read(client, f"pgmem://session/{session['artifact_id']}"))
    assert (found["session"]["objective"], found["produced"]) == ("Open the shop", [])


@pytest.mark.parametrize("session", ["00000000-0000-4000-8000-000000000000", "yesterday"])
async def test_an_unknown_session_is_an_error(client: Client, session: str) -> None:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(f"pgmem://session/{session}")
    assert caught.value.code == -32602
    assert session in caught.value.message


async def test_the_prompts_name_the_tools_and_the_project(client: Client) -> None:
    listed = [prompt.name for prompt in (await client.list_prompts()).prompts]
    assert {"start_session", "end_session"} <= set(listed)
    for name, tool in (
        ("start_session", "retrieve_context"),
        ("end_session", "store_session_with_learnings"),
    ):
        (message,) = (await client.get_prompt(name, {"project_id": "shop"})).messages
        assert tool in getattr(message.content, "text", "")
        assert "shop" in getattr(message.content, "text", "")


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    return str(getattr(content, "text", ""))
