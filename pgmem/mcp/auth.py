"""Streamable HTTP for many tenants: bearer tokens, hosts and origins, bounds on size and rate.

A request acts for the tenant its token is bound to. Tokens are issued by `pgmem token issue`, kept as
hashes, and looked up at every request, so that a revoked one ends at once.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from hashlib import sha256

from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pgmem.errors import DatabaseUnavailable, InvalidArgument
from pgmem.mcp.app import App
from pgmem.mcp.server import create_server
from pgmem.settings import Settings
from pgmem.telemetry.metrics import Metrics
from pgmem.telemetry.probes import Probes

__all__ = ["Bounds", "StoredTokens", "http_app"]

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_CALLERS = 10_000  # how many callers' rates are kept; the one longest silent is dropped first


class StoredTokens(TokenVerifier):
    """Looks a bearer token up in the store."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def verify_token(self, token: str) -> AccessToken | None:
        """The tenant of a token; None, and so 401, when it is unknown, revoked or expired."""
        if not token.isascii() or len(token) > 200:
            return None
        found = await (await self._app.store()).verify_token(token)
        if found is None:
            return None
        return AccessToken(
            token=str(found.id),  # the secret goes no further
            client_id=str(found.id),
            scopes=[],
            expires_at=int(found.expires_at.timestamp()) if found.expires_at else None,
            subject=f"{found.org_id}/{found.user_id}",
            claims={"org_id": found.org_id, "user_id": found.user_id, "name": found.name},
        )


class Bounds:
    """So many requests a minute with one token, or from one address; a database that is away is 503."""

    def __init__(self, app: ASGIApp, per_minute: int) -> None:
        self._app = app
        self._per_minute = per_minute
        self._left: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wait = self._wait(scope)
        if wait > 0:
            answer = JSONResponse({"error": "too many requests"}, 429, {"retry-after": str(int(wait) + 1)})
            await answer(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        except DatabaseUnavailable:
            await JSONResponse({"error": "the database does not answer"}, 503)(scope, receive, send)

    def _wait(self, scope: Scope) -> float:
        """Seconds until the caller's bucket holds a request again; 0 takes one out."""
        who = Headers(scope=scope).get("authorization") or f"from {(scope.get('client') or ('?',))[0]}"
        key, now, rate = sha256(who.encode()).digest(), time.monotonic(), self._per_minute / 60
        left, then = self._left.pop(key, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - then) * rate)
        taken = left >= 1
        self._left[key] = (left - 1 if taken else left, now)
        if len(self._left) > _CALLERS:
            self._left.popitem(last=False)
        return 0.0 if taken else (1 - left) / rate


def http_app(settings: Settings, app: App | None = None, host: str = "127.0.0.1") -> ASGIApp:
    """The HTTP transport as an ASGI application; a request without a valid token gets 401.

    /health/live, /health/ready and /metrics stand beside it and need no tenant's token.

    Raises:
        InvalidArgument: an issuer without the address clients know this server by, or either is no URL.
    """
    app = app or App(settings, tokens_required=True)
    server = create_server(settings, app, StoredTokens(app), _auth(settings, host))
    names = {host, *_LOCAL} if host in ("127.0.0.1", "localhost", "::1") else {host}
    hosts = [*settings.http_allowed_hosts]
    origins = [*settings.http_allowed_origins]
    for name in sorted(names):
        hosts += [name, f"{name}:*"]
        origins += [f"http://{name}", f"http://{name}:*"]
    inner = server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        host=host,
        max_request_body_size=settings.http_max_request_bytes,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
        ),
    )
    metrics = Metrics()
    app.measure(metrics)
    # In front of the bounds: probes of a cluster come from one address, and must not be counted among its requests.
    bounded = Bounds(inner, settings.http_requests_per_minute)
    return Probes(app, metrics, settings.metrics_token, bounded)


def _auth(settings: Settings, host: str) -> AuthSettings:
    if settings.http_issuer is not None and settings.http_url is None:
        raise InvalidArgument(
            "PGMEM_HTTP_ISSUER needs PGMEM_HTTP_URL, the address clients know this server by."
        )
    # The SDK asks for an issuer in any case; without a resource URL it tells nobody of it. Tokens are ours: the
    # store says whom they are for, so their audience is not checked here.
    told = settings.http_issuer is not None
    try:
        return AuthSettings.model_validate(
            {
                "issuer_url": settings.http_issuer if told else f"http://{host}",
                "resource_server_url": settings.http_url if told else None,
                "validate_token_resource": False,
            }
        )
    except ValueError as error:
        raise InvalidArgument(f"PGMEM_HTTP_URL or PGMEM_HTTP_ISSUER is no address: {error}") from None
