"""engrama's export: a header, then nodes, relations and vectors, one JSON object per line."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, TypeAlias

from pgmem.documents import read_bytes
from pgmem.errors import InvalidArgument
from pgmem.features.importers.records import (
    Item,
    Link,
    Names,
    Reading,
    Vocabulary,
    claims,
    json_lines,
    moment,
    proportion,
    why_empty,
)

_TIMES = ("created_at", "updated_at", "valid_from", "valid_to")
_STATUSES = {"active", "superseded", "archived", "expired", "stub"}
_OWN = {*_TIMES, "embedding"}
"""Fields that are not copied as properties."""

_RENAMED = {
    name: f"engrama_{name}"
    for name in ("source", "source_agent", "source_session", "org_id", "user_id", "agent_id", "session_id")
}
"""Properties whose names the store keeps for itself: they are kept under another name."""

NodeKey: TypeAlias = tuple[str, str]
"""Label and name of a node of the file."""


def read(path: Path, known: Vocabulary) -> Reading:
    """Read an export. Labels that remember does not write become Concept; unknown relations become RELATED_TO.

    Raises:
        InvalidArgument: the file is not an export in format 1.
    """
    reading = Reading()
    nodes, relations = _records(path, reading)
    names = Names(reading)
    here: dict[NodeKey, NodeKey] = {}
    for label, name in sorted(nodes, key=lambda node: known.label(node[0]) is None):
        # The nodes whose label stays come first, so that they keep their names.
        target = known.label(label) or "Concept"
        here[label, name] = (target, names.give(target, name, label))
        if target != label:
            reading.converted[f"{label} nodes: {target}"] += 1
    unknown: dict[NodeKey, list[str]] = defaultdict(list)
    for record in relations:
        source, target_ = (
            (str(record.get(f"{end}_label")), str(record.get(f"{end}_value") or "").strip())
            for end in ("from", "to")
        )
        if source not in nodes or target_ not in nodes:
            reading.left_out["relations with an end that is not imported"] += 1
        elif source == target_:
            reading.left_out["relations of a node with itself"] += 1
        else:
            kind = str(record.get("rel_type"))
            relation = _relation(kind, here[source], here[target_], known)
            if relation is None:
                unknown[source].append(f"{kind} {target_[1]}")
                reading.converted[f"{kind} relations: RELATED_TO, with the property relations_told"] += 1
            if record.get("properties"):
                reading.left_out["properties of relations"] += 1
            reading.links.append(
                Link(source=here[source], relation=relation or "RELATED_TO", target=here[target_])
            )
    for node, properties in nodes.items():
        reading.items.append(_item(node, here[node], properties, unknown[node], reading))
    return reading


def _relation(kind: str, source: NodeKey, target: NodeKey, known: Vocabulary) -> str | None:
    """The relation of the registry; SUPERSEDES is kept between decisions."""
    if kind == "SUPERSEDES" and (source[0], target[0]) == ("Decision", "Decision"):
        return kind
    return known.relation(kind)


def _records(path: Path, reading: Reading) -> tuple[dict[NodeKey, dict[str, Any]], list[dict[str, Any]]]:
    """The properties of each node, and the relations."""
    records = json_lines(path, read_bytes(path), reading)
    if next(records, (0, {}))[1].get("engrama_export") != 1:
        raise InvalidArgument(
            f"{path.name} is not an export of engrama in format 1: write it with engrama export.{why_empty(reading)}"
        )
    nodes: dict[NodeKey, dict[str, Any]] = {}
    relations = []
    for number, record in records:
        match record.get("type"):
            case "node":
                label, name = str(record.get("label")), str(record.get("key_value") or "").strip()
                properties = record.get("properties")
                if not name or not isinstance(properties, dict):
                    reading.leave(path.name, number, "it is a node without a name or without properties")
                elif label == "Insight":
                    reading.left_out["Insight nodes: pgmem reflect makes new ones"] += 1
                else:
                    nodes[label, name] = properties
            case "relation":
                relations.append(record)
            case "vector":
                reading.left_out["vectors: texts are embedded by the model in use here"] += 1
            case other:
                reading.leave(path.name, number, f"no reader knows its type {str(other)[:60]!r}")
    return nodes, relations


def _item(
    node: NodeKey, here: NodeKey, properties: dict[str, Any], unknown: list[str], reading: Reading
) -> Item:
    """A node with the relations whose type is unknown here as one property."""
    kept = {_RENAMED.get(key, key): value for key, value in properties.items() if key not in _OWN}
    times = {name: moment(properties.get(name)) for name in _TIMES}
    kept |= claims(properties, _TIMES)
    numbers = {name: proportion(properties.get(name)) for name in ("confidence", "trust_level")}
    for name, value in numbers.items():
        given = kept.pop(name, None)
        if value is None and given is not None:
            kept[f"{name}_told"] = given
    status = str(kept.pop("status", None) or "active")
    if status not in _STATUSES:
        kept["status_told"] = status
        reading.converted[f"nodes of the status {status}: active, with the property status_told"] += 1
        status = "active"
    if here[0] != node[0]:
        kept["entity_type"] = node[0]
    if here[1] != node[1]:
        kept["name_told"] = node[1]
    if unknown:
        kept["relations_told"] = list(dict.fromkeys(unknown))
    if here[0] == "Decision":
        _reason(kept, here[1], reading)
        status = "active" if status == "stub" else status
    return Item(
        label=here[0],
        name=here[1],
        properties=kept,
        status=status,
        confidence=numbers["confidence"],
        trust_level=numbers["trust_level"],
        **times,
    )


def _reason(kept: dict[str, Any], title: str, reading: Reading) -> None:
    """Give a decision the rationale that it must have: the first text it has, else its title."""
    if kept.get("rationale") and isinstance(kept["rationale"], str):
        return
    found = next(
        (k for k in ("rationale", "summary", "description", "details", "notes") if kept.get(k)), None
    )
    text = kept[found] if found else title
    kept["rationale"] = "\n".join(map(str, text)) if isinstance(text, list) else str(text)
    reading.converted[f"decisions without a rationale: their {found or 'title'} is it"] += 1
