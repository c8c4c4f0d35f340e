"""`pgmem vault`: a folder of notes and a store in step."""

from __future__ import annotations

import getpass
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgmem.cli.options import By, DryRun, Store, progress, stop, store_command
from pgmem.escaping import visible
from pgmem.features.importers.commands import show
from pgmem.models import Imported

if TYPE_CHECKING:
    from pgmem.features.vault.exchange import Synced
    from pgmem.memory import Memory

app = typer.Typer(help="Keep a folder of Markdown notes and the store in step.")

Directory = Annotated[
    Path | None, typer.Argument(metavar="[DIR]", help="The folder of the notes. Default: VAULT_PATH.")
]
_WORDS = {
    "saved": "new notes saved",
    "edited": "edits saved",
    "related": "relations made or removed",
    "forgotten": "memories forgotten",
    "reviews": "deleted notes for review",
    "written": "notes written",
    "updated": "notes updated",
    "removed": "notes removed",
    "conflicts": "conflicts",
}


@store_command
def sync(
    store: Store,
    directory: Directory = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", "-p", help="The project of new notes that name none. Default: the folder's name."
        ),
    ] = None,
    by: By = None,
    dry_run: DryRun = False,
) -> None:
    """Bring notes and memories in step: notes of a person are saved, and saves of agents are written.

    Where a note and its memory both changed, the note stays as it is, and a copy beside it has the other state. For a
    deleted note a review asks whether its memory shall be forgotten.
    """
    folder = _directory(store, directory)

    async def run(memory: Memory) -> Synced:
        from pgmem.features.vault.exchange import Vault
        from pgmem.features.vault.folder import Folder

        with progress("comparing") as report:
            vault = Vault(
                memory,
                Folder(folder),
                by or getpass.getuser(),
                project=project,
                dry_run=dry_run,
                progress=report,
            )
            return await vault.sync()

    done = store.run(run)
    store.for_people({**done.counts, "problems": done.problems})
    counts = [f"{done.counts[name]} {what}" for name, what in _WORDS.items() if done.counts.get(name)]
    typer.echo(f"{'Dry run: ' if dry_run else ''}{', '.join(counts) or 'Nothing has changed'}.")
    for problem in done.problems:
        typer.echo(visible(problem), err=True)


def _directory(store: Store, directory: Path | None) -> Path:
    found = directory or store.settings.vault_path
    if found is None:
        stop("Name the folder of the notes, or set VAULT_PATH.", 2)
    return found


@store_command
def import_(store: Store, directory: Directory = None, dry_run: DryRun = False) -> None:
    """Rebuild a store from a vault that pgmem has kept, and list the facts that its notes do not hold."""
    folder = _directory(store, directory)

    async def run(memory: Memory) -> tuple[Imported, dict[str, int]]:
        from pgmem.features.vault.fields import Known
        from pgmem.features.vault.folder import Folder
        from pgmem.features.vault.rebuild import lines

        records, left_out = lines(Folder(folder), Known.of(await memory.describe_schema()))
        if dry_run or not records:
            return Imported(taken=len(records), dry_run=dry_run), dict(left_out)
        nodes = sum(record["type"] == "node" for record in records)
        header = {"pgmem_export": 1, "nodes": nodes, "edges": len(records) - nodes, "saves": 0}
        end = {"type": "end", "lines": len(records)}
        with progress("importing") as report:
            texts = (json.dumps(each, default=str) for each in ({**header, "type": "header"}, *records, end))
            return await memory.import_lines(texts, progress=report), dict(left_out)

    done, left_out = store.run(run)
    show(replace(done, left_out={**left_out, **done.left_out}), store.as_json)


app.command("sync")(sync)
app.command("import")(import_)
