"""mem0: what get_all answers with, as JSON or JSON lines, or the archive that OpenMemory exports."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pgmem.errors import InvalidArgument
from pgmem.importers.reading import Item, Link, Reading, Vocabulary, excerpt, json_lines, moment

__all__ = ["read"]

_LINES = "memories.jsonl.gz"  # in OpenMemory's archive: self-contained lines, unlike memories.json beside it


def read(path: Path, known: Vocabulary, user: str | None = None) -> Reading:
    """A memory becomes a Concept that is named by its text, so that the same text twice is one; relations join Concepts.

    Raises:
        InvalidArgument: the file holds no memories, or those of several users and none is named.
    """
    reading = Reading()
    memories, relations = _contents(path, reading)
    users = {str(memory["user_id"]) for memory in memories if memory.get("user_id")}
    if user is None and len(users) > 1:
        raise InvalidArgument(
            f"{path.name} holds memories of {len(users)} users, which would become one's: name one with --of-user, "
            f"such as {min(users)}."
        )
    seen: set[str] = set()
    for memory in memories:
        text = str(memory.get("memory") or memory.get("content") or memory.get("data") or "").strip()
        state = memory.get("state") or "active"
        if user is not None and str(memory.get("user_id") or user) != user:
            reading.left_out["memories of other users"] += 1
        elif not text:
            reading.left_out["memories without a text"] += 1
        elif state != "active":
            reading.left_out[f"memories that were {state} there"] += 1
        else:
            name = excerpt(text, str(memory.get("id") or memory.get("hash") or len(seen))[:8])
            if name in seen:
                reading.left_out["memories that repeat the text of another"] += 1
                continue
            seen.add(name)
            properties: dict[str, Any] = {"entity_type": "memory"}
            if name != text:
                properties["details"] = text
            if tags := memory.get("categories"):
                properties["tags"] = tags
            if isinstance(memory.get("metadata"), dict) and memory["metadata"]:
                properties["metadata"] = memory["metadata"]
            for field, told in (
                ("mem0_id", "id"),
                ("app", "app_id"),
                ("app", "app"),
                ("run", "run_id"),
                ("agent", "agent_id"),
            ):
                if memory.get(told):
                    properties[field] = str(memory[told])
            reading.items.append(
                Item(
                    label="Concept",
                    name=name,
                    properties=properties,
                    made_at=moment(memory.get("created_at")),
                )
            )
    _relate(relations, known, reading, seen)
    return reading


def _relate(relations: list[Any], known: Vocabulary, reading: Reading, seen: set[str]) -> None:
    told: dict[str, list[str]] = {}
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
            told.setdefault(end, [])
        if (name := known.relation(kind)) is None and f"{kind} {target}" not in told[source]:
            told[source].append(f"{kind} {target}".strip())
        reading.links.append(
            Link(source=("Concept", source), relation=name or "RELATED_TO", target=("Concept", target))
        )
    for end, notes in told.items():
        if end not in seen:
            reading.items.append(
                Item(label="Concept", name=end, properties={"notes": notes} if notes else {})
            )


def _contents(path: Path, reading: Reading) -> tuple[list[dict[str, Any]], list[Any]]:
    text = _text(path)
    relations: list[Any] = []
    found: Any
    try:
        found = json.loads(text)
    except ValueError:
        found = list(json_lines(path, text, reading))
    if isinstance(found, dict):
        relations = found.get("relations") or []
        found = next(
            (found[key] for key in ("results", "memories") if isinstance(found.get(key), list)), [found]
        )
    memories = list(_memories(found, reading)) if isinstance(found, list) else []
    if not any({"memory", "content", "data"} & memory.keys() for memory in memories):
        raise InvalidArgument(
            f"{path.name} holds no memories: save what mem0's get_all answers with, as JSON."
        )
    return memories, relations


def _memories(found: list[Any], reading: Reading) -> Iterator[dict[str, Any]]:
    for memory in found:
        if isinstance(memory, dict):
            yield memory
        else:
            reading.left_out["entries that are no JSON object"] += 1


def _text(path: Path) -> str:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            name = next((name for name in archive.namelist() if name.rpartition("/")[2] == _LINES), None)
            if name is None:
                raise InvalidArgument(f"{path.name} holds no {_LINES}: is this an export of OpenMemory?")
            return gzip.decompress(archive.read(name)).decode()
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
