"""A client whose token was confirmed before the server lost its database: its rights meanwhile, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from mcp.server.auth.provider import AccessToken

from pgmem.features.http import auth
from tests.concurrency.conftest import Gate, gate
from tests.conftest import Call
from tests.core.tenancy.test_http import token
from tests.fixtures.verbs import Rows
from tests.serving import Agent, serving

__all__ = ["gate", "token"]

pytestmark = pytest.mark.anyio
Issue = Callable[..., str]


async def save(agent: Agent, content: str) -> tuple[int, str]:
    """The status of HTTP, and of a save that was let in."""
    sent = {"name": "save_context", "arguments": {"content": content, "project_id": "shop"}}
    answer = await agent.post("tools/call", sent)
    if answer.status_code != 200:
        return answer.status_code, ""
    return 200, str(answer.json()["result"]["structuredContent"]["status"])


async def test_a_save_of_a_known_token_is_kept_while_the_database_is_away(
    gate: Gate, tmp_path: Path, token: Issue, rows: Rows
) -> None:
    known, new = token("acme", "alice"), token("acme", "bob")
    async with serving(gate.dsn, tmp_path, connect_timeout_s=1.0) as address:
        agent, stranger = Agent(address, known), Agent(address, new)
        await agent.call("save_session", objective="open", project_id="shop")
        gate.cut()
        assert [await save(agent, f"kept {n}") for n in range(3)] == [(200, "pending_retry")] * 3
        # Nothing is known of a token that the store has not confirmed, be it good or not, and nothing can be read.
        assert (await save(stranger, "not kept"))[0] == 503
        assert (await save(Agent(address, "pgmem_0"), "not kept"))[0] == 503
        asked = {"name": "search_memory", "arguments": {"query": "kept", "project_id": "shop"}}
        assert (await agent.post("tools/call", asked)).json()["result"]["isError"]
        gate.mend()
        assert await save(agent, "after it") == (200, "saved")
    found = rows(
        "select props ->> 'content' as content, user_id from pgmem.node where label = 'Context' order by 1"
    )
    kept = ["after it", "kept 0", "kept 1", "kept 2"]
    assert found == [{"content": content, "user_id": "alice"} for content in kept]


async def test_a_token_that_was_revoked_meanwhile_stops_within_five_minutes_and_at_once_with_the_database(
    gate: Gate, tmp_path: Path, token: Issue, call: Call, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = {name: token("acme", name, name=name) for name in ("late", "back")}
    ids = {row["name"]: row["id"] for row in rows("select id, name from pgmem.list_tokens()")}
    async with serving(gate.dsn, tmp_path, connect_timeout_s=1.0) as address:
        for secret in agents.values():
            await Agent(address, secret).call("save_session", objective="open", project_id="shop")
        gate.cut()
        for number in ids.values():
            call("revoke_token", token_id=number)
        # The server cannot know; queued saves name the token and has the trust of an agent.
        assert await save(Agent(address, agents["late"]), "queued") == (200, "pending_retry")
        monkeypatch.setattr(auth, "monotonic", lambda: monotonic() + 301)
        assert (await save(Agent(address, agents["late"]), "too late"))[0] == 503
        monkeypatch.undo()
        gate.mend()
        assert (await save(Agent(address, agents["back"]), "revoked"))[0] == 401
        gate.cut()
        assert (await save(Agent(address, agents["back"]), "forgotten"))[0] == 503


async def test_a_token_that_expires_meanwhile_counts_until_then(
    gate: Gate, tmp_path: Path, token: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = token("acme", "alice", expires_at=datetime.now(UTC) + timedelta(seconds=100))
    async with serving(gate.dsn, tmp_path, connect_timeout_s=1.0) as address:
        agent = Agent(address, secret)
        await agent.call("save_session", objective="open", project_id="shop")
        gate.cut()
        assert await save(agent, "in time") == (200, "pending_retry")
        monkeypatch.setattr(auth, "monotonic", lambda: monotonic() + 101)
        assert (await save(agent, "expired"))[0] == 503


def test_a_number_of_tokens_is_remembered_by_their_hashes() -> None:
    confirmed = auth._Confirmed(2)
    found: Any = type("Found", (), {"expires_at": None})
    for secret in ("one", "two", "three"):
        confirmed.put(secret, found, AccessToken(token="id", client_id=secret, scopes=[]), monotonic())
    assert confirmed["one"] is None
    assert [token.client_id for token in (confirmed["two"], confirmed["three"]) if token] == ["two", "three"]
    assert not any(secret.encode() in key for key in confirmed._tokens for secret in ("two", "three"))
