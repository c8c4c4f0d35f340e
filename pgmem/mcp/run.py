"""Run the server on a transport."""

from __future__ import annotations

import logging
import sys

from pgmem.mcp.server import create_server
from pgmem.settings import Settings

__all__ = ["run"]


def run(settings: Settings, transport: str = "stdio", host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serve until stdin closes (stdio) or the process is stopped (http)."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="pgmem: %(message)s")
    server = create_server(settings)
    if transport == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host=host, port=port, stateless_http=True, json_response=True)
