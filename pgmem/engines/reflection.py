"""ReflectionEngine: what memories say together, proposed to whoever reviews it."""

from __future__ import annotations

from typing import Literal

from pgmem.engines.base import Engine
from pgmem.models import Insight, Insights, Reflection

__all__ = ["ReflectionEngine"]


class ReflectionEngine(Engine):
    """Detectors over nodes and edges; what they find is pending until it is judged."""

    async def reflect(self) -> Reflection:
        """Run the detectors; new insights are pending, and what was proposed once is not proposed again."""
        return await self._database.one("reflect", Reflection, 120.0)

    async def surface_insights(self, limit: int = 10, query: str | None = None) -> Insights:
        """The insights that wait for review, surest first; with a query, those that hold one of its words."""
        found = await self._database.all("surface_insights", Insight, limit=limit, query=query)
        return Insights(insights=found)

    async def review_insight(self, title: str, action: Literal["approve", "dismiss"]) -> Insight:
        """Judge an insight, by title or id: approved it is live, dismissed it does not come back.

        Raises:
            MemoryNotFound: no such insight is here.
            InvalidArgument: it was judged otherwise before.
        """
        return await self._database.one("review_insight", Insight, title=title, action=action)
