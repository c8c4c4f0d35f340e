"""The objects that tools take, with their fields, so that an agent need not learn them from errors.

The fields are those that SQL reads; SQL checks them, and refuses others where it has a fixed list. An object may hold
fields that are not named here where its verb takes any (properties).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, BeforeValidator, ConfigDict, WithJsonSchema, with_config
from typing_extensions import TypedDict

_OPEN = ConfigDict(extra="allow")
"""Fields that no shape names reach SQL, which refuses them by name or keeps them; pydantic would drop them in silence."""
_Text = Annotated[Any, WithJsonSchema({"type": "string"})]
_Texts = Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "string"}})]
_CLOSED = ConfigDict(extra="forbid")


@with_config(_OPEN)
class Session(TypedDict):
    """The arguments of save_session without the place of the batch."""

    objective: str
    actions_taken: NotRequired[list[str]]
    decisions_made: NotRequired[list[str]]
    open_items: NotRequired[list[str]]
    next_actions: NotRequired[list[str]]


@with_config(_OPEN)
class Decision(TypedDict):
    """The arguments of save_decision without the place of the batch."""

    title: str
    rationale: str
    owner: NotRequired[str]
    date: NotRequired[str]


@with_config(_OPEN)
class Pattern(TypedDict):
    """The arguments of save_pattern without the place of the batch."""

    trigger: str
    repeatable_steps: list[str]
    exclusions: NotRequired[list[str]]


@with_config(_OPEN)
class RelatedEntity(TypedDict, total=False):
    """An entity by id or name, and how it is related."""

    entity_name: str
    entity_id: str
    relationship_type: str


@with_config(_OPEN)
class Properties(TypedDict, total=False):
    """What is known of a thing: its name (or title, for a Problem and the like), the texts that are searched, others."""

    name: _Text
    title: _Text
    description: _Text
    solution: _Text
    tags: _Texts


@with_config(_CLOSED)
class Target(TypedDict):
    """Another memory and the relation to it."""

    type: str
    name: str
    label: NotRequired[str]


@with_config(_OPEN)
class Filters(TypedDict, total=False):
    """Which cards a query takes."""

    types: list[str]
    statuses: list[str]
    confidences: list[str]
    match_mode: Literal["any", "all"]


@with_config(_OPEN)
class Evidence(TypedDict, total=False):
    """What a card rests on."""

    kind: str
    ref: str
    digest: str


@with_config(_OPEN)
class Receipt(TypedDict, total=False):
    """What a finished change was."""

    intent_id: str
    changed_paths: list[str]
    claims: list[str]
    review: str


@with_config(_OPEN)
class Module(TypedDict):
    """A module of a repository, and what it imports and exports."""

    path: str
    doc: NotRequired[str]
    imports: NotRequired[list[str]]
    exports: NotRequired[list[str]]


@with_config(_OPEN)
class Report(TypedDict):
    """What a scan of a repository saw; its tests, documents and digests may be sent too."""

    modules: list[Module]


@with_config(_OPEN)
class AddedMemory(TypedDict):
    """A memory that a turn bears out."""

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
    """What should last of the turns that an extraction shows."""

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
    "session": Session,
    "decisions": list[Decision],
    "patterns": list[Pattern],
    "related_entities": list[RelatedEntity],
    "properties": Properties,
    "relations": Annotated[list[Target], BeforeValidator(_targets), AfterValidator(_by_relation)],
    "filters": Filters,
    "evidence": list[Evidence],
    "receipt": Receipt,
    "report": Report,
    "answer": ExtractionAnswer,
}
"""The type of an object, or a list of objects, by the name of the argument."""
