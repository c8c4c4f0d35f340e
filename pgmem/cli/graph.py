"""`pgmem graph` and `pgmem cypher`: the graph beside the tables."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from pgmem.cli.options import (
    DataDir,
    Door,
    Dsn,
    EnvFile,
    at_the_store,
    cells,
    settings_of,
    terminal,
    with_memory,
)
from pgmem.memory import Memory

__all__ = ["app", "cypher"]

app = typer.Typer(help="The graph beside the tables.", no_args_is_help=True)


@at_the_store
def cypher(
    door: Door,
    query: Annotated[str, typer.Argument(help="A Cypher query that ends in RETURN.")],
    params: Annotated[str, typer.Option(help="Parameters, as a JSON object.")] = "{}",
) -> None:
    """Read the graph with Cypher."""
    try:
        given = json.loads(params)
    except ValueError as error:
        typer.echo(f"pgmem: --params is no JSON object: {error}", err=True)
        raise typer.Exit(2) from None
    rows = door.ask(lambda memory: memory.run_cypher(query, given))
    if door.told(rows):
        return
    terminal().print(table_of(rows) if rows else "No rows.")


def table_of(rows: list[dict[str, Any]]) -> Table:
    """Rows of one shape as a table."""
    table = Table(*rows[0])
    for row in rows:
        shown = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in row.values())
        table.add_row(*cells(*shown))
    return table


@app.command()
@at_the_store
def check(door: Door) -> None:
    """Compare the graph with the tables; exit code 1 if they differ."""
    found = door.ask(Memory.check_graph)
    if door.told(found):
        pass
    elif found:
        table = Table("label", "missing", "extra", "different")
        for row in found:
            table.add_row(*cells(row.label, row.missing, row.extra, row.different))
        terminal().print(table)
    else:
        typer.echo("The graph agrees with the tables.")
    raise typer.Exit(1 if found else 0)


@app.command()
def rebuild(dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None) -> None:
    """Make the graph again from the tables, e.g. after pg_restore."""
    done = with_memory(settings_of(dsn, env_file, data_dir), Memory.rebuild_graph)
    typer.echo(f"{done['vertices']} vertices, {done['edges']} edges.")
