"""`pgmem export` and `pgmem import`: a store as a file of JSON lines, and back."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn, TextIO

import typer
from rich.console import Console
from rich.progress import Progress

from pgmem.cli.options import Door, at_the_store, emit
from pgmem.errors import InvalidArgument
from pgmem.importers import Source, Vocabulary, read, take
from pgmem.memory import Memory
from pgmem.models import Exported, Imported

__all__ = ["export", "import_"]

Told = Callable[[int, int], object]
AllTenants = Annotated[
    bool,
    typer.Option("--all-tenants", help="The rows of every tenant, each its own: for who keeps the store."),
]


@at_the_store
def export(
    door: Door,
    file: Annotated[Path, typer.Argument(help="Where to write; NAME.gz is packed, - is the output.")],
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With the embeddings; else they are made again where it goes.")
    ] = False,
    all_tenants: AllTenants = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write everything you see to a file of JSON lines: nodes, history, edges, cards, open saves."""
    if str(file) != "-" and file.exists() and not force:
        _wrong(f"{file} is there already: name another file, or send --force.")

    async def run(memory: Memory) -> Exported:
        with _writing(file) as out, _progress("exporting") as told:
            return await memory.export_lines(
                out.write, vectors=vectors, all_tenants=all_tenants, progress=told
            )

    try:
        done = door.ask(run)
    except OSError as error:
        typer.echo(f"pgmem: {file} cannot be written: {error.strerror}.", err=True)
        raise typer.Exit(1) from None
    if not door.told(done):
        held = ", ".join(f"{count} {_named(part, count)}" for part, count in done.counts.items()) or "nothing"
        typer.echo(f"{done.lines} lines: {held}.", err=str(file) == "-")


@at_the_store
def import_(
    door: Door,
    file: Annotated[
        Path, typer.Argument(help="What pgmem export wrote, packed or not, - for the input; or see --from.")
    ],
    source: Annotated[
        Source, typer.Option("--from", help="Whose file it is; for markdown, a folder of notes.")
    ] = Source.pgmem,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", "-p", help="Where another system's memories go; opened if it is not there."
        ),
    ] = None,
    of_user: Annotated[
        str | None, typer.Option("--of-user", help="Only this user's, of a file of mem0 that holds several.")
    ] = None,
    reembed: Annotated[
        bool, typer.Option("--reembed", help="Leave the file's vectors and embed every text here, at once.")
    ] = False,
    all_tenants: AllTenants = False,
) -> None:
    """Take in a file of an export, or another system's memories. It may be run again: nothing is doubled."""
    if source is not Source.pgmem and project is None:
        _wrong("--project: name the project that these memories belong to.")
    if source is Source.markdown and not file.is_dir():
        _wrong(f"{file} is no folder.")
    if source is not Source.markdown and str(file) != "-" and not file.is_file():
        _wrong(f"{file} is no file.")

    async def run(memory: Memory) -> Imported:
        if reembed and not await memory.register_embedder():
            raise InvalidArgument(
                "Nothing is embedded here: EMBEDDING_PROVIDER is none, or the server has no pgvector."
            )
        if source is Source.pgmem:
            with _reading(file) as lines, _progress("importing") as told:
                done = await memory.import_lines(
                    lines, vectors=not reembed, all_tenants=all_tenants, progress=told
                )
        else:
            reading = read(source, file, Vocabulary.of(await memory.describe_schema()), of_user)
            with _progress("importing") as told:
                done = await take(memory, source, reading, project or "", told)
        await settle(memory, reembed)
        return done

    show(door.ask(run), door.as_json)


def _wrong(message: str) -> NoReturn:
    typer.echo(f"pgmem: {message}", err=True)
    raise typer.Exit(2)


async def settle(memory: Memory, embed: bool) -> None:
    """After an import: recount words, and if wanted embed what waits."""
    if embed:
        waiting = await memory.queue_embeddings()
        stored = 0
        with _progress(f"embedding with {memory.embedding_model}") as told:

            def add(more: int) -> None:
                nonlocal stored
                stored += more
                told(stored, max(waiting, stored))

            await memory.embed_waiting(progress=add)
        await memory.index_vectors()
    await memory.refresh_statistics()


def show(done: Imported, as_json: bool) -> None:
    """What became of an import."""
    if as_json:
        emit(done)
        return
    merged = f", {done.merged} whose name or content was here" if done.merged else ""
    typer.echo(f"{done.taken} taken, {done.present} here already{merged}.")
    for why, count in done.left_out.items():
        typer.echo(f"left out {count}: {why}", err=True)


def _named(part: str, count: int) -> str:
    name = {"vocabulary": "word of the vocabulary", "focus": "focus area", "files": "list of files"}.get(
        part, part
    )
    if count == 1:
        return name
    first, _, rest = name.partition(" of ")
    return f"{first}s of {rest}" if rest else f"{name}s"


@contextmanager
def _progress(what: str) -> Iterator[Told]:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)


@contextmanager
def _writing(file: Path) -> Iterator[TextIO]:
    """A file that is there only when it is complete, and that its owner alone reads."""
    if str(file) == "-":
        yield sys.stdout
        return
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as raw:
            packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if file.suffix == ".gz" else raw
            with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as out:
                yield out
                out.flush()
                packed.flush()
                os.fsync(raw.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _reading(file: Path) -> Iterator[Iterator[str]]:
    if str(file) == "-":
        yield iter(sys.stdin)
        return
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8", newline="\n") as lines:
        yield _lines(file, lines)


def _lines(file: Path, lines: Iterable[str]) -> Iterator[str]:
    try:
        yield from lines
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidArgument(
            f"{file} cannot be read to its end: {error}. Export it again and import the whole."
        ) from error
