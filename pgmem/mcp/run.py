"""Running the server on a transport."""

from __future__ import annotations

import os
import signal
from types import FrameType

from pgmem.mcp.app import App
from pgmem.mcp.server import create_server
from pgmem.settings import Settings
from pgmem.telemetry import logs, tracing


def run(settings: Settings, transport: str = "stdio", host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serve until stdin closes (stdio) or the process is stopped (http)."""
    logs.configure(settings)
    if settings.otel:
        tracing.export()
    if transport == "http":
        from pgmem.mcp.listening import listen

        listen(settings, host, port)
        return
    app = App(settings)
    server = create_server(settings, app)

    def stop(number: int, _frame: FrameType | None) -> None:
        # The thread that reads stdin cannot be stopped, and would keep the process until the next line.
        app.leave()
        os._exit(128 + number)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    server.run("stdio")
