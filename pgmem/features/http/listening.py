"""Listening on a port: the HTTP server, its limits, and the line that it prints when it starts."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

import anyio
import uvicorn
from starlette.types import ASGIApp

from pgmem.database.closing import Tasks, to_its_end
from pgmem.features.http.auth import http_app
from pgmem.features.http.connections import KEEP_ALIVE_S, BoundedConnection
from pgmem.mcp.app import EXIT_CODE, App
from pgmem.settings import Settings
from pgmem.telemetry.probes import bound

log = logging.getLogger("pgmem")

_BACKLOG = 1024  # connections that the system keeps until they are accepted
_AT_ONCE = 16  # connections accepted in a turn of the loop, which others wait for
_AGAIN_S = 0.1  # until the next attempt, where the system has no file descriptor left
_SAY_S = 60.0


class Server(uvicorn.Server):
    """A server that accepts connections by itself, because asyncio logs each one that it has no descriptor for.

    asyncio tries as often as its backlog is long, 2 000 times a second, and writes a traceback each time.
    """

    _said_at = float("-inf")

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._accepting = Tasks()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen.

        Args:
            sockets: which are bound.
        """
        await super().startup(sockets=[])
        for listening in sockets or ():
            listening.setblocking(False)
            listening.listen(_BACKLOG)
            self._accepting.begin(self._accept(listening))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, and end."""
        await self._accepting.end()
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        """Accept connections until cancelled; while the system refuses them, clients wait in its queue."""
        while True:
            await anyio.wait_readable(listening)
            accepted: list[socket.socket] = []
            try:
                with suppress(BlockingIOError):
                    while len(accepted) < _AT_ONCE:
                        accepted.append(listening.accept()[0])
            except OSError as error:
                self._say(error)
                if not accepted:
                    await asyncio.sleep(_AGAIN_S)
            # To its end, so that each has somebody who closes it.
            await to_its_end(self._connect(accepted))

    async def _connect(self, accepted: list[socket.socket]) -> None:
        connect = asyncio.get_running_loop().connect_accepted_socket
        for each in accepted:
            each.setblocking(False)
        await asyncio.gather(*(connect(self._connection, each) for each in accepted), return_exceptions=True)

    def _connection(self) -> BoundedConnection:
        return BoundedConnection(self.config, self.server_state, self.lifespan.state)

    def _say(self, error: OSError) -> None:
        """Log that no connection is accepted, at most once a minute."""
        if monotonic() - self._said_at > _SAY_S:
            self._said_at = monotonic()
            log.warning("No connection can be accepted now, clients wait: %s", error.strerror or error)


class _Telling(Server):
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
    """Serve until the process is stopped, or is idle after its store was upgraded.

    Raises:
        InvalidArgument: the address cannot be bound.
        SystemExit: the store was upgraded; whoever supervises the process starts it again.
    """
    # The loop waits so long for a thread that draws a page, 5 ms by default, after each of its reads and writes.
    sys.setswitchinterval(0.001)
    with bound(host, port) as listening:
        app = App(settings, tokens_required=True)
        server = _Telling(configured(http_app(settings, app, host), host, port, settings.http_proxies))
        ended: list[int] = []

        def end() -> None:
            ended.append(EXIT_CODE)
            server.should_exit = True

        app.end = end
        server.run(sockets=[listening])
    if ended:
        sys.exit(EXIT_CODE)
