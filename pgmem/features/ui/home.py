"""Home: pending decisions, new memories, and growth over time."""

from __future__ import annotations

import asyncio

from pgmem.features.ui import as_sql
from pgmem.features.ui.charts import timeline
from pgmem.features.ui.visit import Page, Visit


async def home(visit: Visit) -> Page:
    """Waiting items, the newest memories, and the counts; for a new store, the first steps."""
    memory, project = visit.memory, visit.project
    waiting, near, counts, newest, projects = await asyncio.gather(
        memory.count_waiting(project),
        visit.checks.near_names(memory, visit.key),
        visit.checks.counts(memory, visit.key),
        memory.list_memories(project, limit=20),
        memory.list_projects(limit=12),
    )
    return Page(
        "home.html",
        {
            "waiting": waiting,
            "near_names": near,
            "counts": counts,
            "newest": [entry for entry in newest if entry.status != "superseded"][:8],
            "found_projects": projects,
        },
        {
            "growth": timeline(counts.growth or [], counts.last_at.date()) if counts.last_at else None,
            "sql": as_sql.memories(visit),
        },
    )
