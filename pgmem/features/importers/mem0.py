"""mem0: the result of get_all as JSON or JSON lines, or the archive that OpenMemory exports."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgmem.documents import archive, parse, read_bytes, unpack
from pgmem.errors import InvalidArgument
from pgmem.features.importers.records import (
    Item,
    Link,
    Names,
    Reading,
    Vocabulary,
    claims,
    excerpt,
    fitted,
    json_lines,
    moment,
    proportion,
)

_LINES = (
    "memories.jsonl.gz"  # in OpenMemory's archive; its lines are complete, those of memories.json are not
)
_TIMES = ("created_at", "updated_at", "expiration_date")
_IDS = (("mem0_id", "id"), ("app", "app_id"), ("app", "app"), ("run", "run_id"), ("agent", "agent_id"))
"""Properties here, and the fields of mem0 that they come from; a later field wins."""


def read(path: Path, known: Vocabulary, user: str | None = None) -> Reading:
    """Read memories as Concepts that are named by their text; relations join Concepts.

    Raises:
        InvalidArgument: the file holds no memories, or memories of several users and `user` is None.
    """
    reading = Reading()
    memories, relations = _contents(path, reading)
    users = {str(memory["user_id"]) for memory in memories if memory.get("user_id")}
    if user is None and len(users) > 1:
        raise InvalidArgument(
            f"{path.name} holds memories of {len(users)} users, which would be merged: name one with --of-user, "
            f"such as {min(users)}."
        )
    if user is not None:
        of_user = [memory for memory in memories if str(memory.get("user_id") or user) == user]
        if left := len(memories) - len(of_user):
            reading.left_out["memories of other users"] += left
        memories = of_user
    take(memories, path, reading)
    _relate(relations, known, reading, {item.name for item in reading.items})
    return reading


def take(memories: list[dict[str, Any]], path: Path, reading: Reading) -> None:
    """Add memories in the form of mem0, each a Concept that has its `name`, else is named by its text."""
    names = Names(reading)
    for number, memory in enumerate(memories, 1):
        text = str(memory.get("memory") or memory.get("content") or memory.get("data") or "").strip()
        state = str(memory.get("state") or "active")
        if not text:
            reading.leave(
                str(memory.get("place") or f"memory {number} of {path.name}"), None, "it has no text"
            )
        elif state == "deleted":
            reading.left_out["memories that were deleted there"] += 1
        else:
            mark = str(memory.get("id") or memory.get("hash") or number)[:8]
            name = names.give("Concept", excerpt(str(memory.get("name") or text), mark), mark)
            reading.items.append(_item(memory, name, text, state, reading))
    reading.items[:] = _with_times(reading.items, path)


def _item(memory: dict[str, Any], name: str, text: str, state: str, reading: Reading) -> Item:
    properties: dict[str, Any] = {"entity_type": memory.get("kind") or "memory", **claims(memory, _TIMES)}
    if name != text:
        properties["details"] = text
    if tags := memory.get("categories"):
        properties["tags"] = tags
    if isinstance(memory.get("metadata"), dict) and memory["metadata"]:
        properties["metadata"] = memory["metadata"]
    for name_here, name_there in _IDS:
        if memory.get(name_there):
            properties[name_here] = str(memory[name_there])
    if state not in ("active", "archived"):
        properties["status_told"] = state
        reading.converted[f"memories that were {state} there: archived, and the property status_told"] += 1
    return Item(
        label="Concept",
        name=name,
        properties=properties,
        status="active" if state == "active" else "archived",
        confidence=proportion(memory.get("confidence")),
        created_at=moment(memory.get("created_at")),
        updated_at=moment(memory.get("updated_at")),
        valid_to=moment(memory.get("expiration_date")),
    )


def _with_times(items: list[Item], path: Path) -> list[Item]:
    """Memories of which each has a time: one without gets that of the memory before or behind it, else of the file."""
    last, whose = (
        next((item.created_at for item in items if item.created_at), None),
        "of the memory behind it",
    )
    if last is None:
        last, whose = datetime.fromtimestamp(int(path.stat().st_mtime), UTC), "of its file"
    found: list[Item] = []
    for item in items:
        if item.created_at is not None:
            last, whose = item.created_at, "of the memory before it"
        else:
            said = item.properties.get("created_at_told", "no time")
            properties = {k: v for k, v in item.properties.items() if k != "created_at_told"}
            properties["created_told"] = f"{said}; the time {whose} is kept"
            item = replace(item, created_at=last, properties=properties)
        found.append(item)
    return found


def _relate(relations: list[Any], known: Vocabulary, reading: Reading, seen: set[str]) -> None:
    notes_of: dict[str, list[str]] = {}
    for relation in relations:
        if not isinstance(relation, dict):
            reading.left_out["relations without two ends"] += 1
            continue
        kind = str(relation.get("relationship") or relation.get("relation") or "").strip()
        source = str(relation.get("source") or "").strip()
        target = str(relation.get("target") or relation.get("destination") or "").strip()
        if not source or not target or source == target:
            reading.left_out["relations without two ends"] += 1
            continue
        for end in (source, target):
            notes_of.setdefault(end, [])
        if (name := known.relation(kind)) is None:
            reading.converted[f"{kind} relations: RELATED_TO, and a note"] += 1
            if f"{kind} {target}" not in notes_of[source]:
                notes_of[source].append(f"{kind} {target}".strip())
        reading.links.append(
            Link(source=("Concept", source), relation=name or "RELATED_TO", target=("Concept", target))
        )
    for end, notes in notes_of.items():
        if end not in seen:
            reading.items.append(
                Item(label="Concept", name=end, properties={"notes": notes} if notes else {})
            )


def _contents(path: Path, reading: Reading) -> tuple[list[dict[str, Any]], list[Any]]:
    contents = _bytes(path)
    relations: list[Any] = []
    found: Any
    try:
        found = parse(contents, path.name)
    except ValueError:
        found = [record for _, record in json_lines(path, contents, reading)]
    if isinstance(found, dict):
        given = found.get("relations")
        relations = given if isinstance(given, list) else []
        found = next(
            (found[key] for key in ("results", "memories") if isinstance(found.get(key), list)), [found]
        )
    memories = list(_memories(found, reading, path.name)) if isinstance(found, list) else []
    if not any({"memory", "content", "data"} & memory.keys() for memory in memories):
        raise InvalidArgument(f"{path.name} holds no memories: save the result of mem0's get_all as JSON.")
    return memories, [
        fitted(relation, reading, f"relation {number} in {path.name}", None)
        if isinstance(relation, dict)
        else relation
        for number, relation in enumerate(relations, 1)
    ]


def _memories(found: list[Any], reading: Reading, file: str) -> Iterator[dict[str, Any]]:
    for number, memory in enumerate(found, 1):
        if isinstance(memory, dict):
            yield fitted(memory, reading, f"memory {number} of {file}", None)
        else:
            reading.leave(f"memory {number} of {file}", None, "it is not a JSON object")


def _bytes(path: Path) -> bytes:
    if zipfile.is_zipfile(path):
        with archive(path) as opened:
            name = next((name for name in opened.namelist() if name.rpartition("/")[2] == _LINES), None)
            if name is None:
                raise InvalidArgument(f"{path.name} holds no {_LINES}: is this an export of OpenMemory?")
            with opened.open(name) as packed:
                return unpack(packed, f"{name} in {path.name}")
    return read_bytes(path)
