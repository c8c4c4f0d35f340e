"""engrama's export: a header, then nodes, relations and vectors, one JSON object a line."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from pgmem.errors import InvalidArgument
from pgmem.importers.reading import Item, Link, Reading, Vocabulary, json_lines, moment

__all__ = ["read"]

_OWN = {"created_at", "updated_at", "valid_from", "valid_to", "status", "embedding", "obsidian_id"}


def read(path: Path, known: Vocabulary) -> Reading:
    """Labels and relations are the same here, but for those that other verbs write: these become Concept and RELATED_TO."""
    reading = Reading()
    records = json_lines(path, path.read_text(encoding="utf-8"), reading)
    if next(records, {}).get("engrama_export") != 1:
        raise InvalidArgument(
            f"{path.name} is no export of engrama in format 1: write it with engrama export."
        )
    nodes: dict[tuple[str, str], dict[str, Any]] = {}
    relations = []
    for record in records:
        match record.get("type"):
            case "node":
                label, name = str(record.get("label")), str(record.get("key_value") or "").strip()
                properties = record.get("properties")
                if not name or not isinstance(properties, dict):
                    reading.left_out["nodes without a name or without properties"] += 1
                elif properties.get("status") == "archived":
                    reading.left_out["nodes that were archived there"] += 1
                elif label == "Insight":
                    reading.left_out["Insight nodes: reflection makes them anew from what is here"] += 1
                else:
                    nodes[label, name] = properties
            case "relation":
                relations.append(record)
            case "vector":
                reading.left_out["vectors: texts are embedded anew by the model in use here"] += 1
            case other:
                reading.left_out[f"lines of the unknown type {other!r}"] += 1
    labels = {node: known.label(node[0]) or "Concept" for node in nodes}
    notes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in relations:
        source, target = (
            (str(record.get(f"{end}_label")), str(record.get(f"{end}_value") or "").strip())
            for end in ("from", "to")
        )
        if source not in nodes or target not in nodes:
            reading.left_out["relations with an end that is not taken"] += 1
        elif (labels[source], source[1]) == (labels[target], target[1]):
            reading.left_out["relations of a thing with itself"] += 1
        else:
            relation = known.relation(record.get("rel_type"))
            if relation is None:
                notes[source].append(f"{record.get('rel_type')} {target[1]}")
            reading.links.append(
                Link(
                    source=(labels[source], source[1]),
                    relation=relation or "RELATED_TO",
                    target=(labels[target], target[1]),
                )
            )
    for (label, name), properties in nodes.items():
        kept = {key: value for key, value in properties.items() if key not in _OWN}
        if labels[label, name] != label:
            kept["entity_type"] = label
        if notes[label, name]:
            kept["relations_told"] = list(dict.fromkeys(notes[label, name]))
        reading.items.append(
            Item(
                label=labels[label, name],
                name=name,
                properties=kept,
                made_at=moment(properties.get("created_at")),
                valid_from=moment(properties.get("valid_from")),
                valid_to=moment(properties.get("valid_to")),
            )
        )
    return reading
