"""TemporalEngine: what was true, what was known, and what is let go of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pgmem.engines.base import Engine
from pgmem.models import Decay, Expiry, Forgotten, History, Node, Reverted, Version

__all__ = ["TemporalEngine"]


class TemporalEngine(Engine):
    """Two axes of time on every memory: when it was true, and when it was recorded."""

    async def get_node(
        self,
        label: str,
        key: str,
        project_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Node:
        """A node by id, key or exact title: as it stands, or as it was true or known at a date.

        Raises:
            MemoryNotFound: no such node is visible here, or it was not true or known then.
            AmbiguousName: a name fits several; the message lists their ids.
        """
        return await self._database.one(
            "get_node", Node, label=label, key=key, project_id=project_id, as_of=as_of, known_at=known_at
        )

    async def memory_history(self, label: str, key: str, project_id: str | None = None) -> History:
        """Every state a node was recorded in, oldest first, those of a forgotten one too."""
        found = await self._database.all(
            "memory_history", Version, label=label, key=key, project_id=project_id
        )
        return History(versions=found)

    async def forget(
        self,
        label: str,
        key: str,
        purge: bool = False,
        project_id: str | None = None,
        governance_token: str | None = None,
    ) -> Forgotten:
        """Hide a memory everywhere, or purge it with its edges, vectors and versions.

        Raises:
            NotPermitted: it belongs to everybody, or it is global and the token is missing or spent.
            RelationNotAllowed: a project or focus area is not forgotten by itself.
        """
        return await self._database.one(
            "forget",
            Forgotten,
            label=label,
            key=key,
            purge=purge,
            project_id=project_id,
            governance_token=governance_token,
        )

    async def revert(
        self,
        label: str,
        key: str,
        version: int,
        project_id: str | None = None,
        governance_token: str | None = None,
    ) -> Reverted:
        """Bring an earlier version back as a new one; nothing of the history is lost.

        Raises:
            MemoryNotFound: there is no such memory or no such version.
            InvalidArgument: the same content is live under another id.
        """
        return await self._database.one(
            "revert",
            Reverted,
            label=label,
            key=key,
            version=version,
            project_id=project_id,
            governance_token=governance_token,
        )

    async def decay_scores(
        self,
        max_age_days: int | None = None,
        decay_rate: float | None = None,
        archive_below: float | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Decay:
        """How many memories have decayed; those below `archive_below` are archived, batch by batch.

        A rate or an age given here is from then on the store's. `progress` is told archived and remaining.
        """
        archived, affected = 0, None
        while True:
            done = await self._database.one(
                "decay_scores",
                Decay,
                max_age_days=max_age_days,
                decay_rate=decay_rate,
                archive_below=archive_below,
                dry_run=dry_run,
            )
            affected = done.affected if affected is None else affected
            archived += done.archived
            if progress is not None:
                progress(archived, done.remaining)
            if dry_run or done.archived == 0 or done.remaining == 0:
                return Decay(affected=affected, archived=archived, remaining=done.remaining)

    async def forget_by_ttl(
        self,
        days: int,
        label: str | None = None,
        project_id: str | None = None,
        purge: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Expiry:
        """Forget, or purge, the memories that nobody has touched for some days, batch by batch."""
        affected = 0
        while True:
            done = await self._database.one(
                "forget_by_ttl",
                Expiry,
                days=days,
                label=label,
                project_id=project_id,
                purge=purge,
                dry_run=dry_run,
            )
            affected += done.affected
            if progress is not None:
                progress(affected, done.remaining)
            if dry_run or done.affected == 0 or done.remaining == 0:
                return Expiry(affected=affected, remaining=done.remaining)
