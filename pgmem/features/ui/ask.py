"""Ask: search, with the matched words marked and each score in its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args
from uuid import UUID

from pgmem.features.ui import as_sql, words
from pgmem.features.ui.visit import Page, Visit
from pgmem.models import MemoryScopeName, Node, SearchResult

_SHOWN = 420  # characters of a text of a result
_FIELDS = 5  # texts of a result
_BESIDE = ("date", "owner", "status", "relevance_score", "role", "client", "turn_id", "sources", "detector")

FILTERS = ("labels", "focus", "tags", "agent", "source", "trust", "as_of", "known_at", "scope")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a score: its name, its amount, and the start and width of its piece of the bar (0 to 100)."""

    name: str
    value: float
    start: float
    width: float
    tone: int


async def ask(visit: Visit) -> Page:
    """Search, if there is a question; the filters are arguments of the URL."""
    question = visit.text("q")
    given = {name: visit.text(name) for name in FILTERS if visit.text(name)}
    if question is None:
        return Page("ask.html", {"question": None, "filters": given, "results": []}, _look(None, [], {}))
    trust, source = visit.number("trust"), visit.text("source")
    narrowed = trust is not None or source is not None
    limit = visit.count("limit", 15, 100)
    scope = next((name for name in get_args(MemoryScopeName) if name == visit.text("scope")), None)
    found = await visit.memory.search_memory(
        question,
        limit=min(100, limit * 4) if narrowed else limit,
        project_id=visit.project,
        scope=scope,
        labels=visit.texts("labels"),
        focus=visit.text("focus"),
        tags=visit.texts("tags"),
        agent_id=visit.text("agent"),
        as_of=visit.moment("as_of"),
        known_at=visit.moment("known_at"),
        explain=True,
    )
    results = [r for r in found.results if trust is None or (r.trust or 0) >= trust]
    whole = await visit.nodes(r.id for r in results)
    if source is not None:
        results = [r for r in results if r.id in whole and whole[r.id].source == source]
    results = results[:limit]
    answered = found.answered if results else "no"
    turns = 0 if answered == "yes" else await _turns(visit, question, given)
    data = {
        "question": question,
        "filters": given,
        "answered": answered,
        "turns": turns,
        "mode": found.search_mode,
        "results": results,
    }
    look = _look(data["answered"], results, whole)
    return Page("ask.html", data, {**look, "sql": as_sql.search(visit, question)})


async def _turns(visit: Visit, question: str, given: dict[str, Any]) -> int:
    """How many turns of conversations answer a question that no memory answers; 0 where kinds or a time are chosen."""
    if given:
        return 0
    found = await visit.memory.search_memory(
        question, _MOST_TURNS, project_id=visit.project, labels=["Turn"], answers_only=True
    )
    return len(found.results) if found.answered == "yes" else 0


_MOST_TURNS = 100
_LEAST = 0.1
"""The share of a bar for the best result where none answers."""


def _look(answered: Any, results: list[SearchResult], whole: dict[UUID, Node]) -> dict[str, Any]:
    most = max((sum(p.value for p in _values(r)) for r in results), default=1.0) or 1.0
    if answered == "no":  # then the best of them fills a part of its bar
        most /= max(_LEAST, *(r.relevance or 0.0 for r in results)) if results else 1.0
    return {
        "answered": answered,
        "found": [
            {
                "result": result,
                "node": whole.get(result.id),
                "fields": _fields(result, whole.get(result.id)),
                "title": words.marked(words.plain(result.title), result.matched),
                "parts": parts_of(result, most),
            }
            for result in results
        ],
    }


def _fields(result: SearchResult, node: Node | None) -> list[tuple[str, list[words.Piece]]]:
    """The texts of a result by name, each around its first matched word; else the passage."""
    texts = words.texts(node.properties) if node else [("", result.passage or "")]
    return [
        (name.replace("_", " "), words.around(words.marked(words.plain(text), result.matched), _SHOWN))
        for name, text in texts
        if text != result.title and name not in _BESIDE
    ][:_FIELDS]


def _values(result: SearchResult) -> list[Part]:
    """The parts of a score, as the ranking adds them; the rest comes from neighbouring memories."""
    parts = result.explanation or {}
    if not parts or parts.get("base") is None:
        return [Part("words", max(result.score, 0.0), 0, 0, 1)]
    weights = parts.get("weights", {})
    alpha = float(parts.get("alpha", 0.5))
    base = float(parts["base"])
    if result.fulltext is None or result.vector is None:
        meaning, by_words = (base, 0.0) if result.vector is not None else (0.0, base)
    else:
        meaning = min(base, alpha * result.vector)
        by_words = max(0.0, base - meaning)
    trust = float(weights.get("hybrid_trust_gamma", 0)) * (result.trust or 0)
    sure = float(weights.get("hybrid_confidence_weight", 0)) * (result.confidence or 0)
    graph = min(
        float(weights.get("hybrid_boost_cap", 0)),
        float(weights.get("hybrid_graph_beta", 0)) * (result.graph or 0),
    )
    instruction = float(parts.get("instruction", 0))
    around = result.score - base - trust - sure - graph - instruction
    named = (
        ("meaning", meaning),
        ("words", by_words),
        ("relations", graph),
        ("around it", around),
        ("trust", trust),
        ("confidence", sure),
        ("instruction", instruction),
    )
    return [Part(name, value, 0, 0, tone) for tone, (name, value) in enumerate(named) if value > 0.0005]


def parts_of(result: SearchResult, most: float) -> list[Part]:
    """The parts of a score as pieces of a bar, whose whole length is the best score of the page."""
    drawn, start = [], 0.0
    for part in _values(result):
        width = 100 * part.value / most
        drawn.append(Part(part.name, part.value, start, width, part.tone))
        start += width
    return drawn
