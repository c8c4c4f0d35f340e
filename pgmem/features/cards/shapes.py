"""The objects that the tools of cards take, with their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from pgmem import inputs

_OPEN = ConfigDict(extra="allow")  # as in pgmem/mcp/shapes.py


@with_config(_OPEN)
class Filters(TypedDict, total=False):
    """Which cards a query takes."""

    types: list[str]
    statuses: list[str]
    confidences: list[str]
    match_mode: Literal["any", "all"]


@with_config(_OPEN)
class Evidence(inputs.CardEvidence, total=False):
    """What a card rests on."""


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
    """What a scan of a repository saw; its tests and digests may be sent too."""

    modules: list[Module]


SHAPES: Mapping[str, Any] = {
    "filters": Filters,
    "evidence": list[Evidence],
    "receipt": Receipt,
    "report": Report,
}
"""The type of an object, or a list of objects, by the name of the argument."""
