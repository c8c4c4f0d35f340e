"""A store rebuilt from a vault: the notes as the lines of an export, which an import takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from uuid import uuid5

from pgmem.features.importers.notes import Linked
from pgmem.features.vault.fields import (
    NAMESPACE,
    OWN,
    PLACES,
    REST,
    TEXTS,
    USUAL,
    Known,
    note_fields,
    note_id,
    own,
)
from pgmem.features.vault.folder import CONFLICTED, Folder, Found


def lines(folder: Folder, known: Known) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the records of a vault's notes, and counts of the facts they lack."""
    left_out: Counter[str] = Counter()
    found: dict[str, Found] = {}
    linked = Linked[str]()
    for each in folder.notes().values():
        if each.note is None or CONFLICTED.search(each.stem):
            left_out["notes that cannot be read" if each.note is None else "copies of conflicts"] += 1
        elif (key := note_id(each.note)) is None or REST not in each.note.front:
            left_out["notes without an id of pgmem: pgmem vault sync saves them"] += 1
        elif key in found:
            left_out["notes whose id another note has"] += 1
        else:
            found[key] = each
            place = PurePosixPath(each.place)
            linked.add(key, place, own(each.note, "title"), each.note.front.get("aliases"))
    projects = {
        str(own(each.note, "title") or each.stem): key
        for key, each in found.items()
        if each.note is not None and own(each.note, "label") == "Project"
    }
    records, edges = [], []
    for key, each in found.items():
        record, links = _record(key, each, known, linked.one, projects)
        if record["version"] > 1:
            left_out["earlier versions of memories"] += record["version"] - 1
            record["version"] = 1
        records.append(record)
        edges += [{"type": "edge", "src": key, "rel": rel, "dst": to, "props": {}, "created_at": record["created_at"]}
                  for rel, to in links if to in found]  # fmt: skip
    bare = _projects(records, known, set(projects))
    left_out["times and ids of projects"] += len(bare)
    records += bare
    left_out["times of relations"] += len(edges)
    order = {"Project": 0, "FocusArea": 1}
    records.sort(key=lambda record: (order.get(record["label"], 2), record["created_at"], record["id"]))
    return [*records, *edges], +left_out


def _projects(records: list[dict[str, Any]], known: Known, noted: set[str]) -> list[dict[str, Any]]:
    """The projects of memories that have no note, as since their first memory."""
    began: dict[str, str] = {}
    for record in records:
        if (name := record.get("project")) and name not in noted:
            began[name] = min(began.get(name, record["created_at"]), record["created_at"])
    usual = {name: value for name, value in USUAL.items() if name != "scope"}
    return [
        {"type": "node", "id": str(uuid5(NAMESPACE, name)), "label": "Project", "title": name, "key": name, **usual,
         "props": {known.key_fields["Project"] or "name": name}, "status": "active", "source": "sync",
         "created_at": at, "updated_at": at, "recorded_at": at, "begins_at": at}
        for name, at in began.items()
    ]  # fmt: skip


def _record(
    key: str, each: Found, known: Known, resolve: Any, projects: dict[str, str]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    note = each.note
    assert note is not None
    rest: Mapping[str, Any] = note.front[REST] if isinstance(note.front[REST], Mapping) else {}
    label = known.label(own(note, "label")) or "Concept"
    fields = note_fields(note, each.stem, label, known, resolve)
    props = {name[2:]: value for name, value in fields.items() if name.startswith("p:")}
    if fields["text"] or label in TEXTS:
        props[TEXTS.get(label, "body")] = fields["text"]
    title = str(own(note, "title") or each.stem)
    record: dict[str, Any] = {"type": "node", "id": key, "label": label, "title": title}
    if key_field := known.key_fields.get(label):
        record["key"] = title
        props[key_field] = title
    record |= {**USUAL, **{name: value for name, value in rest.items() if name not in (*OWN, "keep")}}
    record.setdefault("updated_at", record["created_at"])
    if label in PLACES or (not own(note, "project") and "scope" not in rest):
        record.pop("scope", None)
    record |= {"props": props, "status": fields["status"], "source": own(note, "source") or "sync"}
    record |= {end: fields[end] for end in ("valid_from", "valid_to") if end in fields}
    record.setdefault("begins_at", record["created_at"])
    if record["begins_at"] == "open":
        record["begins_at"] = None
    project = own(note, "project")
    if project and label != "Project":
        record["project"] = project
        record["project_id"] = projects.get(str(project)) or str(uuid5(NAMESPACE, str(project)))
    links = [(rel, to) for _, rel, to in (n.split(":", 2) for n in fields if n.startswith("l:")) if to != key]
    return record, links
