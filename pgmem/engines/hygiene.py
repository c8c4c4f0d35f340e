"""HygieneEngine: what could be better in the memory, and the repairs a person decides on."""

from __future__ import annotations

from uuid import UUID

from pgmem.engines.base import Engine
from pgmem.models import FreshnessReport, Health, HygieneReport, MemoryScopeName, Repair, SaveResult, Surface

__all__ = ["HygieneEngine"]

_REPORT_S = 600.0  # a report over a hundred thousand memories takes a while, and locks nothing


class HygieneEngine(Engine):
    """Reports that change nothing, and repairs that are each one transaction."""

    async def run_hygiene(
        self,
        project_id: str | None = None,
        scope: MemoryScopeName | None = None,
        check_pending_only: bool = False,
        limit: int = 1000,
        offset: int = 0,
    ) -> HygieneReport:
        """Duplicates, outdated decisions, obsolete patterns, entities under several names, saves not saved.

        Counts are of everything; `limit` and `offset` cut the page of findings. A whole report (no scope, from
        the first finding on) is noted on the project as last_hygiene_at; nothing else changes.

        Raises:
            MemoryNotFound: no such project is visible here.
        """
        return await self._database.one(
            "run_hygiene",
            HygieneReport,
            _REPORT_S,
            project_id=project_id,
            scope=scope,
            check_pending_only=check_pending_only,
            limit=limit,
            offset=offset,
        )

    async def memory_freshness(
        self,
        project_id: str | None = None,
        scope: MemoryScopeName = "project",
        stale_after_days: int = 30,
        limit: int = 50,
        offset: int = 0,
    ) -> FreshnessReport:
        """How old the memories of a scope are, and the stale ones, oldest first.

        Raises:
            MemoryNotFound: no such project is visible here.
        """
        return await self._database.one(
            "memory_freshness",
            FreshnessReport,
            project_id=project_id,
            scope=scope,
            stale_after_days=stale_after_days,
            limit=limit,
            offset=offset,
        )

    async def memory_surface(self, query: str, project_id: str | None = None, limit: int = 5) -> Surface:
        """What is remembered about a line, a path or a command: of the project and globally; nothing rather than noise."""
        return await self._database.one(
            "memory_surface",
            Surface,
            self._database.settings.retrieval_timeout_s,
            query=query,
            project_id=project_id,
            limit=limit,
        )

    async def memory_health(self, project_id: str | None = None, limit: int = 20) -> Health:
        """The state of the memory in numbers, with the first `limit` of each kind.

        Raises:
            MemoryNotFound: no such project is visible here.
        """
        return await self._database.one(
            "memory_health", Health, _REPORT_S, project_id=project_id, limit=limit
        )

    async def merge_entities(
        self,
        entity: str,
        into: str,
        project_id: str | None = None,
        fact: str | None = None,
        by: str | None = None,
    ) -> Repair:
        """Let one entity stand for two; the facts of the first stay in its history, `revert` brings it back.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the fact is not the caller's.
            RelationNotAllowed: they are one, of two projects, or the second is private and the first shared.
        """
        return await self._database.one(
            "merge_entities", Repair, entity=entity, into=into, project_id=project_id, fact=fact, by=by
        )

    async def supersede(
        self, old: str, new: str, project_id: str | None = None, by: str | None = None
    ) -> Repair:
        """Let one decision take the place of another, by hand; `revert` brings the old one back.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or a decision is not the caller's.
            RelationNotAllowed: they are one, or the line of decisions would run in a circle.
        """
        return await self._database.one("supersede", Repair, old=old, new=new, project_id=project_id, by=by)

    async def retry_save(self, save_id: UUID, governance_token: str | None = None) -> SaveResult:
        """Run a save that was not saved again, with the arguments it had.

        Raises:
            MemoryNotFound: no such save of the caller's is on record.
        """
        return await self._database.one(
            "retry_save", SaveResult, save_id=save_id, governance_token=governance_token
        )
