"""RetrievalEngine: the context of a scope, within a time limit, and search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from pgmem.database.call import build
from pgmem.engines.base import Engine
from pgmem.errors import DatabaseUnavailable
from pgmem.models import ContextBundle, MemoryScopeName, SearchMode, SearchResult, SearchResults

__all__ = ["RetrievalEngine"]


class RetrievalEngine(Engine):
    """Reading what is kept."""

    async def retrieve_context(
        self,
        project_id: str,
        scope: MemoryScopeName,
        focus: str | None = None,
        categories: Sequence[str] | None = None,
        topic: str | None = None,
    ) -> ContextBundle:
        """The newest live memories of the focus, the project and globally, in that order.

        One attempt takes at most `retrieval_timeout_s`; after one retry the status is `timed_out` (or `failed` when the
        database does not answer), so that an agent always goes on.

        Raises:
            InvalidArgument: an unknown scope or category, or scope focus without focus.
        """
        status = "failed"
        for _ in range(2):
            try:
                return await self._database.one(
                    "retrieve_context",
                    ContextBundle,
                    self._database.settings.retrieval_timeout_s,
                    project_id=project_id,
                    scope=scope,
                    focus=focus,
                    categories=list(categories) if categories is not None else None,
                    topic=topic,
                )
            except psycopg.errors.QueryCanceled:
                status = "timed_out"
            except DatabaseUnavailable:
                status = "failed"
                await self._recover()
        return ContextBundle(
            retrieval_status=status,  # type: ignore[arg-type]
            next_step="The memory did not answer: go on without it and try again later.",
        )

    async def _recover(self) -> None:
        try:
            await self._database.recover()
        except Exception:  # still away: the second attempt will say so
            return

    async def search_memory(
        self,
        query: str,
        limit: int = 10,
        project_id: str | None = None,
        scope: MemoryScopeName | None = None,
        labels: Sequence[str] | None = None,
    ) -> SearchResults:
        """Live memories that hold words of the query, best first.

        Raises:
            InvalidArgument: an empty query, a limit outside 1 to 1000, an unknown label.
        """
        rows = await self._database.rows(
            "search_memory",
            self._database.settings.retrieval_timeout_s,
            query=query,
            limit=limit,
            project_id=project_id,
            scope=scope,
            labels=list(labels) if labels is not None else None,
        )
        mode = SearchMode(mode="fulltext_only")
        if rows:
            mode = SearchMode(mode=rows[0]["mode"], degraded=rows[0]["degraded"], reason=rows[0]["reason"])
        return SearchResults(results=[build(SearchResult, row) for row in rows], search_mode=mode)

    async def get_session(self, session_id: str) -> dict[str, Any]:
        """A session by id, with what was produced in it.

        Raises:
            MemoryNotFound: no such session is visible here.
        """
        return dict((await self._database.rows("get_session", id=session_id))[0])

