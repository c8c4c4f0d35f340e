"""The command line: one function a command, each one call of the memory."""

from __future__ import annotations

from typing import Annotated

import typer

from pgmem.cli import (
    backup,
    bench,
    cards,
    embed,
    graph,
    moving,
    quality,
    read,
    review,
    serve,
    store,
    temporal,
    tenancy,
)
from pgmem.cli.demo import demo
from pgmem.cli.doctor import doctor
from pgmem.cli.options import Commands
from pgmem.cli.worker import worker
from pgmem.database.schema import release

__all__ = ["app"]

app = typer.Typer(
    name="pgmem",
    cls=Commands,
    help="The memory of AI agents in one PostgreSQL.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pgmem {release()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the release.")
    ] = False,
) -> None:
    """The memory of AI agents in one PostgreSQL."""


app.command()(demo)
app.command()(serve.mcp)
app.command()(store.init)
app.command()(store.status)
app.command()(doctor)
app.command()(store.psql)
app.command()(read.retrieve)
app.command()(read.search)
app.command()(review.review)
app.command()(graph.cypher)
app.command()(quality.surface)
app.command()(quality.hygiene)
app.command()(quality.health)
app.command()(quality.freshness)
app.command()(quality.reflect)
app.command()(quality.merge)
app.command()(quality.supersede)
app.command()(quality.retry)
app.command()(embed.reindex)
app.command()(worker)
app.command()(temporal.history)
app.command()(temporal.decay)
app.command()(temporal.forget)
app.command()(temporal.revert)
app.command()(moving.export)
app.command("import")(moving.import_)
app.command()(backup.backup)
app.command()(backup.restore)
app.command("erase-subject")(tenancy.erase_subject)
app.add_typer(tenancy.token, name="token")
app.add_typer(tenancy.tenancy, name="tenancy")
app.add_typer(cards.app, name="cards")
app.add_typer(graph.app, name="graph")
app.add_typer(store.config, name="config")
app.add_typer(bench.app, name="bench")
