"""Options that every command has, and how a command runs and fails."""

from __future__ import annotations

import functools
import inspect
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import anyio
import psycopg
import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup
from typer.exceptions import TyperException

from pgmem.errors import PgmemError
from pgmem.memory import Memory
from pgmem.settings import Settings, load

__all__ = [
    "AsJson",
    "By",
    "Commands",
    "DataDir",
    "Door",
    "DryRun",
    "Dsn",
    "EnvFile",
    "Project",
    "Yes",
    "at_the_store",
    "cells",
    "emit",
    "failing",
    "settings_of",
    "terminal",
    "with_memory",
]

P = ParamSpec("P")
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
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
By = Annotated[str | None, typer.Option(help="Who decides; else the name you are logged in by.")]


class Commands(TyperGroup):
    """The group of all commands; wrong usage is one line on stderr and exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that the arguments name."""
        logging.getLogger("psycopg").setLevel(logging.ERROR)  # what matters of it is told in our own words
        given = (args, prog_name, complete_var)
        if not standalone_mode:
            return super().main(
                *given, standalone_mode=False, windows_expand_args=windows_expand_args, **extra
            )
        try:
            code = super().main(
                *given, standalone_mode=False, windows_expand_args=windows_expand_args, **extra
            )
        except TyperException as error:
            context = getattr(error, "ctx", None)
            if type(error).__name__ == "NoArgsIsHelpError":
                typer.echo(error.format_message())
            else:
                where = f" See {context.command_path} --help." if context else ""
                line = " ".join(error.format_message().replace("Value error, ", "").split())
                typer.echo(f"pgmem: {line}{where}", err=True)
            sys.exit(error.exit_code)
        except typer.Abort:
            typer.echo("pgmem: stopped.", err=True)
            sys.exit(1)
        sys.exit(code if isinstance(code, int) else 0)


def cells(*values: object) -> list[Text]:
    """What a row of a table shows; text of a memory is never read as markup."""
    return [Text("" if value is None else str(value)) for value in values]


def terminal(*, quiet: bool = False) -> Console:
    """Where tables go: as wide as the terminal; in a file or a pipe, wide enough that no id is broken."""
    console = Console(quiet=quiet)
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(quiet=quiet, width=200)


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
    except Exception as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
            cause = cause.exceptions[0]
        # An upgrade reports through SQLAlchemy, which carries the error of the database along.
        cause = getattr(cause, "orig", cause)
        if isinstance(cause, PgmemError):
            message = str(cause)
        elif isinstance(cause, psycopg.Error):
            message = cause.diag.message_primary or str(cause).strip().partition("\n")[0]
        else:
            raise
    typer.echo(f"pgmem: {message}", err=True)
    raise typer.Exit(1)


def with_memory(settings: Settings, use: Callable[[Memory], Awaitable[T]]) -> T:
    """Open the memory, use it, close it."""

    async def run() -> T:
        async with Memory.connect(settings, source="cli") as memory:
            return await use(memory)

    return failing(lambda: anyio.run(run))


@dataclass(frozen=True)
class Door:
    """The store that a command was pointed at, and whether its answer is wanted as JSON."""

    settings: Settings
    as_json: bool

    def ask(self, use: Callable[[Memory], Awaitable[T]]) -> T:
        """Open the memory, use it, close it."""
        return with_memory(self.settings, use)

    def told(self, answer: Any) -> bool:
        """Print the answer if JSON is wanted; False: the command shows it in its own way."""
        if self.as_json:
            emit(answer)
        return self.as_json


def at_the_store(command: Callable[Concatenate[Door, P], None]) -> Callable[..., None]:
    """A command with `--dsn`, `--data-dir`, `--env-file` and `--json` behind its own options, given as its door."""
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    shared = inspect.signature(_door, eval_str=True).parameters

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(_door(**{name: given.pop(name) for name in shared}), **given)  # type: ignore[call-arg]

    run.__signature__ = inspect.Signature([*own, *shared.values()])  # type: ignore[attr-defined]
    return run


def _door(
    dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None, as_json: AsJson = False
) -> Door:
    return Door(settings_of(dsn, env_file, data_dir), as_json)


def emit(value: Any) -> None:
    """Print JSON: dataclasses as objects, times and ids as text."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    if isinstance(value, list):
        plain = [
            asdict(item) if is_dataclass(item) and not isinstance(item, type) else item for item in value
        ]
    json.dump(plain, sys.stdout, default=str, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")
