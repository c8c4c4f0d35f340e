"""`pgmem review`: saves that wait, conflicts, replacements that nobody has said, and rules of agents, one by one."""

from __future__ import annotations

import getpass
import json
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple
from uuid import UUID

import typer
from rich.panel import Panel
from rich.text import Text

from pgmem.cli.options import (
    By,
    Project,
    Store,
    chosen,
    print_json,
    require_person,
    shown,
    stop,
    store_command,
    terminal,
)
from pgmem.escaping import visible
from pgmem.kinds import said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgmem.memory import Memory
    from pgmem.models import (
        ConflictEntry,
        EditedMemory,
        Replacement,
        Review,
        ReviewDetail,
        SaveResult,
        WaitingRule,
    )

Outcome = Literal["new", "supersede", "drop"]
CHOICES: dict[str, Outcome] = {"n": "new", "s": "supersede", "d": "drop"}
_STEERS = "The text steers agents"
_NAMES: dict[str, str] = {"new": "[n]ew", "supersede": "[s]upersede the old one", "drop": "[d]rop"}
_CHANGES: dict[str, dict[str, str]] = {
    "forget": {"supersede": "[s] forget it", "drop": "[d] keep it"},
    "revert": {"supersede": "[s] bring the earlier text back", "drop": "[d] keep the text of now"},
    "edit_memory": {"supersede": "[s] make the change", "drop": "[d] keep it as it is"},
    "remember": {"supersede": "[s] make the change", "drop": "[d] keep it as it is"},
}
"""The effect of a choice where a change of one memory waits."""


@store_command
def review(
    store: Store,
    project: Project = None,
    save_id: Annotated[UUID | None, typer.Option(help="Decide on this save only, with --outcome.")] = None,
    outcome: Annotated[Outcome | None, typer.Option(help="The decision on --save-id.")] = None,
    rule: Annotated[
        UUID | None,
        typer.Option(help="Decide on this memory of an agent only: is it your word, as it is?"),
    ] = None,
    by: By = None,
) -> None:
    """Decide on saves that wait, conflicts, decisions replaced for their likeness, and rules of agents.

    With --save-id any open save can be dropped, and with --rule any memory of an agent be made your word.
    """
    decider = by or getpass.getuser()
    if rule is not None:
        item = store.run(partial(_shown, identity=rule))
        if not _decided(store, item, decider):
            raise typer.Exit(1)
        return
    if save_id is not None:
        if outcome is None:
            stop("--save-id needs --outcome new, supersede or drop.", 2)
        _require_person(store, store.run(partial(_of_save, save_id=save_id)), outcome)
        print_json(store.run(lambda m: m.resolve_review(save_id, outcome, decider)))
        return
    pending = store.run(lambda m: m.list_reviews(project))
    pairs = store.run(partial(_pairs, project=project))
    rules = store.run(lambda m: m.list_rules(project))
    store.for_people([*pending, *(entry for entry, *_ in pairs), *rules])
    console = terminal()
    if not pending and not pairs and not rules:
        console.print("No save is pending review. No conflict is open. No rule of an agent waits.")
    for held in pending:
        detail = store.run(partial(_of_save, save_id=held.save_id))
        console.print(_panel(held, detail))
        names = _names(detail)
        answer = chosen(", ".join([*(names[one] for one in detail.outcomes), "[l]ater", "[q]uit"]))
        if answer == "q":
            return
        if (choice := CHOICES.get(answer)) in detail.outcomes and choice is not None:
            _require_person(store, detail, choice)
            decide = partial(_resolve, detail=detail, outcome=choice, by=decider)
            result = store.run(decide)
            typer.echo(f"{result.status}: {result.message or result.dedup_outcome}")
    for pair in pairs:
        if not _settled(store, pair, decider):
            return
    for rule_of_agent in rules:
        if _decided(store, rule_of_agent, decider) is None:
            return


class _Pair(NamedTuple):
    """Two memories of which a person says whether one holds or both: the earlier one is the first."""

    entry: ConflictEntry | Replacement
    first: UUID
    second: UUID
    text: str


async def _pairs(memory: Memory, project: str | None) -> list[_Pair]:
    """The open conflicts, and the decisions that took the place of another for the likeness of their titles."""
    conflicts = await memory.list_conflicts(project)
    replaced = await memory.list_replacements(project)
    return [
        *(
            _Pair(one, one.id, one.with_id, f"{one.title}\nsays otherwise than\n{one.with_title}")
            for one in conflicts
        ),
        *(
            _Pair(
                one,
                one.old_id,
                one.id,
                f"{one.old_title}  ({one.old_date}, {one.old_by})\nwas replaced for the likeness of the titles by\n"
                f"{one.title}  ({shown(one.created_at)}, {one.by})",
            )
            for one in replaced
        ),
    ]


def _settled(store: Store, pair: _Pair, by: str) -> bool:
    """Ask which of a pair holds; False to ask no more."""
    where = visible(pair.entry.project or "all projects")
    terminal().print(Panel(Text(visible(pair.text)), title=Text(where), subtitle=str(pair.second)))
    answer = chosen("[b] both hold, [f]irst holds, [s]econd holds, [l]ater, [q]uit")
    if answer in ("b", "f", "s"):
        require_person(store)
        holds = {"b": None, "f": pair.first, "s": pair.second}[answer]
        store.run(partial(_settle, pair=pair, by=by, holds=holds))
        said = {
            "b": "Both hold, and are not compared again.",
            "f": "The first holds.",
            "s": "The second holds.",
        }
        typer.echo(said[answer])
    return answer != "q"


async def _settle(memory: Memory, pair: _Pair, by: str, holds: UUID | None) -> None:
    await memory.admin.settle_conflict(pair.first, pair.second, by, holds)


def _require_person(store: Store, save: ReviewDetail, outcome: Outcome) -> None:
    """End the command where a person at a terminal has to decide; to drop a text that steers agents harms nobody."""
    require_person(store, always=outcome != "drop" and (save.message or "").startswith(_STEERS))


async def _of_save(memory: Memory, save_id: UUID) -> ReviewDetail:
    return await memory.get_review(save_id)


async def _shown(memory: Memory, identity: UUID) -> WaitingRule:
    """A memory as it is, as something to decide on."""
    from pgmem.models import WaitingRule

    node = await memory.find_memory(identity)
    kind: Literal["rule", "pattern"] = "pattern" if node.label == "Pattern" else "rule"
    return WaitingRule(
        id=node.id,
        label=node.label,
        kind=kind,
        title=node.title,
        properties=node.properties,
        project=node.project,
        scope=node.scope,
        focus=node.focus,
        version=node.version,
        source=node.source,
        agent_id=node.agent_id,
        held=0,
        created_at=node.created_at,
        valid_from=node.valid_from,
        valid_to=node.valid_to,
    )


def _decided(store: Store, item: WaitingRule, by: str) -> bool | None:
    """Ask whether a rule is the person's word; whether it was decided, None to ask no more."""
    terminal().print(_rule(item))
    begins = item.valid_from if item.valid_from and item.valid_from > datetime.now(UTC) else None
    since = "now on" if begins is None else f"{shown(begins)} on"
    answer = chosen(f"[y]es, it holds from {since}, [n]o, it stays a note, [l]ater, [q]uit")
    if answer in ("y", "n"):
        require_person(store)
        done = store.run(partial(_decide, item=item, yes=answer == "y", by=by))
        until = "" if begins is None or answer == "n" else f", an instruction from {since}"
        typer.echo(f"{'Yours' if answer == 'y' else 'A note'}: {visible(done.title)}{until}")
        return True
    return None if answer == "q" else False


async def _decide(memory: Memory, item: WaitingRule, yes: bool, by: str) -> EditedMemory:
    return await memory.decide_rule(item.id, item.version, yes, by)


def _rule(item: WaitingRule) -> Panel:
    texts = {name: value for name, value in said(item.label, item.properties).items() if value != item.title}
    about = {
        "kind": item.label,
        "focus": item.focus,
        "agent": item.agent_id,
        "saved": shown(item.created_at),
        "from": shown(item.valid_from),
        "until": shown(item.valid_to),
    }
    lines = filter(None, (asked(texts), asked(about)))
    text = Text.assemble((f"{visible(item.title)}\n", "bold"), visible("\n".join(lines)))
    whose = f"an agent's {item.kind}" + (f", named used {item.held} times" if item.held else "")
    where = item.project or "all projects"
    return Panel(text, title=Text(f"{visible(where)}: {whose}"), subtitle=str(item.id))


def asked(arguments: Mapping[str, object]) -> str:
    """Every argument that a save is carried out with, one a line."""
    return "\n".join(
        f"      {name}: {_lines(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in arguments.items()
        if value not in (None, "", [], {})
    )


def _lines(text: str) -> str:
    """A text without its empty lines, so that a panel shows where it ends."""
    return "\n".join(line for line in text.splitlines() if line.strip())


async def _resolve(memory: Memory, detail: ReviewDetail, outcome: Outcome, by: str) -> SaveResult:
    return await memory.resolve_review(
        detail.save_id, outcome, by, detail.candidate_id, detail.candidate_version
    )


def _names(detail: ReviewDetail) -> dict[str, str]:
    """The choices of a review, by outcome, each with its effect."""
    if detail.verb == "forget" and detail.arguments.get("purge"):
        return _NAMES | _CHANGES["forget"] | {"supersede": "[s] purge it, with its history"}
    if detail.verb not in _CHANGES and detail.artifact_properties is not None:
        return _NAMES | {"new": "[n] both hold", "drop": "[d] leave both"}
    return _NAMES | _CHANGES.get(detail.verb, {})


def _panel(item: Review, detail: ReviewDetail) -> Panel:
    if detail.restored_properties is not None:
        new = f"{detail.restored_title} (comes back)\n{asked(detail.restored_properties)}"
    elif detail.artifact_properties is not None:
        new = f"{detail.artifact_title} (stored)\n{asked(detail.artifact_properties)}"
    else:
        new = asked(detail.arguments)
    text = Text.assemble(("new   ", "bold"), f"{detail.verb}\n{visible(new)}")
    if detail.candidate_id is not None:
        kept = asked(said(detail.candidate_label, detail.candidate_properties or {}))
        text.append("\n\nkept  ", "bold").append(visible(f"{item.candidate_title}\n{kept}"))
    alike = f": titles {item.score:.0%} alike" if item.score and detail.verb not in _CHANGES else ""
    title = Text(f"{visible(item.project or 'all projects')}{alike}")
    return Panel(text, title=title, subtitle=str(item.save_id))
