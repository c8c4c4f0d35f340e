"""RetrievalEngine: the context of a scope, within a time limit, and search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import anyio
import psycopg

from pgmem.database.call import build
from pgmem.embeddings.protocol import EmbeddingError
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
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> ContextBundle:
        """The newest live memories of the focus, the project and globally, in that order.

        With `as_of`, those that were true then, whatever superseded them since; with `known_at`, as
        they were recorded then.

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
                    as_of=as_of,
                    known_at=known_at,
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
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        fusion: Literal["linear", "rrf"] | None = None,
        explain: bool = False,
        focus: str | None = None,
        tags: Sequence[str] | None = None,
        without: Sequence[str] = (),
        weights: Mapping[str, float | str] | None = None,
    ) -> SearchResults:
        """Memories that answer a query, best first: by meaning, by words and by the graph.

        Args:
            query: words or a question.
            limit: how many, 1 to 1000.
            project_id: only this project and what holds globally.
            scope: only this memory scope.
            labels: only these labels.
            as_of: what was true then, whatever superseded it since.
            known_at: what was recorded then, by full text.
            fusion: linear (weighted sum of normalised arms) or rrf; unset: the store's setting.
            explain: give every part of a score.
            focus: only this focus area.
            tags: only what carries all of these.
            without: signals to leave out, to see what each gives: names, window, session, date, source, graph.
            weights: settings of the ranking (hybrid_alpha, rrf_k and their like) for this search alone.

        Raises:
            InvalidArgument: an empty query, a limit outside 1 to 1000, an unknown label or weight.
        """
        vector, names, trouble = await self._query_vector(query, project_id, "names" in without)
        rows = await self._database.rows(
            "search_memory",
            self._database.settings.retrieval_timeout_s,
            query=query,
            limit=limit,
            project_id=project_id,
            scope=scope,
            labels=list(labels) if labels is not None else None,
            as_of=as_of,
            known_at=known_at,
            fusion=fusion,
            explain=explain,
            focus=focus,
            tags=list(tags) if tags is not None else None,
            names=names,
            without=list(without),
            embedding=vector or None,
            embedding_model=self._embedder.model if vector else None,
            weights=dict(weights) if weights is not None else None,
        )
        mode = SearchMode(mode="hybrid" if vector else "fulltext_only")
        if rows:
            mode = SearchMode(mode=rows[0]["mode"], degraded=rows[0]["degraded"], reason=rows[0]["reason"])
        if trouble is not None:
            mode = SearchMode(mode="fulltext_only", degraded=True, reason=trouble)
        return SearchResults(results=[build(SearchResult, row) for row in rows], search_mode=mode)

    async def _query_vector(
        self, query: str, project_id: str | None, keep_names: bool
    ) -> tuple[list[float], list[str], str | None]:
        """The query's vector, the names left out of it, and why there is none if the provider failed."""
        if self._embedder.dimensions == 0 or not query.strip():
            return [], [], None
        terms = (await self._database.rows("search_terms", query=query, project_id=project_id))[0]
        try:
            with anyio.fail_after(self._database.settings.embedding_patience_s):
                text = query if keep_names else terms["text_to_embed"]
                return await self._embedder.embed(text), terms["names"], None
        except (EmbeddingError, TimeoutError) as error:
            return (
                [],
                terms["names"],
                f"{type(error).__name__}: {error}" if str(error) else type(error).__name__,
            )

    async def get_session(self, session_id: str) -> dict[str, Any]:
        """A session by id, with what was produced in it.

        Raises:
            MemoryNotFound: no such session is visible here.
        """
        return dict((await self._database.rows("get_session", id=session_id))[0])
