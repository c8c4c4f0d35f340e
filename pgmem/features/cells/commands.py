"""`pgmem cells`: several stores behind one front."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from pgmem.cli.options import (
    AsJson,
    Rows,
    exit_on_error,
    given,
    load_settings,
    print_json,
    steps,
    stop,
    terminal,
)
from pgmem.escaping import counted
from pgmem.features.cells import directory, mover
from pgmem.features.cells.directory import Cell, Directory

T = TypeVar("T")

app = typer.Typer(
    help="Several stores behind one front: add cells, find and move organisations.", no_args_is_help=True
)

Front = Annotated[
    str | None,
    typer.Option("--front", help="The front, as a superuser. Default: PGMEM_DIRECTORY, else PGMEM_DSN."),
]
Org = Annotated[str, typer.Argument(help="The organisation.")]
Which = Annotated[str, typer.Argument(metavar="CELL", help="A cell, by its number or name.")]
Through = Annotated[
    str | None,
    typer.Option("--through", help="How the front reaches it: PgBouncer's address and database, no user."),
]


@dataclass(frozen=True)
class At:
    """The front that a command works on, and whether `--json` was given."""

    front: str | None
    as_json: bool

    def dsn(self) -> str:
        """The DSN of the front."""
        settings = load_settings(None)
        found = self.front or settings.directory or settings.dsn
        if found is None:
            stop("Name the front: --front, PGMEM_DIRECTORY or PGMEM_DSN.", 2)
        return found

    def do(self, action: Callable[[Directory], T]) -> T:
        """Do something with the directory of the front; an error is one line."""

        def run() -> T:
            with Directory.open(self.dsn()) as found:
                return action(found)

        return exit_on_error(run, "the front")

    def show(self, found: object, said: str | Rows) -> None:
        """Print the result: for a program, or as text for people."""
        if self.as_json:
            print_json(found)
        elif isinstance(said, str):
            typer.echo(said)
        else:
            terminal().print(said)


def _at(front: Front = None, as_json: AsJson = False) -> At:
    return At(front, as_json)


front_command = given(_at)
"""Adds `--front` and `--json` to a command, which receives them as its `At`."""


_HEADINGS = ("cell", "name", "new organisations", "reached by", "owner's DSN")


def _row(cell: Cell) -> tuple[object, ...]:
    return cell.number, cell.name, "yes" if cell.takes_new else "no", cell.dsn, cell.admin_dsn


@app.command("init")
def cells_init(
    front: Front = None,
    cell: Annotated[
        list[str] | None,
        typer.Option("--cell", help="The DSN of a store with a number, as its owner; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a database a front, or write its functions anew. The server of the front needs PL/Proxy."""
    at = At(front, as_json)
    verbs, cells = exit_on_error(lambda: directory.init(at.dsn(), cell or ()), "the front")
    none = "The front has no cell yet: pgmem cells add DSN."
    behind = f"The front has {verbs} verbs, and {counted(len(cells), 'cell')} behind it."
    at.show({"verbs": verbs, "cells": [asdict(each) for each in cells]}, behind if cells else none)


@app.command()
@front_command
def add(
    at: At,
    dsn: Annotated[
        str, typer.Argument(help="The store, as its owner; pgmem init --roles --cell N gave it its number.")
    ],
    through: Through = None,
    name: Annotated[str | None, typer.Option("--name", help="Its name. Default: cellN.")] = None,
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            help="The password that the front's logins get there.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Add a store as a cell. Organisations to come are shared evenly; those that exist stay where they are."""
    password = None if password_file is None else password_file.read_text(encoding="utf-8").strip()
    made = at.do(lambda found: found.add(dsn, through, name, password))
    at.show(made, f"{made.name} is cell {made.number}; the next new organisations come to it too.")


@app.command("list")
@front_command
def list_(at: At) -> None:
    """List the cells."""
    cells = at.do(lambda found: found.cells())
    at.show(cells, Rows(_HEADINGS, map(_row, cells)))


@app.command()
@front_command
def where(at: At, org: Org) -> None:
    """Show the cell of an organisation, with a DSN for work in the cell itself: export, cypher, transactions."""
    home = at.do(lambda found: found.where(org))
    why = "" if home.placed else " (by the hash of its name)"
    at.show(home, f"cell {home.cell} ({home.name}), {home.state}{why}: {home.dsn}")


@app.command()
@front_command
def status(at: At) -> None:
    """Show how each cell is, and the moves that are not finished. Exit code 1 if a cell does not answer."""
    states, moves = at.do(lambda found: (found.states(), found.moves()))
    if at.as_json:
        print_json({"cells": [asdict(state) for state in states], "moves": moves})
    else:
        headings = ("cell", "name", "release", "organisations", "memories", "texts to embed", "MB", "trouble")
        rows = (
            (
                s.number,
                s.name,
                f"{s.release} ({s.build})" if s.build else s.release,
                s.organisations,
                s.memories,
                s.waiting,
                s.bytes // 10**6,
                s.trouble,
            )
            for s in states
        )
        terminal().print(Rows(headings, rows))
        for move in moves:
            typer.echo(
                f"{move['org_id']} moves from cell {move['from_cell']} to cell {move['to_cell']}, {move['phase']}:"
                f" pgmem cells move {move['org_id']} {move['to_cell']} goes on."
            )
    raise typer.Exit(0 if all(state.up for state in states) else 1)


@app.command()
@front_command
def place(at: At, org: Org, cell: Which) -> None:
    """Choose the cell of an organisation before it saves anything."""
    done = at.do(lambda found: mover.place(found, org, found.cell(cell)))
    at.show(done, f"{org} comes to cell {done.to_cell}.")


@app.command()
@front_command
def move(
    at: At,
    org: Org,
    cell: Annotated[str | None, typer.Argument(metavar="[CELL]", help="Where to, by number or name.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Give up a move that is not past its freeze.")] = False,
) -> None:
    """Move an organisation while it saves, or go on with its move. Its writes wait for the last rows."""
    if (cell is None) != undo:
        stop("Name the cell to move to, or --undo.", 2)
    with steps(quiet=at.as_json) as show:
        if cell is None:
            done = at.do(lambda found: mover.undo(found, org, show))
        else:
            done = at.do(lambda found: mover.move(found, org, found.cell(cell), show))
    at.show(done, _said(done))


def _said(done: mover.Moved) -> str:
    if done.phase == "undone":
        return f"{done.org_id} stays in cell {done.from_cell}."
    waited = "" if done.paused_s is None else f"; its writes waited {done.paused_s:.1f} s"
    return f"{done.org_id} is in cell {done.to_cell}: {done.rows} rows copied{waited}."


@app.command()
@front_command
def drain(at: At, cell: Which) -> None:
    """Move every organisation of a cell to the others; new ones do not come to it. Call it again to go on."""
    with steps(quiet=at.as_json) as show:

        def run(found: Directory) -> list[mover.Moved]:
            moved = []
            for done in mover.drain(found, found.cell(cell), show):
                moved.append(done)
                show(_said(done))
            return moved

        moved = at.do(run)
    at.show(moved, f"{len(moved)} organisations have left the cell.")


@app.command()
@front_command
def publish(
    at: At,
    home: Annotated[
        str, typer.Argument(metavar="[CELL]", help="The cell whose public memories count.")
    ] = "0",
) -> None:
    """Copy the public memories of one cell to all others, as they are. Public memories come by pgmem import."""
    with steps(quiet=at.as_json) as show:
        done = at.do(lambda found: mover.publish(found, found.cell(home), show))
    at.show(done, f"The public memories of cell {home} are in {len(done)} other cells.")


@app.command()
@front_command
def failover(
    at: At,
    cell: Which,
    dsn: Annotated[str, typer.Argument(help="How the front reaches it from now on; no user, no password.")],
    admin: Annotated[str | None, typer.Option("--admin", help="Its owner's DSN from now on.")] = None,
) -> None:
    """Let the front reach a cell by another address: that of its promoted replica."""
    found = at.do(lambda known: known.fail_over(known.cell(cell), dsn, admin))
    at.show(found, f"The front reaches cell {found.number} by {found.dsn}.")


@app.command()
@front_command
def upgrade(at: At) -> None:
    """Upgrade the cells to this release, one by one, and the front after them."""
    with steps(quiet=at.as_json) as show:
        release = at.do(lambda found: found.upgrade(show))
    at.show({"release": release}, f"All cells and the front have pgmem {release}.")
