"""The facts of one file, by its kind: a program, a document, a notebook."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pgmem.features.cards import decisions, languages, plain, python
from pgmem.features.cards.covering import is_test
from pgmem.features.cards.files import DOCUMENTS, VENDORED
from pgmem.features.cards.source import Import, Source, Unreadable

_SAYS_GENERATED = re.compile(
    r"@generated\b"
    r"|\b(?:code|file|automatically|auto-?|is) ?generated\b.{0,200}?\b(?:do not|don't) (?:edit|modify|change)"
    r"|\b(?:do not|don't) (?:edit|modify)\b.{0,200}?\bgenerated\b",
    re.IGNORECASE | re.DOTALL,
)
_COMMENTS = re.compile(rb"(?:\s*(?:#|//|--|;|%)[^\n]*\n|\s*/\*.*?\*/|\s*<!--.*?-->)+", re.DOTALL)
_SHEBANG = re.compile(rb"#!\s*\S*?(?:env\s+(?:-S\s+)?)?(\w+)[\d.]*(?:\s|$)")
_WORD = re.compile(r"[\w./-]+")
_DEFINES_TESTS = re.compile(
    rb"^(?:async )?def test_\w+\(|^class Test\w*.*:\n(?:    .*\n|\n){1,60}?    (?:async )?def test_",
    re.MULTILINE,
)
_TERM = re.compile(rb"[A-Za-z][A-Za-z0-9_]{2,60}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MOST = 200_000
_TERMS = 300
"""Words of a file that a search for files knows, those that it uses most."""


def parse(path: str, data: bytes) -> dict[str, Any]:
    """The facts of one file, in the form of JSON.

    Returns:
        {source, generated, tested, test, words, decision, rules, runs, terms, error}, without those that the
        file lacks; tested: it holds its own tests, as files of Rust do; test: it defines tests, whatever its
        name.
    """
    if VENDORED.search(path):
        return {}
    made = _parsed(path, data)
    made["terms"] = terms(data)
    if (said := decisions.runs(path, data[:_MOST].decode(errors="replace"))) is not None:
        made["runs"] = said
    return made


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    suffix = path.rpartition(".")[2]
    if path.endswith(DOCUMENTS):
        text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        made: dict[str, Any] = {}
        if (record := decisions.decision(path, text)) is not None:
            words = {word.strip("./-") for word in _WORD.findall(text)}
            made = {"decision": asdict(record), "words": sorted(w for w in words if "." in w or "/" in w)}
        if rules := decisions.rules(path, text):
            made["rules"] = rules
        return made
    made = {"source": None}
    if "." not in path.rpartition("/")[2]:
        # A program without a suffix names its interpreter in its first line.
        runs = _SHEBANG.match(data[:200])
        suffix = "" if runs is None else "py" if runs[1].startswith(b"python") else "sh"
    if suffix == "ipynb":
        return {"source": Source(doc=plain.notebook(data)).as_json()}
    if suffix != "py" and f".{suffix}" not in plain.SUFFIXES:
        return {}
    head = _COMMENTS.match(data[:2000])
    if head is not None and _SAYS_GENERATED.search(head[0].decode(errors="replace")):
        made["generated"] = True
    try:
        if b"\0" in data[:8000]:
            raise Unreadable("a binary file")
        if suffix == "py":
            if _DEFINES_TESTS.search(data) and not is_test(path):
                made["test"] = True
            source = python.read(data, symbols=not is_test(path))
        elif languages.available(suffix):
            source = languages.read(suffix, data)
        elif suffix in ("sh", "bash", "zsh", "bats"):
            source = Source(doc=plain.read(data), imports=tuple(map(Import, plain.mentions(data))))
        else:
            source = Source(doc=plain.read(data))
        made["source"] = source.as_json()
    except Unreadable as error:
        made["error"] = str(error)
    except RecursionError:
        made["error"] = "nested too deeply"
    if suffix == "rs" and b"#[cfg(test)]" in data:
        made["tested"] = True
    return made


def face(parsed: Mapping[str, Any]) -> list[Any]:
    """The part of a file that other files can see: if it stays, nothing that follows from all files changes."""
    source = parsed.get("source") or {}
    return [
        source.get("imports"),
        source.get("exports"),
        source.get("doc"),
        parsed.get("words"),
        parsed.get("generated"),
        parsed.get("tested"),
        parsed.get("test"),
        parsed.get("runs"),
        [names for _, names in parsed.get("rules", ())],
    ]


def terms(data: bytes) -> str:
    """The words of a file and the parts of its names, the most used first; `pgmem.terms` takes a text apart alike."""
    counts: Counter[str] = Counter()
    for name, count in Counter(_TERM.findall(data[:_MOST])).items():
        for part in _PART.findall(name.decode()):
            if len(part) > 2:
                counts[part.lower().removesuffix("s")] += count
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return " ".join(ranked[:_TERMS])
