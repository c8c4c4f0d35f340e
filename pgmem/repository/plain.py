"""What a source file of another language than Python says of itself: the comment at its head. Nothing else is parsed."""

from __future__ import annotations

import re

__all__ = ["SUFFIXES", "is_test", "read"]

SUFFIXES = (
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".ts",
    ".tsx",
    ".vue",
    ".svelte",
    ".go",
    ".rs",
    ".java",
    ".kt",
    ".scala",
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".cxx",
    ".hpp",
    ".cs",
    ".swift",
    ".m",
    ".rb",
    ".php",
    ".lua",
    ".ex",
    ".exs",
    ".erl",
    ".hs",
    ".ml",
    ".dart",
    ".zig",
)
"""The endings of files that are taken for modules by their path."""

_TEST = re.compile(r"(^|/)(tests?|__tests__|spec)/|[._-](test|spec)s?\.\w+$|(Test|Spec)s?\.\w+$")
# A comment at the head of a file, in the forms of these languages; a shebang or a blank line may stand before it.
_HEAD = re.compile(
    rb"\A\s*(?:\xef\xbb\xbf)?(?:#![^\n]*\n\s*)?"
    rb"(?:/\*+!?(?P<block>.*?)\*/|(?P<lines>(?:[ \t]*(?://|#(?=[ \t])|--)[^\n]*\n?|[ \t]*\n)+))",
    re.DOTALL,
)
_MARK = re.compile(r"^[ \t]*(?:\*+|//[/!]?|#|--)?[ \t]?", re.MULTILINE)
_LICENCE = re.compile(
    r"copyright|licen[sc]e|spdx|all rights reserved|generated|eslint|@ts-|use strict", re.IGNORECASE
)


def is_test(path: str) -> bool:
    """Whether a file is a test, by its name or folder."""
    return _TEST.search(path) is not None


def read(source: bytes) -> str | None:
    """The first paragraph of the comment at the head of a file, in one line; None where there is none that describes it."""
    head = _HEAD.match(source[:4000])
    if head is None:
        return None
    text = (head["block"] or head["lines"] or b"").decode(errors="replace")
    for paragraph in re.split(r"\n\s*\n", _MARK.sub("", text).strip()):
        words = " ".join(paragraph.split())
        if re.search(r"\w{3}", words) and not _LICENCE.search(words):
            return words
    return None
