"""Running the server on a transport."""

from __future__ import annotations

import os
import signal
from functools import partial
from types import FrameType

import anyio

from pgmem import registry
from pgmem.errors import InvalidArgument
from pgmem.mcp.app import EXIT_CODE, App
from pgmem.mcp.server import create_server
from pgmem.settings import Settings
from pgmem.telemetry import logs, tracing


def run(settings: Settings, transport: str = "stdio", host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serve until stdin closes (stdio), the process is stopped (http), or it is idle after its store was upgraded."""
    logs.configure(settings)
    if settings.otel:
        tracing.export()
    if transport != "stdio":
        place = registry.merged("TRANSPORTS").get(transport)
        if place is None:
            raise InvalidArgument(f"This installation has no transport {transport}: use stdio.")
        registry.imported(place)(settings, host, port)
        return
    app = App(settings)
    server = create_server(settings, app)

    def end(code: int) -> None:
        # The thread that reads stdin cannot be stopped, and would keep the process until the next line.
        app.leave()
        os._exit(code)

    def stop(number: int, _frame: FrameType | None) -> None:
        end(128 + number)

    app.end = partial(end, EXIT_CODE)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    anyio.run(server.serve_stdio)
