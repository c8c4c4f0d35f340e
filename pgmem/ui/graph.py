"""Graph: the memories of a project with their relations, every one a link."""

from __future__ import annotations

import asyncio

from pgmem.ui import drawing
from pgmem.ui.moment import sliders
from pgmem.ui.visit import Page, Visit

__all__ = ["graph"]


async def graph(visit: Visit) -> Page:
    """The most connected memories, laid out here; the same as a list for those who do not see it."""
    limit = visit.count("limit", 120, 400)
    true_on, known_on = visit.moment("t"), visit.moment("k")
    present, found = await asyncio.gather(
        visit.checks.counts(visit.memory, visit.key),
        visit.memory.project_graph(visit.project, limit, true_on, known_on),
    )
    names = {node.id: node for node in found.nodes}
    return Page(
        "graph.html",
        {"graph": found},
        {
            **sliders(present, true_on, known_on),
            "drawing": drawing.project(found),
            "names": names,
            "limit": limit,
        },
    )
