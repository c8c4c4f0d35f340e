"""The store itself: create or upgrade it, look at it, find what is wrong, open psql, change its settings."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from pgmem.cli.options import AsJson, DataDir, Dsn, EnvFile, emit, failing, settings_of, with_memory
from pgmem.database import schema
from pgmem.database.embedded import EmbeddedServer
from pgmem.database.pool import Database
from pgmem.errors import PgmemError
from pgmem.memory import Memory
from pgmem.models import Status
from pgmem.settings import Settings

__all__ = ["config", "doctor", "init", "psql", "status"]

config = typer.Typer(help="Thresholds and limits of the store.", no_args_is_help=True)


def init(
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print what would run, for a DBA, and touch nothing.")
    ] = False,
) -> None:
    """Create the schema, or bring it to this release."""
    if sql:
        for part in schema.script():
            sys.stdout.write(part)
        return
    settings = settings_of(dsn, env_file, data_dir)
    done = failing(lambda: _upgrade(settings))
    typer.echo(
        f"pgmem {done.release}: {'installed' if done.changed else 'up to date'}; extensions: "
        f"{', '.join(done.extensions) or 'none, full text only'}"
    )


def _upgrade(settings: Settings) -> schema.Upgrade:
    if settings.dsn is not None:
        return schema.upgrade(settings.dsn, settings=settings.store_settings())
    with EmbeddedServer(settings.data_dir) as server:
        return schema.upgrade(server.start(), settings=settings.store_settings())


def status(
    dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None, as_json: AsJson = False
) -> None:
    """The server, its version, the tier, the data directory and what is kept."""
    settings = settings_of(dsn, env_file, data_dir)
    found = with_memory(settings, Memory.status)
    where = "PGMEM_DSN" if settings.dsn else str(settings.data_dir)
    if as_json:
        emit(
            {
                "server": "dsn" if settings.dsn else "embedded",
                "data_dir": str(settings.data_dir),
                **vars(found),
            }
        )
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in _status_rows(settings, where, found):
        table.add_row(f"[bold]{name}[/]", value)
    Console().print(table)


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


def doctor(dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None) -> None:
    """Find what is wrong and say what to do; exit code 1 if something is."""
    settings = settings_of(dsn, env_file, data_dir)
    console = Console()
    findings = anyio.run(_examine, settings)
    for good, text in findings:
        console.print(f"[green]ok[/]    {text}" if good else f"[red]look[/]  {text}", highlight=False)
    raise typer.Exit(0 if all(good for good, _ in findings) else 1)


async def _examine(settings: Settings) -> list[tuple[bool, str]]:
    database = Database(settings, source="cli")
    try:
        await database.open()
    except PgmemError as error:
        return [(False, str(error))]
    memory = Memory(database)
    findings: list[tuple[bool, str]] = []
    try:
        found = await memory.status()
        findings.append(
            (True, f"PostgreSQL {found.server_version} answers, schema {found.release} is this program's")
        )
        if found.age_version is None:
            findings.append((True, "no Apache AGE: everything but Cypher works"))
        else:
            differences = await memory.check_graph()
            text = "the graph agrees with the tables"
            if differences:
                text = "the graph differs from the tables in " + ", ".join(d.label for d in differences)
                text += ": run pgmem graph rebuild"
            findings.append((not differences, text))
        if found.vector_version is None:
            findings.append((True, "no pgvector: search is by full text only"))
        waiting = len(list(settings.outbox_dir.glob("*.json")))
        findings.append((waiting == 0, f"{waiting} saves wait in {settings.outbox_dir}"))
        findings.append((found.saves_open == 0, f"{found.saves_open} saves are not saved: see pgmem review"))
        findings.append(
            (True, "two walls" if found.walls == 2 else "one wall: rows are filtered by the verbs alone")
        )
    finally:
        await database.close()
    return findings


def psql(dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None) -> None:
    """Open psql on the store, with the search path on its views."""
    settings = settings_of(dsn, env_file, data_dir)
    with EmbeddedServer(settings.data_dir) as server:
        target = settings.dsn or failing(server.start)
        own = server.bin_dir / "psql" if settings.dsn is None else None
        program = str(own) if own and own.exists() else shutil.which("psql")
        if program is None:
            typer.echo("pgmem: psql is not installed; install your system's PostgreSQL client.", err=True)
            raise typer.Exit(1)
        environment = {**os.environ, "PGOPTIONS": "-c search_path=pgmem,public"}
        raise typer.Exit(os.spawnve(os.P_WAIT, program, [program, target], environment))


@config.command("get")
def config_get(
    name: Annotated[str | None, typer.Argument(help="One setting; none: all.")] = None,
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the thresholds and limits of the store."""
    settings = settings_of(dsn, env_file, data_dir)
    rows = [row for row in with_memory(settings, Memory.list_settings) if name in (None, row["name"])]
    if not rows:
        typer.echo(f"pgmem: unknown setting {name}; pgmem config get lists them.", err=True)
        raise typer.Exit(1)
    if as_json:
        emit(rows)
        return
    table = Table("setting", "value", "meaning")
    for row in rows:
        table.add_row(row["name"], row["value"], row["description"])
    Console().print(table)


@config.command("set")
def config_set(
    name: str, value: str, dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None
) -> None:
    """Change a threshold or limit, for every caller of the store."""
    settings = settings_of(dsn, env_file, data_dir)
    row = with_memory(settings, lambda memory: memory.set_setting(name, value))
    typer.echo(f"{row['name']} = {row['value']}")
