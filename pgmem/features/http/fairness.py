"""Admission of requests: tokens are verified and counted before the SDK reads anything of a request.

A request with a valid token counts for the token, however its header is spelled; any other counts for its address. Each
tenant has a limit of concurrent requests and a separate queue, so that a tenant that floods the server delays only
itself.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from hashlib import sha256

import anyio
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgmem.database.shares import Rates, Recent, Shares
from pgmem.errors import Busy, PgmemError, summary
from pgmem.features.feed import http as changes
from pgmem.features.http.connections import CLAIM
from pgmem.features.http.exchange import PATH
from pgmem.mcp.app import exchanges, holder, still_valid, vouches
from pgmem.mcp.app import tenant as tenant_of
from pgmem.memory import Memory

log = logging.getLogger("pgmem")

# Requests of a tenant that are handled at once: more than its connections, since some wait for vectors.
_AT_ONCE = 4
_QUEUE = 64  # requests of a tenant that wait, so that a team's agents get no error
_CHECKS = 2  # of one token, or of unknown ones from one address, that the store verifies at once
_PATIENCE_S = 30.0
_BODY_S = 30.0  # for a request to arrive as a whole
_TOKEN_CHARS = 200
_VALUE_BYTES = 512  # a list of 2000 short texts takes as long as a text of 1 MB
_VALUES = 20_000  # texts, numbers and containers in a request; a batch of 2000 memories has about 10 000
_ALLOWED_BY = {421: "PGMEM_HTTP_ALLOWED_HOSTS", 403: "PGMEM_HTTP_ALLOWED_ORIGINS"}

_NO_EXCHANGE = (
    "Stores are kept in step by a separate kind of token, and this one is not: a reviewer of this store issues one "
    "with pgmem token issue --for sync. Nothing was changed."
)
_ONLY_EXCHANGE = (
    "This token keeps another store in step with this one (pgmem sync) and admits no agent: ask the administrator of "
    "this store for a token of yours."
)
_LISTEN = b'"subscriptions/listen"'

_verified: ContextVar[AccessToken | None] = ContextVar("verified", default=None)

Verify = Callable[[str], Awaitable[AccessToken | None]]
Answer = Callable[[AccessToken, bytes, Scope, Receive, Send], Awaitable[None]]


class Verified(TokenVerifier):
    """Gives the SDK the findings of `Admission` about the token of a request."""

    async def verify_token(self, token: str) -> AccessToken | None:  # noqa: ARG002
        """Return the tenant of the token; None, which is answered with 401, if it is unknown, revoked or expired."""
        return _verified.get()


class Admission:
    """An ASGI application that passes requests to another one, or answers 408, 429 or 503 itself.

    Args:
        app: the application behind it, for requests without a valid token.
        answer: answers the others: their token and body, and the request, whose body can be received once more.
        verify: finds the tenant of a token.
        per_minute: requests per minute with one token.
        unverified_per_minute: requests per minute without a valid token from one address.
        most_bytes: size of a request.
        store: gives the memory of this process, for those who listen.
        security: the names and origins by which the server may be called.
    """

    def __init__(
        self,
        app: ASGIApp,
        answer: Answer,
        verify: Verify,
        per_minute: int,
        unverified_per_minute: int,
        most_bytes: int,
        store: Callable[[], Awaitable[Memory]],
        security: TransportSecuritySettings,
    ) -> None:
        self._app = app
        self._store = store
        self._security = TransportSecurityMiddleware(security)
        self._listeners = changes.listeners()
        self._answered = answer
        self._verify = verify
        self._most_bytes = most_bytes
        self._by_token = Rates.a_minute(per_minute)
        self._by_address = Rates.a_minute(unverified_per_minute)
        # Reading a request takes time that all tenants share, by its size: two of the largest at once, then one in 4 s.
        self._bytes = Rates(2 * most_bytes, most_bytes / 4)
        self._known = Recent[bytes, str]()
        self._shares = Shares(_AT_ONCE, _QUEUE, _PATIENCE_S)
        self._checks = Shares(_CHECKS, _QUEUE, _PATIENCE_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            await self._admit(scope, receive, answer)
        except Busy as error:
            # Further requests on this connection would be refused one by one.
            await answer.refuse(scope, receive, 429, str(error), 1, ends=True)
        except PgmemError as error:
            log.warning("%s", summary(error))
            await answer.refuse(scope, receive, 503, "The database is unavailable; try again later.", 5)

    @asynccontextmanager
    async def turn(self, tenant: Hashable, scope: Scope) -> AsyncIterator[None]:
        """Hold a place of a tenant, to which the connection belongs from now on, for the time of the block.

        Args:
            tenant: organisation and user.
            scope: of the request.

        Raises:
            Busy: tenants hold too many connections and this one the most, or it gets no place in time.
        """
        self._claim(tenant, scope)
        async with self._shares.place(tenant):
            yield

    @staticmethod
    def _claim(tenant: Hashable, scope: Scope) -> None:
        claim = scope.get("extensions", {}).get(CLAIM)
        if claim is not None and not claim(tenant):
            raise Busy("This tenant holds more connections than any other; send it again in a moment.")

    async def _admit(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        if _is_ambiguous(scope):
            message = "Send one Authorization header, and Content-Length or Transfer-Encoding, not both."
            await answer.refuse(scope, receive, 400, message)
            return
        secret = _bearer(scope)
        key = sha256(secret.encode()).digest() if secret else b""
        known, address = self._known.get(key), _address(scope)
        # A token that was valid before does not wait for those that others try from its address.
        wait = self._by_token.wait(known) if known else self._by_address.wait(address)
        if wait > 0:
            await answer.refuse(scope, receive, 429, _too_many(wait, known is not None), wait)
            return
        # Counted before the verification and uncounted after it: a thousand concurrent requests would all be verified.
        self._by_address.count(address)
        counts = False
        try:
            async with self._checks.place(known or address):
                token = await self._verify(secret) if secret else None
            counts = token is None
        finally:
            if not counts:
                self._by_address.count(address, -1)
        if token is None:
            self._known.pop(key, None)
            if scope["path"].rstrip("/") == changes.PATH:
                await answer.refuse(scope, receive, 401, "Send a bearer token; pgmem token issue makes one.")
                return
            await self._app(scope, receive, answer)  # 401, or a page that needs no token
            return
        self._known[key] = token.client_id
        if known is None and (wait := self._by_token.wait(token.client_id)) > 0:
            await answer.refuse(scope, receive, 429, _too_many(wait, by_token=True), wait)
            return
        self._by_token.count(token.client_id)
        foreign = await self._security.validate_request(Request(scope))
        if foreign is not None:
            setting = _ALLOWED_BY[foreign.status_code]
            message = f"{bytes(foreign.body).decode()}: set {setting} on the server to allow it."
            await answer.refuse(scope, receive, foreign.status_code, message)
            return
        tenant = tenant_of(token)
        if exchanges(token) and scope["path"].rstrip("/") != changes.PATH:
            await answer.refuse(scope, receive, 403, _ONLY_EXCHANGE)
            return

        async def is_valid() -> bool:
            return await self._verify(secret or "") is not None

        held, asked = _verified.set(token), still_valid.set(is_valid)
        try:
            if scope["path"].rstrip("/") == changes.PATH:
                await self._stream(token, is_valid, tenant, scope, receive, answer)
                return
            listens: list[Receive] = []
            async with self.turn(tenant, scope):
                body = await self._handle(token, tenant, scope, receive, answer, listens)
            # It waits for events from now on, and keeps no request of its tenant waiting.
            for again in listens:
                with self._listeners.place(tenant):
                    await self._answered(token, body, scope, again, answer)
        finally:
            still_valid.reset(asked)
            _verified.reset(held)

    async def _stream(
        self,
        token: AccessToken,
        is_valid: Callable[[], Awaitable[bool]],
        tenant: Hashable,
        scope: Scope,
        receive: Receive,
        answer: _Answer,
    ) -> None:
        """Answer /changes: a stream takes no place of the tenant's requests, a page does."""
        if scope["method"] not in ("GET", "POST"):
            await answer.refuse(
                scope, receive, 405, "Method not allowed: use GET or POST.", allow="GET, POST"
            )
            return
        if not exchanges(token) and changes.is_exchange(scope):
            await answer.refuse(scope, receive, 403, _NO_EXCHANGE)
            return
        source = "sync" if vouches(token) else None
        memory = (await self._store()).acting_as(holder(token), source=source)
        if not changes.wants_stream(scope):
            async with self.turn(tenant, scope):
                if (body := await self._arrived(tenant, scope, receive, answer)) is not None:
                    await changes.page(memory, body[0], scope, receive, answer)
            return
        self._claim(tenant, scope)
        with self._listeners.place(tenant):
            await changes.stream(memory, is_valid, scope, receive, answer)

    async def _arrived(
        self, tenant: Hashable, scope: Scope, receive: Receive, answer: _Answer
    ) -> tuple[bytes, Message] | None:
        """Read the body of a request; None if it was refused: too large, too late, or too much of late."""
        if (wait := self._bytes.wait(tenant, min(_declared(scope), self._most_bytes))) > 0:
            much = f"Too much data at once; wait {math.ceil(wait)} s and send this again. Nothing was saved."
            await answer.refuse(scope, receive, 429, much, wait)
            return None
        try:
            body, last = await _arrived(receive, self._most_bytes)
        except TimeoutError:
            late = f"The request did not arrive within {_BODY_S:g} seconds; send it again."
            await answer.refuse(scope, receive, 408, late, 1)
            return None
        # A refused request costs no more than its bytes.
        self._bytes.count(tenant, len(body))
        if len(body) > self._most_bytes:
            large = f"The request is larger than {self._most_bytes} bytes; send less at once."
            await answer.refuse(scope, receive, 413, large)
            return None
        return body, last

    async def _handle(
        self,
        token: AccessToken,
        tenant: Hashable,
        scope: Scope,
        receive: Receive,
        answer: _Answer,
        listens: list[Receive],
    ) -> bytes:
        """Read a request and pass it on, unless it is too large or the tenant has sent too much of late.

        One that asks for a stream of events goes into `listens`, to be passed on outside the tenant's places.
        """
        if scope["method"] == "GET" and scope["path"].rstrip("/") == PATH:
            # A stream of a server without sessions would stay empty and occupy a slot.
            await answer.refuse(scope, receive, 405, "Method not allowed: use POST.")
            return b""
        if (arrived := await self._arrived(tenant, scope, receive, answer)) is None:
            return b""
        body, last = arrived
        if _has_more_values(body, _VALUES):
            many = (
                f"The request holds more than {_VALUES} values; a list takes 2000 at most. Send less at once."
            )
            await answer.refuse(scope, receive, 413, many)
        else:
            self._bytes.count(tenant, _VALUE_BYTES * _texts(body))
            if _LISTEN in body and _method(body) == "subscriptions/listen":
                listens.append(_replay(body, last, receive))
            else:
                await self._answered(token, body, scope, _replay(body, last, receive), answer)
        return body


class _Answer:
    """Where an answer goes; knows whether it has begun, because nothing else can be answered then."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def __call__(self, message: Message) -> None:
        self._begun = True
        await self._send(message)

    async def refuse(
        self,
        scope: Scope,
        receive: Receive,
        status: int,
        message: str,
        wait_s: float | None = None,
        *,
        ends: bool = False,
        allow: str = "POST",
    ) -> None:
        """Answer with an error that a client shows its agent; nothing if an answer has begun.

        `ends` closes the connection after it.
        """
        if self._begun:
            return
        # Without the id, which is in the body; clients put in that of their request.
        error = {"code": -32000, "message": message}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
        headers = {} if wait_s is None else {"retry-after": str(math.ceil(wait_s))}
        if status == 405:
            headers["allow"] = allow
        if ends or status == 400:  # of 400, the next bytes may be part of the same request to a proxy
            headers["connection"] = "close"
        await Response(body, status, headers, "application/json")(scope, receive, self)


def _too_many(wait_s: float, by_token: bool) -> str:
    whose = "with this token" if by_token else "without a valid token from this address"
    return f"Too many requests {whose}. Nothing was read or saved; wait {math.ceil(wait_s)} s and send this again."


def _is_ambiguous(scope: Scope) -> bool:
    """Whether a proxy may read another tenant or another end in the headers of a request than this server."""
    names = [name for name, _ in scope["headers"]]
    return names.count(b"authorization") > 1 or (b"content-length" in names and b"transfer-encoding" in names)


def _bearer(scope: Scope) -> str | None:
    """Return the token of a request, if it has one that could be ours."""
    scheme, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
    fits = scheme.lower() == "bearer" and secret.isascii() and 0 < len(secret) <= _TOKEN_CHARS
    return secret if fits else None


def _address(scope: Scope) -> str:
    """Return the address of a client; of IPv6 the network, because each host has all addresses of one."""
    host = str((scope.get("client") or ("?",))[0])
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else host


def _declared(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "0")
    return int(length) if length.isdecimal() else 0


async def _arrived(receive: Receive, most: int) -> tuple[bytes, Message]:
    """Return the body of a request, or more than `most` bytes of it, and the last message about it.

    Raises:
        TimeoutError: it has not arrived in time.
    """
    body = bytearray()
    with anyio.fail_after(_BODY_S):
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > most or not message.get("more_body", False):
                return bytes(body), message


def _replay(body: bytes, last: Message, receive: Receive) -> Receive:
    """Return a `receive` that gives a body that has arrived, then the messages after it."""
    whole: Message = {"type": "http.request", "body": body, "more_body": False}
    given = [whole if last["type"] == "http.request" else last]

    async def again() -> Message:
        return given.pop() if given else await receive()

    return again


def _method(body: bytes) -> object:
    """Return the method of a request of the protocol; None of anything else."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return sent.get("method") if isinstance(sent, dict) else None


def _texts(body: bytes) -> int:
    """Return about how many texts a JSON text holds that another value follows."""
    return body.count(b'",') - body.count(b'\\",')


def _has_more_values(body: bytes, most: int) -> bool:
    """Whether a JSON text holds more values than `most`: each one takes time, and a list of 150 000 takes long."""
    # A text of commas is one value, so they only rule out.
    if body.count(b",") + body.count(b"[") + body.count(b"{") < most:
        return False
    try:
        left = [json.loads(body)]
    except (ValueError, RecursionError):
        return False  # the SDK names the error
    count = 0
    while left and count <= most:
        value = left.pop()
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        count += len(items)
        if count <= most:
            left.extend(item for item in items if isinstance(item, dict | list))
    return count > most
