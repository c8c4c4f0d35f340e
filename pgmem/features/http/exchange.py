"""A request over HTTP, answered in the task that received it.

For clients of the handshake versions of the protocol, which are most, the SDK makes a session for each
request: three tasks and four queues, which cost more than the request does. A server that keeps no sessions and answers
with JSON needs none of them, nor the SDK's look at the token, which `Admission` has verified. Any other
request is passed to the SDK's application, whose refusals are returned unchanged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import pydantic_core
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp.types import DEFAULT_NEGOTIATED_VERSION, INTERNAL_ERROR, ErrorData
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

if TYPE_CHECKING:
    from pgmem.mcp.app import App
    from pgmem.mcp.server import Server

log = logging.getLogger("pgmem")

PATH = "/mcp"
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)
_HEADERS = ((b"content-type", b"application/json"),)


@dataclass
class _Context:
    """The channel of a request that the SDK's runner needs: an answer in JSON has no notifications."""

    request_id: str | int
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(self, method: str, params: object, opts: object = None) -> dict[str, Any]:  # noqa: ARG002
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: object, opts: object = None) -> None:
        """Send nothing."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report nothing."""


class Exchange:
    """An ASGI application that answers usual requests itself, and passes on all others.

    Args:
        server: whose tools, resources and prompts are served.
        app: the state of the server.
        rest: the SDK's application.
    """

    def __init__(self, server: Server, app: App, rest: ASGIApp) -> None:
        self._server = server
        self._app = app
        self._rest = rest

    async def answer(
        self, token: AccessToken, body: bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request that has arrived.

        Args:
            token: which was verified.
            body: of the request.
            scope: of the request.
            receive: gives the body once more, for the SDK.
            send: takes the answer.
        """
        request = Request(scope)
        live = token.expires_at is None or token.expires_at >= time.time()
        called = self._called(body) if live and self._is_usual(request) else None
        if called is None:
            await self._rest(scope, receive, send)
            return
        held = auth_context_var.set(AuthenticatedUser(token))
        try:
            answer = await self._answer(request, called)
        finally:
            auth_context_var.reset(held)
        text = pydantic_core.to_json({"jsonrpc": "2.0", "id": called["id"], **answer})
        length = (b"content-length", str(len(text)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, length]})
        await send({"type": "http.response.body", "body": text})

    @staticmethod
    def _is_usual(request: Request) -> bool:
        version = request.headers.get("mcp-protocol-version")
        return (
            request.method == "POST"
            and request.scope["path"] == PATH
            and request.headers.get("content-type", "").lower().startswith("application/json")
            and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)
            and check_accept_headers(request)[0]
        )

    @staticmethod
    def _called(body: bytes) -> dict[str, Any] | None:
        """The request in a body; None if it holds another thing."""
        try:
            sent = pydantic_core.from_json(body)
        except ValueError:
            return None
        if not isinstance(sent, dict) or sent.get("jsonrpc") != "2.0":
            return None
        usual = (
            type(sent.get("id")) in (str, int)
            and isinstance(sent.get("method"), str)
            and isinstance(sent.get("params"), dict | None)
        )
        return sent if usual else None

    async def _answer(self, request: Request, called: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a request, or its error."""
        version = request.headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
        context = _Context(called["id"], ServerMessageMetadata(request_context=request))
        try:
            result = await serve_one(
                self._server,
                context,
                called["method"],
                called.get("params"),
                connection=Connection.from_envelope(version, None, None),
                lifespan_state=self._app,
            )
        except Exception as raised:
            error = handler_exception_to_error_data(raised)
            if error is None:
                log.exception("%s failed", called["method"])
                error = ErrorData(code=INTERNAL_ERROR, message="The server failed; its log says why.")
            return {"error": error.model_dump(mode="json", by_alias=True, exclude_none=True)}
        return {"result": result}
