"""Source files that no parser reads: the comment at the head describes the file."""

from __future__ import annotations

import json
import re

SUFFIXES = tuple(
    """
    .js .jsx .mjs .cjs .ts .tsx .vue .svelte .go .rs .java .kt .scala .c .h .cc .cpp .cxx .hpp .cs .swift .m
    .rb .php .lua .ex .exs .erl .hs .ml .dart .zig .sh .bash .zsh .bats .ps1 .pl .pm .jl .r .R .clj .cljs
    .groovy .kts .fs .nim .f90 .cu .pyx .proto .thrift .sql
    """.split()
)
"""File name suffixes of modules, which are named by their path."""

# The comment at the head of a file, in the syntaxes of these languages, after an optional shebang or blank line.
_HEAD = re.compile(
    rb"\A\s*(?:\xef\xbb\xbf)?(?:#![^\n]*\n\s*)?"
    rb"(?:/\*+!?(?P<block>.*?)(?:\*/|\Z)|(?P<lines>(?:[ \t]*(?://|#(?=[ \t\r\n])|--|%|;)[^\n]*\n?|[ \t]*\n)+))",
    re.DOTALL,
)
_MARK = re.compile(r"^[ \t]*(?:\*+|//[/!]?|#|--|%+|;+)?[ \t]?", re.MULTILINE)
_TAG = re.compile(r"\{@\w+\s+([^}]*)\}|</?[a-z][a-z0-9]*\s*/?>")
"""Markup of Javadoc: the content of an inline tag is kept."""
_WORD = re.compile(rb"[\w.-]+")
_SEPARATED = re.compile(rb"[a-zA-Z0-9][._-]+[a-zA-Z0-9]")
_MOST_NAMES = 400
_LICENCE = re.compile(
    r"copyright|licen[sc]e|spdx|all rights reserved|generated|eslint|@ts-|use strict|\bnotice\b|warranty|-\*-|vim:",
    re.IGNORECASE,
)


def read(source: bytes) -> str | None:
    """The first paragraph of the comment at the head of a file that is not a licence, in one line; else None."""
    head = _HEAD.match(source[:4000])
    if head is None:
        return None
    text = (head["block"] or head["lines"] or b"").decode(errors="replace")
    for paragraph in re.split(r"\n\s*\n", _MARK.sub("", text).strip()):
        paragraph = _TAG.sub(r"\1", paragraph)
        words = re.sub(r"^(?:@\w+|Summary:|Description:|Purpose:)\s+", "", " ".join(paragraph.split()))
        if re.search(r"\w{3}", words) and not _LICENCE.search(words):
            return words
    return None


def mentions(data: bytes) -> list[str]:
    """The words of a shell script that can be names of other files: those with a dash, dot or underline, sorted."""
    words = {word.strip(b".-") for word in _WORD.findall(data) if len(word) < 200}
    return sorted(word.decode() for word in words if len(word) > 4 and _SEPARATED.search(word))[:_MOST_NAMES]


def notebook(data: bytes) -> str | None:
    """The first line of the first text of a Jupyter notebook, in one line; else None."""
    try:
        cells = json.loads(data)["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    lines = (line.strip("#*_ \t") for text in texts for line in text.splitlines())
    return next((line for line in lines if re.search(r"\w{3}", line)), None)
