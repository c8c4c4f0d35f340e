"""The parts of a report of a repository: modules, tests and notes, by path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pgmem.features.cards.cache import json_digest
from pgmem.features.cards.history import month

_RULER = re.compile(r"\s*\S*[-=~^*]{4,}.*")
"""A heading and the underlined text below it, in a text that has become one line."""
_TAG = re.compile(r"\W*[a-zA-Z]\w*\W*", re.ASCII)
"""One word, such as @final, describes nothing."""


def entries_of(
    parsed: Mapping[str, dict[str, Any]], known: Mapping[str, Any], digests: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """For each path the parts of the report that are about it."""
    modules = set(known["modules"])
    entries: dict[str, dict[str, Any]] = {}
    for path, row in parsed.items():
        entry: dict[str, Any] = {"digest": digests[path]}
        fact = known["facts"].get(path, {})
        commit = {"last_commit": fact["last_commit"]} if "last_commit" in fact else {}
        if path in modules:
            entry["modules"] = [_module(path, row, known, fact)]
        elif path in known["covering"]:
            name = {"module": known["names"][path]} if path in known["names"] else {}
            entry["tests"] = [{"path": path, **name, "anchors": known["covering"][path], **commit}]
        entry["notes"] = _written(path, row, known)
        if row.get("generated"):
            text = f"{path} is generated: change what it is made from."
            entry["notes"].append(_note(path, "risk_note", "active", text, "generated", []))
        entry["fact"] = {name: value for name, value in fact.items() if name != "last_commit"}
        if "companions" in fact and known["added"] and path in modules:
            entry["fact"]["added"] = known["added"]
        if "tests" in fact and known["run"]:
            entry["fact"]["run"] = known["run"]
        entry["terms"] = row.get("terms", "")
        entries[path] = entry
    for reason in known["reasons"]:
        if reason["path"] in entries:
            entries[reason["path"]]["notes"].append(_reason(reason))
    return entries


def gathered(entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The parts of the report, from those of all paths."""
    parts: dict[str, list[Any]] = {"modules": [], "tests": [], "notes": []}
    for entry in entries.values():
        for name, found in parts.items():
            found += entry.get(name, [])
    return {
        "files": {path: entry["digest"] for path, entry in entries.items()},
        **parts,
        "facts": {path: entry["fact"] for path, entry in entries.items() if entry["fact"]},
        "terms": {path: entry["terms"] for path, entry in entries.items() if entry["terms"]},
    }


def _module(
    path: str,
    row: Mapping[str, Any],
    known: Mapping[str, Any],
    fact: Mapping[str, Any],
) -> dict[str, Any]:
    source = row["source"] or {}
    doc = source.get("doc")
    name = known["names"].get(path, path)
    # The name of a package may begin with an underscore; a private name within it is not offered.
    private = (
        any(part.startswith("_") and part != "__main__" for part in name.split(".")[1:]) and name != path
    )
    entry: dict[str, Any] = {
        "path": path,
        "module": name,
        "doc": _RULER.sub("", doc)
        if doc and doc not in known["shared"] and not _TAG.fullmatch(doc)
        else None,
        "imports": known["imports"].get(path, []),
        "exports": [] if private else list(source.get("exports", ())),
        "symbols": source.get("symbols", {}),
    }
    return {**entry, "last_commit": fact["last_commit"]} if "last_commit" in fact else entry


def _written(path: str, row: Mapping[str, Any], known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The notes of a document: the decision that it records, and the rules that it states."""
    notes = []
    if record := row.get("decision"):
        named = [name for name in known["deciding"][path] if name != path][:20]
        state = {"accepted": "active", "superseded": "superseded"}.get(record["state"], "draft")
        if record["state"] != "rejected":
            after = {"superseded_by": record["superseded_by"]} if record["superseded_by"] else {}
            note = _note(path, "architecture_decision", state, record["statement"], "decision", named)
            notes.append({**note, "details": after, "evidence": [{"kind": "doc", "ref": path}]})
    for rule, scopes in known["rules"].get(path, ()):
        facet = f"rule:{json_digest(rule)[:12]}"
        note = _note(path, "protocol_rule", "draft", rule, facet, [one for one in scopes if one])
        notes.append({**note, "details": {"scopes": scopes}, "evidence": [{"kind": "doc", "ref": path}]})
    return notes


def _reason(reason: Mapping[str, Any]) -> dict[str, Any]:
    """The note of an explanation in a message: active, because it cites the commit and claims no more."""
    text = f"{reason['subject']} ({reason['commit'][:9]}, {month(reason['at'])}): {reason['text']}"
    facet = f"reason:{reason['commit'][:12]}"
    note = _note(reason["path"], "change_rationale", "active", text, facet, [])
    return {
        **note,
        "details": {"at": reason["at"]},
        "evidence": [{"kind": "git_commit", "ref": reason["commit"]}],
    }


def _note(
    path: str, record_type: str, status: str, statement: str, facet: str, names: list[str]
) -> dict[str, Any]:
    printable = statement.isprintable()  # nearly always, and much quicker than letter by letter
    text = statement if printable else "".join(letter for letter in statement if letter.isprintable())
    return {
        "path": path,
        "type": record_type,
        "status": status,
        "statement": text[:900].encode(errors="replace").decode(),
        "facet": facet,
        "names": names,
    }
