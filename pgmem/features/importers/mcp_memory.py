"""The official memory server of MCP: entities with observations, and relations, one JSON object per line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pgmem.documents import parse, read_bytes
from pgmem.errors import InvalidArgument
from pgmem.features.importers.records import Item, Link, Names, Reading, Vocabulary, fitted, json_lines


def read(path: Path, known: Vocabulary) -> Reading:
    """Read the server's file. An entity's type is its label, else Concept; its observations are the property notes.

    A relation of an unknown type becomes RELATED_TO, and its type and target are added to the notes.
    """
    reading = Reading()
    entities: dict[str, dict[str, Any]] = {}
    relations: list[dict[str, Any]] = []
    for number, record in _records(path, reading):
        name = str(record.get("name") or "").strip()
        if record.get("type") == "entity" and name:
            # A file that two processes wrote can name an entity twice: the observations of both are kept.
            entity = entities.setdefault(name, {**record, "observations": []})
            seen = record.get("observations")
            for observed in seen if isinstance(seen, list) else [] if seen is None else [seen]:
                if isinstance(observed, dict):  # {content, timestamp?}, as forks of the server write it
                    observed = observed.get("content", observed.get("text"))
                if not isinstance(observed, str):
                    reading.leave(path.name, number, f"an observation of {name[:60]!r} is not a text")
                elif observed not in entity["observations"]:
                    entity["observations"].append(observed)
        elif record.get("type") == "relation":
            relations.append(record)
        else:
            reading.leave(path.name, number, "it is neither an entity with a name nor a relation")
    labels = {
        name: known.label(entity.get("entityType", "")) or "Concept" for name, entity in entities.items()
    }
    naming = Names(reading)
    here = {
        name: (labels[name], naming.give(labels[name], name, str(entity.get("entityType") or "")))
        for name, entity in entities.items()
    }
    notes: dict[str, list[str]] = defaultdict(list)
    for record in relations:
        ends = [str(record.get(end) or "").strip() for end in ("from", "to")]
        kind = str(record.get("relationType") or "").strip()
        if not all(end in entities for end in ends):
            reading.left_out["relations with an end that is not in the file"] += 1
        elif ends[0] == ends[1]:
            reading.left_out["relations of an entity with itself"] += 1
        else:
            relation = known.relation(kind)
            if relation is None:
                notes[ends[0]].append(f"{kind} {ends[1]}".strip())
                reading.converted[f"{kind} relations: RELATED_TO, and a note"] += 1
            source, target = (here[end] for end in ends)
            reading.links.append(Link(source=source, relation=relation or "RELATED_TO", target=target))
    for name, entity in entities.items():
        properties: dict[str, Any] = {"notes": [*entity["observations"], *dict.fromkeys(notes[name])]}
        kind = str(entity.get("entityType") or "").strip()
        if kind and kind != labels[name]:
            properties["entity_type"] = kind
            reading.converted[f"{kind} entities: {labels[name]}"] += 1
        reading.items.append(Item(label=labels[name], name=here[name][1], properties=properties))
    return reading


def _records(path: Path, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records of a file, each with its number: of lines, or of one document, as read_graph answers it."""
    contents = read_bytes(path)
    try:
        whole = parse(contents.decode("utf-8-sig"), path.name)
    except (ValueError, InvalidArgument):
        whole = None
    if isinstance(whole, dict) and "type" not in whole:
        found = [
            {"type": kind, **record} if isinstance(record, dict) else record
            for kind, name in (("entity", "entities"), ("relation", "relations"))
            for record in (whole[name] if isinstance(whole.get(name), list) else [])
        ]
    else:
        found = whole if isinstance(whole, list) else []
    if not found:
        yield from json_lines(path, contents, reading)
        return
    for number, record in enumerate(found, 1):
        if isinstance(record, dict):
            yield number, fitted(record, reading, f"record {number} of {path.name}", None)
        else:
            reading.leave(f"record {number} of {path.name}", None, "it is not a JSON object")
