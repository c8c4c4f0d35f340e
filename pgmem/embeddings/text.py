"""The text a save will be embedded as, before it is sent.

The database decides: it keeps a vector only if it was made from the text as finally written, which it compares by hash.
What differs here (a text that the verbs clean or refuse) costs the vector until the worker embeds, never the memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

__all__ = ["save_text", "text_hash"]

# The label a verb writes, its title's field, and the fields that are searched, in the order of the registry.
_TEXTS: dict[str, tuple[str, str | None, tuple[str, ...]]] = {
    "save_session": (
        "Session",
        None,
        ("objective", "actions_taken", "decisions_made", "open_items", "next_actions"),
    ),
    "save_decision": ("Decision", "title", ("rationale", "owner")),
    "save_pattern": ("Pattern", None, ("trigger", "repeatable_steps", "exclusions")),
    "save_context": ("Context", None, ("topic", "content")),
    "upsert_entity": ("EntityFact", "entity_name", ("fact",)),
}

# The labels of remember that are named by a title, and what all of them are searched by.
_TITLED = {"Experiment", "Vulnerability", "Problem", "Exercise", "Photo"}
_REMEMBERED = (
    "summary",
    "description",
    "details",
    "notes",
    "rationale",
    "solution",
    "context",
    "body",
    "tags",
)

_BLANKS = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


def save_text(verb: str, params: Mapping[str, object]) -> str | None:
    """`Label: title and texts` of a save, as the database will compose it; None for a verb that embeds nothing."""
    if verb == "remember":
        return _remembered(str(params.get("label", "")), params.get("properties"))
    if verb not in _TEXTS:
        return None
    label, title, fields = _TEXTS[verb]
    parts = [_title(params.get(title, ""))] if title else []
    for field in fields:
        value = params.get(field)
        texts = [_clean(item) for item in value] if isinstance(value, list | tuple) else []
        if isinstance(value, str):
            texts = [_clean(value)]
        if texts := [text for text in texts if text]:
            parts.append(" ".join(texts))
    return f"{label}: {' '.join(parts)}"


def _remembered(label: str, properties: object) -> str | None:
    """The text of a node that `remember` writes for the first time, as far as its properties are texts."""
    if not isinstance(properties, Mapping):
        return None
    name = properties.get("title" if label in _TITLED else "name")
    if not isinstance(name, str):
        return None
    parts = [name.strip(" ")]
    for field in _REMEMBERED:
        value = properties.get(field)
        if isinstance(value, str):
            parts.append(_clean(value))
        elif isinstance(value, list | tuple) and value:
            parts.append(" ".join(_clean(item) for item in value))
    return f"{label}: {' '.join(parts)}"


def _clean(text: object) -> str:
    """A text without control characters (tab and newline stay) and outer blanks, as `clean_text` makes it."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", str(text)).strip(" \t\n")


def _title(text: object) -> str:
    """A title on one line, as `clean_title` makes it."""
    return re.sub(" +", " ", _clean(_BLANKS.sub(" ", str(text))))


def text_hash(text: str) -> str:
    """SHA-256 of a text, as the database makes it."""
    return hashlib.sha256(text.encode()).hexdigest()
