"""Source files that no parser reads: the comment at the head describes the file."""

from __future__ import annotations

import re

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
"""File name suffixes of modules, which are named by their path."""

# The comment at the head of a file, in the syntaxes of these languages, after an optional shebang or blank line.
_HEAD = re.compile(
    rb"\A\s*(?:\xef\xbb\xbf)?(?:#![^\n]*\n\s*)?"
    rb"(?:/\*+!?(?P<block>.*?)\*/|(?P<lines>(?:[ \t]*(?://|#(?=[ \t])|--)[^\n]*\n?|[ \t]*\n)+))",
    re.DOTALL,
)
_MARK = re.compile(r"^[ \t]*(?:\*+|//[/!]?|#|--)?[ \t]?", re.MULTILINE)
_LICENCE = re.compile(
    r"copyright|licen[sc]e|spdx|all rights reserved|generated|eslint|@ts-|use strict", re.IGNORECASE
)


def read(source: bytes) -> str | None:
    """The first paragraph of the comment at the head of a file that is no licence, in one line; else None."""
    head = _HEAD.match(source[:4000])
    if head is None:
        return None
    text = (head["block"] or head["lines"] or b"").decode(errors="replace")
    for paragraph in re.split(r"\n\s*\n", _MARK.sub("", text).strip()):
        words = re.sub(r"^@\w+\s+", "", " ".join(paragraph.split()))
        if re.search(r"\w{3}", words) and not _LICENCE.search(words):
            return words
    return None
