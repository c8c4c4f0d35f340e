"""A client with a token, over HTTP, that sends requests unlike any client of the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest

from tests.conftest import Call
from tests.core.tenancy.test_http import token
from tests.security.test_hostile_client import Issue
from tests.serving import Agent, serving

__all__ = ["token"]

pytestmark = pytest.mark.anyio

HEAD = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


def calling(tool: str, arguments: str) -> str:
    """The body of a call, with its arguments unchanged."""
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}'


BODIES: dict[str, str | bytes] = {
    "a number of 4000 digits": calling("search_memory", '{"query":"x","limit":1' + "0" * 4000 + "}"),
    "a number of 5000 digits": calling("search_memory", '{"query":"x","limit":1' + "0" * 5000 + "}"),
    "no number": calling(
        "save_decision", '{"title":"t","rationale":"r","project_id":"shop","confidence":NaN}'
    ),
    "infinity": calling(
        "save_decision", '{"title":"t","rationale":"r","project_id":"shop","confidence":1e999}'
    ),
    "minus infinity": calling("remember", '{"label":"Concept","properties":{"name":"n","x":-Infinity}}'),
    "a lone surrogate": calling("save_context", '{"content":"\\ud800","project_id":"shop"}'),
    "a lone surrogate in a key": calling(
        "remember", '{"label":"Concept","properties":{"name":"n","\\udfff":1}}'
    ),
    "nul": calling("save_session", '{"objective":"o","project_id":"sh\\u0000op"}'),
    "the separator of tenants": calling("save_session", '{"objective":"o","project_id":"acme\\u001fbob"}'),
    "another type": calling("get_scope_state", '{"project_id":{"$ne":null}}'),
    "no object": calling("get_scope_state", '["shop"]'),
    "a null": calling("get_scope_state", "null"),
    "utf-16": calling("get_scope_state", '{"project_id":"shop"}').encode("utf-16"),
    "a byte order mark": "\ufeff" + calling("get_scope_state", '{"project_id":"shop"}'),
    "no utf-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    "two names": '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{}}',
    "a batch": "[" + ",".join([calling("get_scope_state", '{"project_id":"shop"}')] * 500) + "]",
    "no id that is one": '{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}',
    "another version": '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
    "a method of Python": '{"jsonrpc":"2.0","id":1,"method":"__class__/__init__","params":{}}',
    "a tool of Python": calling("__init__", "{}"),
    "a file": '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    "a path": '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"pgmem://session/../../etc/passwd"}}',
    "a subscription": '{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"pgmem://decisions/proj"}}',
    "a level of logs": '{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}',
    "a cancellation of others": '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    "an answer to nothing": '{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"approve":true}}}',
    "arguments that Python takes": calling(
        "save_context", '{"content":"c","project_id":"shop","source":"cli","org_id":"globex"}'
    ),
    "what the server fills": calling(
        "save_decision",
        '{"title":"t","rationale":"r","project_id":"shop","scope":"global","shown":"t r","approval":{"action":"accept"}}',
    ),
    "a vector": calling(
        "save_context", '{"content":"c","project_id":"shop","embedding":[1],"embedding_model":"x"}'
    ),
}


async def test_a_body_that_no_client_sends_is_answered_and_harms_nobody(
    dsn: str, tmp_path: Path, token: Issue, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    """Each is refused in one sentence or answered, never with 500, and the next tenant is served."""
    alice, carol = token("acme", "alice"), token("globex", "carol")
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient(timeout=30) as client:
        await Agent(address, carol).call("save_session", objective="open", project_id="mill")
        await Agent(address, alice).call("save_session", objective="open", project_id="shop")
        for name, body in BODIES.items():
            headers = {**HEAD, "authorization": f"Bearer {alice}", "content-type": "application/json"}
            sent = body.encode() if isinstance(body, str) else body
            answer = await client.post(f"{address}/mcp", content=sent, headers=headers)
            assert answer.status_code < 500, (name, answer.text)
            assert "Traceback" not in answer.text, name
            assert "internal" not in answer.text.lower(), (name, answer.text)
            for private in ("root:", "globex", "mill", "carol"):
                assert private not in answer.text, (name, answer.text)
        state = await Agent(address, carol).call("get_scope_state", project_id="mill")
        assert state["scope_state"]
    assert not [record for record in caplog.records if record.exc_info and record.levelname == "ERROR"]
    assert call("list_tenants")["org_id"] == "acme"


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
async def test_another_method_opens_no_stream_and_no_session(
    dsn: str, tmp_path: Path, token: Issue, method: str
) -> None:
    """A stream that stays open would hold a place of the tenant, and a session of another name would be somebody's."""
    alice = token("acme", "alice")
    headers = {
        **HEAD,
        "authorization": f"Bearer {alice}",
        "mcp-session-id": uuid4().hex,
        "last-event-id": "1",
    }
    async with serving(dsn, tmp_path) as address, httpx2.AsyncClient(timeout=5) as client:
        for turn in range(8):  # more than the places of a tenant
            if turn % 2:
                headers["last-event-id"] = "1"
            answer = await client.request(method, f"{address}/mcp", headers=headers)
            assert answer.status_code in (400, 404, 405, 406), answer.status_code
        assert (await Agent(address, alice).post("tools/list")).status_code == 200


async def test_a_session_id_of_others_is_nobodys(dsn: str, tmp_path: Path, token: Issue) -> None:
    """The tenant is the token's, whatever session, agent or address the headers name."""
    alice, carol = token("acme", "alice"), token("globex", "carol")
    async with serving(dsn, tmp_path) as address:
        await Agent(address, carol).call("save_session", objective="canary", project_id="mill")
        for name in (
            "mcp-session-id",
            "x-forwarded-user",
            "x-original-url",
            "x-http-method-override",
            "cookie",
        ):
            agent = Agent(address, alice, headers={name: "carol; org_id=globex", "x-org-id": "globex"})
            answer = await agent.post(
                "tools/call", {"name": "get_scope_state", "arguments": {"project_id": "mill"}}
            )
            assert answer.status_code == 200
            assert "canary" not in answer.text
            assert '"project_exists":true' not in answer.text


async def test_two_tenants_with_one_save_id_at_once_each_have_their_own(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """One save_id is claimed in each tenant by itself, so nobody waits for, or learns of, the other's."""
    agents = [token("acme", "alice"), token("globex", "carol")]
    save_id, saved = str(uuid4()), dict[str, Any]()
    async with serving(dsn, tmp_path) as address:

        async def save(secret: str, number: int) -> None:
            agent = Agent(address, secret)
            await agent.call("save_session", objective="open", project_id="shop")
            saved[secret] = await agent.call(
                "save_decision", title=f"Mine {number}", rationale="r", project_id="shop", save_id=save_id
            )

        async with anyio.create_task_group() as tasks:
            for number, secret in enumerate(agents):
                tasks.start_soon(save, secret, number)
    assert [saved[secret]["status"] for secret in agents] == ["saved", "saved"]
    assert len({one["artifact_id"] for one in saved.values()}) == 2


async def test_clients_that_leave_in_the_middle_cost_nobody_a_connection(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """Fifty saves whose clients close at once: their connections are back for the next."""
    alice, carol = token("acme", "alice"), token("globex", "carol")
    body = calling("save_session", '{"objective":"o","project_id":"shop"}').encode()
    async with serving(dsn, tmp_path, pool_size=4) as address:
        port = int(address.rpartition(":")[2])
        for _ in range(50):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                head = "".join(f"{name}: {value}\r\n" for name, value in HEAD.items())
                await stream.send(
                    f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n{head}content-type: application/json\r\n"
                    f"authorization: Bearer {alice}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
                    + body
                )
        for secret in (alice, carol):
            with anyio.fail_after(10):
                await Agent(address, secret).call("save_session", objective="o", project_id="shop")


def heads() -> Iterator[bytes]:
    """Beginnings of requests that are none, or too much of one."""
    yield b"GET /metrics HTTP/1.1\r\n" + b"x: y\r\n" * 5_000 + b"\r\n"
    yield b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"a" * 1_000_000 + b"\r\n\r\n"
    yield b"GET " + b"/a" * 200_000 + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    yield b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n"
    yield b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99999999999999999999\r\n\r\n"
    yield b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n"
    yield b"POST /mcp HTTP/1.1\r\nhost : 127.0.0.1\r\n\r\n"
    yield b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n x-folded: 1\r\n\r\n"
    yield b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    yield b"GET http://evil.com/metrics HTTP/1.1\r\nhost: evil.com\r\n\r\n"
    yield b"GET /mcp/../metrics HTTP/1.1\r\nhost: 127.0.0.1@evil.com\r\n\r\n"
    yield b"GET /ui/../../etc/passwd HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    yield b"GET /ui/%2e%2e/%2e%2e/etc/passwd%00 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


async def test_heads_that_are_none_are_refused_and_the_server_goes_on(dsn: str, tmp_path: Path) -> None:
    async with serving(dsn, tmp_path) as address:
        port = int(address.rpartition(":")[2])
        for head in heads():
            answer = b""
            with anyio.move_on_after(5):
                async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                    try:
                        await stream.send(head)
                        answer = await stream.receive(1_000)
                    except (anyio.BrokenResourceError, anyio.EndOfStream):
                        answer = b""
            status = answer.split(b" ")[1] if answer.startswith(b"HTTP/") else b""
            assert not status.startswith(b"5"), (head[:80], answer[:200])
            assert status != b"200" or b"/health/live" in head, (head[:80], answer[:200])
            assert b"root:" not in answer
        async with httpx2.AsyncClient() as client:
            assert (await client.get(f"{address}/health/live")).status_code == 200


async def test_requests_of_changes_that_no_store_sends_are_refused_in_one_sentence(
    dsn: str, tmp_path: Path, token: Issue
) -> None:
    """A place such as an object, or a list without end, was an error of the server."""
    places = ("[" * 10_000, '[{"a": 1}]', '{"a": 1}', "[1e999]", "1", '["\\u0000"]', "")
    records = (
        "{}",
        "[[]]",
        '[{"type": "node", "label": "Context", "id": "x"}]',
        '[{"type": "edge", "src": 1}]',
        "[1, null]",
        "[" * 5000,
    )
    secret = token("acme", "alice", for_sync=True)
    headers = {"authorization": f"Bearer {secret}", "accept": "application/json"}
    async with (
        serving(dsn, tmp_path) as address,
        httpx2.AsyncClient(base_url=address, headers=headers) as client,
    ):
        for place in places:
            answer = await client.get("/changes", params={"part": "memory", "place": place})
            assert (answer.status_code, len(answer.json()["error"]) < 200) == (400, True), place
        for sent in records:
            answer = await client.post("/changes", content=f'{{"changes": {sent}}}')
            rows = answer.json()
            assert answer.status_code == 400 or {row["outcome"] for row in rows} <= {"refused"}, sent
