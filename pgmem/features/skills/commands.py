"""`pgmem skills`: the Agent Skills of a store, written as SKILL.md."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from pgmem.cli.options import By, Rows, require_person, stop, terminal
from pgmem.cli.review import asked
from pgmem.cli.verbs import Call, verb_command
from pgmem.escaping import counted, visible

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import Node, SkillEntry


_MOST_BYTES = 1_000_000  # of a SKILL.md


@verb_command("list_skills")
def skills(
    call: Call,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="DIR", help="Write each skill as DIR/NAME/SKILL.md, such as .claude/skills."
        ),
    ] = None,
    approve: Annotated[
        UUID | None,
        typer.Option(
            "--approve", metavar="ID", help="Take over an agent's pattern, so that it becomes a skill."
        ),
    ] = None,
    by: By = None,
) -> None:
    """Show the standing instructions and the patterns that held three times: the skills of the store."""
    if approve is not None:
        require_person(call.store)

    async def run(memory: Memory) -> list[SkillEntry]:
        if approve is not None:
            node = await memory.find_memory(approve)
            _show(node)
            await memory.decide_rule(approve, node.version, True, by or getpass.getuser())
        return await call.of(memory)  # type: ignore[no-any-return]

    found: list[SkillEntry] = call.answer(run)
    if to is not None:
        _write(found, to)
        return
    if not found:
        terminal().print(
            "No skills yet. Write a standing instruction, or mark a pattern as used three times."
        )
        return
    rows = (
        (one.name, one.kind, one.project or "", one.held or "", "yes" if one.approved else "no", one.ids[0])
        for one in found
    )
    terminal().print(Rows(("skill", "kind", "project", "held", "approved", "id"), rows))
    if any(not one.approved for one in found):
        terminal().print("An agent wrote what is not approved: pgmem skills --approve ID.", style="dim")


def _show(node: Node) -> None:
    """Print all of a memory that is taken over, on stderr."""
    typer.echo(f"{visible(node.title or '')}, version {node.version}:", err=True)
    typer.echo(visible(asked(node.properties)), err=True)


def _write(found: list[SkillEntry], folder: Path) -> None:
    from pgmem.features.skills.skills import SOURCE, of_store, usage
    from pgmem.plain_files import read, replace

    made = [usage(), *of_store(found)]
    # A clone may bring a link in the place of the folder, or of one in it.
    here, whole = Path.cwd(), Path(os.path.abspath(folder))
    if whole.is_relative_to(here) and os.path.realpath(whole) != str(
        here.resolve() / whole.relative_to(here)
    ):
        stop(
            f"{visible(str(folder))} is behind a link: remove the link, or name the folder that it leads to."
        )
    for skill in made:
        file = folder / skill.name / "SKILL.md"
        if file.is_symlink() or file.parent.is_symlink():
            stop(f"{visible(str(file))} is behind a link: remove the link.")
        try:
            old = read(file, _MOST_BYTES).decode()
        except FileNotFoundError:
            old = skill.text
        except (OSError, UnicodeDecodeError):
            old = ""
        mark = f"---\nname: {skill.name}\n" if skill is made[0] else f'"source": "{SOURCE}"'
        if old != skill.text and mark not in old:
            stop(f"{visible(str(file))} is not of pgmem: move it away, or choose another folder.")
        file.parent.mkdir(parents=True, exist_ok=True)
        replace(file, skill.text.encode(), mode=None)
    typer.echo(f"{counted(len(made), 'skill')} written to {visible(str(folder))}.")
