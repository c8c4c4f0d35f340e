"""Retrieval: the context of a scope within a time limit, and search with the query's vector."""

from __future__ import annotations

import re
from time import monotonic
from typing import Any

import anyio
import psycopg
from pydantic import JsonValue

from pgmem.calls.caller import Caller
from pgmem.database.call import build
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.errors import DatabaseUnavailable, described
from pgmem.models import ContextBundle, SearchMode, SearchResult, SearchResults

_NAMES_HOLD_S = 30.0


async def retrieve_context(caller: Caller, params: dict[str, Any]) -> ContextBundle:
    """One attempt and one retry; then the status says `timed_out` or `failed`, so that an agent always goes on."""
    status, known_away = "failed", caller.database.is_away
    for _ in range(2):
        try:
            return await caller.one("retrieve_context", ContextBundle, params)
        except psycopg.errors.QueryCanceled:
            status = "timed_out"
        except DatabaseUnavailable:
            status = "failed"
            if known_away:
                break
            await _recover(caller)
    return ContextBundle(
        retrieval_status=status,  # type: ignore[arg-type]
        conflicts_found=False,
        hygiene_due=False,
        next_step="The memory did not answer: go on without it and try again later.",
    )


async def _recover(caller: Caller) -> None:
    try:
        await caller.database.recover()
    except Exception:  # still away: the second attempt reports it
        return


async def search_memory(caller: Caller, params: dict[str, Any]) -> SearchResults:
    """Search with the query's vector; without one by full text, and say why."""
    meaning, trouble = await query_embedding(
        caller, params["query"], params["project_id"], keep_names="names" in params["without"]
    )
    row = (await caller.rows("search_answer", {**params, **meaning}))[0]
    reason = row["reason"]
    if reason == "no embedding provider" and caller.database.settings.vector_backend == "none":
        reason = "VECTOR_BACKEND is none: no vectors are used"
    mode = SearchMode(mode=row["mode"], degraded=row["degraded"], reason=reason)
    if trouble is not None:
        mode = SearchMode(mode=mode.mode, degraded=True, reason=trouble)
    return SearchResults(
        results=[build(SearchResult, item) for item in row["results"]],
        search_mode=mode,
        answered=row["answered"],
        left_out=row["left_out"],
        next_step=row["next_step"],
    )


async def query_embedding(
    caller: Caller, query: str, project_id: str | None = None, *, keep_names: bool = True
) -> tuple[dict[str, Any], str | None]:
    """The arguments with the query's vector, made without the names in it, and why there is none if that failed."""
    if caller.embedder.dimensions == 0 or not query.strip():
        return {}, None
    text = query if keep_names or project_id is None else await _without_names(caller, query, project_id)
    try:
        with anyio.fail_after(caller.database.settings.embedding_patience_s):
            vector = await caller.embedder.embed(text)
    except (EmbeddingError, TimeoutError) as error:
        return {}, described(error)
    return {"embedding": vector, "embedding_model": caller.embedder.model} if vector else {}, None


async def _without_names(caller: Caller, query: str, project_id: str) -> str:
    """A query without the names of the project's agents and entities, whose mere mention would rank a text."""
    known, scope = caller.database.names, caller.database.scope
    key = (scope.org_id, scope.user_id, project_id)
    until, pattern = known.get(key, (0.0, None))
    if until < monotonic():
        terms = (await caller.database.rows("search_terms", query=query, project_id=project_id))[0]
        # Longer names first: "Ann Lee" before "Ann".
        names = sorted(terms["known"], key=len, reverse=True)
        pattern = (
            re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})(?:'s)?\b", re.IGNORECASE) if names else None
        )
        known[key] = (monotonic() + _NAMES_HOLD_S, pattern)
    rest = pattern.sub("", query) if pattern is not None else query
    return rest if re.search(r"\w", rest) else query


async def run_cypher(caller: Caller, params: dict[str, Any]) -> list[dict[str, JsonValue]]:
    """One object a row."""
    return [dict(row["run_cypher"]) for row in await caller.rows("run_cypher", params)]
