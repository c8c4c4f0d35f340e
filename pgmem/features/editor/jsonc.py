"""Edits of JSON with comments: a member is put in or taken out, and every other character stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

# Each alternative takes the text it has read even if its end is missing: a text is read once, whatever it
# holds.
_TOKEN = re.compile(
    r'//[^\n]*|/\*(?:.*?\*/|.*)|"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"/]++|\S', re.DOTALL
)
_DEEPEST = 200
_MOST_TOKENS = 500_000


class Unreadable(Exception):
    """A text that is not JSON, even with comments; the message says where."""


@dataclass(slots=True)
class _Value:
    """A value with its place in the text; members of an object, or items of a list, with the places of their keys."""

    begin: int
    end: int
    plain: Any
    keys: list[str] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    values: list[_Value] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return isinstance(self.plain, dict | list)


class _Reader:
    """The tokens of a text without its comments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[re.Match[str]] = []
        for token in _TOKEN.finditer(text):
            if not token[0].startswith(("//", "/*")):
                self.tokens.append(token)
            elif token[0].startswith("/*") and (len(token[0]) < 4 or not token[0].endswith("*/")):
                raise self.error(token.start(), "this comment is not closed")
            if len(self.tokens) > _MOST_TOKENS:
                raise Unreadable(f"it holds more than {_MOST_TOKENS} values and signs")
        self.place = 0
        self.depth = 0

    def error(self, begin: int, message: str) -> Unreadable:
        return Unreadable(f"line {self.text.count(chr(10), 0, begin) + 1}: {message}")

    def take(self) -> re.Match[str]:
        if self.place >= len(self.tokens):
            raise Unreadable("it ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def next_is(self, sign: str) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place][0] == sign

    def value(self) -> _Value:
        token = self.take()
        if token[0] not in "{[":
            try:
                return _Value(token.start(), token.end(), json.loads(token[0]))
            except ValueError:
                raise self.error(token.start(), f"{token[0][:40]!r} is not a JSON value") from None
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(token.start(), f"it is nested more than {_DEEPEST} levels deep")
        found = _Value(token.start(), token.start(), {} if token[0] == "{" else [])
        closing = "}" if token[0] == "{" else "]"
        while not self.next_is(closing):
            begin = self.tokens[self.place].start() if self.place < len(self.tokens) else 0
            if closing == "}":
                key = self.value().plain
                if self.take()[0] != ":" or not isinstance(key, str):
                    raise self.error(begin, "a colon is missing")
                item = self.value()
                found.plain[key] = item.plain
                found.keys.append(key)
            else:
                item = self.value()
                found.plain.append(item.plain)
            found.begins.append(begin)
            found.values.append(item)
            if not self.next_is(","):
                break
            self.take()
        if self.take()[0] != closing:
            raise self.error(found.begin, "this is not closed")
        self.depth -= 1
        found.end = self.tokens[self.place - 1].end()
        return found


def _read(text: str) -> _Value:
    reader = _Reader(text)
    if not reader.tokens:
        return _Value(len(text), len(text), None)
    found = reader.value()
    if reader.place < len(reader.tokens):
        extra = reader.tokens[reader.place]
        raise reader.error(extra.start(), f"{extra[0][:40]!r} follows the end of the JSON")
    return found


def plain(text: str) -> Any:
    """Return the value of a text of JSON with comments; None if it has none.

    Raises:
        Unreadable: the text is not JSON.
    """
    return _read(text).plain


def put(text: str, path: Sequence[str], value: Any, own: Callable[[Any], bool] | None = None) -> str:
    """Return the text with a member at a path, whose objects are made where they are missing.

    Args:
        text: JSON with comments, or nothing.
        path: keys from the top.
        value: the new value of the member; where `own` is given, an item of the list at the path.
        own: recognizes the items of the list that the value replaces; without one it is appended.

    Raises:
        Unreadable: the text is not JSON, or something else lies on the path.
    """
    root = _read(text)
    if root.plain is None:
        text, root = "{}\n", _read("{}\n")
    at, depth = root, 0
    for key in path:
        if not isinstance(at.plain, dict):
            raise Unreadable(f"{'.'.join(path[:depth]) or 'the file'} is not an object")
        if key not in at.keys:
            rest: Any = value if own is None else [value]
            for name in reversed(path[depth + 1 :]):
                rest = {name: rest}
            return _inserted(text, at, json.dumps(key, ensure_ascii=False) + ": ", rest, depth + 1)
        at = at.values[at.keys.index(key)]
        depth += 1
    if own is None:
        return text if at.plain == value else text[: at.begin] + _written(value, text, depth) + text[at.end :]
    if not isinstance(at.plain, list):
        raise Unreadable(f"{'.'.join(path)} is not a list")
    for item in at.values:
        if item.plain == value:
            return text
        if own(item.plain):
            return text[: item.begin] + _written(value, text, depth + 1) + text[item.end :]
    return _inserted(text, at, "", value, depth + 1)


def take(text: str, path: Sequence[str], own: Callable[[Any], bool] | None = None) -> str:
    """Return the text without the member at a path, or without the items of the list there that are `own`.

    An object or a list that becomes empty goes, too.
    """
    root = _read(text)
    line = [root]
    for key in path:
        if key not in line[-1].keys:
            return text
        line.append(line[-1].values[line[-1].keys.index(key)])
    if own is not None:
        kept = [item for item in line[-1].values if not own(item.plain)]
        if len(kept) == len(line[-1].values):
            return text
        if kept:
            for place in reversed(range(len(line[-1].values))):
                if own(line[-1].values[place].plain):
                    text = _removed(text, line[-1], place)
            return text
    # From the innermost on: an object that holds nothing else goes with it.
    depth = len(path)
    while depth > 1 and len(line[depth - 1].values) == 1:
        depth -= 1
    return _removed(text, line[depth - 1], line[depth - 1].keys.index(path[depth - 1]))


def _indent(text: str) -> str:
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _written(value: Any, text: str, depth: int) -> str:
    """Return a value as the text is written: with its indentation and its ends of lines."""
    unit = _indent(text)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return _line_end(text).join([lines[0], *(unit * depth + line for line in lines[1:])])


def _inserted(text: str, at: _Value, key: str, value: Any, depth: int) -> str:
    """Return the text with a last member or item. A comment behind the one before it stays there."""
    unit, line_end = _indent(text), _line_end(text)
    new = f"{line_end}{unit * depth}{key}{_written(value, text, depth)}"
    if not at.values:
        return f"{text[: at.begin + 1]}{new}{line_end}{unit * (depth - 1)}{text[at.end - 1 :]}"
    last = at.values[-1].end
    after = text[last : at.end - 1]
    comma = next((m for m in _TOKEN.finditer(after) if m[0] == ","), None)
    if comma is not None:  # a trailing comma, which JSON with comments allows
        return f"{text[: last + comma.end()]}{new}{text[last + comma.end() :]}"
    comment = re.match(r"[ \t]*//[^\r\n]*", after)
    behind = last + (comment.end() if comment else 0)
    return f"{text[:last]},{text[last:behind]}{new}{text[behind:]}"


def _removed(text: str, at: _Value, place: int) -> str:
    """Return the text without a member or item, its line, and the comma that it leaves."""
    begin, end = at.begins[place], at.values[place].end
    following = re.match(r"\s*,", text[end:])
    if following:
        end += following.end()
    elif place > 0:  # the last one: the comma before it goes, not a comment between them
        before = at.values[place - 1].end
        between = text[before:begin]
        comma = next(m for m in _TOKEN.finditer(between) if m[0] == ",")
        kept = (between[: comma.start()] + between[comma.end() :]).rstrip()
        return text[:before] + kept + text[end:]
    line = text.rfind("\n", 0, begin)
    if line >= 0 and not text[line:begin].strip():
        begin = line
    if len(at.values) == 1:
        return text[:begin] + text[end : at.end - 1].strip() + text[at.end - 1 :]
    return text[:begin] + text[end:]
