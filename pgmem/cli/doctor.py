"""`pgmem doctor`: the problems of a store, and the remedy of each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import anyio
import anyio.to_thread
import typer
from rich.text import Text

from pgmem import registry
from pgmem.cli.options import Store, exit_on_error, stop, store_command, terminal
from pgmem.database.database import Database
from pgmem.doctor.database import Finding, examine_server, look
from pgmem.doctor.examination import examine_outbox
from pgmem.embeddings import EmbeddingConfigError, create_provider
from pgmem.errors import PgmemError, first_line
from pgmem.memory import Memory
from pgmem.settings import Settings

_COLOURS = {"ok": "green", "hint": "yellow", "look": "red"}


@store_command
def doctor(
    store: Store,
    cells: Annotated[
        bool, typer.Option("--cells", help="Examine a front (PGMEM_DIRECTORY, else PGMEM_DSN) and its cells.")
    ] = False,
) -> None:
    """Find problems and say how to solve them; exit code 1 if there is one.

    Levels: look is an error, hint is a warning, ok is neither.
    """
    if cells:
        findings = exit_on_error(lambda: _examine_cells(store.settings), "the front")
    else:
        findings = exit_on_error(lambda: anyio.run(_examine, store.settings))
        for place in registry.found("CHECKS"):
            environment = {**os.environ, "PGMEM_DATA_DIR": str(store.settings.data_dir)}
            findings += registry.imported(place)(Path.home(), Path.cwd(), environment)
    if not store.print_json(findings):
        console = terminal()
        for finding in findings:
            console.print(Text.assemble((f"{finding.level:6}", _COLOURS[finding.level]), _line(finding)))
    raise typer.Exit(1 if any(finding.level == "look" for finding in findings) else 0)


def _examine_cells(settings: Settings) -> list[Finding]:
    front = settings.directory or settings.dsn
    if front is None:
        stop("Name the front: PGMEM_DIRECTORY or --dsn.", 2)
    examine = registry.one("FRONTS")
    if examine is None:
        stop("This installation knows no cells.", 2)
    return list(examine(front))


def _line(finding: Finding) -> str:
    return finding.message if finding.remedy is None else f"{finding.message.rstrip('.')}: {finding.remedy}"


async def _examine(settings: Settings) -> list[Finding]:
    database = Database(settings, source="cli")
    outbox = examine_outbox(settings, database.outbox)
    if settings.dsn is not None:
        # A store that cannot be opened is examined from outside.
        found = await anyio.to_thread.run_sync(examine_server, settings.dsn, settings.connect_timeout_s)
        if any(finding.level == "look" for finding in found):
            return [*found, outbox]
    try:
        await database.open()
    except PgmemError as error:
        remedy = f"see {settings.data_dir / 'server.log'}"
        return [look("server", first_line(error), remedy), outbox]
    try:
        async with create_provider(settings) as embedder:
            return await Memory(database, embedder).examine()
    except EmbeddingConfigError as error:
        wrong = look(
            "embedding_provider", first_line(error), "correct the setting; until then pgmem does not start"
        )
        return [*await Memory(database).examine(), wrong]
    finally:
        await database.close()
