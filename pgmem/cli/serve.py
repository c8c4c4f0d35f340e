"""`pgmem mcp`: the server an MCP client starts."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pgmem.cli.options import DataDir, Dsn, EnvFile, failing, settings_of

__all__ = ["mcp"]


def mcp(
    transport: Annotated[
        Literal["stdio", "http"], typer.Option(help="stdio: the client starts us; http: we listen.")
    ] = "stdio",
    host: Annotated[str, typer.Option(help="Where to listen (http).")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen (http).", min=1, max=65535)] = 8000,
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
) -> None:
    """Serve agents over the Model Context Protocol."""
    settings = settings_of(dsn, env_file, data_dir)
    from pgmem.mcp.run import run

    failing(lambda: run(settings, transport, host, port))
