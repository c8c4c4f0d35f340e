"""A table as CSV: one memory a row, its columns by their headings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pgmem.documents import read_bytes
from pgmem.errors import InvalidArgument
from pgmem.features.importers import mem0
from pgmem.features.importers.records import Reading, Vocabulary, fitted
from pgmem.foreign import in_utf_8

_COLUMNS: dict[str, tuple[str, ...]] = {
    "memory": ("memory", "content", "text", "note", "fact", "body", "value", "description", "summary"),
    "name": ("name", "title", "key", "subject", "entity"),
    "id": ("id", "uuid", "memory_id"),
    "created_at": ("created_at", "created", "date", "timestamp", "time"),
    "updated_at": ("updated_at", "updated", "modified", "last_modified"),
    "expiration_date": ("expiration_date", "expires_at", "valid_to"),
    "categories": ("tags", "categories", "labels"),
    "user_id": ("user_id", "user"),
    "agent_id": ("agent_id", "agent"),
}
"""The fields of a memory, and the headings that mean each, in small letters with _ for blanks; the first one wins."""
_FIELD_CHARS = 10_000_000


def read(path: Path, _known: Vocabulary) -> Reading:
    """Read the rows as Concepts; a column without a known heading is kept in the property metadata.

    Raises:
        InvalidArgument: no column holds the text of a memory.
    """
    reading = Reading()
    contents = in_utf_8(read_bytes(path))
    try:
        text = contents.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidArgument(
            f"{path.name} holds no memories: it is not UTF-8, convert it, such as with iconv -f latin1 -t utf-8."
        ) from None
    csv.field_size_limit(_FIELD_CHARS)
    first = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        heading = next(rows, [])
    except csv.Error as error:
        raise InvalidArgument(f"{path.name} holds no memories: it is not a table, {error}.") from None
    fields = _fields(heading)
    if "memory" not in fields.values():
        raise InvalidArgument(
            f"{path.name} holds no memories: of its columns ({', '.join(heading)[:200] or 'none'}) none is named "
            "memory, content or text."
        )
    mem0.take(list(_memories(rows, heading, fields, path, reading)), path, reading)
    return reading


def _fields(heading: list[str]) -> dict[int, str]:
    """The field that each column is, by its number; of two columns for one field the other one is metadata."""
    known = ["_".join(name.casefold().split()) for name in heading]
    found: dict[int, str] = {}
    for field, names in _COLUMNS.items():
        if (name := next((name for name in names if name in known), None)) is not None:
            found[known.index(name)] = field
    return found


def _memories(
    rows: Iterator[list[str]], heading: list[str], fields: dict[int, str], path: Path, reading: Reading
) -> Iterator[dict[str, Any]]:
    number = 1
    while True:
        number += 1
        place = f"row {number} of {path.name}"
        try:
            row = next(rows, None)
        except csv.Error as error:
            reading.leave(place, None, f"it is not a row of the table: {error}")
            continue
        if row is None:
            return
        if not any(cell.strip() for cell in row):
            continue
        if len(row) > len(heading):
            reading.leave(place, None, f"it has {len(row)} cells, and the heading {len(heading)}")
            continue
        if len(row) < len(heading):
            reading.convert(
                path.name, number, f"it has {len(row)} of {len(heading)} cells, the others are empty"
            )
        one: dict[str, Any] = {"place": place, "metadata": {}}
        for column, cell in enumerate(row):
            if column in fields:
                one[fields[column]] = cell
            elif cell.strip():
                one["metadata"][heading[column] or f"column {column + 1}"] = cell
        if tags := one.get("categories"):
            one["categories"] = [tag.strip() for tag in tags.replace(";", ",").split(",") if tag.strip()]
        yield fitted(one, reading, place, None)
