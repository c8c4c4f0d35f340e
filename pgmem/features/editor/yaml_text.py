"""Edits of YAML: a member or item is put in or taken out by its lines, and every other line stays as it is.

Only the block style is edited, in which people and programs write settings. The text that comes out is parsed, and is
given only if it has the former values and the change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pgmem import documents
from pgmem.errors import InvalidArgument
from pgmem.features.editor.jsonc import Unreadable

_MOST_CHARACTERS = 2**20
_KEY = re.compile(r"^(?P<indent> *)(?P<quote>[\"']?)(?P<key>[\w.-]+)(?P=quote):(?P<rest>[ \t].*|)$")
_NOTHING = re.compile(r"\s*(?:\{\s*\}|\[\s*\]|~|null)?\s*(?:#.*)?$")


def plain(text: str) -> Any:
    """Return the value of a text of YAML; None if it has none.

    Raises:
        Unreadable: the text is not YAML, or too large.
    """
    import yaml

    if len(text) > _MOST_CHARACTERS:
        raise Unreadable(f"it is longer than {_MOST_CHARACTERS} characters")
    try:
        found = yaml.safe_load(text)
        documents.check(found, "it")
    except RecursionError:
        raise Unreadable(f"it is nested more than {documents.NESTING} levels deep") from None
    except (yaml.YAMLError, InvalidArgument, ValueError) as error:
        raise Unreadable(f"it is not YAML ({' '.join(str(error).split())[:200]})") from None
    return found


def put(text: str, path: Sequence[str], value: Any, own: Callable[[Any], bool] | None = None) -> str:
    """Return the text with a member at a path of two keys.

    Args:
        text: YAML, or nothing.
        path: the key of a section at the top, and a key in it.
        value: the new value of the member; where `own` is given, an item of the list at the path.
        own: recognizes the items of the list that the value replaces.

    Raises:
        Unreadable: the text is not YAML in block style, or something else lies on the path.
    """
    before = plain(text)
    wanted = _with(before, path, value, own)
    if wanted == before:
        return text
    taken = take(text, path, own)
    lines, section, key = _lines(taken), path[0], path[1]
    place = _place(lines, section, 0, len(lines), 0)
    if place is None:
        lines = [*_ended(lines), f"{section}:\n"]
        place = len(lines) - 1
    lines[place] = _opened(lines[place])
    indent = _inner(lines, place + 1, 0)
    if own is None:
        made = _dumped({key: value}, indent)
        lines[place + 1 : place + 1] = made
        return _checked(text, lines, wanted)
    inside = _place(lines, key, place + 1, _end(lines, place, 0), indent)
    if inside is None:
        lines[place + 1 : place + 1] = _dumped({key: [value]}, indent)
        return _checked(text, lines, wanted)
    lines[inside] = _opened(lines[inside])
    end = _end(lines, inside, indent, items=True)
    first = next((n for n in range(inside + 1, end) if lines[n].lstrip().startswith("-")), None)
    lines[end:end] = _dumped([value], indent + 2 if first is None else _indent(lines[first]))
    return _checked(text, lines, wanted)


def take(text: str, path: Sequence[str], own: Callable[[Any], bool] | None = None) -> str:
    """Return the text without the member at a path, or without the items of its list that `own` recognizes.

    Raises:
        Unreadable: the text is not YAML in block style.
    """
    before = plain(text)
    wanted = _without(before, path, own)
    if wanted == before:
        return text
    lines = _lines(text)
    place = _place(lines, path[0], 0, len(lines), 0)
    if place is None:
        raise Unreadable(f"{path[0]} is not written on separate lines")
    indent = _inner(lines, place + 1, 0)
    inside = _place(lines, path[1], place + 1, _end(lines, place, 0), indent)
    if inside is None:
        raise Unreadable(f"{'.'.join(path)} is not written on separate lines")
    if own is None or path[1] not in (wanted or {}).get(path[0], {}):
        del lines[inside : _end(lines, inside, indent, items=True)]
    else:
        end = _end(lines, inside, indent, items=True)
        starts = [n for n in range(inside + 1, end) if lines[n].lstrip().startswith("-")]
        outer = min((_indent(lines[n]) for n in starts), default=0)
        starts = [n for n in starts if _indent(lines[n]) == outer]
        for start, item, stop in reversed(
            list(zip(starts, before[path[0]][path[1]], [*starts[1:], end], strict=True))
        ):
            if own(item):
                del lines[start:stop]
    if path[0] not in (wanted or {}):
        del lines[place]
    return _checked(text, lines, wanted)


def _with(before: Any, path: Sequence[str], value: Any, own: Callable[[Any], bool] | None) -> dict[str, Any]:
    if not isinstance(before, dict | None):
        raise Unreadable("the file is not a mapping")
    section = (before or {}).get(path[0])
    if not isinstance(section, dict | None):
        raise Unreadable(f"{path[0]} is not a mapping")
    there = (section or {}).get(path[1])
    if own is not None:
        if not isinstance(there, list | None):
            raise Unreadable(f"{'.'.join(path)} is not a list")
        if value in (there or []):
            return before or {}
        value = [*(item for item in there or [] if not own(item)), value]
    return {**(before or {}), path[0]: {**(section or {}), path[1]: value}}


def _without(before: Any, path: Sequence[str], own: Callable[[Any], bool] | None) -> Any:
    section = before.get(path[0]) if isinstance(before, dict) else None
    if not isinstance(section, dict) or path[1] not in section:
        return before
    there = section[path[1]]
    left = [item for item in there if not own(item)] if own and isinstance(there, list) else []
    if own is not None and (not isinstance(there, list) or left == there):
        return before
    rest = {name: item for name, item in section.items() if name != path[1] or left}
    rest = {name: left if name == path[1] else item for name, item in rest.items()}
    return {
        name: rest if name == path[0] else item for name, item in before.items() if name != path[0] or rest
    }


def _checked(text: str, lines: Sequence[str], wanted: Any) -> str:
    found = "".join(lines)
    if "\r\n" in text:
        found = found.replace("\r\n", "\n").replace("\n", "\r\n")
    if (plain(found) or {}) != (wanted or {}):
        raise Unreadable("it is not written in lines that can be changed one by one")
    return found


def _lines(text: str) -> list[str]:
    return (
        text.replace("\r\n", "\n").splitlines(keepends=True)
        if "\r" not in text.replace("\r\n", "")
        else [text]
    )


def _ended(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1] + "\n"] if lines and not lines[-1].endswith("\n") else lines


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_silent(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _place(lines: Sequence[str], key: str, begin: int, end: int, indent: int) -> int | None:
    for number in range(begin, end):
        found = _KEY.match(lines[number].rstrip("\n"))
        if found and found["key"] == key and len(found["indent"]) == indent:
            return number
    return None


def _inner(lines: Sequence[str], begin: int, outer: int) -> int:
    """Return the indentation of a section's members."""
    first = next((line for line in lines[begin:] if not _is_silent(line)), "")
    return _indent(first) if _indent(first) > outer else outer + 2


def _end(lines: Sequence[str], place: int, indent: int, *, items: bool = False) -> int:
    """Return where a member ends: behind its last line that says something."""
    last = place
    for number in range(place + 1, len(lines)):
        line = lines[number]
        if _is_silent(line):
            continue
        if _indent(line) < indent or (
            _indent(line) == indent and not (items and line.lstrip().startswith("-"))
        ):
            break
        last = number
    return last + 1


def _opened(line: str) -> str:
    """Return the line of a key whose value is empty, without that value."""
    found = _KEY.match(line.rstrip("\n"))
    if found is None or not _NOTHING.fullmatch(found["rest"]):
        raise Unreadable(f"{line.strip()[:40]!r} holds its value on the same line")
    comment = re.search(r"\s*#.*$", found["rest"])
    return f"{line[: line.index(':') + 1]}{comment[0] if comment else ''}\n"


def _dumped(value: Any, indent: int) -> list[str]:
    import yaml

    text = yaml.safe_dump(value, sort_keys=False, width=10_000, allow_unicode=True, default_flow_style=False)
    return [f"{' ' * indent}{line}" for line in text.splitlines(keepends=True)]
