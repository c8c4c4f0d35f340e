"""The options that all commands share, and how a command runs and reports an error."""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from pgmem.errors import PgmemError
from pgmem.neutral import for_json, visible

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

Dsn = Annotated[
    str | None,
    typer.Option("--dsn", help="The PostgreSQL to use. Default: PGMEM_DSN, else the embedded server."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Directory of the embedded server and the outbox. Default: PGMEM_DATA_DIR."
    ),
]
EnvFile = Annotated[
    Path | None,
    typer.Option(
        "--env-file",
        exists=True,
        dir_okay=False,
        help="A file of NAME=value settings, besides the environment.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Project = Annotated[str | None, typer.Option("--project", "-p", help="Only this project.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
By = Annotated[str | None, typer.Option(help="The name to record as the decider. Default: your login name.")]


def cells(*values: object) -> list[Text]:
    """The cells of a table row; text of a memory is never interpreted as markup."""
    return [Text("" if value is None else visible(str(value))) for value in values]


def terminal(*, quiet: bool = False) -> Console:
    """The console for tables: as wide as the terminal; in a file or a pipe, wide enough to keep ids whole."""
    console = Console(quiet=quiet)
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(quiet=quiet, width=200)


def load_settings(dsn: str | None, env_file: Path | None = None, data_dir: Path | None = None) -> Settings:
    """Load the settings, with those of the command line; an invalid one ends the command with exit code 2."""
    from pgmem.settings import load

    try:
        return load(env_file, dsn=dsn, data_dir=data_dir)
    except PgmemError as error:
        typer.echo(f"pgmem: {error}", err=True)
        raise typer.Exit(2) from None


def exit_on_error(action: Callable[[], T]) -> T:
    """Run an action; an error of pgmem or the database becomes one line on stderr and exit code 1."""
    try:
        return action()
    except Exception as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
            cause = cause.exceptions[0]
        # SQLAlchemy, which upgrades use, wraps the error of the database.
        cause = getattr(cause, "orig", cause)
        if isinstance(cause, PgmemError):
            message = str(cause)
        elif (driver := sys.modules.get("psycopg")) and isinstance(cause, driver.Error):
            message = cause.diag.message_primary or str(cause).strip().partition("\n")[0]
        else:
            raise
    typer.echo(f"pgmem: {visible(message)}", err=True)
    raise typer.Exit(1)


def with_memory(settings: Settings, use: Callable[[Memory], Awaitable[T]], *, as_it_is: bool = False) -> T:
    """Open the memory, use it, close it.

    Args:
        settings: of the store.
        use: what is done with it.
        as_it_is: return the result unchanged; else without characters that control a terminal.
    """
    import anyio

    from pgmem.memory import Memory

    async def run() -> T:
        async with Memory.connect(settings, source="cli") as memory:
            return await use(memory)

    found = exit_on_error(lambda: anyio.run(run))
    return found if as_it_is else visible(found)


@dataclass(frozen=True)
class Store:
    """The store that a command works on, and whether `--json` was given."""

    settings: Settings
    as_json: bool

    def run(self, use: Callable[[Memory], Awaitable[T]]) -> T:
        """Open the memory, use it, close it."""
        return with_memory(self.settings, use, as_it_is=self.as_json)

    def print_json(self, result: Any) -> bool:
        """Print the result if `--json` was given; return whether it was."""
        if self.as_json:
            print_json(result)
        return self.as_json


def store_command(command: Callable[Concatenate[Store, P], None]) -> Callable[..., None]:
    """Add `--dsn`, `--data-dir`, `--env-file` and `--json` to a command, which receives them as its `Store`."""
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    shared = inspect.signature(_store, eval_str=True).parameters

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(_store(**{name: given.pop(name) for name in shared}), **given)  # type: ignore[call-arg]

    run.__signature__ = inspect.Signature([*own, *shared.values()])  # type: ignore[attr-defined]
    return run


def _store(
    dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None, as_json: AsJson = False
) -> Store:
    return Store(load_settings(dsn, env_file, data_dir), as_json)


def print_json(value: Any) -> None:
    """Print JSON: dataclasses as objects, times and ids as strings."""
    plain = [_plain(item) for item in value] if isinstance(value, list) else _plain(value)
    sys.stdout.write(for_json(json.dumps(plain, default=str, ensure_ascii=False, indent=2)))
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
