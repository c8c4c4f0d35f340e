"""`pgmem vault`: a folder of notes and a store in step."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgmem.cli.options import By, DryRun, Store, progress, stop, store_command
from pgmem.escaping import visible

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.vault.exchange import Synced

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
    """Bring notes and memories in step: what a person wrote is saved, and what agents saved is written.

    Where a note and its memory both changed, the note stays as it is, and a copy beside it has the other state. For a
    deleted note a review asks whether its memory shall be forgotten.
    """
    folder = _directory(store, directory)

    async def run(memory: Memory) -> Synced:
        from pgmem.vault.exchange import Vault
        from pgmem.vault.folder import Folder

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
    if store.print_json({**done.counts, "problems": done.problems}):
        return
    counts = [f"{done.counts[name]} {what}" for name, what in _WORDS.items() if done.counts.get(name)]
    typer.echo(f"{'Dry run: ' if dry_run else ''}{', '.join(counts) or 'Nothing has changed'}.")
    for problem in done.problems:
        typer.echo(visible(problem), err=True)


def _directory(store: Store, directory: Path | None) -> Path:
    found = directory or store.settings.vault_path
    if found is None:
        stop("Name the folder of the notes, or set VAULT_PATH.", 2)
    return found


app.command("sync")(sync)
