"""Listening on a port: the HTTP server, what it bounds, and what it tells the person who started it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from pgmem.mcp.auth import http_app
from pgmem.mcp.connections import KEEP_ALIVE_S, BoundedConnection
from pgmem.settings import Settings
from pgmem.telemetry.probes import bound


class _Telling(uvicorn.Server):
    """A server that says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
            print(
                f"pgmem listens on http://{host}:{self.config.port}/mcp. Each request needs a bearer token: "
                "`pgmem token issue` makes one for a store with one user, --org and --user for a tenant.",
                file=sys.stderr,
                flush=True,
            )


def configured(
    app: ASGIApp, host: str = "127.0.0.1", port: int = 8000, proxies: Sequence[str] = ()
) -> uvicorn.Config:
    """Return the configuration of the server: bounded connections, no log of requests.

    Args:
        app: the application.
        host: the address to listen on.
        port: the port to listen on.
        proxies: addresses that are believed when they name the address of a client.
    """
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=BoundedConnection,
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=10,  # a page that follows the activity stays connected
        log_config=None,
        access_log=False,
        server_header=False,
    )


def listen(settings: Settings, host: str, port: int) -> None:
    """Serve until the process is stopped.

    Raises:
        InvalidArgument: the address cannot be bound.
    """
    with bound(host, port) as listening:
        app = http_app(settings, host=host)
        _Telling(configured(app, host, port, settings.http_proxies)).run(sockets=[listening])
