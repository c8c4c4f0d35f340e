"""What a file of another system tells, in one shape: named things, links between them, and what is left out and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

__all__ = ["Item", "Link", "Reading", "Vocabulary", "excerpt", "json_lines", "moment"]

_NAME_CHARS = 200  # as the settings of a new store have it; a longer name is refused by the verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A thing with a name, as remember takes it (a Decision: as save_decision does)."""

    label: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    made_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A relation the registry knows, between two items of the same reading."""

    source: tuple[str, str]
    relation: str
    target: tuple[str, str]


@dataclass(slots=True)
class Reading:
    """All that is taken from a file, and a count of what is not, by reason."""

    items: list[Item] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The labels and relations of a store that an importer may use."""

    labels: frozenset[str]
    relations: frozenset[str]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Vocabulary:
        """From what describe_schema answers: labels that remember writes, and Decision; relations between any labels."""
        return cls(
            frozenset(
                row["name"]
                for row in schema["labels"]
                if row["written_by"] == "remember" or row["name"] == "Decision"
            ),
            frozenset(
                row["name"]
                for row in schema["relations"]
                if row["made_by"] == "relate" and row["from"] is None and row["to"] is None
            ),
        )

    def label(self, told: object) -> str | None:
        """The label that a word of another system means; case, blanks and signs do not count."""
        wanted = re.sub(r"\W|_", "", str(told)).casefold()
        return next((name for name in sorted(self.labels) if name.casefold() == wanted), None)

    def relation(self, told: object) -> str | None:
        """The relation that a word of another system means."""
        name = re.sub(r"\W+", "_", str(told).strip()).upper()
        return name if name in self.relations else None


def json_lines(path: Path, text: str, reading: Reading) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines; a line that is none is left out and counted."""
    import json

    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            yield record
        else:
            reading.left_out[f"lines of {path.name} that are no JSON object"] += 1


def excerpt(text: str, mark: str) -> str:
    """A text as a name: itself if it is short, else its beginning and a mark that tells it from others."""
    line = " ".join(text.split())
    return line if len(line) <= _NAME_CHARS else f"{line[: _NAME_CHARS - len(mark) - 3]}… #{mark}"


def moment(told: object) -> datetime | None:
    """A point in time as another system writes it: ISO 8601, a date, seconds since 1970; None if it is neither."""
    if isinstance(told, bool) or told is None:
        return None
    try:
        if isinstance(told, datetime):
            found = told
        elif isinstance(told, date):
            found = datetime.combine(told, time())
        elif isinstance(told, int | float):
            found = datetime.fromtimestamp(told, UTC)
        else:
            found = datetime.fromisoformat(str(told).strip())
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
