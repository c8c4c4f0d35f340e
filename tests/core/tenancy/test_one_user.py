"""One user over HTTP is still one user, and the steps to tenants and back."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import anyio.to_thread
import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.core.cli.conftest import Run, run, surroundings
from tests.fixtures.verbs import MISPLACED, Rows
from tests.serving import Agent, serving

__all__ = ["run", "surroundings"]


def ids(rows: Rows) -> list[DictRow]:
    """Every row of a tenant by its place, so that a way there and back can be compared."""
    return rows(
        "select id, org_id, user_id, tenant, scope_key, tsv::text, title from pgmem.node"
        " where label <> 'GlobalScope' order by seq"
    )


@pytest.mark.anyio
async def test_a_token_without_a_tenant_locks_nobody_out(
    dsn: str, tmp_path: Path, run: Run, call: Call, shop: str
) -> None:
    """After `token issue`, local saves failed, and revoking did not undo it."""
    issued = await anyio.to_thread.run_sync(run, "token", "issue")
    assert issued.exit_code == 0, issued.stderr
    assert "the one user of this store" in issued.stderr
    call("save_decision", title="Sell tea by weight", rationale="said locally", project_id=shop)
    async with serving(dsn, tmp_path) as address:
        agent = Agent(address, issued.stdout.strip())
        found = await agent.call("search_memory", query="tea")
        assert [hit["title"] for hit in found["results"]] == ["Sell tea by weight"]
        await agent.call(
            "save_decision", title="Sell coffee too", rationale="said over HTTP", project_id=shop
        )
    assert "Sell coffee too" in (await anyio.to_thread.run_sync(run, "search", "coffee")).stdout
    assert (
        call("save_decision", title="Sell cups as well", rationale="again locally", project_id=shop)["status"]
        == "saved"
    )
    assert "none: one user" in (await anyio.to_thread.run_sync(run, "status")).stdout


def test_a_token_of_a_tenant_says_what_it_changes_and_revoking_undoes_it(
    run: Run, call: Call, shop: str
) -> None:
    """The message "This store has tenants" named no setting, and status said "one user"."""
    issued = run("token", "issue", "--org", "me", "--user", "me")
    assert "needs DEFAULT_ORG_ID=me and DEFAULT_USER_ID=me" in issued.stderr
    with pytest.raises(psycopg.Error, match="set DEFAULT_ORG_ID or DEFAULT_USER_ID") as caught:
        call("save_decision", title="Sell tea", rationale="r", project_id=shop)
    assert caught.value.sqlstate == "PM006"
    shown = re.sub(r"\s+", " ", run("status").stdout)
    assert "the store has tenants: set DEFAULT_ORG_ID or DEFAULT_USER_ID" in shown
    assert "one user" not in shown
    refused = run("token", "issue")
    assert refused.exit_code == 1
    assert "--org" in refused.stderr
    (token,) = re.findall(r"pgmem token revoke (\S+) undoes", issued.stderr)
    assert run("token", "revoke", token).exit_code == 0
    assert call("save_decision", title="Sell tea", rationale="r", project_id=shop)["status"] == "saved"


def test_memories_go_to_a_tenant_and_come_back_as_they_were(
    run: Run, call: Call, rows: Rows, shop: str
) -> None:
    """Adopt had no way back."""
    call("save_decision", title="Sell tea by weight", rationale="r", project_id=shop)
    call("save_decision", title="Keep tea in the dark cellar", rationale="r", project_id=shop)
    assert call("refresh_dedup")["refresh_dedup"] > 0  # the scope has an order of its words
    call("upsert_entity", entity_name="Redis", fact="a cache", project_id=shop)
    before = ids(rows)
    there = run("tenancy", "adopt", "--org", "me", "--user", "me")
    assert there.exit_code == 0, there.stderr
    assert "Set DEFAULT_ORG_ID=me and DEFAULT_USER_ID=me" in there.stderr
    assert "Sell tea" not in run("search", "tea").stdout
    assert rows(MISPLACED) == []
    between = run("tenancy", "adopt", "--org", "me", "--user", "me", "--back", "--dry-run")
    assert "would be assigned to no tenant" in between.stdout
    back = run("tenancy", "adopt", "--org", "me", "--user", "me", "--back")
    assert back.exit_code == 0, back.stderr
    assert ids(rows) == before
    assert "Sell tea" in run("search", "tea").stdout
    assert rows(MISPLACED) == []
    again, near = (
        call("save_decision", title=title, rationale="r", project_id=shop)
        for title in ("Sell tea by weight", "Keep tea in the dark cellar always")
    )
    assert (again["dedup_outcome"], near["dedup_outcome"]) == ("duplicate_skip", "supersede")


def test_the_way_back_is_refused_while_a_tenant_could_read_it(
    run: Run, call: Call, rows: Rows, shop: str
) -> None:
    call("save_decision", title="Sell tea by weight", rationale="r", project_id=shop)
    run("tenancy", "adopt", "--org", "me")
    run("token", "issue", "--org", "me")
    before = ids(rows)
    refused = run("tenancy", "adopt", "--org", "me", "--back")
    assert refused.exit_code == 1
    assert "revoke the tokens" in refused.stderr
    assert ids(rows) == before


def test_the_server_says_where_it_listens_and_how_to_get_a_token(
    dsn: str, tmp_path: Path, free_port: int
) -> None:
    """`pgmem mcp --transport http` printed nothing."""
    command = [sys.executable, "-m", "pgmem", "mcp", "--transport", "http", "--port", str(free_port)]
    command += ["--dsn", dsn, "--data-dir", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert f"http://127.0.0.1:{free_port}/mcp" in line
            assert "pgmem token issue" in line
            with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/health/live") as answer:
                assert answer.status == 200
            taken = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert taken.returncode == 1
            assert taken.stderr.startswith(f"pgmem: Cannot listen at 127.0.0.1 port {free_port}")
        finally:
            process.terminate()
