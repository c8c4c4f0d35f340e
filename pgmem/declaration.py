"""The classes of which the generated modules of verbs consist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Verb:
    """The effect of a verb, who may call it, how long a caller waits, and the toolsets of its tool for agents."""

    name: str
    effect: Literal["read", "look", "write", "repeat", "remove"]
    rights: Literal["reader", "writer", "worker", "reviewer", "owner"]
    patience: Literal["answer", "report", "rebuild"] | None = None
    toolsets: tuple[str, ...] = ()
    description: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


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
    """A kind of memory that has a save verb: the verb, its summary, and its fields."""

    label: str
    verb: str
    summary: str
    fields: tuple[Field, ...]
