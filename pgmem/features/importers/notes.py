"""A note of Markdown with front matter, whose bytes stay as they are where nothing changes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from pgmem.documents import NESTING, check
from pgmem.errors import InvalidArgument

Key = TypeVar("Key", bound=Hashable)

LINK = re.compile(r"\[\[([^\[\]|#^\n]+)(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
"""A link to a note, as Obsidian and others write it: its target, a heading or block, another text."""
_FRONT = re.compile(r"\A(\ufeff?-{3,}[ \t]*\r?\n)(.*?)(^-{3,}[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(
    r"[-+\d_:.]{400,}"
)  # also in base 60, whose digits take a time by the square of their number
_PRIVATE = re.compile(r"^%% not for pgmem %%[ \t]*\r?$", re.MULTILINE)
_CODE = re.compile(r"(?s)```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|%%.*?(?:%%|\Z)")


@dataclass(frozen=True)
class Note:
    """A note in parts that make its text again: `opening`, `block` (YAML), `closing`, `body`."""

    opening: str
    block: str
    closing: str
    body: str
    front: Mapping[str, Any]

    @classmethod
    def of(cls, contents: bytes) -> Note:
        """Parse the contents of a note.

        Raises:
            ValueError: it is not UTF-8, holds a character that no store keeps, or its front matter is not YAML or is
                nested too deeply.
        """
        text = contents.decode()
        if (place := text.find("\0")) >= 0:
            raise ValueError(f"it holds a NUL byte in line {text.count(chr(10), 0, place) + 1}")
        # A rule at the beginning of a text looks like front matter, but no properties follow.
        if (found := _FRONT.match(text)) and (front := _parsed(found[2])) is not None:
            return cls(found[1], found[2], found[3], text[found.end() :], front)
        start = text[:1] if text.startswith("\ufeff") else ""
        return cls(start, "", "", text[len(start) :], {})

    def __bytes__(self) -> bytes:
        return f"{self.opening}{self.block}{self.closing}{self.body}".encode()

    @property
    def text(self) -> str:
        """The text that belongs to the memory: up to the line `%% not for pgmem %%`."""
        return self.body[slice(*self._span())].replace("\r\n", "\n")

    @property
    def links(self) -> list[str]:
        """The targets of the links in that text, each once; not those in code and comments."""
        found = LINK.findall(_CODE.sub(" ", self.text))
        return list(dict.fromkeys(target.strip() for target in found))

    def with_text(self, text: str) -> Note:
        """Return the note with another text; the rest stays."""
        if text == self.text:
            return self
        first, last = self._span()
        if first == last == 0 and text:  # an empty body
            before = "\n" if self.closing else ""
            return replace(self, body=f"{self._lines(before + text)}{self._newline}{self.body}")
        return replace(self, body=self.body[:first] + self._lines(text) + self.body[last:])

    def with_front(self, values: Mapping[str, Any]) -> Note:
        """Return the note with other values of some keys; None removes a key, and all other bytes stay.

        Raises:
            InvalidArgument: a key cannot be changed alone, as another one refers to it.
        """
        changed = {
            k: v for k, v in values.items() if v != self.front.get(k) or (v is None and k in self.front)
        }
        if not changed:
            return self
        block = self.block
        for key, span in sorted(_spans(block, changed).items(), key=lambda each: -each[1][0]):
            value = changed.pop(key)
            first, last = span
            if value is None:
                block = block[:first] + block[last:].removeprefix("\r").removeprefix("\n")
            else:
                rest = block[last:].partition("\n")[0].strip()
                block = (
                    block[:first]
                    + self._lines(_dumped(key, value, flow=bool(rest)).rstrip("\n"))
                    + block[last:]
                )
        added = "".join(_dumped(key, value) for key, value in changed.items() if value is not None)
        if added and block and not block.endswith("\n"):
            block += self._newline
        block += self._lines(added)
        opening, closing = self.opening, self.closing
        if not closing and block:
            opening, closing = f"{opening}---{self._newline}", f"---{self._newline}"
        wanted = {k: v for k, v in {**self.front, **values}.items() if v is not None}
        try:
            front = _parsed(block) or {}
        except ValueError:
            front = {}
        if plain({k: v for k, v in front.items() if v is not None}) != plain(wanted):
            raise InvalidArgument("Its front matter uses anchors or keys that cannot be changed alone")
        return replace(self, opening=opening, block=block, closing=closing, front=front)

    @property
    def _newline(self) -> str:
        whole = self.opening + self.block + self.body
        return "\r\n" if "\r\n" in whole else "\n"

    def _lines(self, text: str) -> str:
        return text.replace("\n", self._newline)

    def _span(self) -> tuple[int, int]:
        private = _PRIVATE.search(self.body)
        own = self.body[: private.start()] if private else self.body
        text = own.strip()
        first = own.find(text) if text else 0
        return first, first + len(text)


class Linked(Generic[Key]):
    """The notes that links mean: by path, name of the file, title and aliases, whatever their case."""

    def __init__(self) -> None:
        self._keys: defaultdict[str, set[Key]] = defaultdict(set)

    def add(self, key: Key, place: PurePath, title: object, aliases: object = None) -> None:
        """Add a note.

        Args:
            key: the target of links to it.
            place: its path in the folder.
            title: its title, if it has one.
            aliases: of its front matter: one, or a list.
        """
        others = aliases if isinstance(aliases, list) else [aliases]
        for word in (place.with_suffix("").as_posix(), place.stem, title, *others):
            if word:
                self._keys[str(word).casefold()].add(key)

    def find(self, target: str) -> set[Key]:
        """The notes that the target of a link means; it may have the ending of a note, and begin with a slash."""
        word = target.removesuffix(".md").casefold()
        return self._keys.get(word) or self._keys.get(word.removeprefix("/")) or set()

    def one(self, target: str) -> Key | None:
        """The note that the target of a link means; None where there is none, or where it fits several."""
        found = self.find(target)
        return next(iter(found)) if len(found) == 1 else None


def plain(value: Any) -> Any:
    """A value of YAML as a value of JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, date | datetime):
        return value.isoformat()
    if (isinstance(value, float) and value != value) or value in (float("inf"), -float("inf")):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _parsed(block: str) -> dict[str, Any] | None:
    import yaml  # it takes a while to load, and other commands do not need it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # The nesting is checked first: the loader is recursive, in C too, and a deep text ends the process.
        depth = 0
        for event in yaml.parse(block, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > NESTING:
                raise ValueError("its front matter is nested too deeply")
            if isinstance(event, yaml.ScalarEvent) and event.value == "<<":
                raise ValueError("its front matter merges objects")  # which can double it at each level
            if isinstance(event, yaml.ScalarEvent) and _NUMBER.fullmatch(event.value):
                raise ValueError("its front matter holds a number that is too long")
        found = yaml.load(block, Loader=loader)  # a safe loader: it makes plain values only
        check(found, "the front matter")
        if _length(found, {}) > 2 * len(block) + 10_000:
            raise ValueError("its front matter repeats a long text")
        if re.search("[\\0\ud800-\udfff]", "".join(_texts(found, {}))):
            raise ValueError("its front matter holds a NUL or half of a surrogate, written as an escape")
    except (yaml.YAMLError, InvalidArgument, TypeError, RecursionError) as error:
        raise ValueError("its front matter is not YAML") from error
    if found is not None and not isinstance(found, dict):
        return None
    return {str(key): value for key, value in (found or {}).items()}


def _length(value: object, known: dict[int, int]) -> int:
    """The characters of a value, where one that occurs in several places counts in each."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int) and value.bit_length() > 4000:
        raise ValueError("its front matter holds a number that is too long")  # no JSON holds it
    parts = (*value, *value.values()) if isinstance(value, dict) else value
    if isinstance(parts, list | tuple | set) and id(value) not in known:
        known[id(value)] = sum(_length(part, known) for part in parts)
    return known.get(id(value), 1)


def _texts(value: object, known: dict[int, bool]) -> Iterator[str]:
    """The texts of a value and of its keys, each once."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple | set) and not known.setdefault(id(value), False):
        known[id(value)] = True
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _texts(part, known)


def _spans(block: str, wanted: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Where the keys of a block and their values begin and end, without comments around them."""
    import yaml

    def last(node: Any) -> int:
        parts = node.value if isinstance(node, yaml.CollectionNode) and not node.flow_style else []
        if parts:
            return last(parts[-1][1] if isinstance(node, yaml.MappingNode) else parts[-1])
        end = int(node.end_mark.index)
        while getattr(node, "style", None) in ("|", ">") and block[end - 1 : end] in ("\n", "\r"):
            end -= 1
        return end

    root = yaml.compose(block, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        if root is not None:
            raise InvalidArgument("Its front matter must have one property a line")
        return {}
    return {
        str(key.value): (int(key.start_mark.index), last(value))
        for key, value in root.value
        if str(key.value) in wanted
    }


@cache
def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        """Times as Obsidian reads them, and texts of several lines as lines."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
            super().increase_indent(flow, False)

    Dumper.add_representer(
        str,
        lambda dumper, text: dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text and text[:1] not in " \t\n" else None
        ),
    )
    return Dumper


def _dumped(key: str, value: Any, *, flow: bool = False) -> str:
    import yaml

    nested = isinstance(value, Mapping)
    return str(
        yaml.dump(
            {key: value}, Dumper=_dumper(), allow_unicode=True, sort_keys=False, width=10**9, default_flow_style=False
        )
        if not (flow or nested)
        else f"{yaml.dump(key, Dumper=yaml.SafeDumper, allow_unicode=True, width=10**9).splitlines()[0]}: "
        + yaml.dump(value, Dumper=yaml.SafeDumper, allow_unicode=True, sort_keys=False, width=10**9,
                    default_flow_style=True).removesuffix("\n").removesuffix("\n...")
        + "\n"
    )  # fmt: skip
