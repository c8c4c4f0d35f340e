"""Graph: the memories of a project with their relations, every one a link; a large one by clusters."""

from __future__ import annotations

import asyncio

from pgmem.features.ui import as_sql, drawing
from pgmem.features.ui.moment import sliders
from pgmem.features.ui.visit import Page, Visit

_WHOLE = 1000  # memories that clusters are made of


async def graph(visit: Visit) -> Page:
    """The most connected memories, clusters, or the neighbours of one memory; also as a list for screen readers."""
    limit, around = visit.count("limit", 120, 400), visit.id("around")
    by_cluster = visit.text("by") == "cluster"
    true_on, known_on = visit.moment("t"), visit.moment("k")
    present, found = await asyncio.gather(
        visit.checks.counts(visit.memory, visit.key),
        visit.memory.memory_relations(around, 3, limit)
        if around
        else visit.memory.project_graph(
            visit.project, _WHOLE if by_cluster else limit, true_on, known_on, visit.texts("labels")
        ),
    )
    sizes: dict[str, int] | None = None
    if by_cluster and not around:
        found, sizes = drawing.clusters(found)
    middle = next((node for node in found.nodes if node.id == around), None)
    return Page(
        "graph.html",
        {"graph": found, "sizes": sizes},
        {
            **sliders(present, true_on, known_on),
            "drawing": drawing.project(found, sizes),
            "names": {node.id: node for node in found.nodes},
            "limit": limit,
            "middle": middle,
            "kinds": sorted({*present.labels, "Card"}),
            "sql": as_sql.edges(visit),
        },
    )
