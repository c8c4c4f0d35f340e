"""Figures of search for agents: whether it reports a question without an answer, and what fits into a token budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any
from uuid import UUID

from benchmarks.talks import Talk
from pgmem.memory import Memory
from pgmem.models import SearchResult, SearchResults

BUDGETS = (1_000, 2_000)
"""Tokens of an answer, four characters each."""

_NONSENSE = [
    "qwertyuiop zxcvbnm", "blorf wixnat grelp", "zzkq vrrt plommb", "fnord quxly snarfle dimp",
    "xylgrat mopwen tirzle", "hjkl asdf poiu", "grumbix flendor vask", "wubba trell onkspit",
]  # fmt: skip


async def abstention(memory: Memory, talks: Sequence[Talk[Any]]) -> dict[str, float]:
    """How well the best relevance separates the questions of a project from those of another, and from nonsense.

    Args:
        memory: the store.
        talks: projects with the questions that they can answer; at least two projects.

    Returns:
        AUROC of own against foreign questions and against nonsense (0 to 1), the share of each that counts as answered,
        and precision: the share of own questions among those answered.
    """
    if len(talks) < 2:
        return {}
    answered = {"own": 0, "foreign": 0}
    own: list[float] = []
    foreign: list[float] = []
    nonsense: list[float] = []
    for talk, following in zip(talks, [*talks[1:], talks[0]], strict=True):
        for question in talk.questions:
            for kind, scores, where in (("own", own, talk), ("foreign", foreign, following)):
                found = await memory.search_memory(question.text, 50, where.project)
                scores.append(best(found))
                answered[kind] += found.answered == "yes"
        nonsense += [best(await memory.search_memory(text, 50, talk.project)) for text in _NONSENSE]
    return {
        "auroc": auroc(own, foreign),
        "auroc_nonsense": auroc(own, nonsense),
        "own_answered": round(answered["own"] / len(own), 3),
        "foreign_answered": round(answered["foreign"] / len(foreign), 3),
        "precision": round(answered["own"] / max(sum(answered.values()), 1), 3),
    }


def best(found: SearchResults) -> float:
    """The relevance of the most relevant result; 0 when there is none."""
    return max((result.relevance or 0.0 for result in found.results), default=0.0)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that one of the positive is above one of the negative; equals count half."""
    ranked = sorted(negative)
    wins = fmean((bisect_left(ranked, x) + bisect_right(ranked, x)) / 2 for x in positive)
    return round(wins / len(ranked), 3)


def budgeted(results: Sequence[SearchResult], kept: Mapping[UUID, str], gold: set[str]) -> dict[str, float]:
    """The share of the evidence among the passages that fit into a budget, what does not fit passed over."""
    shares: dict[str, Any] = {}
    for budget in BUDGETS:
        left, found = budget, set()
        for result in results:
            cost = len(result.passage or "") // 4 + 20
            if cost <= left:
                left -= cost
                found.add(kept.get(result.id))
        shares[f"evidence@{budget}"] = len(gold & found) / len(gold)
    return shares
