"""The store itself: create or upgrade it, look at it, open psql, change its settings."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from pgmem.cli.options import (
    DataDir,
    Door,
    Dsn,
    EnvFile,
    at_the_store,
    cells,
    failing,
    settings_of,
    terminal,
    with_memory,
)
from pgmem.database import schema
from pgmem.database.embedded import EmbeddedServer
from pgmem.errors import PgmemError
from pgmem.memory import Memory
from pgmem.models import Status
from pgmem.settings import Settings

__all__ = ["config", "init", "psql", "status"]

config = typer.Typer(help="Thresholds and limits of the store.", no_args_is_help=True)


def init(
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print what would run, for a DBA, and touch nothing.")
    ] = False,
    roles: Annotated[
        bool, typer.Option("--roles", help="Make the roles of the second wall; needs CREATEROLE.")
    ] = False,
) -> None:
    """Create the schema, or bring it to this release."""
    if sql:
        for part in schema.script():
            sys.stdout.write(part)
        return
    settings = settings_of(dsn, env_file, data_dir)
    done = failing(lambda: _upgrade(settings, roles))
    typer.echo(
        f"pgmem {done.release}: {'installed' if done.changed else 'up to date'}; extensions: "
        f"{', '.join(done.extensions) or 'none, full text only'}"
    )


def _upgrade(settings: Settings, roles: bool) -> schema.Upgrade:
    if settings.dsn is not None:
        return schema.upgrade(settings.dsn, settings=settings.store_settings(), roles=roles)
    with EmbeddedServer(settings.data_dir) as server:
        return schema.upgrade(server.start(), settings=settings.store_settings(), roles=roles)


@at_the_store
def status(door: Door) -> None:
    """The server, its version, the tier, the data directory and what is kept."""
    settings = door.settings
    found, models = door.ask(_look)
    where = "PGMEM_DSN" if settings.dsn else str(settings.data_dir)
    if door.told(
        {
            "server": "dsn" if settings.dsn else "embedded",
            "data_dir": str(settings.data_dir),
            **vars(found),
            "embedding": {"provider": settings.embedding_provider, "models": models},
        }
    ):
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in [*_status_rows(settings, where, found), *_embedding_rows(settings, models)]:
        table.add_row(Text(name, "bold"), *cells(value))
    terminal().print(table)


async def _look(memory: Memory) -> tuple[Status, list[dict[str, Any]]]:
    return await memory.status(), await memory.embedding_status()


def _embedding_rows(settings: Settings, models: list[dict[str, Any]]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = [("embeddings", settings.embedding_provider)]
    if not models:
        return [("embeddings", f"{settings.embedding_provider}: no vectors, search is by full text")]
    for row in models:
        index = f", {row['not_indexed']} not in the index yet" if row["index_name"] else ""
        told = f"{row['vectors']} vectors, {row['waiting']} texts wait{index}"
        rows.append(("model in use" if row["active"] else "model beside", f"{row['model']}: {told}"))
    return rows


def _status_rows(settings: Settings, where: str, found: Status) -> list[tuple[str, str]]:
    memories = ", ".join(f"{count} {label}" for label, count in sorted(found.memories.items())) or "none yet"
    return [
        ("server", f"{'your own' if settings.dsn else 'embedded'} PostgreSQL {found.server_version}"),
        ("where", where),
        ("schema", f"pgmem {found.release}"),
        (
            "tier",
            f"{found.tier} (AGE {found.age_version or 'none'}, pgvector {found.vector_version or 'none'})",
        ),
        ("walls", "two: verbs and row-level security" if found.walls == 2 else "one wall: roles not made"),
        ("tenant", "/".join(filter(None, (found.org_id, found.user_id))) or "none: one user"),
        ("memories", memories),
        ("graph", f"{found.nodes} nodes, {found.edges} edges, {found.projects} projects"),
        ("saves open", str(found.saves_open)),
        ("outbox", f"{len(list(settings.outbox_dir.glob('*.json')))} waiting in {settings.outbox_dir}"),
    ]


def psql(
    command: Annotated[
        str | None,
        typer.Option("--command", "-c", help="Run this and end; else read from the terminal or a pipe."),
    ] = None,
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
) -> None:
    """Open psql on the store: its views and verbs need no schema name."""
    settings = settings_of(dsn, env_file, data_dir)
    with EmbeddedServer(settings.data_dir) as server:
        target = settings.dsn or failing(server.start)
        if settings.dsn is None:
            with_memory(settings, Memory.status)  # a new store has its schema before the first question
        program = shutil.which("psql", path=str(_own_programs(server))) or shutil.which("psql")
        if program is None:
            typer.echo("pgmem: psql is not installed: install your system's PostgreSQL client.", err=True)
            raise typer.Exit(1)
        options = os.environ.get("PGOPTIONS", "")
        if _takes_options(target):
            options = f"{options} -c search_path=pgmem,public".strip()
        else:
            said = "This pooler takes no options: write pgmem. before names, or connect to the server itself."
            typer.echo(f"pgmem: {said}", err=True)
        given = [] if command is None else ["-c", command]
        # Ctrl-C is psql's: it cancels a query, and must not end the server under it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        done = subprocess.run(
            [program, *given, target], env={**os.environ, "PGOPTIONS": options}, check=False
        )
    raise typer.Exit(done.returncode)


def _takes_options(dsn: str) -> bool:
    """Whether a connection may come with a search path; a pooler refuses it, for the next client would have it too."""
    import psycopg

    try:
        psycopg.connect(dsn, options="-c search_path=pgmem,public", connect_timeout=10).close()
    except psycopg.OperationalError as error:
        return "startup parameter" not in str(error)  # whatever else is wrong psql says itself
    return True


def _own_programs(server: EmbeddedServer) -> Path | None:
    try:
        return server.bin_dir
    except PgmemError:
        return None


@config.command("get")
@at_the_store
def config_get(
    door: Door,
    name: Annotated[str | None, typer.Argument(help="One setting; none: all.")] = None,
) -> None:
    """Show the thresholds and limits of the store."""
    rows = [row for row in door.ask(Memory.list_settings) if name in (None, row["name"])]
    if not rows:
        typer.echo(f"pgmem: There is no setting {name}; pgmem config get lists them.", err=True)
        raise typer.Exit(1)
    if door.told(rows):
        return
    table = Table("setting", "value", "meaning")
    for row in rows:
        table.add_row(*cells(row["name"], row["value"], row["description"]))
    terminal().print(table)


@config.command("set", context_settings={"ignore_unknown_options": True})  # -1 is a value
def config_set(
    name: Annotated[str, typer.Argument(help="The setting; pgmem config get lists them.")],
    value: Annotated[str, typer.Argument(help="What it shall be.")],
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
) -> None:
    """Change a threshold or limit, for every caller of the store."""
    settings = settings_of(dsn, env_file, data_dir)
    row = with_memory(settings, lambda memory: memory.set_setting(name, value))
    typer.echo(f"{row['name']} = {row['value']}")
