"""`pgmem graph` and `pgmem cypher`: the graph that Apache AGE keeps beside the tables."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from pgmem.cli.options import (
    DataDir,
    Dsn,
    EnvFile,
    Store,
    cells,
    load_settings,
    store_command,
    terminal,
    with_memory,
)

app = typer.Typer(help="Check or rebuild the graph beside the tables.", no_args_is_help=True)


@store_command
def cypher(
    store: Store,
    query: Annotated[str, typer.Argument(help="A Cypher query that ends in RETURN.")],
    params: Annotated[str, typer.Option(help="The query's parameters, as a JSON object.")] = "{}",
) -> None:
    """Query the graph with Cypher."""
    try:
        given = json.loads(params)
    except ValueError as error:
        typer.echo(f"pgmem: --params is no JSON object: {error}", err=True)
        raise typer.Exit(2) from None
    rows = store.run(lambda memory: memory.run_cypher(query, given))
    if store.print_json(rows):
        return
    terminal().print(table_of(rows) if rows else "No rows.")


def table_of(rows: list[dict[str, Any]]) -> Table:
    """A table of rows that all have the same keys."""
    table = Table(*rows[0])
    for row in rows:
        shown = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in row.values())
        table.add_row(*cells(*shown))
    return table


@app.command()
@store_command
def check(store: Store) -> None:
    """Compare the graph with the tables; exit code 1 if they differ."""
    found = store.run(lambda m: m.check_graph())
    if store.print_json(found):
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
    """Rebuild the graph from the tables, for example after pg_restore."""
    done = with_memory(load_settings(dsn, env_file, data_dir), lambda m: m.rebuild_graph())
    typer.echo(f"{done.vertices} vertices, {done.edges} edges.")
