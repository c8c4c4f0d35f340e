"""A client over HTTP: it floods, it spells its header in many ways, it begins requests that it does not end."""

from __future__ import annotations

import itertools
import json
import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import LiteralString

import anyio
import anyio.abc
import httpx2
import psycopg
import pytest

from pgmem.features.http import connections, fairness
from tests.core.tenancy.test_http import token
from tests.serving import Agent, serving

__all__ = ["token"]

pytestmark = pytest.mark.anyio
Issue = Callable[..., str]


async def status(address: str, header: str | None) -> int:
    headers = {} if header is None else {"authorization": header}
    return (await Agent(address, headers=headers).post("tools/list")).status_code


async def test_one_token_has_one_allowance_however_its_header_is_spelled(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """64 spellings of `bEaReR` had 64 allowances."""
    secret = token("acme", "alice")
    spellings = ["".join(letters) for letters in itertools.product(*((c, c.upper()) for c in "bearer"))]
    assert len(spellings) == 64
    async with serving(dsn, tmp_path, http_requests_per_minute=3) as address:
        codes = [await status(address, f"{spelling} {secret}") for spelling in spellings]
    assert codes == [200] * 3 + [429] * 61


async def test_invalid_tokens_count_for_their_address_and_valid_ones_go_on(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """900 invalid tokens never met 429."""
    secret, late = token("acme", "alice"), token("acme", "bob")
    async with serving(dsn, tmp_path, http_unverified_per_minute=1) as address:
        assert await status(address, f"Bearer {secret}") == 200
        async with httpx2.AsyncClient(timeout=30) as client:
            codes = []
            for number in range(900):
                wrong = {"authorization": f"Bearer pgmem_{number:064x}"}
                answer = await Agent(address, headers=wrong, client=client).post("tools/list")
                codes.append(answer.status_code)
        assert codes[0] == 401
        assert codes.count(429) > 890  # one a minute is let through
        assert await status(address, None) == 429
        # The address may be a proxy's: who was let in before still is, and a stranger waits.
        assert await status(address, f"Bearer {secret}") == 200
        assert await status(address, f"Bearer {late}") == 429


async def test_a_header_of_a_proxy_makes_no_other_address(dsn: str, tmp_path: Path) -> None:
    """An address that the client itself names would have a separate allowance."""
    async with serving(dsn, tmp_path, http_unverified_per_minute=3) as address:
        codes = [
            (
                await Agent(address, headers={"x-forwarded-for": f"203.0.113.{n}"}).post("tools/list")
            ).status_code
            for n in range(6)
        ]
    assert codes == [401, 401, 401, 429, 429, 429]
    async with serving(dsn, tmp_path, http_unverified_per_minute=3, http_proxies="127.0.0.1") as address:
        behind = [Agent(address, headers={"x-forwarded-for": f"203.0.113.{n}"}) for n in range(6)]
        assert {(await agent.post("tools/list")).status_code for agent in behind} == {401}


async def test_an_agent_gets_the_time_to_wait(dsn: str, tmp_path: Path, token: Issue) -> None:
    """A client shows its agent the message of a JSON-RPC error, and waits as long as Retry-After says."""
    agent_token = token("acme", "alice")
    async with serving(dsn, tmp_path, http_requests_per_minute=1) as address:
        agent = Agent(address, agent_token)
        assert (await agent.post("tools/list")).status_code == 200
        answer = await agent.post("tools/list")
    assert answer.status_code == 429
    wait = int(answer.headers["retry-after"])
    assert 1 <= wait <= 60
    assert answer.json()["error"] == {
        "code": -32000,
        "message": f"Too many requests with this token. Nothing was read or saved; wait {wait} s and send this again.",
    }


async def test_a_tenant_never_holds_more_than_its_share_of_the_connections(
    dsn: str,
    tmp_path: Path,
    token: Issue,
    connection: psycopg.Connection[dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nine saves at once took all connections; token checks, probes and other tenants waited for them."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)  # a share of one connection
    alice, carol = token("acme", "alice"), token("globex", "carol")
    busy = "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    # On a separate connection: inside a transaction the statistics do not change.
    with psycopg.connect(dsn, autocommit=True) as watching:
        await _flooded_by_nine(dsn, tmp_path, alice, carol, connection, lambda: _count(watching, busy))


def _count(watching: psycopg.Connection[tuple[object, ...]], query: LiteralString) -> int:
    row = watching.execute(query).fetchone()
    assert row is not None
    return int(str(row[0]))


async def _flooded_by_nine(
    dsn: str,
    tmp_path: Path,
    alice: str,
    carol: str,
    connection: psycopg.Connection[dict[str, object]],
    held: Callable[[], int],
) -> None:
    async with serving(dsn, tmp_path, pool_size=8) as address:
        for agent in (Agent(address, alice), Agent(address, carol)):
            await agent.call("save_session", objective="open", project_id="shop")

        async def save(number: int) -> None:
            decision = {"title": f"Flood {number}", "rationale": "r", "project_id": "shop"}
            await Agent(address, alice).call("save_decision", **decision)

        async with anyio.create_task_group() as tasks:
            with connection.transaction():
                connection.execute(
                    "lock table pgmem.node in exclusive mode"
                )  # every save waits, no reader does
                for number in range(9):
                    tasks.start_soon(save, number)
                with anyio.fail_after(20):
                    while held() < 1:
                        await anyio.lowlevel.checkpoint()
                # The others are served beside them, by calls that would each need a connection.
                for _ in range(5):
                    found = await Agent(address, carol).call("get_scope_state", project_id="shop")
                    assert found["scope_state"]
                async with httpx2.AsyncClient() as client:
                    assert (await client.get(f"{address}/health/ready")).status_code == 200
                assert held() == 1


async def test_what_does_not_fit_into_the_queue_of_a_tenant_is_refused(
    dsn: str,
    tmp_path: Path,
    token: Issue,
    monkeypatch: pytest.MonkeyPatch,
    connection: psycopg.Connection[dict[str, object]],
) -> None:
    monkeypatch.setattr(fairness, "_AT_ONCE", 2)
    monkeypatch.setattr(fairness, "_QUEUE", 1)
    alice, carol = token("acme", "alice"), token("globex", "carol")
    codes: list[int] = []
    async with serving(dsn, tmp_path) as address:
        await Agent(address, alice).call("save_session", objective="open", project_id="shop")

        async def save(number: int) -> None:
            arguments = {"title": f"Flood {number}", "rationale": "r", "project_id": "shop"}
            answer = await Agent(address, alice).post(
                "tools/call", {"name": "save_decision", "arguments": arguments}
            )
            codes.append(answer.status_code)

        async with anyio.create_task_group() as tasks:
            with connection.transaction():
                connection.execute("lock table pgmem.node in exclusive mode")
                for number in range(5):
                    tasks.start_soon(save, number)
                with anyio.fail_after(20):
                    while len(codes) < 2:
                        await anyio.lowlevel.checkpoint()
                assert codes == [429, 429]
                assert await status(address, f"Bearer {carol}") == 200
    assert sorted(codes) == [200, 200, 200, 429, 429]


async def test_a_database_that_goes_away_is_503_and_nothing_else(
    dsn: str, tmp_path: Path, token: Issue, caplog: pytest.LogCaptureFixture
) -> None:
    """A 503 was sent after the 500 of Starlette, which ended in a RuntimeError."""
    with socket.socket() as taken, caplog.at_level(logging.ERROR):
        taken.bind(("127.0.0.1", 0))
        away = f"host=127.0.0.1 port={taken.getsockname()[1]} dbname=x user=somebody"
        async with serving(away, tmp_path, connect_timeout_s=1) as address:
            answer = await Agent(address, "pgmem_0").post("tools/list")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert "database" in answer.json()["error"]["message"]
    assert [record for record in caplog.records if "ASGI" in record.message] == []


async def connected(address: str) -> anyio.abc.SocketStream:
    return await anyio.connect_tcp("127.0.0.1", int(address.rpartition(":")[2]))


async def is_closed(stream: anyio.abc.SocketStream) -> bool:
    """Whether the server closes a connection within some seconds, without an answer."""
    with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
        await stream.receive()
    return True


async def test_a_connection_that_sends_no_request_is_closed(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """400 connections without a request stayed for 37 seconds."""
    monkeypatch.setattr(connections, "_HEADERS_S", 0.2)
    begun = (b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ")
    async with serving(dsn, tmp_path) as address:
        for part in begun:
            async with await connected(address) as stream:
                if part:
                    await stream.send(part)
                assert await is_closed(stream)


async def test_a_slow_second_request_is_bounded_as_the_first(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_HEADERS_S", 0.2)
    async with serving(dsn, tmp_path) as address, await connected(address) as stream:
        await stream.send(b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        answer = b""
        while b"alive" not in answer:
            answer += await stream.receive()
        await stream.send(b"GET /health/live HT")
        assert await is_closed(stream)


async def test_the_oldest_idle_connection_makes_room_for_a_new_one(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections.BoundedConnection, "_waiting", connections._Held(5, 2))
    async with serving(dsn, tmp_path) as address:
        held = [await connected(address) for _ in range(8)]
        async with httpx2.AsyncClient() as client:
            assert (await client.get(f"{address}/health/live")).status_code == 200
        for stream in held[:3]:
            assert await is_closed(stream)
        for stream in held:
            await stream.aclose()


async def test_a_body_that_does_not_end_is_408(
    dsn: str, tmp_path: Path, token: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fairness, "_BODY_S", 0.2)
    secret = token("acme", "alice")
    async with serving(dsn, tmp_path) as address, await connected(address) as stream:
        head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\ncontent-length: 99\r\n\r\n{{"
        await stream.send(head.encode())
        with anyio.fail_after(5):
            assert (await stream.receive()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("path", ["/metrics", "/health/ready", "/health/live"])
async def test_a_page_of_another_name_reads_no_probe(dsn: str, tmp_path: Path, path: str) -> None:
    """/metrics was answered under `Host: evil.com`, so a page could rebind its name to this machine."""
    async with (
        serving(dsn, tmp_path, http_allowed_hosts="memory.acme.test") as address,
        httpx2.AsyncClient() as client,
    ):
        for host, refused in (
            ("evil.com", True),
            ("evil.com:8000", True),
            ("127.0.0.1.evil.com", True),
            ("[::1", True),
            ("localhost@evil.com", True),
            ("memory.acme.test", False),
            ("localhost:8000", False),
            ("10.1.2.3:8000", False),  # a kubelet calls the address of its pod
            ("[::1]:8000", False),
        ):
            answer = await client.get(f"{address}{path}", headers={"host": host})
            assert (answer.status_code == 421) is refused, (host, answer.status_code)


async def test_a_list_of_150_000_is_refused_before_it_is_handled(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """Nine patterns of 150 000 steps at once kept everybody waiting for 5 to 6 seconds."""
    async with serving(dsn, tmp_path) as address:
        agent = Agent(address, token("acme", "alice"))
        await agent.call("save_session", objective="open", project_id="shop")
        steps: object = ["s"] * 150_000
        for many in (steps, [[step] for step in ["s"] * 20_000], {str(n): n for n in range(20_001)}):
            arguments = {"trigger": "t", "repeatable_steps": many, "project_id": "shop"}
            answer = await agent.post("tools/call", {"name": "save_pattern", "arguments": arguments})
            assert answer.status_code == 413
            assert "more than 20000 values" in answer.json()["error"]["message"]
        # One text of as many commas is one value.
        await agent.call("save_context", content="a, [b, {c, " * 30_000, project_id="shop")


async def test_who_sends_much_waits_before_the_next_and_nobody_else_does(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """Reading requests takes time that all tenants share, so each has an allowance of it."""
    async with serving(dsn, tmp_path, http_max_request_bytes=100_000) as address:
        alice, carol = Agent(address, token("acme", "alice")), Agent(address, token("globex", "carol"))
        codes = []
        for _ in range(4):
            answer = await alice.post(
                "tools/call", {"name": "search_memory", "arguments": {"query": "x" * 90_000}}
            )
            codes.append(answer.status_code)
        assert codes == [200, 200, 429, 429]
        assert int(answer.headers["retry-after"]) >= 1
        assert json.loads(answer.text)["error"]["message"].startswith("Too much data at once; wait ")
        assert (await carol.post("tools/list")).status_code == 200


@pytest.mark.parametrize("attack", ["two tokens", "two ends"])
async def test_what_a_proxy_may_read_otherwise_is_refused(
    dsn: str, tmp_path: Path, token: Issue, attack: str
) -> None:
    """A proxy that takes the last of two tokens, or the other one of two lengths, would let a request through unseen."""
    alice, carol = token("acme", "alice"), token("globex", "carol")
    head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {alice}\r\n"
    hidden = "GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    sent = {
        "two tokens": f"{head}authorization: Bearer {carol}\r\ncontent-length: 2\r\n\r\n{{}}{hidden}",
        "two ends": f"{head}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
    }
    async with serving(dsn, tmp_path) as address:
        stream = await anyio.connect_tcp("127.0.0.1", int(address.rpartition(":")[2]))
        async with stream:
            await stream.send(sent[attack].encode())
            answer = b""
            with anyio.fail_after(10), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    answer += await stream.receive()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"alive" not in answer
