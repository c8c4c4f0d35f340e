"""`pgmem backup` and `pgmem restore`: the embedded server to a directory, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from pgmem.cli.options import AsJson, DataDir, EnvFile, exit_on_error, load_settings, print_json, steps, stop
from pgmem.escaping import counted, visible
from pgmem.server import backup as database
from pgmem.server.embedded import EmbeddedServer

if TYPE_CHECKING:
    from pgmem.settings import Settings


T = TypeVar("T")


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The directory to create.")],
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    as_json: AsJson = False,
) -> None:
    """Back up the embedded server, and check the backup by restoring it. Agents may go on writing."""
    settings = _embedded(data_dir, env_file)
    done = _with_server(settings, lambda server, report: database.backup(server, folder, report))
    queued = len(list(settings.outbox_dir.glob("*.json")))
    if queued:
        typer.echo(
            f"{counted(queued, 'save is', 'saves are')} queued in {settings.outbox_dir}: not in the backup.",
            err=True,
        )
    _show(done, f"Backed up to {folder}", as_json)


def restore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A directory that pgmem backup wrote.")],
    replace: Annotated[bool, typer.Option("--replace", help="Discard the memories of the server.")] = False,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    as_json: AsJson = False,
) -> None:
    """Restore the rows of a backup into the embedded server; make functions and the graph, and check it."""
    settings = _embedded(data_dir, env_file)
    done = _with_server(
        settings, lambda server, report: database.restore(server, folder, replace=replace, progress=report)
    )
    if done.revoked:
        tokens = counted(done.revoked, "token was", "tokens were")
        typer.echo(
            f"It is a backup of another server: {tokens} revoked (pgmem token issue makes new ones).",
            err=True,
        )
    if done.settings:
        differing = ", ".join(
            f"{name} {visible(there)} (here {here})" for name, (here, there) in done.settings.items()
        )
        typer.echo(
            f"It is a backup of another server, with other settings than here: {differing}. pgmem config set NAME"
            " changes one back.",
            err=True,
        )
    if done.logins:
        typer.echo(f"Create these tenants' logins again by hand: {', '.join(done.logins)}.", err=True)
    _show(done, f"Restored into {settings.data_dir}", as_json)


def _embedded(data_dir: Path | None, env_file: Path | None) -> Settings:
    settings = load_settings(None, env_file, data_dir)
    if settings.dsn is not None:
        stop(
            "PGMEM_DSN is set: this command backs up the embedded server only; use pg_dump and pg_restore for others.",
            2,
        )
    return settings


def _with_server(settings: Settings, use: Callable[[EmbeddedServer, database.Progress], T]) -> T:
    def run() -> T:
        with EmbeddedServer(settings.data_dir) as server, steps("starting", lines=False) as report:
            return use(server, report)

    try:
        return exit_on_error(run)
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}.")


def _show(done: database.Backup, what: str, as_json: bool) -> None:
    if as_json:
        print_json(done)
    else:
        rows = sum(count for count, _ in done.tables.values())
        typer.echo(
            f"{what}: {done.memories} nodes, {rows} rows of {len(done.tables)} tables, pgmem {done.release}."
        )
    if done.others:
        typer.echo(
            f"pgmem restore leaves out what is outside schema pgmem: {', '.join(map(visible, done.others))}.",
            err=True,
        )
