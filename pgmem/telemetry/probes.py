"""Health and metrics over HTTP: in front of the MCP transport, or as a server of the worker."""

from __future__ import annotations

import contextlib
import hmac
import socket
from collections.abc import Collection, Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

import anyio
import uvicorn
from anyio.abc import TaskStatus
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pgmem.errors import InvalidArgument, cannot_listen
from pgmem.telemetry.metrics import CONTENT_TYPE, Metrics, Subject

_PATHS = ("/health/live", "/health/ready", "/metrics")
_PATIENCE_S = 2.0


class Probes:
    """An ASGI application that answers /health/live, /health/ready and /metrics, and passes on all other requests.

    The answers need no token of a tenant and hold nothing of one. /metrics needs `PGMEM_METRICS_TOKEN` if it is set.

    Args:
        subject: the process to ask.
        metrics: the figures of /metrics.
        token: bearer token of /metrics; None needs none.
        app: gets all other requests; None answers 404.
        hosts: names by which a browser may call; an address is one too. None: any, for a server without an `app`.
    """

    def __init__(
        self,
        subject: Subject,
        metrics: Metrics,
        token: SecretStr | None = None,
        app: ASGIApp | None = None,
        hosts: Collection[str] | None = None,
    ) -> None:
        self._subject = subject
        self._metrics = metrics
        self._token = token
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a probe, or pass the request on."""
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            answer = await self._answer(scope)
            if answer is not None:
                await answer(scope, receive, send)
                return
        if self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await JSONResponse({"error": "not found"}, 404)(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response | None:
        if scope["path"] not in _PATHS:
            return None
        if not self._is_ours(Headers(scope=scope).get("host", "")):
            return JSONResponse({"error": "this server has another name: see PGMEM_HTTP_ALLOWED_HOSTS"}, 421)
        match scope["path"]:
            case "/health/live":
                return JSONResponse({"status": "alive"})
            case "/health/ready":
                trouble: str | None = "the database does not answer in time"
                with anyio.move_on_after(_PATIENCE_S):
                    trouble = await self._subject.trouble_now()
                if trouble is not None:
                    return JSONResponse({"status": "not ready", "reason": trouble}, 503)
                return JSONResponse({"status": "ready"})
            case "/metrics":
                if not self._may_read(scope):
                    return JSONResponse({"error": "send the token of PGMEM_METRICS_TOKEN"}, 401)
                return Response(await self._metrics.page(self._subject), media_type=CONTENT_TYPE)
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this server: a page of another name that resolves to it may read nothing.

        Kubelets and Prometheus call an address, which no name can be made to be.
        """
        if self._hosts is None or not host:
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:  # an open bracket
            return False
        try:
            ip_address(name)
        except ValueError:
            return host in self._hosts or f"{name}:*" in self._hosts
        return True

    def _may_read(self, scope: Scope) -> bool:
        if self._token is None:
            return True
        given = Headers(scope=scope).get("authorization", "")
        wanted = f"Bearer {self._token.get_secret_value()}"
        return hmac.compare_digest(given.encode(), wanted.encode())


class _Quiet(uvicorn.Server):
    """A server of uvicorn that leaves signals to its program."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        InvalidArgument: the address cannot be bound.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise InvalidArgument(cannot_listen(host, port, error)) from error


async def serve(
    probes: Probes, host: str, port: int, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Answer probes until cancelled.

    Raises:
        InvalidArgument: the address cannot be bound.
    """
    listening = bound(host, port)
    config = uvicorn.Config(
        probes, host=host, port=port, log_config=None, access_log=False, lifespan="off", server_header=False
    )
    server = _Quiet(config)
    task_status.started()
    try:
        await server.serve(sockets=[listening])
    finally:
        listening.close()
