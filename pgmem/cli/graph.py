"""`pgmem graph` and `pgmem cypher`: the graph that Apache AGE keeps beside the tables."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import typer

from pgmem.cli.options import Rows, Store, plain_command, stop, store_command, terminal
from pgmem.escaping import counted

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
        stop(f"--params is not a JSON object: {error}", 2)
    rows = store.answer(lambda m: m.run_cypher(query, given))
    terminal().print(table_of(rows, query) if rows else "No rows.")


def table_of(rows: list[dict[str, Any]], query: str) -> Rows:
    """A table of rows that all have the same keys, in the order in which the query names them."""
    names = sorted(rows[0], key=lambda name: _place(name, query))
    shown = (
        (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in map(row.get, names))
        for row in rows
    )
    return Rows(names, shown)


def _place(name: str, query: str) -> int:
    """Where a query names a column: behind its last `AS`, else by the expression that gives it its name."""
    expression = r"\W+".join(map(re.escape, name.split("_")))
    for pattern in (rf"\bas\s+`?{re.escape(name)}\b", rf"\b{expression}\b"):
        if found := list(re.finditer(pattern, query, re.IGNORECASE)):
            return found[-1].start()
    return len(query)


@app.command()
@store_command
def check(store: Store) -> None:
    """Compare the graph with the tables; exit code 1 if they differ."""
    found = store.run(lambda m: m.check_graph())
    if store.print_json(found):
        pass
    elif found:
        rows = (
            (row.label, row.missing, row.extra, row.different, "yes" if row.stale_paths else "no")
            for row in found
        )
        terminal().print(Rows(("label", "missing", "extra", "different", "stale paths"), rows))
    else:
        typer.echo("The graph agrees with the tables.")
    raise typer.Exit(1 if found else 0)


@app.command()
@plain_command
def rebuild(store: Store) -> None:
    """Rebuild the graph from the tables, for example after pg_restore."""
    done = store.run(lambda m: m.rebuild_graph())
    typer.echo(f"{counted(done.vertices, 'vertex', 'vertices')}, {counted(done.edges, 'edge')}.")
