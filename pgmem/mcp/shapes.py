"""The objects that tools take, with their fields, so that an agent need not learn them from errors.

The fields are those that SQL reads; SQL checks them, and refuses others where it has a fixed list. An object may hold
fields that are not named here where its verb takes any (properties).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, BeforeValidator, ConfigDict, TypeAdapter, WithJsonSchema, with_config
from typing_extensions import TypedDict

from pgmem import inputs, registry
from pgmem._verbs import KINDS

_OPEN = ConfigDict(extra="allow")
"""Fields that no shape names reach SQL, which refuses or keeps them by name; pydantic would drop them silently."""
_Text = Annotated[Any, WithJsonSchema({"type": "string"})]
_CLOSED = ConfigDict(extra="forbid")


_FIELDS: Mapping[str, Any] = {"text": str, "title": str, "texts": list[str]}
"""The types of the fields that a part of a batch shows; numbers and times have defaults that agents leave alone."""
_IN_BATCH = frozenset({"actions_taken", "open_items", "next_actions", "supersedes"})
"""The fields that a part of a batch shows besides the required ones; it takes all that its save verb takes."""


def _part(label: str) -> Any:
    """Return what a part of a batch holds: the arguments of the save verb of a kind without those of the batch.

    The listed schema says it; a call takes any object, so that a part that SQL refuses leaves the others saved.
    """
    kind = next(kind for kind in KINDS if kind.label == label)
    shown = {
        field.name: _FIELDS[field.type] if field.required else NotRequired[_FIELDS[field.type]]
        for field in kind.fields
        if field.name in _IN_BATCH or (field.required and field.type in _FIELDS)
    }
    listed = TypeAdapter(with_config(_OPEN)(TypedDict(label, shown))).json_schema()  # type: ignore[operator]
    return Annotated[dict[str, Any], WithJsonSchema(listed)]


@with_config(_OPEN)
class Labelled(TypedDict):
    """A memory of any kind that has a save verb: its label, and the arguments of the verb."""

    label: str


@with_config(_OPEN)
class RelatedEntity(inputs.RelatedEntity, total=False):
    """An entity by id or name, and how it is related."""


@with_config(_OPEN)
class Properties(TypedDict, total=False):
    """The properties of a thing: its name (or title, of a Problem and the like), its text, any others."""

    name: _Text
    title: _Text
    description: _Text


@with_config(_CLOSED)
class Target(TypedDict):
    """Another memory and the relation to it."""

    type: str
    name: str
    label: NotRequired[str]


@with_config(_OPEN)
class AddedMemory(TypedDict):
    """A memory that a turn supports."""

    kind: Literal["decision", "fact", "note"]
    title: str
    text: str
    turn: int
    quote: str


@with_config(_OPEN)
class ChangedMemory(TypedDict):
    """A candidate that a turn changes."""

    n: int
    text: str
    turn: int
    quote: str


@with_config(_OPEN)
class EndedMemory(TypedDict):
    """A candidate that no longer holds."""

    n: int
    turn: int
    quote: str


@with_config(_CLOSED)
class ExtractionAnswer(TypedDict, total=False):
    """The lasting facts of the turns that an extraction shows."""

    add: list[AddedMemory]
    update: list[ChangedMemory]
    invalidate: list[EndedMemory]


def _targets(sent: object) -> object:
    """Return relations as a list of targets; the verb's own form, names by relation, is taken as well."""
    if not isinstance(sent, Mapping):
        return sent
    return [
        {"type": relation, **(name if isinstance(name, Mapping) else {"name": name})}
        for relation, names in sent.items()
        for name in (names if isinstance(names, list) else [names])
    ]


def _by_relation(targets: list[Target]) -> dict[str, list[dict[str, object]]]:
    """Return targets as the verb takes them: by relation."""
    found: dict[str, list[dict[str, object]]] = {}
    for target in targets:
        found.setdefault(target["type"], []).append({k: v for k, v in target.items() if k != "type"})
    return found


SHAPES: Mapping[str, Any] = {
    "session": _part("Session"),
    "decisions": list[_part("Decision")],  # type: ignore[misc]
    "patterns": list[_part("Pattern")],  # type: ignore[misc]
    "memories": list[Labelled],
    "related_entities": list[RelatedEntity],
    "properties": Properties,
    "relations": Annotated[list[Target], BeforeValidator(_targets), AfterValidator(_by_relation)],
    "answer": ExtractionAnswer,
}
"""The type of an object, or a list of objects, by the name of the argument of a tool of the core."""


@cache
def shapes() -> Mapping[str, Any]:
    """Return the type of an object, or a list of objects, by the name of the argument; features bring theirs."""
    brought = (registry.imported(place) for place in registry.found("SHAPES"))
    return {name: shape for each in (SHAPES, *brought) for name, shape in each.items()}
