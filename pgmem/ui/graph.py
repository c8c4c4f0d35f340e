"""Graph: the memories of a project with their relations, every one a link."""

from __future__ import annotations

from pgmem.ui import drawing
from pgmem.ui.visit import Page, Visit


async def graph(visit: Visit) -> Page:
    """The most connected memories, laid out here; the same as a list for those who do not see it."""
    limit = visit.count("limit", 120, 400)
    found = await visit.memory.project_graph(visit.project, limit, visit.moment("t"), visit.moment("k"))
    names = {node.id: node for node in found.nodes}
    return Page(
        "graph.html",
        {"graph": found},
        {"drawing": drawing.project(found), "names": names, "limit": limit},
    )
