"""`pgmem export` and `pgmem import`: a store to a file of JSON lines, and back."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import psycopg
import typer

from pgmem import documents
from pgmem.cli.options import (
    Store,
    embed_waiting,
    print_json,
    progress,
    require_person,
    stop,
    store_command,
)
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.errors import InvalidArgument, first_line
from pgmem.escaping import counted
from pgmem.features.importers import transcripts
from pgmem.features.importers.loader import Source, load, read
from pgmem.features.importers.records import Vocabulary, unreadable

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import Exported, Imported

AllTenants = Annotated[
    bool,
    typer.Option(
        "--all-tenants", help="The rows of every tenant, each with its tenant; for the owner of the store."
    ),
]
System = Annotated[
    Source,
    typer.Option(
        "--from",
        help="The system that wrote it; for markdown, a folder of notes. claude-code, codex, chatgpt and claude: "
        "conversations, which become turns; so are those of cursor, gemini-cli, copilot, qwen-code, windsurf, zed, "
        "cline and opencode.",
    ),
]
IntoProject = Annotated[
    str | None,
    typer.Option(
        "--project",
        "-p",
        help="The project for another system's memories; created if it does not exist. Default for claude-code, "
        "codex, gemini-cli, copilot, qwen-code and opencode: the project of the folder of a conversation.",
    ),
]


@store_command
def export(
    store: Store,
    file: Annotated[Path, typer.Argument(help="The file to write; NAME.gz is compressed, - is stdout.")],
    vectors: Annotated[
        bool,
        typer.Option(
            "--vectors", help="Include the embeddings. Default: the importing store embeds the texts."
        ),
    ] = False,
    all_tenants: AllTenants = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write all visible data to a file of JSON lines: nodes, history, edges, cards, open saves."""
    if str(file) != "-" and file.exists() and not force:
        stop(f"{file} exists: name another file, or use --force.", 2)

    async def run(memory: Memory) -> Exported:
        with _writing(file) as out, progress("exporting") as report:
            return await memory.export_lines(
                out.write, vectors=vectors, all_tenants=all_tenants, progress=report
            )

    try:
        done = store.run(run)
    except OSError as error:
        stop(f"cannot write {file}: {error.strerror}.")
    store.for_people(done)
    held = ", ".join(f"{count} {_named(part, count)}" for part, count in done.counts.items()) or "nothing"
    typer.echo(f"{done.lines} lines: {held}.", err=str(file) == "-")


@store_command
def import_(
    store: Store,
    file: Annotated[
        Path,
        typer.Argument(
            help="A file of pgmem export, compressed or not, - for stdin; or a file or folder, see --from."
        ),
    ],
    source: System = Source.pgmem,
    project: IntoProject = None,
    of_user: Annotated[
        str | None,
        typer.Option("--of-user", help="mem0: only this user's memories, if the file holds several users'."),
    ] = None,
    reembed: Annotated[
        bool, typer.Option("--reembed", help="Ignore the file's vectors, and embed every text now.")
    ] = False,
    all_tenants: AllTenants = False,
    own: Annotated[
        bool,
        typer.Option(
            "--own",
            help="The file is an export that you wrote: words of persons stay theirs, and what was approved stays so.",
        ),
    ] = False,
    forget_deleted: Annotated[
        bool,
        typer.Option("--forget-deleted", help="markdown: archive notes that were deleted from the folder."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show how each record of another system would be imported.")
    ] = False,
) -> None:
    """Import an export of pgmem, or another system's memories. Safe to repeat: nothing is imported twice."""
    _require_fitting(source, file, project, dry_run=dry_run, forget_deleted=forget_deleted, own=own)
    if own:
        require_person(store)

    async def run(memory: Memory) -> Imported:
        if reembed and not await memory.register_embedder():
            raise InvalidArgument(
                "Embedding is off: PGMEM_EMBEDDING_PROVIDER is none, or the server has no pgvector."
            )
        if source.is_conversations:
            with progress("importing turns") as report:
                return await transcripts.load(memory, source, file, project, report)
        if source is Source.pgmem:
            with _reading(file) as lines, progress("importing") as report:
                done = await memory.import_lines(
                    lines,
                    vectors=not reembed,
                    all_tenants=all_tenants,
                    own=own,
                    name=file.name,
                    progress=report,
                )
        else:
            reading = read(source, file, Vocabulary.of(await memory.describe_schema()), of_user)
            options = {"dry_run": dry_run, "forget_deleted": forget_deleted}
            with progress("importing") as report:
                done = await load(memory, source, reading, project or "", report, **options)
        if not dry_run:
            # The texts of another system have no vectors yet.
            if reembed or (source is not Source.pgmem and await memory.register_embedder()):
                await _embed(memory, reembed)
            else:
                with suppress(
                    psycopg.errors.InsufficientPrivilege
                ):  # a login of a tenant: the worker counts the words
                    await memory.refresh_statistics()
        return done

    done = store.run(run)
    show(done, store.as_json)
    if source is Source.pgmem and done.left_out:  # a store that is moved must be whole
        raise typer.Exit(1)


async def _embed(memory: Memory, required: bool) -> None:
    """Embed the imported texts. The worker embeds the rest, unless the vectors are required."""
    waiting = await memory.queue_embeddings()
    try:
        await embed_waiting(memory, waiting)
    except EmbeddingError as error:
        if required:
            raise
        texts = counted(waiting, "text has", "texts have")
        typer.echo(f"{texts} no vector yet, because {first_line(error)}", err=True)


def _require_fitting(
    source: Source, file: Path, project: str | None, *, dry_run: bool, forget_deleted: bool, own: bool
) -> None:
    """Exit with 2 if the options do not fit the system, or the file is not one that this system writes."""
    if source is not Source.pgmem and project is None and not source.names_folders:
        stop("--project is required: the project of the imported memories.", 2)
    try:
        file.exists()
    except OSError as error:  # a folder above it is closed
        stop(f"{file} is not taken: {unreadable(error)}.", 2)
    if dry_run and source is Source.pgmem:
        stop("--dry-run is for memories of other systems: give --from, or import into an empty store.", 2)
    if own and source is not Source.pgmem:
        stop("--own is for a file of pgmem export: leave it out.", 2)
    if forget_deleted and source is not Source.markdown:
        stop("--forget-deleted is for a folder of notes: give --from markdown.", 2)
    if source is Source.markdown and not file.is_dir():
        stop(f"{file} is not a directory.", 2)
    if source.is_conversations and not file.exists():
        stop(f"{file} does not exist.", 2)
    if (
        source is not Source.markdown
        and not source.is_conversations
        and str(file) != "-"
        and not file.is_file()
    ):
        stop(f"{file} is not a file.", 2)


def show(done: Imported, as_json: bool) -> None:
    """Print the result of an import."""
    if as_json:
        print_json(done)
        return
    counts = [
        f"{done.taken} imported",
        *([f"{done.updated} updated"] if done.updated else []),
        f"{done.present} already present",
        *([f"{done.merged} merged by name or content"] if done.merged else []),
    ]
    if left := sum(done.left_out.values()):
        first = next(iter(done.left_out))
        counts.append(f"{left} left out: {first}{'' if len(done.left_out) == 1 else ', and others'}")
    typer.echo(f"{'Dry run: ' if done.dry_run else ''}{', '.join(counts)}.")
    if done.doubted:
        typer.echo(
            f"{done.doubted} of them are a person's by the file's word alone: none is a rule until you approve it "
            "(pgmem rules). With --own a new store believes a file of yours.",
            err=True,
        )
    for status in ("superseded", "archived"):
        if count := getattr(done, status):
            typer.echo(f"{count} of them {status}" if count > 1 else f"1 of them is {status}", err=True)
    for what, count in done.converted.items():
        typer.echo(f"converted {count}: {what}", err=True)
    for reason, count in done.left_out.items():
        typer.echo(f"skipped {count}: {reason}", err=True)


def _named(part: str, count: int) -> str:
    name = {"vocabulary": "word of the vocabulary", "focus": "focus area", "files": "list of files"}.get(
        part, part
    )
    if count == 1:
        return name
    first, _, rest = name.partition(" of ")
    return f"{first}s of {rest}" if rest else f"{name}s"


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
        yield documents.lines(sys.stdin, "stdin")
        return
    with (gzip.open if file.suffix == ".gz" else open)(file, "rb") as raw:
        yield _lines(file, raw)


def _lines(file: Path, raw: Any) -> Iterator[str]:
    try:
        form = json.detect_encoding(raw.read(4))  # a redirection of PowerShell writes UTF-16
        raw.seek(0)
        # A byte that is not of the encoding becomes half of a surrogate pair, for which its line is left out.
        with io.TextIOWrapper(raw, form, errors="surrogateescape", newline="\n") as lines:
            yield from documents.lines(lines, file.name)
    except (UnicodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidArgument(
            f"{file} is incomplete: {error}. Export it again, and import the whole file."
        ) from error
