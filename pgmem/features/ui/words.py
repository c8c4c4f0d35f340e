"""Texts as a page shows them: matched words marked, two texts compared word by word, cut where they are too long."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from pgmem.escaping import visible
from pgmem.models import Node

_WORD = re.compile(r"\w+|\s+|[^\w\s]+")
_PAIRS = 20_000  # of equal tokens in two texts that are compared; in prose of 700 words there are 10 000
_MOST = 1500  # words of a text that is compared word by word; longer ones are compared line by line

SHOWN = 20_000
"""Characters of a text that a page shows; the rest is behind a link."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: same, marked, gone or new."""

    text: str
    kind: str = "same"


def plain(value: object) -> str:
    """A text without invisible characters and those that turn its direction."""
    return visible(str(value))


def cut(text: str, most: int = SHOWN) -> tuple[str, int]:
    """The beginning of a text, and how many characters are left out."""
    return (text, 0) if len(text) <= most else (text[:most], len(text) - most)


def marked(text: str, stems: Sequence[str]) -> list[Piece]:
    """A text in pieces; a word whose stem is one of `stems` is marked."""
    if not stems:
        return [Piece(text)]
    pieces: list[Piece] = []
    for token in _WORD.findall(text):
        kind = "marked" if any(_is_form(token.lower(), stem) for stem in stems) else "same"
        _add(pieces, token, kind)
    return pieces


def around(pieces: list[Piece], most: int) -> list[Piece]:
    """The part of a marked text that holds its first marked word, at most so many characters."""
    before, total = 0, sum(len(piece.text) for piece in pieces)
    for piece in pieces:
        if piece.kind == "marked":
            break
        before += len(piece.text)
    start = 0 if total <= most or before == total else max(0, min(before - most // 3, total - most))
    found: list[Piece] = []
    place = 0
    for piece in pieces:
        _add(found, piece.text[max(0, start - place) : max(0, start + most - place)], piece.kind)
        place += len(piece.text)
    return [*([Piece("…")] if start else []), *found, *([Piece("…")] if start + most < total else [])]


def _is_form(word: str, stem: str) -> bool:
    """Whether a word may have this stem: stems of PostgreSQL are beginnings, but for a last y, which becomes i."""
    if word == stem:
        return True
    root = stem[:-1] if len(stem) > 3 and stem[-1] in "ie" else stem
    return len(stem) > 2 and word.startswith(root) and len(word) <= len(stem) + 5


Pair = tuple[list[Piece], list[Piece]]


def compared(old: str, new: str) -> Pair:
    """Two texts, each in pieces; a piece that only one text has is marked as removed or as new."""
    old, new = plain(old), plain(new)
    first, second = _tokens(old), _tokens(new)
    if len(first) > _MOST or len(second) > _MOST:
        first, second = old.splitlines(keepends=True), new.splitlines(keepends=True)
    left: list[Piece] = []
    right: list[Piece] = []
    if len(first) > _MOST or len(second) > _MOST:
        return [Piece(old, "same" if old == new else "gone")], [Piece(new, "same" if old == new else "new")]
    for tag, a, b, c, d in _steps(first, second):
        _add(left, "".join(first[a:b]), "same" if tag == "equal" else "gone")
        _add(right, "".join(second[c:d]), "same" if tag == "equal" else "new")
    return left, right


def differing(titles: Sequence[str]) -> list[list[Piece]]:
    """Titles of one line in pieces; differences from the title before it (the first: after it) are marked."""
    found = []
    for place, title in enumerate(titles):
        other = titles[place - 1] if place else titles[min(1, len(titles) - 1)]
        pieces = compared(other, title)[1]
        alike = any(piece.kind == "same" and piece.text.strip() for piece in pieces)
        found.append(
            [Piece(piece.text, "marked" if alike and piece.kind == "new" else "same") for piece in pieces]
        )
    return found


def side_by_side(old: Node, new: Node) -> list[tuple[str, *Pair]]:
    """The titles and texts of two memories, compared; a text that is the title of the old one is not repeated."""
    before, after = dict(texts(old.properties)), dict(texts(new.properties))
    return [
        ("title", *compared(old.title, new.title)),
        *(
            (name, *compared(before.get(name, ""), after.get(name, "")))
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != old.title
        ),
    ]


def spelled(old: str, new: str) -> Pair:
    """Two names, each in pieces: the letters that the other has not are marked."""
    old, new = plain(old), plain(new)
    left: list[Piece] = []
    right: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, old[:200], new[:200], autojunk=False).get_opcodes():
        _add(left, old[a:b], "same" if tag == "equal" else "gone")
        _add(right, new[c:d], "same" if tag == "equal" else "new")
    return left, right


def _steps(first: list[str], second: list[str]) -> list[tuple[str, int, int, int, int]]:
    """The steps from one list to another; a word or two that happen to stay between changes are changed too."""
    found = _opcodes(first, second)
    merged: list[tuple[str, int, int, int, int]] = []
    for place, (tag, a, b, c, d) in enumerate(found):
        inside = 0 < place < len(found) - 1
        stays = tag == "equal" and (not inside or sum(token.isalnum() for token in first[a:b]) >= 3)
        kind = "equal" if stays else "replace"
        if merged and merged[-1][0] == kind:
            merged[-1] = (kind, merged[-1][1], b, merged[-1][3], d)
        else:
            merged.append((kind, a, b, c, d))
    return merged


def _opcodes(first: list[str], second: list[str]) -> list[tuple[str, int, int, int, int]]:
    """The steps from one list to another; only the ends where a search would take seconds: tokens repeat too often."""
    ours, theirs = Counter(first), Counter(second)
    if sum(n * theirs[token] for token, n in ours.items() if not token.isspace()) <= _PAIRS:
        return [*SequenceMatcher(str.isspace, first, second, autojunk=False).get_opcodes()]
    most = min(len(first), len(second))
    head = next((i for i in range(most) if first[i] != second[i]), most)
    tail = next((i for i in range(most - head) if first[-1 - i] != second[-1 - i]), most - head)
    a, b = len(first) - tail, len(second) - tail
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, a, head, b),
        ("equal", a, len(first), b, len(second)),
    ]


def _tokens(text: str) -> list[str]:
    return _WORD.findall(text)


def _add(pieces: list[Piece], text: str, kind: str) -> None:
    if not text:
        return
    if pieces and pieces[-1].kind == kind:
        pieces[-1] = Piece(pieces[-1].text + text, kind)
    else:
        pieces.append(Piece(text, kind))


def _part(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def texts(properties: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each property of a memory that is not empty; a list is one item a line."""
    found = []
    for name, value in properties.items():
        if value in (None, "", [], {}):
            continue
        if isinstance(value, list):
            text = "\n".join(_part(item) for item in value)
        elif isinstance(value, dict):
            text = "\n".join(f"{key}: {_part(item)}" for key, item in value.items())
        else:
            text = str(value)
        found.append((name, text))
    return found
