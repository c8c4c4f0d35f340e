"""A client over HTTP that holds connections: it sends slowly or not at all, and does not read its answers."""

from __future__ import annotations

import json
import resource
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import httpx2
import psycopg
import pytest
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from psycopg.rows import DictRow
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pgmem.features.feed import http as changes
from pgmem.features.http import connections, fairness
from pgmem.features.ui import site
from pgmem.memory import Memory
from tests.conftest import Call
from tests.core.tenancy.test_http import token
from tests.fixtures.verbs import ActAs
from tests.serving import Agent, process, serving

__all__ = ["token"]

pytestmark = pytest.mark.anyio
Issue = Callable[..., str]

HOST = "host: 127.0.0.1\r\n"
FORM = f"{HOST}content-type: application/x-www-form-urlencoded\r\ncontent-length: 500\r\n\r\n"
BODY = f"{HOST}content-type: application/json\r\ncontent-length: 500\r\n\r\n"
SLOW = {
    "the form that signs in": f"POST /ui/enter HTTP/1.1\r\n{FORM}",
    "a form of a page": f"POST /ui/decide/names HTTP/1.1\r\n{FORM}",
    "a call": f"POST /mcp HTTP/1.1\r\n{BODY}",
    "a call with a token that is none": f"POST /mcp HTTP/1.1\r\nauthorization: Bearer pgmem_0\r\n{BODY}",
    "a probe with a body": f"GET /health/live HTTP/1.1\r\n{BODY}",
    "headers": f"POST /mcp HTTP/1.1\r\n{HOST}",
    "nothing": "",
}


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    """The attacker may open as many files as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def attacking(address: str, many: int) -> Iterator[Callable[[str], None]]:
    """`send(text)`: so many new connections, each of which sends this and no more."""
    with ExitStack() as held:
        port = int(address.rpartition(":")[2])

        def send(text: str) -> None:
            for _ in range(many):
                one = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
                with suppress(OSError):  # closed for a newer one
                    one.sendall(text.encode())

        yield send


@pytest.mark.long
async def test_eleven_hundred_slow_connections_of_any_kind_silence_nobody(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """About a thousand took all descriptors, every other client waited, and the log grew by 442 MB in two minutes."""
    secret = token("acme", "alice")
    with process(dsn, tmp_path, files=1024) as (address, server, log):
        agent = Agent(address, secret)
        await agent.call("save_session", objective="open", project_id="shop")
        for what, text in SLOW.items():
            with attacking(address, 1100) as send:
                send(text)
                for number in range(3):
                    saved = await agent.call("save_context", content=f"{number} {what}", project_id="shop")
                    assert saved["status"] in ("saved", "duplicate_skip"), what
                async with httpx2.AsyncClient() as client:
                    assert (await client.get(f"{address}/health/ready")).status_code == 200, what
                assert server.num_fds() < 1024, what
        assert log.stat().st_size < 10_000


@pytest.mark.long
async def test_where_no_descriptor_is_left_clients_wait_and_one_line_is_logged(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    secret = token("acme", "alice")
    with process(dsn, tmp_path, files=44) as (address, _, log), attacking(address, 300) as send:
        send("POST /mcp HTTP/1.1\r\n")
        saved = await Agent(address, secret).call("save_session", objective="open", project_id="shop")
        assert saved["status"] == "saved"
        assert (
            log.read_text().count("No connection can be accepted now, clients wait: Too many open files") == 1
        )
        assert log.stat().st_size < 10_000


async def connected(address: str) -> anyio.abc.SocketStream:
    return await anyio.connect_tcp("127.0.0.1", int(address.rpartition(":")[2]))


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not condition():
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    "what", ["the form that signs in", "a call with a token that is none", "a probe with a body"]
)
async def test_a_body_without_a_valid_token_has_ten_seconds(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(connections, "_BODY_S", 0.2)
    async with serving(dsn, tmp_path) as address, await connected(address) as stream:
        await stream.send(SLOW[what].encode())
        with anyio.fail_after(5), suppress(anyio.EndOfStream):
            while True:  # an answer may come first
                await stream.receive()


async def test_an_address_has_a_number_of_forms_that_sign_in_on_their_way(
    dsn: str, tmp_path: Path, token: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "_ENTRIES", 2)
    secret = token("acme", "alice")
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient(base_url=address) as client:
        async with await connected(address) as one, await connected(address) as other:
            for stream in (one, other):
                await stream.send(SLOW["the form that signs in"].encode())
            statuses: list[int] = []

            async def enter() -> bool:
                answer = await client.post("/ui/enter", data={"token": secret})
                statuses.append(answer.status_code)
                return answer.status_code == 429

            with anyio.fail_after(20):
                while not await enter():
                    pass
        with anyio.fail_after(20):
            while await enter():
                pass
    assert statuses[-1] == 303


ASK = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def unread(address: str, secret: str, times: int = 60) -> socket.socket:
    """A connection on which so many lists of tools, of 40 kB each, are asked for and none is read."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", int(address.rpartition(":")[2])))
    body = json.dumps(ASK)
    one.sendall(
        (
            f"POST /mcp HTTP/1.1\r\n{HOST}authorization: Bearer {secret}\r\ncontent-type: application/json\r\n"
            f"accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n"
            f"content-length: {len(body)}\r\n\r\n{body}"
        ).encode()
        * times
    )
    return one


async def cut(held: Collection[connections.BoundedConnection]) -> None:
    """Wait until the one connection whose answer is not read is there, and has ended."""
    await until(lambda: len(held) == 1)
    (connection,) = held
    await until(lambda: connection not in connection.connections)


async def test_an_answer_that_nobody_reads_ends_and_keeps_no_place(
    dsn: str, tmp_path: Path, token: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """240 such answers stayed in memory for good."""
    secret, held = token("acme", "alice"), connections.BoundedConnection._unread
    async with serving(dsn, tmp_path) as address:
        monkeypatch.setattr(connections, "_READ_S", 3600)
        with ExitStack() as attack:
            for _ in range(6):  # more than a tenant has places
                attack.enter_context(unread(address, secret))
            await until(lambda: len(held) == 6)
            await Agent(address, secret).call("save_session", objective="open", project_id="shop")
        await until(lambda: not held)
        monkeypatch.setattr(connections, "_READ_S", 0.2)
        with unread(address, secret):
            await cut(held)


async def test_a_stream_of_changes_that_nobody_reads_ends(
    dsn: str, tmp_path: Path, token: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, held = token("acme", "alice"), connections.BoundedConnection._unread
    monkeypatch.setattr(connections, "_READ_S", 0.2)
    async with serving(dsn, tmp_path) as address:
        agent = Agent(address, secret)
        await agent.call("save_session", objective="open", project_id="shop")
        for number in range(3):
            await agent.call("save_context", content=f"{number} " + "word " * 40_000, project_id="shop")
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", int(address.rpartition(":")[2])))
            one.sendall(
                f"GET /changes?after=start&content=1 HTTP/1.1\r\n{HOST}authorization: Bearer {secret}\r\n\r\n".encode()
            )
            await cut(held)


async def test_unread_answers_of_a_tenant_have_a_number_of_bytes_and_others_keep_theirs(
    dsn: str, tmp_path: Path, token: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, carol = token("acme", "alice"), token("globex", "carol")
    monkeypatch.setattr(connections, "_UNREAD_BYTES", 1)  # one connection is always kept
    held = connections.BoundedConnection._unread

    def is_replaced(before: set[object]) -> Callable[[], bool]:
        return lambda: len(held) == 2 and not before >= set(held)

    async with serving(dsn, tmp_path) as address:
        with unread(address, carol), ExitStack() as attack:
            await until(lambda: len(held) == 1)
            (of_carol,) = held
            for _ in range(3):
                replaced = is_replaced(set(held))
                attack.enter_context(unread(address, alice))
                # The new one of alice takes the place of her one before.
                await until(replaced)
                assert of_carol in held
            monkeypatch.setattr(connections, "_ALL_UNREAD_BYTES", 1)
            attack.enter_context(unread(address, alice))
            await until(lambda: len(held) == 1)


@pytest.fixture
def large(call: Call, act_as: ActAs) -> str:
    """The id of a memory of alice whose page has 4 MB, because it had thirty versions of 90 kB."""
    act_as("acme", "alice")
    call("save_session", objective="open", project_id="shop")
    for number in range(31):
        fact = f"version {number} word{number} " * 4000
        saved = call("upsert_entity", entity_name="Large", fact=fact, project_id="shop")
    act_as()
    return str(saved["artifact_id"])


def signed_in(address: str, secret: str) -> str:
    """The cookie of one who signs in with a token."""
    answer = httpx2.post(f"{address}/ui/enter", data={"token": secret})
    return answer.headers["set-cookie"].partition(";")[0]


@pytest.mark.long
async def test_memory_stays_small_beside_pages_that_nobody_reads(
    dsn: str, tmp_path: Path, token: Issue, large: str
) -> None:
    """240 of them took half a gigabyte, and had no end."""
    secret = token("acme", "alice")
    with process(dsn, tmp_path) as (address, server, _), ExitStack() as attack:
        cookie = signed_in(address, secret)
        before = server.memory_info().rss
        for _ in range(120):
            one = attack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", int(address.rpartition(":")[2])))
            one.sendall(f"GET /ui/memory/{large} HTTP/1.1\r\n{HOST}cookie: {cookie}\r\n\r\n".encode())
        other = Agent(address, token("globex", "carol"))
        for number in range(10):
            await other.call("save_session", objective=f"{number} beside", project_id="mill")
        assert server.memory_info().rss - before < 150 * 1024 * 1024


async def test_pages_have_an_allowance_and_the_tools_of_their_tenant_and_others_go_on(
    dsn: str, tmp_path: Path, token: Issue, large: str
) -> None:
    """Twelve clients that loaded one large page over and over kept every tenant waiting ten times as long."""
    alice, carol = token("acme", "alice"), token("globex", "carol")
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient(base_url=address, timeout=60) as client:
        entered = [await client.post("/ui/enter", data={"token": alice})]
        codes = [(await client.get(f"/ui/memory/{large}")).status_code for _ in range(3)]
        assert (entered[0].status_code, codes[0], codes[-1]) == (303, 200, 429)
        answer = await client.get("/ui/")
        assert "Too many requests: wait " in answer.text
        await Agent(address, alice).call("get_scope_state", project_id="shop")
        client.cookies.clear()
        await client.post("/ui/enter", data={"token": carol})
        assert (await client.get("/ui/")).status_code == 200


async def test_pages_wait_in_the_queue_of_their_tenant(
    dsn: str,
    tmp_path: Path,
    token: Issue,
    connection: psycopg.Connection[DictRow],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fairness, "_AT_ONCE", 1)
    monkeypatch.setattr(fairness, "_QUEUE", 0)
    alice, carol = token("acme", "alice"), token("globex", "carol")
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient(base_url=address, timeout=60) as client:
        await Agent(address, alice).call("save_session", objective="open", project_id="shop")
        await client.post("/ui/enter", data={"token": alice})
        held = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        async with anyio.create_task_group() as tasks:
            with psycopg.connect(dsn, autocommit=True) as watching, connection.transaction():
                connection.execute("lock table pgmem.node in access exclusive mode")
                tasks.start_soon(Agent(address, alice).post, "tools/call", STATE)
                await until(lambda: watching.execute(held).fetchone() != (0,))
                assert (await client.get("/ui/")).status_code == 429
                assert (await Agent(address, carol).post("tools/list")).status_code == 200


async def test_the_tenant_that_holds_most_connections_loses_one(
    dsn: str,
    tmp_path: Path,
    token: Issue,
    connection: psycopg.Connection[DictRow],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alice, carol = token("acme", "alice"), token("globex", "carol")
    answered = connections._Held(3, 1)
    monkeypatch.setattr(connections.BoundedConnection, "_answered", answered)
    outcomes: list[object] = []

    async with serving(dsn, tmp_path) as address:
        await Agent(address, alice).call("save_session", objective="open", project_id="shop")

        async def save(number: int) -> None:
            sent = {"title": f"Flood {number}", "rationale": "r", "project_id": "shop"}
            try:
                answer = await Agent(address, alice).post(
                    "tools/call", {"name": "save_decision", "arguments": sent}
                )
                outcomes.append(answer.status_code)
            except httpx2.TransportError:
                outcomes.append("closed")

        async with anyio.create_task_group() as tasks:
            with connection.transaction():
                connection.execute("lock table pgmem.node in exclusive mode")
                for number in range(4):
                    tasks.start_soon(save, number)
                await until(lambda: len(outcomes) == 1)
                assert outcomes == [429]
                assert (await Agent(address, carol).post("tools/list")).status_code == 200
                await until(lambda: len(outcomes) == 2)
                assert outcomes == [429, "closed"]
    assert sorted(map(str, outcomes)) == ["200", "200", "429", "closed"]


async def test_one_token_does_not_keep_the_checks_of_others_waiting() -> None:
    """Hundreds of requests with one token stood before everybody else's in the line for the two connections of checks."""
    asked: list[str] = []
    answers = anyio.Event()

    async def verify(secret: str) -> AccessToken | None:
        asked.append(secret)
        if len(asked) > 1 and secret == "a":
            await answers.wait()
        return AccessToken(
            token=secret, client_id=secret, scopes=[], claims={"org_id": "", "user_id": secret}
        )

    async def answer(token: AccessToken, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        await Response(token.token)(scope, receive, send)

    async def no_store() -> Memory:
        raise AssertionError("nobody listens")

    anywhere = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    admission = fairness.Admission(Response(), answer, verify, 30_000, 120, 1_000_000, no_store, anywhere)
    headers = {secret: {"authorization": f"Bearer {secret}"} for secret in "ab"}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(admission), base_url="http://127.0.0.1", timeout=20
    ) as client:
        for secret in "ab":
            assert (await client.post("/mcp", headers=headers[secret])).text == secret
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(partial(client.post, "/mcp", headers=headers["a"]))
            await until(lambda: asked.count("a") == 3)
            assert (await client.post("/mcp", headers=headers["b"])).text == "b"
            assert asked.count("a") == 3
            answers.set()
    assert asked.count("a") == 31


STATE = {"name": "get_scope_state", "arguments": {"project_id": "shop"}}
NEWEST = "2026-07-28"


async def test_clients_that_listen_take_no_place_of_their_tenant(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """The stream never ended: four of them stopped all agents of their tenant for 30 seconds."""
    secret = token("acme", "alice")
    listen = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {
            "notifications": {"toolsListChanged": True},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": NEWEST,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    headers = {
        "authorization": f"Bearer {secret}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": NEWEST,
        "mcp-method": "subscriptions/listen",
    }
    async with serving(dsn, tmp_path) as address, AsyncExitStack() as streams:
        client = await streams.enter_async_context(httpx2.AsyncClient(base_url=address, timeout=10))
        for _ in range(6):
            answer = await streams.enter_async_context(
                client.stream("POST", "/mcp", json=listen, headers=headers)
            )
            assert answer.status_code == 200
            assert "acknowledged" in await anext(
                line async for line in answer.aiter_lines() if "data" in line
            )
        for _ in range(6):
            answer = await streams.enter_async_context(client.stream("GET", "/changes", headers=headers))
            assert answer.status_code == 200
        with anyio.fail_after(5):
            await Agent(address, secret).call("save_session", objective="open", project_id="shop")


async def test_a_tenant_has_a_bound_of_listeners_and_other_words_in_a_call_are_no_way_past_its_places(
    dsn: str, tmp_path: Path, token: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_OF_TENANT", 2)
    secrets = token("acme", "alice"), token("acme", "bob")
    async with serving(dsn, tmp_path) as address, AsyncExitStack() as streams:
        client = await streams.enter_async_context(httpx2.AsyncClient(base_url=address, timeout=10))

        async def listen(secret: str) -> int:
            stream = client.stream("GET", "/changes", headers={"authorization": f"Bearer {secret}"})
            return (await streams.enter_async_context(stream)).status_code

        assert [await listen(secrets[0]) for _ in range(3)] == [200, 200, 429]
        assert await listen(secrets[1]) == 200
    assert fairness._method(b'{"method": "tools/call", "params": ["subscriptions/listen"]}') == "tools/call"
