"""What the generated modules of verbs are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Verb:
    """The effect of a verb, who may call it, how long a caller waits for it, and its tool for agents."""

    name: str
    effect: Literal["read", "look", "write", "repeat", "remove"]
    rights: Literal["reader", "writer", "worker", "reviewer", "owner"]
    patience: Literal["answer", "report", "rebuild"] | None = None
    toolset: str | None = None
    description: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
