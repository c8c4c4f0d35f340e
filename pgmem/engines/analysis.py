"""AnalysisRouter: the way to reason about a task."""

from __future__ import annotations

from pgmem.engines.base import Engine
from pgmem.models import Route

__all__ = ["AnalysisRouter"]


class AnalysisRouter(Engine):
    """Routes a task description to a reasoning mode."""

    async def route_analysis(self, task_description: str, task_type_hint: str | None = None) -> Route:
        """Debate for trade-offs, socratic for unclear requirements, else sequential; with its five steps."""
        return await self._database.one(
            "route_analysis", Route, task_description=task_description, task_type_hint=task_type_hint
        )
