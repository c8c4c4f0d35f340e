"""The server as a process whose store is upgraded: it reports the upgrade to its client and exits, to be restarted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pgmem.mcp.app import EXIT_CODE
from tests.conftest import Call, past_the_pooler
from tests.core.mcp.test_stdio import TIMEOUT, ask, greet, process
from tests.core.mcp.test_stdio import call as line
from tests.fixtures.fronts import connect
from tests.serving import Agent

REASON = "The store was upgraded while this program ran: restart it."


def change(dsn: str) -> None:
    """Let the store, or the front itself, be of a later release, which has no get_save_status and no sweep."""
    with connect(past_the_pooler(dsn), autocommit=True) as connection:
        connection.execute("drop function pgmem.get_save_status, pgmem.sweep")
        connection.execute("update pgmem.schema_version set release = '99.0.0', digest = 'another'")


def test_a_server_over_stdio_answers_why_and_ends_when_it_is_idle(dsn: str, tmp_path: Path) -> None:
    with process(tmp_path, dsn) as server:
        greet(server)
        saved = ask(server, line("save_session", objective="x", project_id="p"))
        assert saved["result"]["structuredContent"]["status"] == "saved"
        change(dsn)
        refused = ask(server, line("get_save_status", project_id="p"))["result"]
        assert refused["isError"] is True, refused
        assert refused["content"][0]["text"].startswith(REASON)
        # Its stdin stays open, and it answers as long as it is asked.
        state = ask(server, line("get_scope_state", project_id="p"))["result"]["structuredContent"]
        assert state["project_exists"] is True
        assert server.wait(TIMEOUT) == EXIT_CODE


@pytest.mark.anyio
@pytest.mark.long
async def test_a_server_over_http_answers_why_and_ends_when_it_is_idle(
    dsn: str, call: Call, tmp_path: Path, free_tcp_port: int
) -> None:
    token = call("issue_token", org_id="acme", user_id="alice")["token"]
    command = [sys.executable, "-m", "pgmem", "mcp", "--transport", "http", "--port", str(free_tcp_port)]
    command += ["--dsn", dsn, "--data-dir", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            assert "pgmem listens on" in server.stderr.readline()
            agent = Agent(f"http://127.0.0.1:{free_tcp_port}", token)
            assert (await agent.call("save_session", objective="x", project_id="p"))["status"] == "saved"
            change(dsn)
            found = await agent.post(
                "tools/call", {"name": "get_save_status", "arguments": {"project_id": "p"}}
            )
            result = found.json()["result"]
            assert result["isError"] is True
            assert result["content"][0]["text"].startswith(REASON)
            assert server.wait(TIMEOUT) == EXIT_CODE
        finally:
            server.kill()


def test_a_worker_ends_with_the_reason_and_a_failure(store: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pgmem", "worker", "--dsn", store, "--data-dir", str(tmp_path)]
    environment = {**os.environ, "PGMEM_WORKER_INTERVAL_S": "1", "EMBEDDING_PROVIDER": "none"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as worker:
        try:
            assert worker.stderr is not None
            assert "worker:" in worker.stderr.readline()
            change(store)
            assert worker.wait(TIMEOUT) == 1
            assert f"pgmem: {REASON}" in worker.stderr.read()
        finally:
            worker.kill()
