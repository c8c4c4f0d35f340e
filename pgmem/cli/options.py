"""Options that every command has, and how a command runs and fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import psycopg
import typer

from pgmem.errors import PgmemError
from pgmem.memory import Memory
from pgmem.settings import Settings, load

__all__ = ["AsJson", "DataDir", "Dsn", "EnvFile", "Project", "emit", "failing", "settings_of", "with_memory"]

T = TypeVar("T")

Dsn = Annotated[
    str | None, typer.Option("--dsn", help="PostgreSQL to use; else PGMEM_DSN, else the embedded server.")
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where the embedded server and the outbox live; else PGMEM_DATA_DIR."),
]
EnvFile = Annotated[
    Path | None,
    typer.Option("--env-file", exists=True, dir_okay=False, help="Settings to read besides the environment."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Project = Annotated[str | None, typer.Option("--project", "-p", help="Only this project.")]


def settings_of(dsn: str | None, env_file: Path | None = None, data_dir: Path | None = None) -> Settings:
    """The settings with what the command line gave; a bad one ends the command with exit code 2."""
    try:
        return load(env_file, dsn=dsn, data_dir=data_dir)
    except PgmemError as error:
        typer.echo(f"pgmem: {error}", err=True)
        raise typer.Exit(2) from None


def failing(action: Callable[[], T]) -> T:
    """Run an action; what pgmem or the database refuses is one line on stderr and exit code 1."""
    try:
        return action()
    except PgmemError as error:
        message = str(error)
    except psycopg.Error as error:
        message = (error.diag.message_primary or str(error)).strip().partition("\n")[0]
    typer.echo(f"pgmem: {message}", err=True)
    raise typer.Exit(1)


def with_memory(settings: Settings, use: Callable[[Memory], Awaitable[T]]) -> T:
    """Open the memory, use it, close it."""

    async def run() -> T:
        async with Memory.connect(settings, source="cli") as memory:
            return await use(memory)

    return failing(lambda: anyio.run(run))


def emit(value: Any) -> None:
    """Print JSON: dataclasses as objects, times and ids as text."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    if isinstance(value, list):
        plain = [
            asdict(item) if is_dataclass(item) and not isinstance(item, type) else item for item in value
        ]
    json.dump(plain, sys.stdout, default=str, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")
