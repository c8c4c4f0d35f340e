"""Commands made of verbs: their arguments, options and help are those that sql/ declares (pgmem/_verbs.py).

A command adds its output, and options of people alone, such as `--yes`. An option that is not given is not
sent, so that the defaults are those of the verb; only who decides is filled in, by the name of the login.
"""

from __future__ import annotations

import functools
import getpass
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import typer

from pgmem._verbs import VERBS
from pgmem.cli.options import Everywhere, Store, Which, named, project_here, store_command
from pgmem.declaration import Argument
from pgmem.escaping import visible

if TYPE_CHECKING:
    from pgmem.memory import Memory

OPTIONS = {
    "project_id": ("--project", "-p"),
    "limit": ("--limit", "-n"),
    "labels": ("--label", "--labels"),
    "categories": ("--category", "--categories"),
    "tags": ("--tag", "--tags"),
    "agent_id": ("--agent",),
    "session_id": ("--session",),
    "org_id": ("--org",),
    "user_id": ("--user",),
    "answers_only": ("--answers-only/--all-answers",),
}
"""The name that people type for an argument; else its name with hyphens."""

KINDS: dict[str, Any] = {
    "uuid": UUID,
    "smallint": int,
    "integer": int,
    "bigint": int,
    "double precision": float,
    "boolean": bool,
    "text[]": list[str],
    "uuid[]": list[UUID],
}
"""The Python type of an option by the SQL type of the argument; else text."""

METAVARS = {"timestamp with time zone": "TIME", "date": "DAY", "uuid": "ID", "jsonb": "JSON"} | dict.fromkeys(
    ("smallint", "integer", "bigint", "double precision"), "N"
)
"""The placeholder for the value of an option in the help."""


@dataclass(frozen=True)
class Call:
    """A call of a verb, as the words of a command line say it."""

    store: Store
    verb: str
    sent: dict[str, Any]
    which: Sequence[str] = ()
    """The words that name a memory, for a verb that takes label and key."""
    here: bool = False
    """Ask about the project of the folder, if the store has one for it."""

    async def of(self, memory: Memory, /, **more: Any) -> Any:
        """Call the verb, with more arguments or others."""
        sent = {**self.sent, **more}
        if self.here and (project := await project_here(memory)) is not None:
            # On stderr, so that a program reads the answer alone.
            typer.echo(f"Of {visible(project)}, the project of this folder; -A shows all projects.", err=True)
            sent["project_id"] = project
        if self.which:
            sent["label"], sent["key"] = await named(memory, self.which)
        return await getattr(memory, self.verb)(**sent)

    def run(self, use: Callable[[Memory], Awaitable[Any]] | None = None, **more: Any) -> Any:
        """Open the memory and call the verb, or the given function; the answer."""
        return self.store.run(use or (lambda memory: self.of(memory, **more)))

    def answer(self, use: Callable[[Memory], Awaitable[Any]] | None = None, **more: Any) -> Any:
        """The answer, to be shown; with --json it is printed, and the command ends."""
        return self.store.for_people(self.run(use, **more))

    def but(self, **sent: Any) -> Call:
        """The same call with other arguments."""
        return replace(self, sent={**self.sent, **sent})


def verb_command(
    verb: str,
    *words: str,
    options: Mapping[str, str | tuple[str, ...]] | None = None,
    without: Sequence[str] = (),
    defaults: Mapping[str, Any] | None = None,
    of_folder: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator: a command takes the arguments of a verb, and receives its `Call`.

    Args:
        verb: the verb.
        words: the arguments typed without the name of an option, in this order; `which` is label and key; a
            name that ends in ... takes all words that follow.
        options: the name that people type for an argument, where it is not its name.
        without: arguments that the command does not take.
        defaults: the value sent for an argument that is not given; None: nothing, though the verb requires
            one.
        of_folder: without --project, the project of the folder is asked about, and --all-projects asks about all.
    """
    filled: dict[str, Any] = {"by": getpass.getuser, **(defaults or {})}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        names = {word.removesuffix("...") for word in words}
        taken = {
            name: argument
            for name, argument in VERBS[verb].arguments.items()
            if name not in without and not ("which" in names and name in ("label", "key"))
        }
        made = [
            parameter("which", Which)
            if word == "which"
            else _word(word, taken[word.removesuffix("...")], filled)
            for word in words
        ]
        made += [
            _option(name, one, options or {}, filled) for name, one in taken.items() if name not in names
        ]

        @functools.wraps(command)
        def run(store: Store, /, **given: Any) -> Any:
            everywhere = given.pop("everywhere") if of_folder else True
            which = given.pop("which") if "which" in names else ()
            sent = {}
            for name, argument in taken.items():
                value = _value(name, argument, given.pop(name, None))
                if value is None:
                    value = filled.get(name)
                    value = value() if callable(value) else value
                if value is not None:
                    sent[name] = value
            here = not everywhere and "project_id" not in sent
            return command(Call(store, verb, sent, which, here), **given)

        if of_folder:
            made.append(parameter("everywhere", Everywhere, default=False))
        # Python wants those without a default first; a command line does not.
        made = sorted((*made, *own), key=lambda one: one.default is not inspect.Parameter.empty)
        run.__signature__ = inspect.Signature([parameter("store", Store), *made])  # type: ignore[attr-defined]
        return store_command(run)

    return decorate


def parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """An argument or an option of a command that is made; without a default it is required."""
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)


def _taken(name: str, kind: Any, typed: Any, *, required: bool) -> inspect.Parameter:
    return (
        parameter(name, Annotated[kind, typed])
        if required
        else parameter(name, Annotated[kind | None, typed], None)
    )


def _word(word: str, argument: Argument, filled: Mapping[str, Any]) -> inspect.Parameter:
    name = word.removesuffix("...")
    kind = list[str] if name != word else _kind(argument)
    metavar = "ID" if argument.type == "uuid" else name.removesuffix("_id").upper()
    made = typer.Argument(help=meaning(argument), metavar=metavar)
    return _taken(name, kind, made, required=argument.required and name not in filled)


def _option(
    name: str,
    argument: Argument,
    options: Mapping[str, str | tuple[str, ...]],
    filled: Mapping[str, Any],
) -> inspect.Parameter:
    typed = options.get(name) or OPTIONS.get(name) or f"--{name.replace('_', '-')}"
    words = list((typed,) if isinstance(typed, str) else typed)
    if argument.type == "boolean" and len(words) == 1 and "/" not in words[0]:
        no = f"--no-{words[0][2:]}"
        words = {"False": words, "True": [f" /{no}"]}.get(str(argument.default), [f"{words[0]}/{no}"])
    said = meaning(argument) + (" Repeatable." if argument.type.endswith("[]") else "")
    default = filled.get(name, argument.default)
    if default and argument.type != "boolean":
        said += f" Default: {'your login name' if callable(default) else default}."
    made = typer.Option(
        *words,
        help=said,
        min=_bound(
            0 if argument.least is None and "0 or more" in argument.meaning else argument.least, argument
        ),
        max=_bound(argument.most, argument),
        metavar=None
        if argument.choices or argument.type == "boolean"
        else METAVARS.get(argument.type, "TEXT"),
    )
    return _taken(name, _kind(argument), made, required=argument.required and name not in filled)


def _bound(number: float | None, argument: Argument) -> float | None:
    return number if number is None or argument.type == "double precision" else int(number)


def _kind(argument: Argument) -> Any:
    if argument.choices:
        return Literal[argument.choices]
    return KINDS.get(argument.type, str)


def meaning(argument: Argument) -> str:
    """The meaning of an argument: its first sentence; the rest is in the reference."""
    said = re.split(r"[.] |[.;]$", argument.meaning, maxsplit=1)[0]
    return (said if "_" in said.split()[0] else said[:1].upper() + said[1:]) + "."


def _value(name: str, argument: Argument, given: Any) -> Any:
    """The value of an argument from the typed text; None: it is not sent."""
    if given is None or given == []:
        return None
    if isinstance(given, list) and _kind(argument) is str:
        return " ".join(given)
    if argument.type.startswith("timestamp"):
        return moment(given, name)
    if argument.type == "jsonb":
        from pgmem.documents import parse

        try:
            return parse(given, name)
        except ValueError as error:
            raise typer.BadParameter(f"{name} is not JSON: {error}") from None
    return given


def moment(text: str, name: str, *, ahead: bool = False) -> datetime:
    """A time from the typed text: 2026-09-01 is the end of that day, 2026-09-01T12:00 that minute, 30d ago.

    Args:
        text: as it was typed.
        name: of the argument, for the message.
        ahead: a time to come: 30d is in thirty days, and a day is its beginning.

    Raises:
        typer.BadParameter: it is not a valid time.
    """
    units = {"d": 86400, "h": 3600, "m": 60}
    if match := re.fullmatch(r"(\d{1,6})([dhm])", text.strip()):
        away = timedelta(seconds=int(match[1]) * units[match[2]])
        return datetime.now().astimezone() + (away if ahead else -away)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise typer.BadParameter(
            f"{name.replace('_', '-')} {text!r} is not a valid time: send a day (2026-09-01), a time "
            f"(2026-09-01T12:00) or how long {'from now' if ahead else 'ago'} (30d, 12h)"
        ) from None
    if not ahead and re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()):
        found = datetime.combine(found, time.max)
    return found if found.tzinfo else found.astimezone()
