"""Arguments of callers that are more than a value, and the callers."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from pgmem.answer import Answer

__all__ = [
    "CardEvidence",
    "LabelDefinition",
    "MemoryScope",
    "MemoryScopeName",
    "RelatedEntity",
    "RelationDefinition",
    "SchemaDefinition",
]

MemoryScopeName = Literal["global", "project", "focus"]


class RelatedEntity(TypedDict, total=False):
    """An entity that is related to the saved one, by id or name."""

    entity_name: str
    entity_id: str
    relationship_type: str


class CardEvidence(TypedDict, total=False):
    """The evidence for a card: a file, a commit or a document."""

    kind: str
    ref: str
    digest: str


class MemoryScope(Answer):
    """The caller: organisation, user, agent and session; empty if unknown."""

    org_id: str = ""
    user_id: str = ""
    agent_id: str = ""
    session_id: str = ""


class LabelDefinition(Answer):
    """A label to add: the property that names its nodes, and those that are searched and embedded, in this order."""

    name: str
    key_field: str = "name"
    text_fields: tuple[str, ...] = ("summary", "description", "details", "notes", "tags")


class RelationDefinition(Answer):
    """A relation to add, and the labels that it joins; None means any."""

    name: str
    from_labels: tuple[str, ...] | None = None
    to_labels: tuple[str, ...] | None = None


class SchemaDefinition(Answer):
    """The labels and relations that `init_schema` adds to the registry."""

    labels: tuple[LabelDefinition, ...] = ()
    relations: tuple[RelationDefinition, ...] = ()
