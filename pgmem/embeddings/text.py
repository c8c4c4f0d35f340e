"""The text that a save is embedded as, composed before the save is sent.

The registry of labels says which fields make the text. The verbs clean texts before they store them; the same
is done here, because the database keeps a vector only if it was made from the text as stored, which it
compares by hash. Where the two differ, as after an update of an existing node or with properties that a verb
drops, the worker makes the vector later.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from uuid import UUID

from pgmem.embeddings.protocol import EmbeddingProvider
from pgmem.embeddings.vectors import listed
from pgmem.models import DescribedLabel

TITLE_END = "\x1f"
"""The sign behind a title in the text that is embedded; the verbs store no control character."""

# Fields that remember does not store, or stores as a date or a time instead of a text.
_NOT_STORED = {
    *"source source_agent source_session trust_level org_id user_id agent_id session_id".split(),
    *"created_at updated_at valid_from valid_to confidence".split(),
}
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2}([T ][0-9:.Z+-]*)?)?")

_HIDDEN = re.compile(
    "[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e007f]|(^|[\u0020-\u024f])[\u200c\u200d]+"
)
_BLANKS = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def save_text(label: DescribedLabel, arguments: Mapping[str, object]) -> str:
    """Return the text of a node that a save verb writes.

    Args:
        label: the label that the verb writes.
        arguments: of the verb, by name.
    """
    title = arguments.get(label.title_field) or ""
    named = label.key_field == label.title_field
    fields = {name: _argument(arguments.get(name)) for name in label.text_fields}
    return _composed(label, _key(title) if named else _title(title), fields)


def node_text(label: DescribedLabel, properties: object) -> str | None:
    """Return the text of a node that `remember` creates; None if the properties do not name it.

    Args:
        label: the label of the node.
        properties: as they are sent.
    """
    if not isinstance(properties, Mapping) or label.key_field is None:
        return None
    name = properties.get(label.key_field)
    if not isinstance(name, str):
        return None
    fields = {**_properties(properties), label.key_field: _key(name)}
    return _composed(label, _key(name), fields, _other_texts(label, fields))


async def vectors_of(provider: EmbeddingProvider, texts: Sequence[str]) -> list[list[float]]:
    """Return the vector of each memory, of its text as `embedding_text` composes it.

    Where a title is marked, it is the direction of two: that of the title and that of the whole text. Else a title of
    eight words would be lost among four hundred.

    Args:
        provider: what embeds.
        texts: of memories.

    Raises:
        EmbeddingError: at least one vector could not be made.
    """
    wholes = [text.replace(TITLE_END, " ") for text in texts]
    titles = [title_of(text) for text in texts]
    found = await provider.embed_batch([*wholes, *(title for title in titles if title)])
    vectors = [each if isinstance(each, list) else listed(each) for each in found]  # those of pgmem are lists
    of_titles = iter(vectors[len(texts) :])
    made = []
    for vector, title in zip(vectors, titles, strict=False):
        other = next(of_titles) if title else []
        made.append(_between(vector, other) if vector and other else vector)
    return made


def title_of(text: str) -> str:
    """Return the title that is marked in the text of a memory; empty where none is."""
    head, mark, _ = text.partition(TITLE_END)
    return head.partition(": ")[2].strip() if mark else ""


def _between(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return the direction between two vectors of length 1; the first where they are opposite."""
    added = [a + b for a, b in zip(one, other, strict=True)]
    length = math.hypot(*added)
    return [number / length for number in added] if length > 1e-6 else list(one)


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text as hex digits, as the database makes it."""
    return hashlib.sha256(text.encode()).hexdigest()


def _other_texts(label: DescribedLabel, fields: Mapping[str, object]) -> list[object]:
    """Return the texts outside of the label's text fields, as `other_texts` in sql/core/base/03-texts.sql does."""
    known = {*label.text_fields, *_NOT_STORED, label.key_field, label.title_field}
    found = []
    for name in sorted(fields.keys() - known, key=str.encode):
        value = fields[name]
        is_date = isinstance(value, str) and _DATE.fullmatch(value)
        is_texts = isinstance(value, list) and value and isinstance(value[0], str)
        if (isinstance(value, str) and not is_date) or is_texts:
            found.append(value)
    return found


def _composed(
    label: DescribedLabel, title: str, fields: Mapping[str, object], others: Sequence[object] = ()
) -> str:
    """Return label, title and texts, as `embedding_text` in sql/core/base/03-texts.sql composes them."""
    parts = [title]
    if label.title_field in label.text_fields:
        # The title is then an excerpt of the field; of a long or broken one it is another text.
        parts, given = [], fields.get(label.title_field)
        title = (
            given
            if isinstance(given, str) and len(given) <= 160 and given == re.sub(r"\s+", " ", given)
            else ""
        )
    for value in (*(fields.get(name) for name in label.text_fields), *others):
        texts = [_shown(item) for item in (value if isinstance(value, list) else [value]) if item is not None]
        if texts:
            parts.append(" ".join(texts))
    text = " ".join(parts)
    if title and label.name not in ("Turn", "Card") and text.startswith(f"{title} "):
        text = f"{title}{TITLE_END}{text[len(title) + 1 :]}"
    return f"{label.name}: {text}"


def _argument(value: object) -> object:
    """Clean an argument as `clean_text` and `clean_texts` do; empty texts are left out."""
    if isinstance(value, list | tuple):
        return [text for item in value if (text := _clean(item))]
    return (_clean(value) or None) if isinstance(value, str) else value


def _properties(values: Mapping[object, object]) -> dict[str, object]:
    """Clean properties as `clean_properties` does; reserved names and nulls are left out."""
    named = ((_key(name), value) for name, value in values.items())
    return {
        name: _property(value)
        for name, value in named
        if value is not None and name and not name.startswith("_")
    }


def _property(value: object) -> object:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list | tuple):
        return [_property(item) for item in value]
    if isinstance(value, Mapping):
        return _properties(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _clean(text: object) -> str:
    """Return a text without control characters (tab and newline stay) and outer blanks, as `clean_text` does."""
    return unicodedata.normalize("NFC", _CONTROLS.sub("", str(text)).strip(" \t\n"))


def _title(text: object) -> str:
    """Return a title on one line, as `clean_title` does."""
    return re.sub(" +", " ", _clean(_BLANKS.sub(" ", _HIDDEN.sub(r"\1", str(text)))))


def _key(text: object) -> str:
    """Return a name without outer spaces, as `clean_key` does."""
    return unicodedata.normalize("NFC", str(text).strip(" "))


def _shown(value: object) -> str:
    return value if isinstance(value, str) else _jsonb(value)


def _jsonb(value: object) -> str:
    """Return a value as jsonb prints it: short keys first, numbers without exponents."""
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    if isinstance(value, list):
        return f"[{', '.join(map(_jsonb, value))}]"
    if isinstance(value, Mapping):
        ordered = sorted(value.items(), key=lambda item: (len(item[0].encode()), item[0].encode()))
        return "{" + ", ".join(f"{_jsonb(name)}: {_jsonb(item)}" for name, item in ordered) + "}"
    return json.dumps(value, ensure_ascii=False)
