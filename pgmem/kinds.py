"""The properties of a memory by the fields of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgmem._verbs import KINDS

__all__ = ["REASONS", "TEXTS", "TITLES", "said"]

TEXTS = {kind.label: kind.text for kind in KINDS}
"""The field that is the text of a kind."""
TITLES = tuple(kind.title for kind in KINDS)
"""The fields that give the titles of kinds."""
REASONS = tuple(
    field.name
    for kind in KINDS
    for field in kind.fields
    if field.required and field.type in ("text", "texts") and field.name not in TITLES
)
"""The fields that say what the titles do not, which each memory of a kind has."""

_MEASURED = {
    kind.label: {field.name for field in kind.fields if field.type in ("relevance", "time")} for kind in KINDS
}


def said(label: str | None, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a memory without the numbers and times that its kind has beside its texts.

    A person who decides on a memory is shown all others, whatever their names: a text may be in any of them.
    """
    measured = _MEASURED.get(label or "", set())
    return {name: value for name, value in properties.items() if name not in measured}
