"""The three tools of the cards toolset, as an agent has them."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from pgmem.mcp.server import create_server
from pgmem.settings import load
from tests.conftest import Call
from tests.features.cards.conftest import Query
from tests.features.cards.test_scan import picture

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(dsn: str, tmp_path: Path, tree: Path, call: Call) -> AsyncIterator[Client]:
    """A client of a server that has the cards toolset and a repository."""
    call("save_session", objective="o", project_id="shop")
    settings = load(
        dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none", toolsets="cards", repository=tree
    )
    async with Client(create_server(settings)) as client:
        yield client


async def answer(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, {"project_id": "shop", **arguments})
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    found = result.structured_content
    return found["result"] if set(found) == {"result"} else found


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, {"project_id": "shop", **arguments})
    assert result.is_error
    return " ".join(getattr(part, "text", "") for part in result.content)


async def manage(client: Client, action: str, **arguments: object) -> dict[str, Any]:
    return await answer(client, "manage_engineering_memory", action=action, **arguments)


async def test_the_five_tools_cost_at_most_1100_tokens(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "get_relevant_memory",
        "query_engineering_memory",
        "manage_engineering_memory",
        "what_changes",
        "which_files",
    ]
    sizes = [len(json.dumps([t.name, t.description, t.input_schema]).encode()) / 4 for t in tools]
    assert sum(sizes) <= 1_100, sizes


async def test_an_agent_drafts_and_cannot_decide(client: Client, query: Query) -> None:
    made = await manage(
        client,
        "record_candidate",
        record_type="risk_note",
        statement="Paying twice charges twice.",
        subject_path="pkg/till.py",
        evidence=[{"kind": "test", "ref": "tests/test_till.py"}],
    )
    assert made["status"] == "draft"
    for action in ("approve", "reject", "archive", "approve_card"):
        said = await manage(client, action)
        assert (said["status"], said["reason"]) == ("rejected", "governance_mode_unavailable")
        assert "pgmem cards" in said["next_step"]
    assert query("status")["records_by_status"] == {"draft": 1}
    (record,) = (await answer(client, "query_engineering_memory", mode="drafts"))["payload"]["records"]
    assert record["id"] == made["card_id"]
    found = (await answer(client, "query_engineering_memory", mode="get", record_id=made["card_id"]))[
        "payload"
    ]
    assert found["record"]["origin"] == "agent"


async def test_an_agent_reads_errors_that_say_what_to_send(client: Client) -> None:
    assert "Project root is not a valid memory scope" in await refusal(
        client, "get_relevant_memory", scope=["."]
    )
    assert "requires scope, intent_id, or symbols" in await refusal(client, "get_relevant_memory")
    assert "Allowed: search, get" in await refusal(client, "query_engineering_memory", mode="dream")
    assert "Allowed: record_candidate" in await refusal(client, "manage_engineering_memory", action="dance")
    assert "report.modules is missing" in await refusal(
        client, "manage_engineering_memory", action="refresh_from_run", report={}
    )


async def test_no_tool_changes_a_file_of_the_repository(client: Client, tree: Path) -> None:
    for folder, _, files in os.walk(tree):
        for name in files:
            (Path(folder) / name).chmod(0o444)
        Path(folder).chmod(0o555)
    before = picture(tree)
    try:
        found = await answer(client, "get_relevant_memory", scope=["pkg/till.py"])
        assert found["memory_sync"]["auto"] == "bootstrapped"
        await manage(
            client, "record_candidate", record_type="risk_note", statement="One.", subject_path="pkg/till.py"
        )
        intent = (await manage(client, "declare_intent", paths=["pkg"]))["intent_id"]
        assert (await answer(client, "get_relevant_memory", intent_id=intent))["digests"]
        done = await manage(
            client,
            "finish_intent",
            intent_id=intent,
            paths=["pkg/till.py"],
            propose=True,
            receipt={"claims": ["Paying is batched."]},
        )
        assert done["stale_cards"] == []  # those of a scan follow the files by themselves
        await manage(client, "propose_from_receipt", receipt={"scope": ["pkg/stock.py"], "claims": ["Two."]})
        await manage(client, "validate_claims", text="Memory allows editing.")
        await manage(client, "refresh_from_run", report={"modules": [{"path": "pkg/till.py", "doc": "New."}]})
        modes: dict[str, dict[str, object]] = {
            "search": {"query": "till"},
            "for_path": {"path": "pkg"},
            "for_symbol": {"symbol": "pkg.till.pay"},
            "coverage": {"scope": ["pkg"]},
            "stale": {},
            "drafts": {},
            "status": {},
        }
        for mode, more in modes.items():
            await answer(client, "query_engineering_memory", mode=mode, **more)
        assert picture(tree) == before
        assert sorted(path.name for path in tree.iterdir()) == ["README.md", "pkg", "tests"]
    finally:
        for folder, _, _ in os.walk(tree):
            Path(folder).chmod(0o755)
