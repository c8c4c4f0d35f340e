"""A client whose token was confirmed before the server lost its database: what it may do meanwhile, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgmem.mcp import auth
from tests.conftest import Call
from tests.serving import Agent, serving
from tests.sql.conftest import Rows
from tests.tenancy.test_http import token

__all__ = ["token"]

pytestmark = pytest.mark.anyio
Issue = Callable[..., str]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Link:
    """The way from a program to its database, which can be cut while everybody else still reaches the database."""

    def __init__(self, dsn: str) -> None:
        self._to = conninfo_to_dict(dsn)
        self._dsn, self._port = dsn, 0
        self._listening: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def dsn(self) -> str:
        """The database by this way."""
        return make_conninfo(self._dsn, host="127.0.0.1", hostaddr=None, port=self._port)

    async def mend(self) -> None:
        """Take connections."""
        self._listening = await asyncio.start_server(self._relay, "127.0.0.1", self._port)
        self._port = self._listening.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """End every connection and take none."""
        assert self._listening is not None
        self._listening.close()
        for writer in self._open:
            writer.transport.abort()

    async def _server(self) -> Streams:
        host, port = str(self._to["host"]), self._to.get("port", 5432)
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, int(str(port)))

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await self._server()
        self._open |= {writer, there[1]}
        await asyncio.gather(self._copy(reader, there[1]), self._copy(there[0], writer))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
        except ConnectionError:
            pass
        finally:
            self._open.discard(writer)
            writer.close()


@asynccontextmanager
async def cuttable(dsn: str, folder: Path) -> AsyncIterator[tuple[str, Link]]:
    """The address of a server, and its link to the database."""
    link = Link(dsn)
    await link.mend()
    try:
        async with serving(link.dsn, folder, connect_timeout_s=1.0) as address:
            yield address, link
    finally:
        link.cut()


async def save(agent: Agent, content: str) -> tuple[int, str]:
    """The status of HTTP, and of a save that was let in."""
    sent = {"name": "save_context", "arguments": {"content": content, "project_id": "shop"}}
    answer = await agent.post("tools/call", sent)
    if answer.status_code != 200:
        return answer.status_code, ""
    return 200, str(answer.json()["result"]["structuredContent"]["status"])


async def test_a_save_of_a_known_token_is_kept_while_the_database_is_away(
    dsn: str, tmp_path: Path, token: Issue, rows: Rows
) -> None:
    known, new = token("acme", "alice"), token("acme", "bob")
    async with cuttable(dsn, tmp_path) as (address, link):
        agent, stranger = Agent(address, known), Agent(address, new)
        await agent.call("save_session", objective="open", project_id="shop")
        link.cut()
        assert [await save(agent, f"kept {n}") for n in range(3)] == [(200, "pending_retry")] * 3
        # Nothing is known of a token that the store has not confirmed, be it good or not, and nothing can be read.
        assert (await save(stranger, "not kept"))[0] == 503
        assert (await save(Agent(address, "pgmem_0"), "not kept"))[0] == 503
        asked = {"name": "search_memory", "arguments": {"query": "kept", "project_id": "shop"}}
        assert (await agent.post("tools/call", asked)).json()["result"]["isError"]
        await link.mend()
        assert await save(agent, "after it") == (200, "saved")
    found = rows(
        "select props ->> 'content' as content, user_id from pgmem.node where label = 'Context' order by 1"
    )
    kept = ["after it", "kept 0", "kept 1", "kept 2"]
    assert found == [{"content": content, "user_id": "alice"} for content in kept]


async def test_a_token_that_was_revoked_meanwhile_stops_within_five_minutes_and_at_once_with_the_database(
    dsn: str, tmp_path: Path, token: Issue, call: Call, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = {name: token("acme", name, name=name) for name in ("late", "back")}
    ids = {row["name"]: row["id"] for row in rows("select id, name from pgmem.list_tokens()")}
    async with cuttable(dsn, tmp_path) as (address, link):
        for secret in agents.values():
            await Agent(address, secret).call("save_session", objective="open", project_id="shop")
        link.cut()
        for number in ids.values():
            call("revoke_token", token_id=number)
        # The server cannot know; what is queued names the token and has the trust of an agent.
        assert await save(Agent(address, agents["late"]), "queued") == (200, "pending_retry")
        monkeypatch.setattr(auth, "monotonic", lambda: monotonic() + 301)
        assert (await save(Agent(address, agents["late"]), "too late"))[0] == 503
        monkeypatch.undo()
        await link.mend()
        assert (await save(Agent(address, agents["back"]), "revoked"))[0] == 401
        link.cut()
        assert (await save(Agent(address, agents["back"]), "forgotten"))[0] == 503


async def test_a_token_that_expires_meanwhile_counts_until_then(
    dsn: str, tmp_path: Path, token: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = token("acme", "alice", expires_at=datetime.now(UTC) + timedelta(seconds=100))
    async with cuttable(dsn, tmp_path) as (address, link):
        agent = Agent(address, secret)
        await agent.call("save_session", objective="open", project_id="shop")
        link.cut()
        assert await save(agent, "in time") == (200, "pending_retry")
        monkeypatch.setattr(auth, "monotonic", lambda: monotonic() + 101)
        assert (await save(agent, "expired"))[0] == 503


def test_a_number_of_tokens_is_remembered_by_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "_CONFIRMED", 2)
    confirmed = auth._Confirmed()
    found: Any = type("Found", (), {"expires_at": None})
    for secret in ("one", "two", "three"):
        confirmed.put(secret, found, auth.AccessToken(token="id", client_id=secret, scopes=[]), monotonic())
    assert confirmed["one"] is None
    assert [token.client_id for token in (confirmed["two"], confirmed["three"]) if token] == ["two", "three"]
    assert not any(secret.encode() in key for key in confirmed._tokens for secret in ("two", "three"))
