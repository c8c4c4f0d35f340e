"""The command line: one function a command, each one call of the memory."""

from __future__ import annotations


import typer

from pgmem.cli import bench, graph, read, review, serve, store
from pgmem.cli.demo import demo

__all__ = ["app"]

app = typer.Typer(
    name="pgmem",
    help="The memory of AI agents in one PostgreSQL.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
for command in (serve.mcp, store.init, store.status, store.doctor, store.psql):
    app.command()(command)
for command in (read.retrieve, read.search, review.review):
    app.command()(command)
app.command("cypher")(graph.cypher)
app.add_typer(graph.app, name="graph")
app.add_typer(store.config, name="config")
app.add_typer(bench.app, name="bench")
