"""The classes of which the generated modules of verbs consist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

LISTS = ("pgmem.objects", "pgmem.related_entities", "pgmem.card_evidence_list")
"""The types of arguments that are lists of objects."""


class Argument(NamedTuple):
    """An argument of a verb as sql/ declares it: its meaning, its SQL type, its default, its bounds or choices."""

    meaning: str
    type: str = "text"
    default: str | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    required: bool = False
    for_agents: bool = True


@dataclass(frozen=True)
class Verb:
    """The effect of a verb, who may call it, how long a caller waits, the toolsets of its tool, and its arguments."""

    name: str
    effect: Literal["read", "look", "write", "repeat", "remove"]
    rights: Literal["reader", "writer", "worker", "reviewer", "owner"]
    patience: Literal["answer", "report", "rebuild"] | None = None
    toolsets: tuple[str, ...] = ()
    description: str = ""
    arguments: dict[str, Argument] = field(default_factory=dict)

    @property
    def listed(self) -> dict[str, str]:
        """The meanings of the arguments that agents send."""
        return {name: one.meaning for name, one in self.arguments.items() if one.for_agents}


@dataclass(frozen=True)
class Field:
    """A field of a kind of memory: its type as the kind declares it, its meaning, its name on the command line."""

    name: str
    type: str
    meaning: str
    required: bool = False
    hidden: bool = False
    option: str | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of memory that has a save verb: the verb, its summary, its fields, and the one that gives its title."""

    label: str
    verb: str
    summary: str
    fields: tuple[Field, ...]
    title: str = ""

    @property
    def text(self) -> str:
        """The name of the field that holds its text: the first text that it must have."""
        return next(field.name for field in self.fields if field.required and field.type == "text")
