"""Letta: an agent file (.af) with its memory blocks, or the archival memories of an agent as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pgmem.documents import parse, read_bytes
from pgmem.errors import InvalidArgument
from pgmem.features.importers import mem0
from pgmem.features.importers.records import Reading, Vocabulary, fitted, json_lines
from pgmem.foreign import holds_words

_PASSAGE = "text"  # archival memory: {id, text, created_at, tags, metadata}
_BLOCK = "value"  # core memory: {label, value, description}


def read(path: Path, _known: Vocabulary) -> Reading:
    """Read blocks as Concepts that are named by their label, archival memories as Concepts named by their text.

    Messages of an agent are not memories: they are counted as left out.

    Raises:
        InvalidArgument: the file is not JSON, or holds neither.
    """
    reading = Reading()
    contents = read_bytes(path)
    try:
        whole = parse(contents, path.name)
    except ValueError:  # a memory a line
        whole = [record for _, record in json_lines(path, contents, reading)]
    memories = list(_memories(whole, path, reading))
    if not memories and not reading.left_out:
        raise InvalidArgument(
            f"{path.name} holds no memories of Letta: send an agent file (.af), or the archival memories of an agent "
            "as JSON."
        )
    mem0.take(memories, path, reading)
    return reading


def _memories(whole: Any, path: Path, reading: Reading) -> Iterator[dict[str, Any]]:
    if isinstance(whole, list):
        yield from _records(whole, _PASSAGE, "archival memory", path, reading)
    elif isinstance(whole, dict):
        for name, field, kind in (
            ("blocks", _BLOCK, "memory block"),
            ("core_memory", _BLOCK, "memory block"),  # before the file held several agents
            ("memory_blocks", _BLOCK, "memory block"),
            ("passages", _PASSAGE, "archival memory"),
            ("archival_memory", _PASSAGE, "archival memory"),
        ):
            if isinstance(whole.get(name), list):
                yield from _records(whole[name], field, kind, path, reading)
        agents = whole.get("agents")
        for agent in [whole, *(agents if isinstance(agents, list) else [])]:
            if isinstance(agent, dict):
                _count_messages(agent, reading)
                if agent is not whole:
                    found = agent.get("memory_blocks")
                    yield from _records(
                        found if isinstance(found, list) else [], _BLOCK, "memory block", path, reading
                    )
            elif holds_words(agent):
                reading.leave(f"an agent of {path.name}", None, "it is not a JSON object")


def _records(
    found: list[Any], field: str, kind: str, path: Path, reading: Reading
) -> Iterator[dict[str, Any]]:
    for number, record in enumerate(found, 1):
        place = f"{kind} {number} of {path.name}"
        if not isinstance(record, dict):
            reading.leave(place, None, "it is not a JSON object")
            continue
        one = fitted(record, reading, place, None)
        text = one.get(field)
        if not isinstance(text, str) or not text.strip():
            if not isinstance(text, str) and (text is not None or holds_words(one)):
                reading.leave(place, None, f"its {field} is not a text")
            continue  # a block that is empty
        metadata = one.get("metadata")
        yield {
            "place": place, "memory": text, "kind": kind, "id": one.get("id"), "created_at": one.get("created_at"),
            "updated_at": one.get("updated_at"), "categories": one.get("tags"), "agent_id": one.get("agent_id"),
            "name": one.get("label") if field == _BLOCK else None,
            "state": "deleted" if one.get("is_deleted") is True else "active",
            "metadata": {
                **(metadata if isinstance(metadata, dict) else {}),
                **({"description": one["description"]} if one.get("description") else {}),
            },
        }  # fmt: skip


def _count_messages(agent: dict[str, Any], reading: Reading) -> None:
    messages = agent.get("messages")
    count = sum(
        isinstance(message, dict) and message.get("role") in ("user", "assistant")
        for message in (messages if isinstance(messages, list) else [])
    )
    if count:
        reading.left_out["messages of an agent: they are not memories"] += count
