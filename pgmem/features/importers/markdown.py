"""A directory of Markdown notes with front matter, as Obsidian and other programs keep them."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from pgmem.documents import UNPACKED_BYTES
from pgmem.errors import InvalidArgument
from pgmem.features.importers.notes import LINK, Linked, Note, plain
from pgmem.features.importers.records import (
    Item,
    Link,
    Names,
    Reading,
    Vocabulary,
    claims,
    moment,
    proportion,
)
from pgmem.foreign import in_utf_8

_TAG = re.compile(r"(?<![\w#/&\[])#([^\W\d][\w/-]*|\d[\w/-]*[^\W\d][\w/-]*)")
"""A tag in the text: # and a word with a letter, as Obsidian reads it; not a heading, a link or a colour in a URL."""
_CODE = re.compile(
    r"(?s)```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|\]\([^()\n]{0,2000}\)|<[^<>\n]{0,2000}>|https?://\S+"
)
"""Places where # does not begin a tag: code, addresses, HTML."""
_STATUSES = {"active", "archived", "superseded", "expired", "stub"}
_CREATED = ("created", "created_at", "date")
_UPDATED = ("updated", "updated_at", "modified")
_OWN = {"title", "label", "type", "valid_from", "valid_to", "confidence", "status", "tags", "tag"}


Notes: TypeAlias = dict[Path, tuple[dict[str, Any], str]]
"""Front matter and body of each note, by its path in the directory."""


def read(folder: Path, known: Vocabulary) -> Reading:
    """Read the notes of a directory; front matter gives the label (or type), else Concept; [[links]] are relations.

    The title or the file name is the name; a note whose name is taken is named by its path.
    """
    reading = Reading(folder=folder.resolve().name)
    notes = _notes(folder, reading)
    nodes = _nodes(notes, known, reading)
    linked = Linked[Path]()
    for place, (front, _) in notes.items():
        linked.add(place, place, _title(place, front), front.get("aliases"))
    for place, (front, body) in notes.items():
        reading.items.append(_item(place, front, body, nodes[place], known, reading))
        for word in dict.fromkeys(match.strip() for match in LINK.findall(body)):
            targets = linked.find(word)
            if len(targets) == 1:
                (target,) = targets
                if target != place:
                    reading.links.append(Link(source=nodes[place], relation="LINKS_TO", target=nodes[target]))
            elif targets:
                reading.left_out["links whose name fits several notes"] += 1
            else:
                reading.left_out["links to notes that do not exist"] += 1
    return reading


def _notes(folder: Path, reading: Reading) -> Notes:
    """The notes that can be read; hidden files and directories are ignored."""
    notes: Notes = {}
    home, size = folder.resolve(), 0
    for path in sorted(folder.rglob("*.md")):
        place = path.relative_to(folder)
        if any(part.startswith(".") for part in place.parts):
            continue
        if not path.is_file() or not path.resolve().is_relative_to(home):
            reading.left_out["links to targets outside of the folder, or that are not files"] += 1
            continue
        reading.paths.append(place.as_posix())
        size += path.stat().st_size
        if size > UNPACKED_BYTES:
            raise InvalidArgument(
                f"{folder} holds more than {UNPACKED_BYTES // 2**20} MiB of notes; import it in parts."
            )
        try:
            note = Note.of(in_utf_8(path.read_bytes()))
        except ValueError as error:
            problem = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else f"cannot be read ({error})"
            reading.left_out[f"notes whose text or front matter {problem}, such as {place}"] += 1
            continue
        notes[place] = (dict(note.front), note.body.replace("\r\n", "\n").strip())
    return notes


def _nodes(notes: Notes, known: Vocabulary, reading: Reading) -> dict[Path, tuple[str, str]]:
    """Label and name of each note. A note whose name another has is named by its path."""
    names = Names(reading)
    nodes: dict[Path, tuple[str, str]] = {}
    for place, (front, _) in notes.items():
        label, title = _label(front, known), _title(place, front)
        path = place.with_suffix("").as_posix()
        nodes[place] = (label, names.give(label, title, path, instead=path))
    return nodes


def _item(
    place: Path, front: dict[str, Any], body: str, node: tuple[str, str], known: Vocabulary, reading: Reading
) -> Item:
    properties = {key: plain(value) for key, value in front.items() if key not in _OWN}
    properties |= {"body": body, "path": place.as_posix(), "folder": reading.folder}
    properties |= claims(front, ("valid_from", "valid_to"))
    if tags := _tags(front, body):
        properties["tags"] = tags
    kind = front.get("label") or front.get("type")
    if kind and known.label(kind) != node[0]:
        properties["entity_type"] = str(kind)
        reading.converted[f"notes of the type {kind}: {node[0]}"] += 1
    status = str(front.get("status") or "active").strip().lower()
    if status not in _STATUSES:
        properties["status_told"] = str(front["status"])
        status = "active"
    confidence = proportion(front.get("confidence"))
    if confidence is None and front.get("confidence") is not None:
        properties["confidence_told"] = plain(front["confidence"])
    created, updated = (_first_moment(front, names) for names in (_CREATED, _UPDATED))
    for name in (*_CREATED, *_UPDATED):
        if moment(front.get(name)) is not None and moment(front.get(name)) in (created, updated):
            del properties[name]
    return Item(
        label=node[0],
        name=node[1],
        properties=properties,
        status=status,
        confidence=confidence,
        created_at=created,
        updated_at=updated,
        valid_from=moment(front.get("valid_from")),
        valid_to=moment(front.get("valid_to")),
    )


def _first_moment(front: dict[str, Any], names: tuple[str, ...]) -> datetime | None:
    return next((found for name in names if (found := moment(front.get(name)))), None)


def _tags(front: dict[str, Any], body: str) -> list[str]:
    """The tags of the front matter, then those in the text."""
    found: list[str] = []
    for named in (front.get("tags"), front.get("tag")):
        if isinstance(named, list | tuple | set):
            found += [str(tag).lstrip("#") for tag in named if tag is not None]
        elif named is not None:
            found += [tag.lstrip("#") for tag in re.split(r"[,\s]+", str(named)) if tag]
    found += _TAG.findall(_CODE.sub(" ", body))
    return list(dict.fromkeys(found))


def _title(place: Path, front: dict[str, Any]) -> str:
    return str(front.get("title") or "").strip() or place.stem


def _label(front: dict[str, Any], known: Vocabulary) -> str:
    found = known.label(front.get("label") or front.get("type") or "")
    return found if found and found != "Decision" else "Concept"
