"""The common fields of a note and a memory that can be compared one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pgmem.features.importers.notes import LINK, Note, plain
from pgmem.features.importers.records import moment, named
from pgmem.kinds import TEXTS as OF_KINDS
from pgmem.models import SchemaDescription

Fields = dict[str, Any]
"""`text`, `title` of a decision, `status`, `valid_from`, `valid_to`; `p:NAME` a property, `l:RELATION:ID` an edge."""
Resolve = Callable[[str], str | None]
"""The id of the memory whose note a link means."""

TEXTS = {**OF_KINDS, "Insight": "summary"}
"""The property that is the text of the note, of the kinds that have a verb; `body` of the others."""
PLACES = ("Project", "FocusArea")
OWN = ("id", "label", "title", "project", "status", "valid_from", "valid_to", "source")
"""The keys of the front matter that are not properties of the memory, unless the note had them before."""
REST = "pgmem"
"""The key of fields that a person does not edit."""
_META = ("created_at", "updated_at", "recorded_at", "begins_at", "trust_level", "initial_confidence", "version",
         "agent_id", "session_id", "scope", "focus", "text_config")  # fmt: skip
USUAL = {
    "version": 1,
    "trust_level": 1,
    "initial_confidence": 1,
    "scope": "project",
    "text_config": "english",
}
"""Values that are not written."""
NAMESPACE = UUID("5f0c6b0e-95a1-4d2c-8a7e-0d5c3b1c6a52")
"""Namespace of the save_ids of new notes, and of projects without a note; any fixed id serves."""
LIVE = ("active", "approved", "stub", "superseded", "expired")


@dataclass
class Known:
    """The labels and relations of a store."""

    key_fields: dict[str, str | None]
    written_by: dict[str, str]
    text_fields: dict[str, list[str]]
    relations: dict[str, bool]
    """Whether people make a relation."""

    @classmethod
    def of(cls, schema: SchemaDescription) -> Known:
        """Take the labels that have notes, and all relations."""
        labels = [
            row
            for row in schema.labels
            if row.name in (*TEXTS, *PLACES) or (row.is_memory and row.written_by == "remember")
        ]
        return cls(
            {row.name: row.key_field for row in labels},
            {row.name: row.written_by for row in labels},
            {row.name: list(row.text_fields) for row in labels},
            {row.name: row.made_by == "relate" for row in schema.relations},
        )

    def label(self, word: object) -> str | None:
        """Return the label that a word names; case and punctuation are ignored."""
        return named(word, self.key_fields)


@dataclass
class State:
    """A memory as the feed has brought it: the record of an export without its earlier states, and its edges."""

    record: dict[str, Any]
    links: set[tuple[str, str]] = field(default_factory=set)

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.record["id"])

    def fields(self, known: Known) -> Fields:
        """Return its fields for a note."""
        label, props = self.record["label"], dict(self.record["props"])
        text = TEXTS.get(label, "body")
        found: Fields = {"text": str(props.pop(text, None) or "").replace("\r\n", "\n").strip()}
        if label == "Decision":
            found["title"] = self.record["title"]
        if key := known.key_fields.get(label):
            props.pop(key, None)
        found["status"] = self.record["status"]
        for end in ("valid_from", "valid_to"):
            found[end] = _time(self.record.get(end))
        found |= {f"p:{name}": value for name, value in props.items()}
        found |= {f"l:{rel}:{other}": True for rel, other in self.links}
        return {name: value for name, value in found.items() if value is not None}


def note_fields(note: Note, stem: str, label: str, known: Known, resolve: Resolve) -> Fields:
    """Return the fields of a note for its memory; those not pgmem's are left out."""
    front, theirs = note.front, kept_keys(note)
    found: Fields = {"text": note.text}
    if label == "Decision":
        found["title"] = str(own(note, "title") or "").strip() or stem
    status = str(own(note, "status") or "active").strip().lower()
    found["status"] = status if status in (*LIVE, "archived") else "active"
    for end in ("valid_from", "valid_to"):
        found[end] = _time(own(note, end))
    for name, value in front.items():
        if name == REST or (name in OWN and name not in theirs):
            continue
        if name in known.relations:
            for target in _targets(value):
                if other := resolve(target):
                    found[f"l:{name}:{other}"] = True
        elif name not in OWN:
            found[f"p:{name.removeprefix('property_')}"] = _cleaned(plain(value))
    for target in note.links:
        if other := resolve(target):
            found[f"l:LINKS_TO:{other}"] = True
    return {name: value for name, value in found.items() if value is not None}


def kept_keys(note: Note) -> list[str]:
    """Return the keys of a note that look like pgmem's and were a person's before."""
    rest = note.front.get(REST)
    kept = rest.get("keep") if isinstance(rest, Mapping) else None
    return [str(key) for key in kept] if isinstance(kept, list) else []


def own(note: Note, key: str) -> Any:
    """Return the value of one of pgmem's keys in a note."""
    rest = note.front.get(REST)
    if key in kept_keys(note):
        return rest.get(key) if isinstance(rest, Mapping) else None
    return note.front.get(key)


def require_times(note: Note) -> None:
    """Require that a note says when it holds in times that can be read; else it would hold without an end.

    Raises:
        ValueError: it does not.
    """
    for end in ("valid_from", "valid_to"):
        value = own(note, end)
        if value not in (None, "") and moment(value) is None:
            raise ValueError(f"its {end} {str(value)[:40]!r} is not a date: write one as 2026-04-08")


def note_id(note: Note) -> str | None:
    """Return the id of the memory of a note, if it has one."""
    try:
        return str(UUID(str(own(note, "id"))))
    except ValueError:
        return None


def written(
    note: Note,
    state: State,
    changed: Iterable[str],
    known: Known,
    link: Callable[[str], str | None],
    stem: str,
) -> Note:
    """Return a note with the fields that changed in its memory, and pgmem's lines about it.

    Args:
        note: as it is; an empty one is made.
        state: the memory.
        changed: the fields that the note takes over.
        known: of the store.
        link: the target of a link to the note of a memory.
        stem: the name of the file.
    """
    record, fields = state.record, state.fields(known)
    new = REST not in note.front
    values: dict[str, Any] = {
        "id": state.id,
        "label": record["label"],
        "title": record["title"] if record["title"] != stem else None,
        "project": record.get("project"),
        "status": fields["status"],
        "valid_from": _as_time(fields.get("valid_from")),
        "valid_to": _as_time(fields.get("valid_to")),
        "source": record.get("source"),
    }
    keep = kept_keys(note)
    if new:  # a key that the person had before keeps its value
        keep = [k for k in OWN if k in note.front and plain(note.front[k]) != plain(values.get(k))]
    names = set(changed)
    for key in ("title", "status", "valid_from", "valid_to"):
        held = key != "title" or record["label"] == "Decision"
        if not new and held and key not in names and key not in keep:
            values.pop(key)  # text of a person that the store refused stays
    usual = USUAL | dict.fromkeys(("updated_at", "begins_at"), record["created_at"])
    rest = {k: record[k] for k in _META if record.get(k) not in (None, "", usual.get(k))}
    if record.get("begins_at") is None:
        rest["begins_at"] = "open"
    rest |= {k: plain(values.pop(k, None)) for k in keep if k in values}
    rest = {k: v for k, v in rest.items() if v is not None}
    if keep:
        rest["keep"] = keep
    for name in sorted(names):
        if name.startswith("p:"):
            key = name[2:]
            values[f"property_{key}" if key in (*OWN, REST) or key in known.relations else key] = fields.get(
                name
            )
    for relation in sorted({name.split(":")[1] for name in names if name.startswith("l:")}):
        values[relation] = _links(note, relation, names, fields, link) or None
    values[REST] = rest
    made = note.with_front(values)
    return made.with_text(fields["text"]) if "text" in names else made


def _links(
    note: Note, relation: str, names: set[str], fields: Fields, link: Callable[[str], str | None]
) -> list[str]:
    """The links of a relation: those that the note has, without deleted ones and with new ones."""
    value = note.front.get(relation)
    found = [str(each) for each in value] if isinstance(value, list) else [str(value)] if value else []
    targets = {LINK.sub(lambda m: m[1].strip(), each): each for each in found}
    for name in sorted(name for name in names if name.startswith(f"l:{relation}:")):
        target = link(name.split(":", 2)[2])
        if target is None:
            continue
        if fields.get(name):
            targets.setdefault(target, f"[[{target}]]")
        else:
            targets.pop(target, None)
    return list(targets.values())


def _cleaned(value: Any) -> Any:
    """A property without blanks around its texts, as the store keeps it."""
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {name: _cleaned(item) for name, item in value.items()}
    return value.strip() if isinstance(value, str) else value


def _targets(value: Any) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    return [match.strip() for part in parts for match in LINK.findall(str(part))]


def _time(value: Any) -> str | None:
    found = moment(value)
    return found.astimezone(UTC).isoformat() if found else None


def _as_time(value: str | None) -> datetime | None:
    return (value and datetime.fromisoformat(value)) or None
