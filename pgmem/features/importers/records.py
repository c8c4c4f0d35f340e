"""The records of an import in one form: named items, links between them, and counts of those left out."""

from __future__ import annotations

import gzip
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pgmem import foreign
from pgmem.errors import InvalidArgument
from pgmem.foreign import Account
from pgmem.models import SchemaDescription

_NAME_CHARS = 200  # the limit of a new store; the verb refuses a longer name


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A named memory as `import_memories` takes it. `status`: active, superseded, archived, expired or stub."""

    label: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    status: str = "active"
    confidence: float | None = None
    trust_level: float | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    def record(self) -> dict[str, Any]:
        """The arguments of one record of `import_memories`."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in asdict(self).items()
            if value is not None
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A relation of the registry between two items, each (label, name)."""

    source: tuple[str, str]
    relation: str
    target: tuple[str, str]

    def record(self) -> dict[str, Any]:
        """The arguments of one record of `import_memories`."""
        return {"from": list(self.source), "relation": self.relation, "to": list(self.target)}


@dataclass(slots=True)
class Reading(Account):
    """The records of a file, and an account of those converted and left out."""

    items: list[Item] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    folder: str | None = None
    """The name of the folder of notes, which a later import compares with."""
    paths: list[str] = field(default_factory=list)
    """The paths of all notes in it, also of those that could not be read."""


class Names:
    """The names that the items of a file have here: two items never share one, so that none replaces another."""

    def __init__(self, reading: Reading) -> None:
        self._taken: set[tuple[str, str]] = set()
        self._reading = reading

    def give(self, label: str, name: str, mark: str, instead: str | None = None) -> str:
        """Return the name, or `instead`, or the name with `mark`: the first that no other item of the file has.

        Names that differ in case, width or Unicode form alone are one name, as in the store.
        """
        given, number = name, 0
        while (key := (label, unicodedata.normalize("NFKC", given).casefold())) in self._taken:
            number += 1
            end = f" ({mark})" if number == 1 else f" ({mark} {number})"
            given = f"{name[: _NAME_CHARS - len(end)]}{end}"
            if number == 1 and instead:
                given = instead
        self._taken.add(key)
        if given != name:
            self._reading.converted["names that another memory of the file has: made different"] += 1
        return given


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The labels and relations of a store that importers may use."""

    labels: frozenset[str]
    relations: frozenset[str]

    @classmethod
    def of(cls, schema: SchemaDescription) -> Vocabulary:
        """Take from `describe_schema`: labels that remember writes, and Decision; relations between any labels."""
        return cls(
            frozenset(
                row.name for row in schema.labels if row.written_by == "remember" or row.name == "Decision"
            ),
            frozenset(
                row.name
                for row in schema.relations
                if row.made_by == "relate" and row.from_labels is None and row.to_labels is None
            ),
        )

    def label(self, word: object) -> str | None:
        """The label that a word of another system names, or None. Case, blanks and punctuation are ignored."""
        return named(word, self.labels)

    def relation(self, word: object) -> str | None:
        """The relation that a word of another system names, or None."""
        name = re.sub(r"\W+", "_", str(word).strip()).upper()
        return name if name in self.relations else None


def named(word: object, names: Iterable[str]) -> str | None:
    """The name that a word means; case, blanks and punctuation are ignored."""
    wanted = re.sub(r"\W|_", "", str(word)).casefold()
    return next((name for name in sorted(names) if name.casefold() == wanted), None)


def json_lines(path: Path, contents: bytes, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its number; a line that is none is left out by its number."""
    for number, record, reason in foreign.json_lines(contents):
        if isinstance(record, dict) and reason is None:
            yield number, fitted(record, reading, path.name, number)
        else:
            reading.leave(path.name, number, f"{reason or 'it is not a JSON object'}{_advice(reason)}")


def fitted(record: dict[str, Any], reading: Account, file: str, number: int | None) -> dict[str, Any]:
    """A record whose texts a store keeps; that one of them was changed for it is counted."""
    if (why := foreign.unfit(record)) is None:
        return record
    reading.convert(file, number, f"{why}: taken out, or U+FFFD in its place")
    found: dict[str, Any] = foreign.cleaned(record)
    return found


def _advice(reason: str | None) -> str:
    return ": convert it, such as with iconv -f latin1 -t utf-8" if reason and "UTF-8" in reason else ""


def unreadable(error: BaseException) -> str:
    """The reason why a file cannot be read, and the way out."""
    if isinstance(error, PermissionError):
        return "it may not be read: import it as the user that it belongs to"
    if isinstance(error, InvalidArgument):
        return str(error)
    if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
        return f"it cannot be unpacked ({error}): it may be half a file"
    return f"it cannot be read ({getattr(error, 'strerror', None) or error})"


def why_empty(account: Account) -> str:
    """The records left out of a file that gave none, for the end of the sentence that reports it."""
    first = next(iter(account.left_out), None)
    return f" First left out: {first}." if first else ""


def excerpt(text: str, mark: str) -> str:
    """A text as a name: unchanged if it is short, else its beginning and `mark`, which keeps it unique."""
    line = " ".join(text.split())
    return line if len(line) <= _NAME_CHARS else f"{line[: _NAME_CHARS - len(mark) - 3]}… #{mark}"


def moment(value: object) -> datetime | None:
    """A point in time of another system; None for a text that is none. See `foreign.moment`."""
    return foreign.moment(value).at


def claims(values: Mapping[str, object], names: Iterable[str]) -> dict[str, str]:
    """Another system's texts of times that are none, or not exactly these: properties NAME_told."""
    found = {name: foreign.moment(values.get(name)).claimed for name in names}
    return {f"{name}_told": text for name, text in found.items() if text is not None}


def proportion(value: object) -> float | None:
    """A number from 0 to 1, such as a confidence; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)
