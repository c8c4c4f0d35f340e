"""The options that all commands share, and how a command runs and reports an error."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, NoReturn, ParamSpec, TypeVar
from uuid import UUID

import typer

from pgmem._verbs import KINDS
from pgmem.errors import AmbiguousName, MemoryNotFound, PgmemError, first_line
from pgmem.escaping import for_json, visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from pgmem.memory import Memory
    from pgmem.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")

Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn", metavar="DSN", help="The PostgreSQL to use. Default: PGMEM_DSN, else the embedded server."
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Directory of the embedded server and the outbox. Default: PGMEM_DATA_DIR.",
    ),
]
EnvFile = Annotated[
    Path | None,
    typer.Option(
        "--env-file",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="A file of NAME=value settings, besides the environment.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Which = Annotated[
    list[str],
    typer.Argument(
        metavar="[LABEL] KEY", help="An id, or a name or exact title; with its label first where two have it."
    ),
]
Project = Annotated[str | None, typer.Option("--project", "-p", metavar="NAME", help="Only this project.")]
Everywhere = Annotated[
    bool,
    typer.Option("--all-projects", "-A", help="Look in all projects, not only in the one of this folder."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
By = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The name to record as the decider. Default: your login name."),
]


def most(what: str, limit: int = 1000) -> Any:
    """The option of how many to show."""
    return typer.Option("--limit", "-n", min=1, max=limit, help=f"How many {what} to show.")


def shown(value: object) -> str:
    """A value as a terminal shows it: a time to the minute, no control characters."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes")
    return "" if value is None else visible(str(value))


class Rows:
    """Rows as a table, or, where a terminal is too narrow for whole words, one below the other with their names.

    Args:
        headings: the names of the columns.
        rows: the values of each row.
        title: the line above.
        caption: the text below.
    """

    _LINES = 4
    """More lines than this in a row are read more easily below each other."""

    def __init__(
        self,
        headings: Iterable[str],
        rows: Iterable[Iterable[object]],
        title: str = "",
        caption: str | None = "",
    ) -> None:
        self.headings = [str(heading) for heading in headings]
        self.rows = [[shown(value) for value in row] for row in rows]
        self.title, self.caption = title, caption

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the parts that fit."""
        from rich.table import Column, Table
        from rich.text import Text

        columns = [
            Column(
                name,
                justify="right" if all(map(_FIGURE.fullmatch, column)) else "left",
                min_width=max(_longest(cell) for cell in (name, *column)),
            )
            for name, column in zip(
                self.headings, zip(*self.rows, strict=True) if self.rows else [()] * 99, strict=False
            )
        ]
        title, caption = Text(self.title), Text(self.caption or "", "dim")
        made = Table(*columns)
        for row in self.rows:
            made.add_row(*map(Text, row))
        fits = sum(column.min_width or 0 for column in columns) + 3 * len(columns) + 1 <= options.max_width
        if title:
            yield title
        if fits and len(console.render_lines(made, options)) <= self._LINES * len(self.rows) + 4:
            yield made
        else:
            for number, row in enumerate(self.rows):
                if number:
                    yield ""
                yield facts(pair for pair in zip(self.headings, row, strict=True) if pair[1])
        if caption:
            yield caption


_FIGURE = re.compile(r"-?[\d.,]*( ?(ms|s|%|MB|tokens))?")


def _longest(text: str) -> int:
    """The cells that the longest word takes."""
    from rich.cells import cell_len

    return max((cell_len(word) for word in text.split()), default=1)


def memories(entries: Iterable[tuple[str, Iterable[object], str]]) -> RenderableType:
    """Memories one below the other: the title, its kind with its id, and its text."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    lines: list[RenderableType] = []
    for title, about, text in entries:
        lines.append(Text(shown(title), "bold"))
        said = " · ".join(filter(None, map(shown, about)))
        lines += [
            Padding(Text(line, style), (0, 0, 0, 2)) for line, style in ((said, "dim"), (text, "")) if line
        ]
    return Group(*lines)


def facts(rows: Iterable[tuple[str, object]]) -> Table:
    """Names, and beside each its value."""
    from rich.table import Table
    from rich.text import Text

    made = Table(show_header=False, box=None, pad_edge=False)
    for name, value in rows:
        made.add_row(Text(name, "bold"), Text(shown(value)))
    return made


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr, if that is a terminal; yields a function of the finished units and their total."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


@contextmanager
def clock(what: str) -> Iterator[None]:
    """Show one call that may take long, and for how long it has run, on stderr, if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    shown = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*shown, console=console, transient=True, disable=not console.is_terminal) as tasks:
        tasks.add_task(what, total=None)
        yield


@contextmanager
def steps(first: str = "", *, quiet: bool = False, lines: bool = True) -> Iterator[Callable[[str], object]]:
    """Show the step that is under way, on stderr: on a terminal in one line, which is written over.

    Args:
        first: the first step.
        quiet: show nothing.
        lines: elsewhere than on a terminal, show a line for each, but not how far it is; else nothing.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not (lines or console.is_terminal):
        yield lambda _step: None
    elif console.is_terminal:
        with console.status(first) as status:
            yield status.update
    else:
        shown = ""

        def show(line: str) -> None:
            nonlocal shown
            if (step := line.partition(":")[0]) != shown:
                console.print(line, highlight=False, soft_wrap=True)
            shown = step

        yield show


async def embed_waiting(memory: Memory, waiting: int) -> int:
    """Embed the queued texts, and bring indexes and word counts up to date; returns how many vectors were stored."""
    stored = 0
    with progress(f"embedding with {memory.embedding_model}") as report:

        def add(more: int) -> None:
            nonlocal stored
            stored += more
            report(stored, max(waiting, stored))

        await memory.embed_waiting(progress=add)
    await memory.index_vectors()
    await memory.refresh_statistics()
    return stored


def terminal(*, quiet: bool = False) -> Console:
    """The console for tables: as wide as the terminal; in a file or a pipe, wide enough to keep ids whole."""
    from rich.console import Console

    console = Console(quiet=quiet)
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(quiet=quiet, width=200)


_COMMANDS = {
    "archive_below": "--archive-below",
    "as also": "with --also",
    "dry_run": "--dry-run",
    "get_relevant_memory": "pgmem cards for-path",
    "get_save_status": "pgmem hygiene",
    "list_outstanding": "pgmem sync --outstanding",
    "list_projects": "pgmem projects",
    "memory_history": "pgmem history",
    "project_id": "--project",
    "query_engineering_memory": "pgmem cards search",
    "refresh_from_run": "pgmem cards refresh",
    "retrieve_context": "pgmem retrieve",
    "review_insight": "pgmem reflect",
    "run_hygiene": "pgmem hygiene",
    "save_session": "pgmem save session",
    "search_memory": "pgmem search",
    "set_setting": "pgmem config set",
    "surface_insights": "pgmem reflect",
}
"""The names that people type for arguments of agents."""


def typed(advice: str) -> str:
    """Advice of the engine with its verbs replaced by commands; quoted text is not changed."""
    return re.sub(rf"(?<!')\b({'|'.join(_COMMANDS)})\b(?!')", lambda name: _COMMANDS[name[0]], advice)


_LABELS = {kind.label for kind in KINDS}


async def named(memory: Memory, which: Sequence[str]) -> tuple[str, str]:
    """The label and the key of the memory that the words of a command name: an id, a title, or a label and a key.

    Raises:
        AmbiguousName: several memories have the name or title.
        MemoryNotFound: none has the id, the name or the title.
    """
    if len(which) == 2 and which[0] in _LABELS:
        return which[0], which[1]
    try:
        (sent,) = map(UUID, which)
    except ValueError:
        pass
    else:
        return (await memory.find_memory(sent)).label, str(sent)
    title = " ".join(which)
    found = await memory.find_titled(title)
    if len(which) == 2 and not found:  # a label of the store's own
        return which[0], which[1]
    if not found:
        raise MemoryNotFound(
            f"No memory has the id, name or title {title!r}; pgmem search finds it by its words."
        )
    if len({(one.label, one.project) for one in found}) > 1:
        places = ", ".join(f"{one.label} {one.id} ({one.project or 'all projects'})" for one in found)
        raise AmbiguousName(f"{title!r} names several memories, so send the id: {places}.")
    return found[0].label, str(found[0].id)


async def project_here(memory: Memory) -> str | None:
    """The project of the folder that a command runs in, as hooks find it; None: the store has none for it."""
    from pgmem.calls import projects

    try:
        found = await projects.opened(memory.caller, Path.cwd())
    except (PgmemError, OSError):  # a login that reads alone, or a folder that no longer exists
        return None
    return found.project_id if found.matched else None


async def of_tenants(memory: Memory, settings: Settings) -> str:
    """The tenants whose memories the caller cannot read, and the settings that show them; empty if none."""
    from pgmem.errors import NotPermitted

    if settings.org_id or settings.user_id:
        return ""
    try:
        found = [tenant for tenant in await memory.list_tenants() if tenant.memories]
    except NotPermitted:
        return ""
    theirs = [tenant for tenant in found if tenant.org_id or tenant.user_id]
    if not theirs:
        return ""
    first = theirs[0]
    more = f" and {len(theirs) - 1} more (pgmem tenancy list)" if len(theirs) > 1 else ""
    name = tenant_name(first.org_id, first.user_id)
    advice = naming(first.org_id, first.user_id)
    return f"This store has memories of {name}{more}: set {advice} to read them."


def tenant_name(org: str, user: str) -> str:
    """The name of a tenant; empty for the one user of a store."""
    return "/".join(filter(None, (org, user)))


def naming(org: str, user: str) -> str:
    """The settings that name a tenant."""
    named = (("DEFAULT_ORG_ID", org), ("DEFAULT_USER_ID", user))
    return " and ".join(f"{name}={value}" for name, value in named if value)


def stop(message: object, code: int = 1) -> NoReturn:
    """End the command with one line on stderr; exit code 2 is for wrong usage."""
    typer.echo(f"pgmem: {visible(str(message))}", err=True)
    raise typer.Exit(code) from None


def load_settings(dsn: str | None, env_file: Path | None = None, data_dir: Path | None = None) -> Settings:
    """Load the settings, with those of the command line; an invalid one ends the command with exit code 2."""
    from pgmem.settings import load

    try:
        return load(env_file, dsn=dsn, data_dir=data_dir)
    except PgmemError as error:
        stop(error, 2)


def exit_on_error(action: Callable[[], T], dsn: str = "PGMEM_DSN") -> T:
    """Run an action; an error of pgmem or the database becomes one line on stderr and exit code 1.

    Args:
        action: the code to run.
        dsn: the option or variable that named the database, for the message.
    """
    try:
        return action()
    except Exception as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
            cause = cause.exceptions[0]
        # SQLAlchemy, which upgrades use, wraps the error of the database.
        cause = getattr(cause, "orig", cause)
        if isinstance(cause, PgmemError):
            message = typed(str(cause)).replace("PGMEM_DSN", dsn)
        elif (driver := sys.modules.get("psycopg")) and isinstance(cause, driver.Error):
            message = cause.diag.message_primary or first_line(cause)
        else:
            raise
    stop(message)


def with_memory(
    settings: Settings,
    use: Callable[[Memory], Awaitable[T]],
    *,
    as_it_is: bool = False,
    dsn: str = "PGMEM_DSN",
) -> T:
    """Open the memory, use it, close it.

    Args:
        settings: of the store.
        use: the work with the memory.
        as_it_is: return the result unchanged; else without characters that control a terminal.
        dsn: the option or variable that named the database, for the message of an error.
    """
    import anyio

    from pgmem.memory import Memory

    async def run() -> T:
        async with Memory.connect(settings, source="cli") as memory:
            return await use(memory)

    found = exit_on_error(lambda: anyio.run(run), dsn)
    return found if as_it_is else visible(found)


@dataclass(frozen=True)
class Store:
    """The store that a command works on, and whether `--json` was given."""

    settings: Settings
    as_json: bool
    named_by: str = "PGMEM_DSN"
    """The option or setting whose value is the DSN."""

    def run(self, use: Callable[[Memory], Awaitable[T]]) -> T:
        """Open the memory, use it, close it."""
        return with_memory(self.settings, use, as_it_is=self.as_json, dsn=self.named_by)

    def answer(self, use: Callable[[Memory], Awaitable[T]]) -> T:
        """Open the memory and use it; the answer, to be shown, which with `--json` is printed and ends the command."""
        return self.for_people(self.run(use))

    def for_people(self, found: T) -> T:
        """Return the text for people; with `--json` a program gets it, and the command ends."""
        if self.print_json(found):
            raise typer.Exit
        return found

    def print_json(self, result: Any) -> bool:
        """Print the result if `--json` was given; return whether it was."""
        if self.as_json:
            print_json(result)
        return self.as_json

    def print_table(
        self, found: Sequence[T], headings: Sequence[str], cells_of: Callable[[T], Iterable[object]]
    ) -> None:
        """Print the results: a row for each, or JSON if `--json` was given."""
        terminal().print(Rows(headings, map(cells_of, self.for_people(found))))


def require_person(store: Store, *, always: bool = False) -> None:
    """End a command that decides unless it runs at a terminal: an agent with a shell runs commands too.

    Args:
        store: without approval = person, scripts decide.
        always: they do not.
    """
    if sys.stdin.isatty() and sys.stdout.isatty():
        return
    values = {setting.name: setting.value for setting in store.run(lambda m: m.list_settings())}
    if always or values["approval"] == "person":
        stop("A person decides this: run the command at a terminal, or decide on the page (pgmem ui).")


def chosen(question: str) -> str:
    """Ask a question and return the letter of the answer; l, for later, if there is none."""
    return str(typer.prompt(question, default="l")).strip().lower()[:1]


def given(make: Callable[..., T]) -> Callable[[Callable[Concatenate[T, P], U]], Callable[..., U]]:
    """Return a decorator: a command takes the options of `make` too, and its result as first argument."""

    def decorate(command: Callable[Concatenate[T, P], U]) -> Callable[..., U]:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        shared = inspect.signature(make, eval_str=True).parameters

        @functools.wraps(command)
        def run(**options: Any) -> U:
            made = make(**{name: options.pop(name) for name in shared})
            return command(made, **options)  # type: ignore[call-arg]

        run.__signature__ = inspect.Signature([*own, *shared.values()])  # type: ignore[attr-defined]
        return run

    return decorate


def _store(
    dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None, as_json: AsJson = False
) -> Store:
    return Store(load_settings(dsn, env_file, data_dir), as_json, "PGMEM_DSN" if dsn is None else "--dsn")


def _plain_store(dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None) -> Store:
    return _store(dsn, data_dir, env_file)


store_command = given(_store)
"""Adds `--dsn`, `--data-dir`, `--env-file` and `--json` to a command, which receives them as its `Store`."""
plain_command = given(_plain_store)
"""The same without `--json`."""


def print_json(value: Any) -> None:
    """Print JSON: dataclasses as objects, times and ids as strings."""
    plain = [_plain(item) for item in value] if isinstance(value, list) else _plain(value)
    sys.stdout.write(for_json(json.dumps(plain, default=str, ensure_ascii=False, indent=2)))
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
