"""Webhooks: signed, in order, tried again until they are accepted, and only to the operator's address."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest

from pgmem import InvalidArgument, Memory
from pgmem.features.feed import webhooks
from pgmem.settings import Settings

pytestmark = pytest.mark.anyio
KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


class Receiver(ThreadingHTTPServer):
    """A receiver that refuses its first messages with these statuses."""

    daemon_threads = True

    def __init__(self, statuses: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.statuses = statuses
        self.got: list[dict[str, Any]] = []
        self.ids: list[str] = []
        self.arrived = threading.Condition()


class Answer(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """Check the signature by the words of the specification, and answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        identity, at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        signed = b".".join((identity.encode(), at.encode(), body))
        expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
        assert self.headers["webhook-signature"] == f"v1,{expected}"
        self.server.ids.append(identity)
        status = self.server.statuses.pop(0) if self.server.statuses else 204
        if status == 204:
            with self.server.arrived:
                self.server.got.append(json.loads(body))
                self.server.arrived.notify_all()
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver([500, 503]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def settings(receiver: Receiver, memory: Memory) -> Settings:
    given = memory.caller.database.settings
    return given.model_copy(
        update={
            "webhook_url": f"http://127.0.0.1:{receiver.server_port}/hook",
            "webhook_secret": Settings(webhook_secret=SECRET).webhook_secret,
        }
    )


async def until_got(receiver: Receiver, count: int) -> None:
    def wait() -> bool:
        with receiver.arrived:
            return receiver.arrived.wait_for(lambda: len(receiver.got) >= count, timeout=60)

    assert await anyio.to_thread.run_sync(wait)


async def test_each_change_is_sent_signed_and_once_accepted_and_another_run_goes_on(
    memory: Memory, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_FIRST_WAIT_S", 0.01)
    chosen = settings(receiver, memory)
    database = memory.caller.database
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(webhooks.deliver, memory, chosen)
        with anyio.fail_after(10):
            while not database.wakes._followers:
                await anyio.lowlevel.checkpoint()
        await memory.save_session("the title is not sent", "shop")
        await until_got(receiver, 2)
        await memory.save_context("nor is the text", "shop")
        await until_got(receiver, 3)
        with anyio.fail_after(10):
            while (pushed := (await memory.known_peer(webhook(chosen))).pushed) is None or (
                await memory.changes(pushed)
            ).changes:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert [message["type"] for message in receiver.got] == ["project.saved", "memory.saved", "memory.saved"]
    assert "title" not in str(receiver.got)
    assert receiver.ids[0] == receiver.ids[1] == receiver.ids[2]
    assert len(set(receiver.ids)) == 3
    await memory.save_context("while nobody sent", "shop")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(webhooks.deliver, memory, chosen)
        await until_got(receiver, 4)
        tasks.cancel_scope.cancel()
    ids = [message["data"]["id"] for message in receiver.got]
    assert len(set(ids)) == 4


def webhook(chosen: Settings) -> str:
    assert chosen.webhook_url is not None
    return "webhook " + hashlib.sha256(chosen.webhook_url.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_c2hvcnQ=", "abc", "whsec_not base64 at all but rather long"]
)
def test_a_secret_of_another_form_is_refused_with_what_to_send(secret: str) -> None:
    with pytest.raises(InvalidArgument, match="openssl rand"):
        webhooks.key_of(secret)


async def test_without_an_address_nothing_is_sent(memory: Memory) -> None:
    await webhooks.deliver(memory, memory.caller.database.settings)


async def test_an_address_needs_a_secret(memory: Memory) -> None:
    chosen = memory.caller.database.settings.model_copy(update={"webhook_url": "http://127.0.0.1/"})
    with pytest.raises(InvalidArgument, match="PGMEM_WEBHOOK_SECRET"):
        await webhooks.deliver(memory, chosen)


async def test_no_more_of_an_answer_is_read_than_a_connection_is_worth(
    memory: Memory, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver may answer without end; its status is all that counts."""
    sent = 0

    def endless(answer: Answer) -> None:
        nonlocal sent
        body = json.loads(answer.rfile.read(int(answer.headers["content-length"])))
        answer.send_response(200)
        answer.end_headers()
        try:
            while True:
                sent += answer.wfile.write(b"x" * 65_536)
        except OSError:
            answer.close_connection = True
        with receiver.arrived:
            receiver.got.append(body)
            receiver.arrived.notify_all()

    monkeypatch.setattr(Answer, "do_POST", endless)
    chosen = settings(receiver, memory)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(webhooks.deliver, memory, chosen)
        with anyio.fail_after(10):
            while not memory.caller.database.wakes._followers:
                await anyio.lowlevel.checkpoint()
        await memory.save_session("open", "shop")
        await until_got(receiver, 1)
        tasks.cancel_scope.cancel()
    assert sent < 20_000_000
