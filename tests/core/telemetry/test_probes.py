"""Health and metrics beside the MCP transport: their contents, their readers, and their secrets."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx2
import pytest

from tests.conftest import Call
from tests.core.tenancy.test_http import token
from tests.serving import Agent, serving

__all__ = ["token"]

pytestmark = pytest.mark.anyio
CANARY = "xylophone"


async def ask(address: str, path: str, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=30) as client:
        return await client.get(f"{address}{path}", headers=headers)


async def ready(address: str) -> httpx2.Response:
    """Ready, or its last message."""
    with anyio.move_on_after(20):
        while True:
            answer = await ask(address, "/health/ready")
            if answer.status_code == 200:
                break
    return answer


def value(page: str, metric: str) -> float:
    found = re.search(rf"^{re.escape(metric)} (\S+)$", page, re.MULTILINE)
    assert found is not None, f"{metric} is not in\n{page}"
    return float(found[1])


async def test_a_server_whose_database_answers_is_alive_and_ready_without_a_token(
    dsn: str, tmp_path: Path
) -> None:
    async with serving(dsn, tmp_path, http_requests_per_minute=1) as address:
        assert (await ready(address)).json() == {"status": "ready"}
        for _ in range(3):  # probes are not counted among the requests of a caller
            live = await ask(address, "/health/live")
            assert (live.status_code, live.json()) == (200, {"status": "alive"})
        assert (await ask(address, "/health/other")).status_code == 404


async def test_a_server_whose_database_is_away_is_alive_and_not_ready(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    dsn = f"host=127.0.0.1 port={port} dbname=x user=somebody"
    async with serving(dsn, tmp_path, connect_timeout_s=2) as address:
        assert (await ask(address, "/health/live")).status_code == 200
        answer = await ask(address, "/health/ready")
        assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
        page = (await ask(address, "/metrics")).text
        assert value(page, "pgmem_up") == 0
        for shown in (answer.text, page):  # a probe is for anybody: where the database is, is not
            assert str(port) not in shown
            assert "somebody" not in shown


async def test_a_server_in_front_of_another_schema_is_not_ready(server: str, tmp_path: Path) -> None:
    async with serving(server, tmp_path) as address:
        with anyio.fail_after(20):
            while "cannot be used" not in (answer := await ask(address, "/health/ready")).text:
                assert answer.status_code == 503


@pytest.mark.usefixtures("vectors")
async def test_metrics_count_saves_calls_and_what_waits(
    dsn: str, tmp_path: Path, call: Call, token: Callable[..., str]
) -> None:
    call("register_model", name="test:two", dimensions=2)
    state = call("status")
    async with serving(dsn, tmp_path) as address:
        agent = Agent(address, token("acme", "alice"))
        await agent.call("save_session", objective="open", project_id="shop")
        await agent.call("save_decision", title="Sell green tea", rationale="r", project_id="shop")
        await agent.call("save_decision", title="Sell green tea", rationale="r", project_id="shop")
        await agent.call("save_decision", title="Sell black tea", rationale="q", project_id="shop")
        await agent.call("save_context", content="x", project_id="unknown")
        page = (await ask(address, "/metrics")).text
    saves = 'pgmem_saves_total{dedup_outcome="%s",status="%s",verb="%s"}'
    assert value(page, saves % ("new", "saved", "save_decision")) == 1
    assert value(page, saves % ("duplicate_skip", "saved", "save_decision")) == 1
    assert value(page, saves % ("manual_review", "failed", "save_decision")) == 1
    assert value(page, saves % ("", "blocked_scope", "save_context")) == 1
    calls = 'pgmem_call_seconds_count{outcome="ok",server="primary",verb="save_decision"}'
    assert value(page, calls) == 3
    assert value(page, "pgmem_up") == 1
    assert value(page, f'pgmem_tier_info{{tier="{state["tier"]}"}}') == 1
    assert value(page, "pgmem_isolation_layers") == state["isolation_layers"]
    assert value(page, "pgmem_embeddings_waiting") == 2
    assert value(page, "pgmem_outbox_saves") == 0
    assert "pgmem_replica" not in page  # there is none
    assert value(page, 'pgmem_saves_open{status="failed"}') == 1
    assert value(page, 'pgmem_saves_open{status="blocked_scope"}') == 1


async def test_metrics_say_nothing_of_contents_and_nothing_of_a_tenant(
    dsn: str, tmp_path: Path, token: Callable[..., str]
) -> None:
    async with serving(dsn, tmp_path) as address:
        agent = Agent(address, token(f"org-{CANARY}", f"user-{CANARY}", name=f"token-{CANARY}"))
        await agent.call("save_session", objective=CANARY, project_id=f"project-{CANARY}")
        await agent.call("search_memory", query=CANARY)
        await agent.post("tools/call", {"name": CANARY, "arguments": {}})
        page = (await ask(address, "/metrics")).text
    assert value(page, 'pgmem_call_seconds_count{outcome="ok",server="primary",verb="search_answer"}') == 1
    assert CANARY not in page


async def test_metrics_ask_for_their_token_where_there_is_one(
    dsn: str, tmp_path: Path, token: Callable[..., str]
) -> None:
    async with serving(dsn, tmp_path, metrics_token="scrape-me") as address:
        tenant = token("acme", "alice")
        for wrong in ({}, {"authorization": "Bearer x"}, {"authorization": f"Bearer {tenant}"}):
            assert (await ask(address, "/metrics", **wrong)).status_code == 401
        answer = await ask(address, "/metrics", authorization="Bearer scrape-me")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert (await ask(address, "/health/live")).status_code == 200
