"""`pgmem save`, `remember` and `relate`: write memories from arguments, from JSON, or from a pipe."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer
from typer.models import ArgumentInfo

from pgmem._verbs import KINDS
from pgmem.cli.options import Store, stop, store_command, typed
from pgmem.cli.verbs import Call, parameter, verb_command
from pgmem.declaration import Field, Kind
from pgmem.documents import json_lines, parse
from pgmem.errors import InvalidArgument, PgmemError

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import BatchSaveResult, SaveResult

save = typer.Typer(
    help="Save a session, decision, pattern, note, fact or batch, as an agent does.", no_args_is_help=True
)

Input = Annotated[
    Path | None,
    typer.Option(
        "--input",
        "-i",
        help="JSON with the arguments of the verb, - for stdin; one object, a list, or one object a line. "
        "Arguments of the command line win.",
    ),
]
InProject = Annotated[str | None, typer.Option("--project", "-p", help="The name of the project.")]
Share = Annotated[Literal["private", "org"] | None, typer.Option(help="Whose it is. Default: yours.")]


def _placed(
    project_id: InProject = None,
    focus: Annotated[str | None, typer.Option(help="The name of the focus area.")] = None,
    scope: Annotated[
        Literal["global", "project", "focus"] | None,
        typer.Option(help="How widely it holds. Default: project."),
    ] = None,
    share: Share = None,
    governance_token: Annotated[
        str | None, typer.Option("--governance-token", help="A governance token, which a global save needs.")
    ] = None,
    save_id: Annotated[
        str | None, typer.Option("--save-id", help="A UUID of this save: sent again, it is made once.")
    ] = None,
    given: Input = None,
) -> None:
    """The options that every save of one memory takes."""


def _related(given: list[str] | None) -> list[dict[str, str]] | None:
    """The related entities of RELATION=NAME pairs."""
    found = _pairs("--related", given)
    return [{"relationship_type": relation, "entity_name": name} for relation, name in found] or None


def _parameter(field: Field, last: bool) -> inspect.Parameter:
    """A field of a kind as a parameter of its command: an argument where it is required, else an option.

    Args:
        field: the field.
        last: it is the last required text, which may be read from stdin.
    """
    word = field.option or field.name.replace("_", "-")
    meaning = field.meaning.partition("; unset")[0].rstrip(".")
    if field.required:
        kind: Any = list[str] if field.type == "texts" else str
        stdin = "; - reads stdin" if last and field.type == "text" else ""
        given: Any = typer.Argument(metavar=word, help=f"{meaning}{stdin}.")
    elif field.type == "related_entities":
        kind, given = (
            list[str],
            typer.Option(
                f"--{word}", callback=_related, help="A relation and a name, such as USES=Redis; repeatable."
            ),
        )
    elif field.type == "texts":
        kind, given = list[str], typer.Option(f"--{word}", help=f"{meaning}; repeatable.")
    elif field.type in ("text", "title", "key", "date", "time"):
        kind, given = str, typer.Option(f"--{word}", help=f"{meaning}.")
    else:
        kind, given = float, typer.Option(f"--{word}", min=0, max=1, help=f"{meaning}.")
    return parameter(field.name, Annotated[kind | None, given], None)


def _command(kind: Kind) -> None:
    """Make the command that saves a memory of a kind; `_placed` declares the options that all of them take."""

    def run(store: Store, /, **own: Any) -> None:
        _save(store, kind.verb, own.pop("given"), **own)

    run.__doc__ = kind.summary
    required = [field for field in kind.fields if field.required]
    own = [_parameter(field, field is required[-1]) for field in kind.fields if not field.hidden]
    own.sort(key=lambda parameter: not isinstance(parameter.annotation.__metadata__[0], ArgumentInfo))
    placed = inspect.signature(_placed, eval_str=True).parameters.values()
    run.__signature__ = inspect.Signature([parameter("store", Store), *own, *placed])  # type: ignore[attr-defined]
    name = kind.verb.rpartition("_")[2]
    save.command(name)(store_command(run))


for _kind in KINDS:
    _command(_kind)


@save.command()
@store_command
def batch(
    store: Store,
    given: Annotated[
        Path, typer.Argument(help="JSON: {session: {…}, decisions: […], patterns: […], …}; - for stdin.")
    ],
    project: InProject = None,
) -> None:
    """Save a session with its decisions and patterns; items that are refused do not stop the others."""
    _save(store, "store_session_with_learnings", given, project_id=project)


@store_command
def remember(
    store: Store,
    label: Annotated[str | None, typer.Argument(help="The kind of thing, such as Technology.")] = None,
    name: Annotated[str | None, typer.Argument(help="Its name or title.")] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--set", help="A property, such as summary='A cache' or stars=5; repeatable."),
    ] = None,
    related: Annotated[
        list[str] | None,
        typer.Option("--relate", help="A relation and a name, such as USES=Redis; repeatable."),
    ] = None,
    valid_from: Annotated[str | None, typer.Option("--from", help="When it begins to hold.")] = None,
    valid_to: Annotated[str | None, typer.Option("--to", help="When it ceases to hold.")] = None,
    project: InProject = None,
    share: Share = None,
    given: Input = None,
) -> None:
    """Create or update a thing by its name, and relate it to others by theirs."""
    relations: dict[str, list[str]] = {}
    for relation, target in _pairs("--relate", related):
        relations.setdefault(relation, []).append(target)
    kept = {key: _value(value) for key, value in _pairs("--set", properties)}

    async def run(memory: Memory) -> list[Any]:
        keys = {row.name: row.key_field or "name" for row in (await memory.describe_schema()).labels}
        done = []
        for sent in arguments(
            memory.remember,
            given,
            label=label,
            properties=kept or None,
            relations=relations or None,
            valid_from=valid_from,
            valid_to=valid_to,
            project_id=project,
            share=share,
            besides=("properties",),
        ):
            own = dict(sent.get("properties") or {})
            if name is not None:
                own[keys.get(str(sent["label"]), "name")] = name
            done.append(await memory.remember(**{**sent, "properties": own}))
        return done

    done = store.run(run)
    for row in () if _printed(store, done) else done:
        what = "created" if row.created else "updated"
        if row.dedup_outcome == "manual_review":
            what = f"not changed: {typed(row.next_step)}"
        typer.echo(f"{row.label} {row.title}: {what} (version {row.version}), {row.id}")
        for made in row.relations_made:
            typer.echo(f"  {made.relation} {made.label} {made.name}")
        for meant in row.did_you_mean:
            typer.echo(f"  no relation {meant.relation} {meant.name}: the name fits several", err=True)
    if any(row.dedup_outcome == "manual_review" for row in done):
        raise typer.Exit(1)


_ENDS = ("from_label", "from_key", "rel_type", "to_label", "to_key")


@verb_command("relate", *_ENDS, defaults=dict.fromkeys(_ENDS))
def relate(call: Call, given: Input = None) -> None:
    """Join two memories by a relation; the same call again changes nothing more."""
    from pgmem.memory import Memory

    calls = arguments(Memory.relate, given, **call.sent)

    async def run(memory: Memory) -> list[Any]:
        return [await memory.relate(**sent) for sent in calls]

    done = call.run(run)
    for edge in () if _printed(call.store, done) else done:
        made = "made" if edge.created else "was there already"
        typer.echo(f"{edge.from_id} {edge.rel_type} {edge.to_id}: {made}.")


def arguments(
    verb: Callable[..., Any], given: Path | None, *, besides: Sequence[str] = (), **own: Any
) -> list[dict[str, Any]]:
    """The arguments of one or more calls of a verb: those of the JSON, then those of the command line.

    Args:
        verb: the method of `Memory`.
        given: a file of JSON, - for stdin; None for none.
        besides: required arguments that the caller fills in.
        own: arguments of the command line; None was not given, and - reads stdin.

    Raises:
        typer.Exit: an argument is unknown, missing or cannot be read; the message names it.
    """
    try:
        if given is not None and sum(value == "-" for value in own.values()) + (str(given) == "-") > 1:
            raise InvalidArgument("stdin can be read once: give - for one argument.")
        own = {
            name: _stdin().strip() if value == "-" else value
            for name, value in own.items()
            if value is not None
        }
        return [_checked(verb, {**sent, **own}, besides) for sent in _objects(given)]
    except PgmemError as error:
        stop(error, 2)


def _stdin() -> str:
    """The text on stdin; in some locales Python reads bytes that are not UTF-8 as halves of surrogates.

    Raises:
        InvalidArgument: it is not UTF-8.
    """
    try:
        text = sys.stdin.read()
        text.encode()
    except UnicodeError:
        raise InvalidArgument("stdin is not UTF-8 text: convert it, such as with iconv -f latin1.") from None
    return text


def _objects(given: Path | None) -> list[dict[str, Any]]:
    """The objects of a file of JSON or JSON lines."""
    if given is None:
        return [{}]
    what = "stdin" if str(given) == "-" else str(given)
    try:
        text = _stdin() if str(given) == "-" else given.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{what} cannot be read: {error}.") from None
    try:
        found = parse(text, what)
    except ValueError:
        lines = list(json_lines(text, what))
        if wrong := next((reason for _, _, reason in lines if reason), None):
            raise InvalidArgument(f"{what} is not JSON: {wrong}.") from None
        found = [value for _, value, _ in lines]
    found = found if isinstance(found, list) else [found]
    if not found or not all(isinstance(sent, dict) for sent in found):
        raise InvalidArgument(f"{what} must hold a JSON object with the arguments, or several.")
    return found


def _checked(verb: Callable[..., Any], sent: dict[str, Any], besides: Sequence[str]) -> dict[str, Any]:
    """The arguments of a call as the verb takes them: all known, none missing, each of its type."""
    from difflib import get_close_matches

    from pydantic import TypeAdapter, ValidationError

    signature = inspect.signature(verb).parameters
    types = get_type_hints(verb, include_extras=True)
    names = [name for name in signature if name != "self"]
    for name in sent:
        if name not in names:
            near = get_close_matches(name, names, 1)
            advice = f"did you mean {near[0]}?" if near else f"it takes {', '.join(names)}."
            raise InvalidArgument(f"{verb.__name__} has no argument {name}: {advice}")
    for name in names:
        required = signature[name].default is inspect.Parameter.empty
        if required and name not in sent and name not in besides:
            raise InvalidArgument(f"{verb.__name__} needs {name}: give it as an argument or in --input.")
    taken = {}
    for name, value in sent.items():
        try:
            taken[name] = TypeAdapter(types[name]).validate_python(value)
        except ValidationError as error:
            raise InvalidArgument(f"{name}: {error.errors()[0]['msg']}.") from None
    return taken


def _save(store: Store, verb: str, given: Path | None, **own: Any) -> None:
    """Run one or more saves; exit with 1 if one of them is not saved."""
    from pgmem.memory import Memory
    from pgmem.models import SaveResult

    calls = arguments(getattr(Memory, verb), given, **own)

    async def run(memory: Memory) -> list[SaveResult | BatchSaveResult]:
        return [await getattr(memory, verb)(**sent) for sent in calls]

    done = store.run(run)
    for result in () if _printed(store, done) else done:
        _show(result)
    states = [result.status if isinstance(result, SaveResult) else result.overall for result in done]
    if any(state != "saved" for state in states):
        raise typer.Exit(1)


def _printed(store: Store, done: Sequence[Any]) -> bool:
    """Whether JSON is wanted, which is printed: a list, or of one call its answer alone."""
    return store.print_json(list(done) if len(done) != 1 else done[0])


def _show(result: SaveResult | BatchSaveResult) -> None:
    from pgmem.models import BatchSaveResult

    if isinstance(result, BatchSaveResult):
        listed = (result.session, *result.decisions, *result.patterns, *result.memories)
        parts = [part for part in listed if part is not None]
        kept = sum(part.status == "saved" for part in parts)
        typer.echo(f"{result.overall}: {kept} of {len(parts)} saved.")
        for part in parts:
            if part.status != "saved":
                _show(part)
        return
    saved = result.status == "saved"
    what = ", ".join(filter(None, (result.dedup_outcome, str(result.artifact_id or result.save_id or ""))))
    typer.echo(f"{result.status}: {what}", err=not saved)
    if result.status == "blocked_scope":
        typer.echo("Nothing was saved: no project of this name found.", err=True)
    elif result.message:
        typer.echo(result.message, err=not saved)
    if not saved and result.next_step:
        typer.echo(typed(result.next_step), err=True)
    for near in result.near_names:
        typer.echo(f"A name resembles this one: {near.name}", err=True)
    for other in result.conflicts:
        typer.echo(f"Contradicts {other.id} ({other.axis}): {other.theirs}", err=True)


def _pairs(option: str, given: Sequence[str] | None) -> list[tuple[str, str]]:
    """The two sides of each NAME=VALUE."""
    found = []
    for word in given or ():
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"{option} takes NAME=VALUE, not {word!r}")
        found.append((name.strip(), value))
    return found


def _value(text: str) -> Any:
    """A value of a property: JSON where it is JSON, else the text."""
    try:
        return parse(text, "a property")
    except ValueError:
        return text
