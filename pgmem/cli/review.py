"""`pgmem review`: the saves that are pending review, one by one."""

from __future__ import annotations

import getpass
import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

import typer
from rich.panel import Panel
from rich.text import Text

from pgmem.cli.options import By, Project, Store, chosen, print_json, stop, store_command, terminal
from pgmem.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgmem.memory import Memory
    from pgmem.models import Review, ReviewDetail, SaveResult

Outcome = Literal["new", "supersede", "drop"]
CHOICES: dict[str, Outcome] = {"n": "new", "s": "supersede", "d": "drop"}
_NAMES = {"new": "[n]ew", "supersede": "[s]upersede the old one", "drop": "[d]rop"}


@store_command
def review(
    store: Store,
    project: Project = None,
    save_id: Annotated[UUID | None, typer.Option(help="Decide on this save only, with --outcome.")] = None,
    outcome: Annotated[Outcome | None, typer.Option(help="The decision on --save-id.")] = None,
    by: By = None,
) -> None:
    """Decide on saves that resemble a decision: too much to be new, too little to replace it.

    With --save-id any open save can be dropped.
    """
    decider = by or getpass.getuser()
    if save_id is not None:
        if outcome is None:
            stop("--save-id needs --outcome new, supersede or drop.", 2)
        print_json(store.run(lambda m: m.resolve_review(save_id, outcome, decider)))
        return
    pending = store.answer(lambda m: m.list_reviews(project))
    console = terminal()
    if not pending:
        console.print("No save is pending review.")
    for item in pending:
        detail = store.run(partial(_detail, save=item))
        console.print(_panel(item, detail))
        answer = chosen(", ".join([*(_NAMES[one] for one in detail.outcomes), "[l]ater", "[q]uit"]))
        if answer == "q":
            return
        if (choice := CHOICES.get(answer)) in detail.outcomes and choice is not None:
            decide = partial(_resolve, detail=detail, outcome=choice, by=decider)
            result = store.run(decide)
            typer.echo(f"{result.status}: {result.message or result.dedup_outcome}")


def asked(arguments: Mapping[str, object]) -> str:
    """Every argument that a save is carried out with, one a line."""
    return "\n".join(
        f"      {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in arguments.items()
        if value not in (None, "", [], {})
    )


async def _resolve(memory: Memory, detail: ReviewDetail, outcome: Outcome, by: str) -> SaveResult:
    return await memory.resolve_review(
        detail.save_id, outcome, by, detail.candidate_id, detail.candidate_version
    )


async def _detail(memory: Memory, save: Review) -> ReviewDetail:
    return await memory.get_review(save.save_id)


def _panel(item: Review, detail: ReviewDetail) -> Panel:
    stored = detail.artifact_properties
    new = asked(detail.arguments) if stored is None else f"{detail.artifact_title} (stored)\n{asked(stored)}"
    text = Text.assemble(
        *(("new   ", "bold"), f"{detail.verb}\n{visible(new)}\n\n"),
        *(("kept  ", "bold"), visible(f"{item.candidate_title}\n{asked(detail.candidate_properties or {})}")),
    )
    title = Text(f"{item.project}: titles {item.score or 0:.0%} alike")
    return Panel(text, title=title, subtitle=str(item.save_id))
