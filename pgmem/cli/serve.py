"""`pgmem mcp`, the MCP server."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pgmem.cli.options import Store, exit_on_error, plain_command


@plain_command
def mcp(
    store: Store,
    transport: Annotated[
        Literal["stdio", "http"],
        typer.Option(help="stdio: the client starts the server; http: the server listens."),
    ] = "stdio",
    host: Annotated[str, typer.Option(help="The address to listen on (http).")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on (http).", min=1, max=65535)] = 8000,
) -> None:
    """Serve agents over the Model Context Protocol."""
    from pgmem.mcp.run import run

    exit_on_error(lambda: run(store.settings, transport, host, port), store.named_by)
