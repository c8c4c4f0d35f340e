"""DedupEngine: what a decision would meet. Saving decides the same inside its own transaction."""

from __future__ import annotations

from pgmem.engines.base import Engine
from pgmem.models import DedupDue, DuplicateCheck, MemoryScopeName

__all__ = ["DedupEngine"]


class DedupEngine(Engine):
    """Equal content and near titles."""

    async def check_duplicate(
        self,
        title: str,
        rationale: str,
        project_id: str,
        scope: MemoryScopeName = "project",
        focus: str | None = None,
    ) -> DuplicateCheck:
        """The outcome save_decision would have, the candidate and its Jaccard; writes nothing."""
        return await self._database.one(
            "check_duplicate",
            DuplicateCheck,
            title=title,
            rationale=rationale,
            project_id=project_id,
            scope=scope,
            focus=focus,
        )

    async def refresh_dedup(self, if_worth: bool = False) -> int:
        """Take a new snapshot of how frequent title words are and rebuild the index by it: rows written.

        With `if_worth` only where `dedup_due` says that it is, and the worker's to do; else 0.
        """
        rows = await self._database.rows("refresh_dedup", 3600, if_worth=if_worth)
        return int(rows[0]["refresh_dedup"])

    async def dedup_due(self) -> DedupDue:
        """Whether as many titles have come since the last snapshot as it counted."""
        return await self._database.one("dedup_due", DedupDue)
