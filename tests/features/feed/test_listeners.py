"""Those who listen hear of a save at once, and of nothing that is another tenant's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, cast
from unittest.mock import Mock

import anyio
import httpx2
import psycopg
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from psycopg.rows import DictRow

from pgmem import CursorLost, Memory
from pgmem.database import connection, wakes
from pgmem.models import Change, MemoryScope
from tests.conftest import Call, past_the_pooler
from tests.core.tenancy.test_http import token
from tests.serving import Agent, serving

__all__ = ["token"]

pytestmark = pytest.mark.anyio
WITHIN_S = 20.0  # of a machine that runs other tests, where a pooler passes no notification on


async def test_a_program_follows_from_a_cursor_and_another_run_goes_on(memory: Memory) -> None:
    await memory.save_session("open", "shop")
    seen: list[Change] = []
    with anyio.fail_after(WITHIN_S):
        async for change in memory.follow(None):
            seen.append(change)
            if len(seen) == 1:
                await memory.save_context("one", "shop")
            if len(seen) == 3:
                break
        await memory.save_context("two", "shop")
        async for change in memory.follow(seen[-1].cursor, content=True):
            assert change.record is not None
            assert change.record["props"]["content"] == "two"  # type: ignore[index, call-overload]
            break
    assert [(c.kind, c.label) for c in seen] == [
        ("saved", "Project"),
        ("saved", "Session"),
        ("saved", "Context"),
    ]


async def test_followers_share_one_connection_that_closes_with_the_last(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = anyio.Event()
    wake, opened = wakes.Wakes.wake, Mock(wraps=connection.opened)

    def noted(self: wakes.Wakes, tenants: set[str] | None = None) -> None:
        answered.set()
        wake(self, tenants)

    monkeypatch.setattr(wakes, "opened", opened)
    monkeypatch.setattr(wakes.Wakes, "wake", noted)
    await memory.save_session("open", "shop")

    async def first() -> None:
        async with aclosing(memory.follow()) as changes:
            await anext(changes)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(first)
        with anyio.fail_after(WITHIN_S):
            await answered.wait()
        await memory.save_context("wake all of them", "shop")
    assert opened.call_count == 1
    assert memory.caller.database.wakes._task is None


async def test_notifications_that_any_login_sends_bring_few_questions(
    memory: Memory, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was a question to the store, in a process that all tenants share."""
    monkeypatch.setattr(wakes, "_APART_S", 0.5)
    asked: list[str] = []
    execute = psycopg.AsyncConnection.execute

    async def counted(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(str(query))
        return await execute(self, query, *arguments, **options)

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", counted)
    await memory.save_session("open", "shop")
    async with aclosing(memory.follow(None)) as changes:
        await anext(changes)
        with anyio.fail_after(WITHIN_S):
            while not any("changed_tenants" in query for query in asked):
                await anyio.lowlevel.checkpoint()
        before = len(asked)
        began = perf_counter()
        async with await psycopg.AsyncConnection.connect(past_the_pooler(dsn), autocommit=True) as other:
            for number in range(300):
                await execute(other, "select pg_notify('pgmem_change', %s)", (str(number),))
        rounds = (perf_counter() - began) / 0.5
        found = sum("changed_tenants" in query for query in asked[before:])
        assert found <= rounds + 2


async def test_a_follower_goes_on_after_its_server_was_away(
    memory: Memory, connection: psycopg.Connection[DictRow]
) -> None:
    await memory.save_session("open", "shop")
    seen: list[str] = []
    with anyio.fail_after(30):
        async for change in memory.follow(None):
            seen.append(change.label)
            if change.label == "Session":
                connection.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where datname = current_database() and pid <> pg_backend_pid()"
                )
                await memory.save_context("after it", "shop")
            if change.label == "Context":
                break
    assert seen == ["Project", "Session", "Context"]


@asynccontextmanager
async def events(address: str, secret: str, query: str = "", last: str | None = None) -> AsyncIterator[Any]:
    """The data of the events of a stream."""
    headers = {"authorization": f"Bearer {secret}", **({"last-event-id": last} if last else {})}
    async with (
        httpx2.AsyncClient(base_url=address, timeout=20) as client,
        client.stream("GET", f"/changes{query}", headers=headers) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")

        async def found() -> AsyncIterator[dict[str, Any]]:
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    yield json.loads(line[6:])

        yield found()


async def test_a_stream_tells_its_tenant_of_a_save_and_goes_on_after_its_last_event(
    dsn: str, tmp_path: Path, token: Any
) -> None:
    alice, eve = token("acme", "alice"), token("other", "eve")
    async with serving(dsn, tmp_path) as address:
        async with events(address, alice) as heard, events(address, eve) as of_eve:
            await Agent(address, alice).call("save_session", objective="the canary", project_id="shop")
            began = perf_counter()
            with anyio.fail_after(WITHIN_S):
                first, second = await anext(heard), await anext(heard)
            assert perf_counter() - began < WITHIN_S
            assert [first["label"], second["label"]] == ["Project", "Session"]
            await Agent(address, eve).call("save_session", objective="of eve", project_id="lair")
            with anyio.fail_after(WITHIN_S):
                assert (await anext(of_eve))["project"] == "lair"
        async with events(address, alice, last=first["cursor"]) as heard:
            with anyio.fail_after(WITHIN_S):
                assert (await anext(heard))["id"] == second["id"]
        async with events(address, alice, "?after=start&content=1&project=shop") as heard:
            with anyio.fail_after(WITHIN_S):
                assert (await anext(heard))["record"]["label"] == "Project"


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("?after=x", 400, "after must be a cursor"),
        ("?after=0123456789ab.1.0", 410, "of another store"),
        ("?project=nowhere", 400, "No project"),
    ],
)
async def test_a_stream_refuses_what_it_cannot_follow_in_one_sentence(
    dsn: str, tmp_path: Path, token: Any, query: str, status: int, said: str
) -> None:
    secret = token("acme", "alice")
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient(base_url=address, timeout=20) as client:
        answer = await client.get(f"/changes{query}", headers={"authorization": f"Bearer {secret}"})
        assert (answer.status_code, said in answer.json()["error"]) == (status, True)
        assert (await client.get("/changes")).status_code == 401
        put = await client.put("/changes", headers={"authorization": f"Bearer {secret}"})
        assert (put.status_code, put.headers["allow"]) == (405, "GET, POST")


async def test_a_stream_ends_when_its_token_is_revoked(dsn: str, tmp_path: Path, call: Call) -> None:
    made = call("issue_token", org_id="acme", user_id="alice", name="test")
    other = str(call("issue_token", org_id="acme", user_id="alice", name="other")["token"])
    async with serving(dsn, tmp_path) as address, events(address, str(made["token"])) as heard:
        call("revoke_token", id=made["id"])
        await Agent(address, other).call("save_session", objective="not for the revoked", project_id="shop")
        with anyio.fail_after(WITHIN_S):
            assert [event async for event in heard] == []


async def test_a_subscription_ends_when_its_token_is_revoked(dsn: str, tmp_path: Path, call: Call) -> None:
    """It went on, with the titles of saves."""
    made = call("issue_token", org_id="acme", user_id="alice", name="test")
    other = str(call("issue_token", org_id="acme", user_id="alice", name="other")["token"])
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient() as http:
        http.headers["authorization"] = f"Bearer {made['token']}"
        async with (
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
            client.listen(resource_subscriptions=["pgmem://project/shop"]) as heard,
        ):
            call("revoke_token", id=made["id"])
            await Agent(address, other).call("save_session", objective="unheard", project_id="shop")
            with anyio.fail_after(WITHIN_S):
                assert [event async for event in heard] == []


async def test_the_client_of_the_sdk_hears_over_http_of_its_own_tenant_alone(
    dsn: str, tmp_path: Path, token: Any
) -> None:
    alice, eve = token("acme", "alice"), token("other", "eve")
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient() as http:
        http.headers["authorization"] = f"Bearer {alice}"
        async with Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client:
            watched = ["pgmem://project/shop"]
            async with client.listen(resource_subscriptions=watched) as heard:
                await Agent(address, eve).call("save_session", objective="of eve", project_id="shop")
                await Agent(address, eve).call("save_session", objective="of eve", project_id="shop")
                with anyio.move_on_after(0.5):
                    pytest.fail(f"an event of another tenant: {await anext(aiter(heard))}")
                await Agent(address, alice).call("save_session", objective="mine", project_id="shop")
                with anyio.fail_after(WITHIN_S):
                    event = await anext(aiter(heard))
                assert event.uri == watched[0]  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_a_client_over_stdio_subscribes_as_before(dsn: str, tmp_path: Path, call: Call) -> None:
    call("save_session", objective="open", project_id="web shop")
    environment = {
        **os.environ,
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(tmp_path),
        "EMBEDDING_PROVIDER": "none",
    }
    heard: list[str] = []
    arrived = anyio.Event()

    async def message(received: Any) -> None:
        if getattr(received, "method", "") == "notifications/resources/updated":
            heard.append(str(received.params.uri))
            arrived.set()

    server = StdioServerParameters(command=sys.executable, args=["-m", "pgmem", "mcp"], env=environment)
    async with Client(stdio_client(server), message_handler=cast("Any", message), mode="legacy") as client:
        await client.subscribe_resource("pgmem://project/web%20shop")
        call("save_context", content="news", project_id="web shop")
        with anyio.fail_after(20):
            await arrived.wait()
    assert heard == ["pgmem://project/web%20shop"]


def test_the_command_prints_changes_as_they_come(dsn: str, tmp_path: Path, call: Call) -> None:
    call("save_session", objective="open", project_id="shop")
    environment = {
        **os.environ,
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(tmp_path),
        "EMBEDDING_PROVIDER": "none",
    }
    command = [sys.executable, "-m", "pgmem", "follow", "--after", "start", "--project", "shop"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as plain:
        assert plain.stdout is not None
        assert "saved       Project shop" in plain.stdout.readline()
        assert "saved       Session open  (shop)" in plain.stdout.readline()
        plain.terminate()
    with subprocess.Popen([*command, "--json"], env=environment, stdout=subprocess.PIPE, text=True) as lines:
        assert lines.stdout is not None
        lines.stdout.readline()
        assert json.loads(lines.stdout.readline())["label"] == "Session"
        call("save_context", content="one more", project_id="shop")
        assert json.loads(lines.stdout.readline())["label"] == "Context"
        lines.terminate()


async def test_a_follower_with_a_lost_cursor_is_told(memory: Memory) -> None:
    with pytest.raises(CursorLost, match="of another store"):
        async for _ in memory.follow("0123456789ab.1.0"):
            pass


async def test_a_follower_of_one_tenant_sleeps_while_another_saves(memory: Memory) -> None:
    """Only those of two hundred followers read whose memories changed."""
    ann, bob = (memory.acting_as(MemoryScope(org_id="acme", user_id=user)) for user in ("ann", "bob"))
    await ann.save_session("open", "shop")
    await bob.save_session("open", "desk")
    wakes = memory.caller.database.wakes
    async with (
        wakes.following(ann.caller.database.scope) as of_ann,
        wakes.following(bob.caller.database.scope) as of_bob,
    ):
        with anyio.fail_after(WITHIN_S):
            await of_ann.awake.wait()  # the connection listens
        of_ann.awake.clear()
        of_bob.awake.clear()
        await bob.save_context("of bob", "desk")
        with anyio.fail_after(WITHIN_S):
            await of_bob.awake.wait()
        assert not of_ann.awake.is_set()
