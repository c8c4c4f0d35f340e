"""The facts of one source file, in any language: the parsers fill it, and only they read syntax."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Unreadable(Exception):
    """The file cannot be parsed; the message says why."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import: its target as the file writes it, and the imported names."""

    target: str
    names: tuple[str, ...] = ()
    """Names as the other file calls them; `*` for all of them; empty for the module as a whole."""
    level: int = 0
    """Dots before the target, in Python."""
    relay: tuple[tuple[str, str], ...] = ()
    """Names that the file re-exports, each with its name in the other file."""


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed file."""

    doc: str | None = None
    imports: tuple[Import, ...] = ()
    exports: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    """Digest of the syntax of each function, class and method, without comments, positions and formatting."""

    def as_json(self) -> dict[str, Any]:
        """The file as JSON holds it."""
        # Not asdict, which copies every text and takes a tenth of a scan.
        return {
            "doc": self.doc,
            "imports": [
                {"target": one.target, "names": one.names, "level": one.level, "relay": one.relay}
                for one in self.imports
            ],
            "exports": self.exports,
            "symbols": self.symbols,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Source:
        """The file that `as_json` gave."""
        imports = tuple(
            Import(one["target"], tuple(one["names"]), one["level"], tuple(map(tuple, one["relay"])))
            for one in data["imports"]
        )
        return cls(data["doc"], imports, tuple(data["exports"]), data["symbols"])


_HASH_COMMENT = re.compile(
    rb'("""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    rb"|#[^\n]*",
    re.DOTALL,
)
_SLASH_COMMENT = re.compile(
    rb'("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`(?:[^`\\]|\\.)*`)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL
)


_MOST_STEPS = 20_000_000


def _is_plain(text: bytes) -> bool:
    """Whether the comments and quotes of a text can be separated in linear time.

    Each escaped quote may be the beginning of a text in quotes that is not closed, which is looked for up to the end.
    """
    return sum(map(text.count, (b'\\"', b"\\'", b"\\`"))) * len(text) <= _MOST_STEPS


def digest(text: bytes, *, hashes: bool) -> str:
    """The digest of a piece of syntax without comments and formatting.

    White space goes everywhere, also in texts between quotes: that it alone changes there is too rare to parse for.

    Args:
        text: the syntax; where indentation means something, the caller has marked it.
        hashes: whether `#` begins a comment, as in Python and Ruby, or `//` and `/*` do.
    """
    if not _is_plain(text):
        pass  # comments count too
    elif hashes:
        if b"#" in text:
            text = _HASH_COMMENT.sub(rb"\1", text)
    elif b"//" in text or b"/*" in text:
        text = _SLASH_COMMENT.sub(rb"\1", text)
    text = text.translate(None, b" \t\r\n\f")
    text = text.replace(b",)", b")").replace(b",]", b"]").replace(b",}", b"}")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def digests(data: bytes, spans: Iterable[tuple[str, int, int]], *, hashes: bool) -> dict[str, str]:
    """Digests of symbols by their name, from the first and last byte of each; of a name defined twice that of both."""
    texts: dict[str, bytes] = {}
    for name, first, last in spans:
        texts[name] = texts.get(name, b"") + data[first:last]
    return {name: digest(text, hashes=hashes) for name, text in texts.items()}
