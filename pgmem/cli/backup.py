"""`pgmem backup` and `pgmem restore`: the embedded server as a folder, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pgmem.cli.options import AsJson, DataDir, EnvFile, emit, failing, settings_of
from pgmem.database import backup as database
from pgmem.database.embedded import EmbeddedServer
from pgmem.settings import Settings

__all__ = ["backup", "restore"]


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is not there yet.")],
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    as_json: AsJson = False,
) -> None:
    """Back up the embedded server while agents write; proved by restoring it."""
    settings = _embedded(data_dir, env_file)
    done = _with_server(settings, lambda server, told: database.backup(server, folder, told))
    waiting = len(list(settings.outbox_dir.glob("*.json")))
    if waiting:
        typer.echo(f"{waiting} saves wait in {settings.outbox_dir}: they are not in it yet.", err=True)
    _show(done, f"Backed up to {folder}", as_json)


def restore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What pgmem backup wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Let go of the memories that are there.")
    ] = False,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into the embedded server; the graph is made again and checked."""
    settings = _embedded(data_dir, env_file)
    done = _with_server(
        settings, lambda server, told: database.restore(server, folder, replace=replace, told=told)
    )
    if done.logins:
        typer.echo(f"Logins that are tenants, to be made again by hand: {', '.join(done.logins)}.", err=True)
    _show(done, f"Restored into {settings.data_dir}", as_json)


def _embedded(data_dir: Path | None, env_file: Path | None) -> Settings:
    settings = settings_of(None, env_file, data_dir)
    if settings.dsn is not None:
        typer.echo(
            "pgmem: PGMEM_DSN names a server of yours, which pg_dump and pg_restore back up; this is for the embedded one.",
            err=True,
        )
        raise typer.Exit(2)
    return settings


def _with_server(
    settings: Settings, use: Callable[[EmbeddedServer, database.Told], database.Backup]
) -> database.Backup:
    def run() -> database.Backup:
        with EmbeddedServer(settings.data_dir) as server, _status() as told:
            return use(server, told)

    try:
        return failing(run)
    except OSError as error:
        typer.echo(f"pgmem: {error.filename}: {error.strerror}.", err=True)
        raise typer.Exit(1) from None


def _show(done: database.Backup, what: str, as_json: bool) -> None:
    if as_json:
        emit(done)
    else:
        rows = sum(count for count, _ in done.tables.values())
        typer.echo(
            f"{what}: {done.memories} nodes, {rows} rows of {len(done.tables)} tables, pgmem {done.release}."
        )


@contextmanager
def _status() -> Iterator[Callable[[str], object]]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _step: None
        return
    with console.status("starting") as status:
        yield status.update
