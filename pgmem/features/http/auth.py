"""Streamable HTTP for many tenants: bearer tokens, allowed hosts and origins, limits on size and rate.

A request acts for the tenant of its token. Tokens are issued by `pgmem token issue`, stored as hashes, and looked up
for every request, so that revoking one takes effect at once. While the database is away, a token that it confirmed
shortly before still counts, so that the saves of its client go to the outbox; nothing else can be done without a
database.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from hashlib import sha256
from time import monotonic

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from pgmem.database.shares import REMEMBERED, Rates, Recent
from pgmem.errors import DatabaseUnavailable, EmbeddedServerError, InvalidArgument
from pgmem.features.http.exchange import Exchange
from pgmem.features.http.fairness import Admission, Verified
from pgmem.features.ui.signed_in import WithPages
from pgmem.features.ui.site import Limits
from pgmem.mcp.app import App, tenant
from pgmem.mcp.server import create_server
from pgmem.models import ApiToken
from pgmem.settings import Settings
from pgmem.telemetry.metrics import Metrics
from pgmem.telemetry.probes import Probes

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_CONFIRMED_S = 300.0
"""Seconds for which a confirmed token counts while the database is away: a restart or a failover is over by then."""
_PAGES_BYTES = 5_000_000


class _Confirmed:
    """The tokens that the store confirmed of late, by their hash and with their tenant; their secrets are not kept."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._tokens = Recent[bytes, tuple[float, AccessToken]](most)

    def __getitem__(self, secret: str) -> AccessToken | None:
        """Return the tenant of a token; None if it is not confirmed, or no longer."""
        until, token = self._tokens.get(_hash(secret), (0.0, None))
        return token if monotonic() < until else None

    def put(self, secret: str, found: ApiToken, token: AccessToken, asked: float) -> None:
        """Remember a token that was confirmed by a question of that moment, until it expires at most."""
        expires = (found.expires_at - datetime.now(UTC)).total_seconds() if found.expires_at else _CONFIRMED_S
        self._tokens[_hash(secret)] = asked + min(expires, _CONFIRMED_S), token

    def forget(self, secret: str) -> None:
        """Forget a token that the store no longer confirms."""
        self._tokens.pop(_hash(secret), None)


def stored_tokens(app: App) -> Callable[[str], Awaitable[AccessToken | None]]:
    """Return the function that looks a bearer token up in the store."""
    confirmed = _Confirmed()

    async def verify(secret: str) -> AccessToken | None:
        """Return the tenant of a token; None if it is unknown, revoked, expired or a person's."""
        asked, known = monotonic(), confirmed[secret]
        try:
            store = await app.store()
            with nullcontext() if known is None else store.caller.database.asking(tenant(known)):
                found = await store.verify_token(secret)
        except (DatabaseUnavailable, EmbeddedServerError):
            if (known := confirmed[secret]) is not None:
                return known
            raise
        if found is None or found.for_person:
            confirmed.forget(secret)
            return None
        token = AccessToken(
            token=str(found.id),  # the secret goes no further
            client_id=str(found.id),
            scopes=[],
            expires_at=int(found.expires_at.timestamp()) if found.expires_at else None,
            subject=f"{found.org_id}/{found.user_id}",
            claims={
                "org_id": found.org_id,
                "user_id": found.user_id,
                "name": found.name,
                "for_sync": found.for_sync,
                "vouches": found.vouches,
            },
        )
        confirmed.put(secret, found, token, asked)
        return token

    return verify


def _hash(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def http_app(settings: Settings, app: App | None = None, host: str = "127.0.0.1") -> ASGIApp:
    """Return the HTTP transport as an ASGI application; a request without a valid token gets 401.

    /health/live, /health/ready and /metrics need no token of a tenant; /ui are the pages, where a token signs a person
    in.

    Raises:
        InvalidArgument: `PGMEM_HTTP_ISSUER` is set without `PGMEM_HTTP_URL`, or one of them is not a URL.
    """
    app = app or App(settings, tokens_required=True)
    server = create_server(settings, app)
    names = {host, *_LOCAL} if host in ("127.0.0.1", "localhost", "::1") else {host}
    hosts = [*settings.http_allowed_hosts]
    origins = [*settings.http_allowed_origins]
    for name in sorted(names):
        hosts += [name, f"{name}:*"]
        origins += [f"http://{name}", f"http://{name}:*"]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )
    inner = server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        host=host,
        max_request_body_size=settings.http_max_request_bytes,
        transport_security=security,
        auth=_auth(settings, host),
        token_verifier=Verified(),
    )
    metrics = Metrics()
    app.measure(metrics)
    # Probes are not limited, because those of a cluster come from one address.
    admitted = Admission(
        inner,
        Exchange(server, app, inner).answer,
        stored_tokens(app),
        settings.http_requests_per_minute,
        settings.http_unverified_per_minute,
        settings.http_max_request_bytes,
        app.store,
        security,
    )
    pages = WithPages(
        admitted,
        app.store,
        hosts,
        Limits(
            Rates.a_minute(settings.http_unverified_per_minute),
            Rates.a_minute(settings.http_requests_per_minute),
            admitted.turn,
            # To read and draw a page takes time that all tenants share: one of the largest, then one in 10 s.
            Rates(_PAGES_BYTES, _PAGES_BYTES / 10),
        ),
        is_secure=(settings.http_url or "").startswith("https:"),
    )
    return Probes(app, metrics, settings.metrics_token, pages, hosts)


def _auth(settings: Settings, host: str) -> AuthSettings:
    if settings.http_issuer is not None and settings.http_url is None:
        raise InvalidArgument(
            "PGMEM_HTTP_ISSUER needs PGMEM_HTTP_URL, the address under which clients reach this server."
        )
    # The SDK requires an issuer, and publishes it only together with a resource URL. The tokens are those of the store,
    # which knows their tenants, so the audience is not checked.
    published = settings.http_issuer is not None
    try:
        return AuthSettings.model_validate(
            {
                "issuer_url": settings.http_issuer if published else f"http://{host}",
                "resource_server_url": settings.http_url if published else None,
                "validate_token_resource": False,
            }
        )
    except ValueError as error:
        raise InvalidArgument(f"Invalid PGMEM_HTTP_URL or PGMEM_HTTP_ISSUER: {error}") from None
