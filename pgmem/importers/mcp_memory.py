"""The official memory server of MCP: entities with observations, and relations, one JSON object a line."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from pgmem.importers.reading import Item, Link, Reading, Vocabulary, json_lines

__all__ = ["read"]


def read(path: Path, known: Vocabulary) -> Reading:
    """An entity becomes a node of the label its type names, else a Concept; its observations are its notes.

    A relation of a type the registry lacks becomes RELATED_TO, and its own words stand in the notes.
    """
    reading = Reading()
    entities: dict[str, dict[str, Any]] = {}
    told: list[dict[str, Any]] = []
    for record in json_lines(path, path.read_text(encoding="utf-8"), reading):
        name = str(record.get("name") or "").strip()
        if record.get("type") == "entity" and name:
            # A file that two processes wrote names an entity twice: all that was observed counts.
            entity = entities.setdefault(name, {**record, "observations": []})
            seen = record.get("observations") or []
            entity["observations"] += [
                o for o in seen if isinstance(o, str) and o not in entity["observations"]
            ]
        elif record.get("type") == "relation":
            told.append(record)
        else:
            reading.left_out["lines that are neither an entity with a name nor a relation"] += 1
    labels = {
        name: known.label(entity.get("entityType", "")) or "Concept" for name, entity in entities.items()
    }
    notes: dict[str, list[str]] = defaultdict(list)
    for record in told:
        ends = [str(record.get(end) or "").strip() for end in ("from", "to")]
        kind = str(record.get("relationType") or "").strip()
        if not all(end in entities for end in ends):
            reading.left_out["relations with an end that the file does not hold"] += 1
        elif ends[0] == ends[1]:
            reading.left_out["relations of a thing with itself"] += 1
        else:
            relation = known.relation(kind)
            if relation is None:
                notes[ends[0]].append(f"{kind} {ends[1]}".strip())
            source, target = ((labels[end], end) for end in ends)
            reading.links.append(Link(source=source, relation=relation or "RELATED_TO", target=target))
    for name, entity in entities.items():
        properties: dict[str, Any] = {"notes": [*entity["observations"], *dict.fromkeys(notes[name])]}
        kind = str(entity.get("entityType") or "").strip()
        if kind and kind != labels[name]:
            properties["entity_type"] = kind
        reading.items.append(Item(label=labels[name], name=name, properties=properties))
    return reading
