"""The text of contexts and search results for an agent: texts, and of the rest only what is informative.

Every field costs tokens of a context window. Left out is what an agent cannot act on (the two times to the
microsecond, parts of a score), what is in another field already (the title of a session is its objective), and what
is at its usual value (a pattern validated when it was saved, trust and confidence that nothing lowers, a state that is
not stale, a relevance next to nothing, a search that lacks no arm). A memory of a context is named by its label, its
title and the first 8 digits of its id; one without a label is a Context, one without a scope is of the project, one
without a day is current. One that has no by is an agent's. A result of a search has its whole id. The lengths that SQL
counts with for a context are those of `pgmem.item_length`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pgmem.texts import SOURCES, short_id

_DIGITS = 2
_DOUBTFUL = 0.5
"""Below this trust or confidence an agent is shown it: that of an agent is .5 (setting trust_agent)."""
_TELLING = 0.1
"""From this relevance on an agent is shown it: the order says the rest."""


def answer(tool: str, found: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a tool to some arguments as an agent is shown it."""
    return _BRIEF[tool](found, asked) if tool in _BRIEF else found


def _context(found: dict[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **found,
        **{part: [_item(item) for item in found.get(part, ())] for part in ("standing", "items")},
    }


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    title = item["title"]
    texts = {
        name: value
        for name, value in item.items()
        if name not in _ABOUT and value not in (None, "", [], {}, title)
    }
    whole = any(isinstance(text, str) and text.startswith(title) for text in texts.values())
    validated = _day(texts.pop("last_validated_at", None))
    if validated not in (None, _day(item.get("created_at"))):
        texts["last_validated_at"] = validated
    named = {} if whole else {"title": title}
    day = _day(item.get("created_at"))
    dated = {} if item.get("freshness") == "current" or texts.get("date") == day else {"created_at": day}
    kind = {name: item.get(name) for name, usual in _USUAL.items() if item.get(name) != usual}
    known = {"id": short_id(item)} if item.get("id") else {}
    return {**kind, **known, **named, **texts, **dated, **_doubts(item)}


def _search(found: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    results = [_result(result, asked.get("project_id")) for result in found.get("results", ())]
    as_usual = not found["search_mode"]["degraded"] and not (asked.get("as_of") or asked.get("known_at"))
    return {**found, "results": results, **({"search_mode": None} if as_usual else {})}


def _result(result: Mapping[str, Any], project: str | None) -> dict[str, Any]:
    named = "id label title project explanation outdated_by".split()
    shown = {name: result[name] for name in named if result.get(name)}
    if shown.get("project") == project:
        shown.pop("project", None)
    if passage := (result.get("passage") or "").removeprefix(result["title"]).strip():
        shown["passage"] = passage
    if result.get("sources"):
        shown["sources"] = SOURCES[result["sources"]]
    if result.get("scope") != "project":
        shown["scope"] = result.get("scope")
    if (result.get("copies") or 1) > 1:
        shown["copies"] = result["copies"]
    figure = round(result["score"] if result.get("relevance") is None else result["relevance"], _DIGITS)
    return {
        **shown,
        "relevance": figure if figure >= _TELLING else None,
        "created_at": _day(result.get("created_at")),
        **_doubts(result),
    }


def _doubts(memory: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        name: round(memory[name], _DIGITS)
        for name in ("trust_level", "confidence")
        if memory.get(name) is not None and memory[name] < _DOUBTFUL
    }
    said = {"by": "person"} if memory.get("by") == "person" else {}
    wrong = {"named_wrong": _day(str(memory["wrong_at"]))} if memory.get("wrong_at") else {}
    return said | shown | wrong | ({"freshness": "stale"} if memory.get("freshness") == "stale" else {})


def _day(time: str | None) -> str | None:
    return time and time[:10]


_USUAL: Mapping[str, str] = {"label": "Context", "scope": "project"}
_ABOUT = frozenset(
    "id key label title scope focus created_at updated_at trust_level confidence freshness relevance_score by"
    " wrong_at".split()
)
_BRIEF: Mapping[str, Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]]] = {
    "retrieve_context": _context,
    "search_memory": _search,
}
