"""Calibration: at which relevance a search of this store, with this provider, counts as answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pgmem.calls.methods import Verbs
from pgmem.errors import InvalidArgument

_LEAST_FOREIGN = 50


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The measurement: titles searched in other projects, and the floors that follow. Shares are 0 to 1."""

    queries: int
    answered_yes: float
    answered_no: float
    own_answered: float
    foreign_answered: float
    applied: bool = False


async def calibrate(memory: Verbs, foreign_share: float = 0.1, apply: bool = False) -> Calibration:
    """Search the titles of projects in their own and in another project, and set the floors between the two.

    Args:
        memory: the store, with the provider that embeds its queries.
        foreign_share: how many foreign queries may count as answered, 0 to 1; three times as many as unclear.
        apply: write the floors to the settings answered_yes and answered_no; the owner's right.

    Raises:
        InvalidArgument: there are fewer than two projects, or fewer than 50 titles in all, of at most 20 a project.
    """
    titles: defaultdict[str, list[str]] = defaultdict(list)
    for row in await memory.caller.database.rows("sample_titles"):
        titles[row["project"]].append(row["title"])
    projects = list(titles)
    own: list[float] = []
    foreign: list[float] = []
    for place, project in enumerate(projects if len(projects) > 1 else ()):
        other = projects[(place + 1) % len(projects)]
        for title in titles[project]:
            own.append(await _best(memory, title, project))
            foreign.append(await _best(memory, title, other))
    if len(foreign) < _LEAST_FOREIGN:
        raise InvalidArgument(
            f"Calibration needs {_LEAST_FOREIGN} titles of at least two projects, and reads the newest 20 of each: "
            f"found {len(foreign)} to compare in {len(projects)} projects."
        )
    yes, no = _above(foreign, foreign_share), _above(foreign, min(3 * foreign_share, 1.0))
    if apply:
        await memory.set_setting("answered_yes", f"{yes:.3f}")
        await memory.set_setting("answered_no", f"{no:.3f}")
    return Calibration(
        queries=len(foreign),
        answered_yes=yes,
        answered_no=no,
        own_answered=sum(score >= yes for score in own) / len(own),
        foreign_answered=sum(score >= yes for score in foreign) / len(foreign),
        applied=apply,
    )


async def _best(memory: Verbs, query: str, project: str) -> float:
    found = await memory.search_memory(query, 20, project)
    return max((result.relevance or 0.0 for result in found.results), default=0.0)


def _above(scores: Sequence[float], share: float) -> float:
    """The score that a share of the scores reaches, within 0.05 and 0.95."""
    ranked = sorted(scores, reverse=True)
    return min(max(ranked[min(int(share * len(ranked)), len(ranked) - 1)], 0.05), 0.95)
