"""Whatever is cancelled, at whichever of its awaits, leaves no connection, task, file or socket open, and no session."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
from mcp.client.client import Client
from starlette.requests import ClientDisconnect

from pgmem import DatabaseUnavailable, InvalidArgument, Memory
from pgmem.calls import following
from pgmem.database.connection import Connection, opened
from pgmem.database.wakes import Wakes
from pgmem.features.feed import webhooks
from pgmem.features.feed.connecting import exchange
from pgmem.features.feed.http import stream
from pgmem.features.integrations.langgraph import PgmemStore
from pgmem.features.ui.local import local_app
from pgmem.features.ui.site import COOKIE
from pgmem.mcp.server import create_server
from pgmem.settings import Settings
from pgmem.sync import Memory as SyncMemory
from tests.concurrency.cutting import WAYS, Counted, Left, Program, cut
from tests.conftest import Call, is_managed, past_the_pooler
from tests.features.feed.test_webhooks import SECRET
from tests.serving import Agent, serving
from tests.waiting import until_the_server_says

pytestmark = pytest.mark.anyio

ENDED = "not exists (select from pg_stat_activity where datname = current_database() and application_name = 'cut')"


@pytest.fixture
def settings(dsn: str, tmp_path: Path, call: Call) -> Settings:
    """A store with some memories, for programs whose sessions are known by their name."""
    call("save_session", objective="open", project_id="shop")
    call("save_decision", title="Use PostgreSQL", rationale="One system.", project_id="shop")
    return Settings(
        dsn=f"{dsn} application_name=cut",
        data_dir=tmp_path,
        embedding_provider="none",
        prepare=True,
        pool_size=2,
        retry_wait_s=0,
        webhook_url="http://receiver/hook",
        webhook_secret=SECRET,
    )


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """psycopg yields to others after each step, as it does where the event loop has been busy: each step is an await."""
    monkeypatch.setattr(psycopg.waiting, "MAX_BUSY_TIME", -1)


Way = Callable[[Program, int], Awaitable[bool]]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """How a program is cancelled."""
    found: Way = WAYS[request.param]
    return found


Calls = Callable[[Memory], Awaitable[object]]


async def follow(memory: Memory) -> None:
    async for _ in memory.follow(None):
        break


async def snapshot(memory: Memory) -> None:
    async with memory.caller.database.snapshot(5) as rows:
        await rows("describe_schema")


async def refused(memory: Memory) -> None:
    with pytest.raises(InvalidArgument, match="title"):
        await memory.save_decision("", "why", "shop")


async def two_at_once(memory: Memory) -> None:
    async with anyio.create_task_group() as tasks:
        for word in ("clocks", "mail", "queue"):
            tasks.start_soon(partial(memory.search_memory, word))


async def as_graph_store(memory: Memory) -> None:
    store = PgmemStore(memory)
    await store.aput(("a",), "k", {"v": 1})
    assert await store.aget(("a",), "k")


CALLS: dict[str, Calls] = {
    "a save": lambda memory: memory.save_decision("Use a queue", "Mail is slow.", "shop"),
    "a refused save": refused,
    "a read": lambda memory: memory.retrieve_context("shop", "project"),
    "more reads than connections": two_at_once,
    "a follower": follow,
    "a snapshot": snapshot,
    "a probe": lambda memory: memory.caller.database.answers(2),
    "a graph store": as_graph_store,
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_that_is_cancelled_leaves_nothing_open(
    settings: Settings, dsn: str, name: str, way: Way
) -> None:
    async def program() -> None:
        async with Memory.connect(settings) as memory:
            await CALLS[name](memory)

    await require_nothing_left(program, way, dsn)


@pytest.mark.long
async def test_a_round_of_the_worker_that_is_cancelled_leaves_nothing_open(
    settings: Settings, dsn: str, way: Way
) -> None:
    async def program() -> None:
        async with Memory.connect(settings) as memory:
            await memory.maintain()

    await require_nothing_left(program, way, dsn)


async def require_nothing_left(program: Program, way: Way, dsn: str) -> None:
    found = await cut(program, way)
    assert found == {}, "\n".join(f"await {at}: {each}" for at, left in found.items() for each in left)
    if not is_managed():
        until_the_server_says(ENDED, dsn, {}, "a session of a cancelled program stayed")


async def test_a_call_that_is_cancelled_leaves_its_pool_whole_and_able_to_answer(
    settings: Settings, way: Way
) -> None:
    """A connection that is lost to its pool is missed where there is one of them."""
    chosen = settings.model_copy(update={"pool_size": 1})
    async with Memory.connect(chosen) as memory:
        number = 0

        async def program() -> None:
            nonlocal number
            number += 1
            answer = await memory.save_context(f"note {number}", "shop")
            assert answer.status == "saved"
            await memory.search_memory("note")

        at, reached = 0, True
        while reached:
            at += 1
            reached = await way(program, at)
            await program()
        assert at > 5


async def test_a_connection_outside_the_pools_is_closed_wherever_its_user_is_cancelled(
    settings: Settings, dsn: str, way: Way
) -> None:
    async def program() -> None:
        async with opened(str(settings.dsn)) as connection:
            await connection.execute("create temporary table t (a int)")
            async with connection.pipeline():
                await connection.execute("insert into t values (1)")
                await connection.execute("select * from t")
            await connection.commit()

    await require_nothing_left(program, way, dsn)


async def test_a_connection_that_is_cancelled_while_it_connects_closes_its_socket(settings: Settings) -> None:
    """Also while somebody keeps the exception."""
    left, errors = Left(), []
    for at in range(1, 4):
        with anyio.CancelScope() as scope:
            try:
                await cut_once(scope, at, str(settings.dsn))
            except anyio.get_cancelled_exc_class() as error:
                errors.append(error)
                raise
    assert errors
    assert left.now() == []


async def cut_once(scope: anyio.CancelScope, at: int, dsn: str) -> None:
    async def connect() -> None:
        await (await Connection.connect(dsn)).close()

    await Counted(connect(), at, scope.cancel)


class Heard(Exception):
    """A listener has heard of a save."""


async def test_a_listener_that_is_cancelled_leaves_nothing_open(
    settings: Settings, dsn: str, call: Call, way: Way
) -> None:
    class Noting(Wakes):
        woken = 0

        def wake(self, tenants: set[str] | None = None) -> None:
            self.woken += 1
            if self.woken == 1:
                call("save_context", content=f"one more {id(self)}", project_id="shop")
            elif tenants:
                raise Heard

    async def program() -> None:
        with suppress(Heard):
            await Noting(lambda: str(settings.dsn), 5)._listen()

    await require_nothing_left(program, way, dsn)


async def test_a_webhook_that_is_cancelled_leaves_nothing_open(
    settings: Settings, dsn: str, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses: list[int] = []

    async def receive(_request: httpx2.Request) -> httpx2.Response:
        await anyio.lowlevel.checkpoint()
        return httpx2.Response(statuses.pop(0), stream=httpx2.ByteStream(b""))

    monkeypatch.setattr(
        httpx2, "AsyncClient", partial(httpx2.AsyncClient, transport=httpx2.MockTransport(receive))
    )

    follow = following.follow_pages
    monkeypatch.setattr(webhooks, "follow_pages", lambda memory, _after: follow(memory, None))

    async def program() -> None:
        statuses[:] = [204, 410]
        async with Memory.connect(settings) as memory:
            await webhooks.deliver(memory, settings)
        assert statuses == []

    await require_nothing_left(program, way, dsn)


class Connected:
    """A client of an ASGI application that leaves after the first event, in one of the ways in which servers report it."""

    def __init__(self, version: str, path: str, query: bytes = b"", **headers: str) -> None:
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": version},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query,
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "headers": [
                (b"host", b"127.0.0.1"),
                *((name.encode(), value.encode()) for name, value in headers.items()),
            ],
        }
        self._raises = version >= "2.4"
        self.heard = anyio.Event()
        self.said = b""

    async def receive(self) -> dict[str, Any]:
        await self.heard.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.said += message.get("body", b"")
        if b"data:" in self.said:
            self.heard.set()
            if self._raises:
                raise OSError("the client has left")


VERSIONS = pytest.mark.parametrize("version", ["2.3", "2.4"])


@VERSIONS
async def test_a_stream_of_changes_that_is_cancelled_leaves_nothing_open(
    settings: Settings, dsn: str, way: Way, version: str
) -> None:
    async def is_valid() -> bool:
        return True

    async def program() -> None:
        client = Connected(version, "/changes", b"after=start")
        async with Memory.connect(settings) as memory:
            with suppress(ClientDisconnect):
                await stream(memory, is_valid, client.scope, client.receive, client.send)
        assert b"data:" in client.said

    await require_nothing_left(program, way, dsn)


@VERSIONS
async def test_a_page_that_follows_the_activity_leaves_nothing_open_when_it_is_cancelled(
    settings: Settings, dsn: str, call: Call, way: Way, version: str
) -> None:
    async def program() -> None:
        app, link = local_app(settings, "ada")
        key = link.sessions.begin(link.person).key
        client = Connected(version, "/ui/activity/live", cookie=f"{COOKIE}={key}")
        async with app.router.lifespan_context(app), anyio.create_task_group() as tasks:

            async def save() -> None:
                while b"still here" not in client.said:
                    await anyio.lowlevel.checkpoint()
                call("save_context", content=f"one more {id(client)}", project_id="shop")

            tasks.start_soon(save)
            with suppress(ClientDisconnect):
                await app(client.scope, client.receive, client.send)
            tasks.cancel_scope.cancel()
        assert b"data:" in client.said

    await require_nothing_left(program, way, dsn)


async def test_a_subscription_of_a_client_that_is_cancelled_leaves_nothing_open(
    settings: Settings, dsn: str, call: Call, way: Way
) -> None:
    async def program() -> None:
        async with (
            Client(create_server(settings)) as client,
            client.listen(resource_subscriptions=["pgmem://project/shop"]) as heard,
        ):
            call("save_context", content=f"one more {id(heard)}", project_id="shop")
            await anext(aiter(heard))

    await require_nothing_left(program, way, dsn)


@pytest.mark.long
async def test_an_exchange_with_a_folder_that_is_cancelled_leaves_nothing_open(
    settings: Settings, dsn: str, tmp_path: Path, way: Way
) -> None:
    folder = tmp_path / "exchanged"
    folder.mkdir()

    async def program() -> None:
        async with Memory.connect(settings) as memory:
            await exchange(memory, str(folder))

    await require_nothing_left(program, way, dsn)


async def test_a_server_that_ends_while_clients_listen_leaves_nothing_open(
    dsn: str, tmp_path: Path, call: Call
) -> None:
    secret = str(call("issue_token", org_id="acme", user_id="alice", name="test")["token"])
    left = Left()
    async with AsyncExitStack() as stack, serving(f"{dsn} application_name=cut", tmp_path) as address:
        await Agent(address, secret).call("save_session", objective="open", project_id="shop")
        client = await stack.enter_async_context(httpx2.AsyncClient(timeout=20))
        headers = {"authorization": f"Bearer {secret}"}
        listening = client.stream("GET", f"{address}/changes?after=start", headers=headers)
        answer = await stack.enter_async_context(listening)
        assert "id:" in await anext(answer.aiter_lines())
    assert left.now() == []
    if not is_managed():
        until_the_server_says(ENDED, dsn, {}, "a session of the server stayed")


async def test_pages_that_are_being_read_end_with_the_memory(settings: Settings) -> None:
    left = Left()
    async with Memory.connect(settings) as memory:
        wakes = memory.caller.database.wakes
        begun = anyio.Event()

        async def read() -> Any:
            begun.set()
            await anyio.sleep_forever()

        async def reader() -> None:
            with pytest.raises(DatabaseUnavailable, match="closed meanwhile"):
                await wakes.page("a page", read)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader)
            await begun.wait()
            await wakes.close()
    assert left.now() == []


def threads() -> set[threading.Thread]:
    """Those of memories without await; an idle worker of anyio ends a moment after its loop."""
    return {thread for thread in threading.enumerate() if thread.name == "pgmem"}


def test_a_memory_without_await_ends_its_thread_when_its_opening_is_interrupted(
    settings: Settings, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C at that moment waited for ever."""
    before = threads()

    async def interrupted(_memory: Memory) -> bool:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        await anyio.sleep_forever()
        return True

    monkeypatch.setattr(Memory, "register_embedder", interrupted)
    # A shell without job control starts background programs deaf to Ctrl-C.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            SyncMemory.connect(settings).open()
    finally:
        signal.signal(signal.SIGINT, heard)
    assert threads() <= before
    if not is_managed():
        until_the_server_says(ENDED, dsn, {}, "a session of the interrupted opening stayed")


def test_a_memory_without_await_closes_while_a_call_of_it_waits(
    settings: Settings, dsn: str, connection: psycopg.Connection[Any]
) -> None:
    """The caller was interrupted: the call waits for a lock, and nobody waits for the call."""
    before = threads()
    with psycopg.connect(past_the_pooler(dsn)) as holder:
        holder.execute("lock table pgmem.node in access exclusive mode")
        with SyncMemory.connect(settings) as memory:
            memory.thread.portal.start_task_soon(memory.opened.save_context, "waits", "shop")
            until_the_server_says(
                "exists (select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'cut')",
                dsn,
                {},
                "the call does not wait",
            )
    assert threads() <= before
    if not is_managed():
        until_the_server_says(ENDED, dsn, {}, "a session of the interrupted call stayed")


def test_connections_outside_the_pools_are_opened_in_one_place() -> None:
    package = Path(__file__).parent.parent.parent / "pgmem"
    elsewhere = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"\bAsyncConnection\.connect\(|\bConnection\.connect\(", path.read_text())
    ]
    assert elsewhere == ["database/connection.py"]
