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
    """The sources of a card."""


@with_config(_OPEN)
class Receipt(TypedDict, total=False):
    """The description of a finished change."""

    intent_id: str
    changed_paths: list[str]
    claims: list[str]
    review: str


@with_config(_OPEN)
class Module(TypedDict):
    """A module of a repository, with its imports and exports."""

    path: str
    doc: NotRequired[str]
    imports: NotRequired[list[str]]
    exports: NotRequired[list[str]]


@with_config(_OPEN)
class Report(TypedDict):
    """The result of a scan of a repository; its tests and digests may be sent too."""

    modules: list[Module]


SHAPES: Mapping[str, Any] = {
    "filters": Filters,
    "evidence": list[Evidence],
    "receipt": Receipt,
    "report": Report,
}
"""The type of an object, or a list of objects, by the name of the argument."""
