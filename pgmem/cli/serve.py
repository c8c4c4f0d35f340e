"""`pgmem mcp`, the MCP server, and `pgmem ui`, the pages for the person at this machine."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pgmem.cli.options import By, Store, exit_on_error, plain_command


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


@plain_command
def ui(
    store: Store,
    port: Annotated[
        int | None,
        typer.Option(help="The port on this machine. Default: 7437, or a free one.", min=1, max=65535),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
    by: By = None,
) -> None:
    """Open the page of the memory: see, ask, decide. Only this machine reaches it."""
    from pgmem.features.ui.serve import run

    exit_on_error(lambda: run(store.settings, port, open_browser=open_browser, name=by), store.named_by)
