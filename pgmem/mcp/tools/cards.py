"""The cards toolset: engineering memory about a code base. Agents draft, people approve elsewhere."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from mcp.server.mcpserver import Context
from pydantic import Field

from pgmem.mcp.app import App
from pgmem.mcp.tools.annotations import READ, REPEATABLE_WRITE, WRITE
from pgmem.models import MemoryAnswer, RelevantMemory

__all__ = ["TOOLS"]

Count = Annotated[int, Field(ge=1, le=100)]
Detail = Literal["compact", "full"]


async def get_relevant_memory(
    ctx: Context[App],
    project_id: str,
    scope: list[str] | None = None,
    symbols: list[str] | None = None,
    intent_id: UUID | None = None,
    max_records: Count = 20,
    include_stale: bool = False,
    include_drafts: bool = True,
    detail_level: Detail = "compact",
    cursor: str | None = None,
) -> RelevantMemory:
    """Before you edit: cards about repo paths (scope), dotted symbols or a declared intent; send one of them. cursor: continuation. Cards inform, they authorise no edit."""  # noqa: E501
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.get_relevant_memory(
        project_id,
        scope,
        symbols,
        intent_id,
        max_records,
        include_stale,
        include_drafts,
        detail_level,
        cursor,
    )


async def query_engineering_memory(
    ctx: Context[App],
    project_id: str,
    mode: str,
    record_id: UUID | None = None,
    path: str | None = None,
    symbol: str | None = None,
    query: str | None = None,
    scope: list[str] | None = None,
    filters: dict[str, Any] = {},  # noqa: B006
    max_results: Count = 20,
    include_stale: bool = False,
    include_drafts: bool | None = None,
    detail_level: Detail = "compact",
) -> MemoryAnswer:
    """mode: search, get, for_path, for_symbol, stale, drafts, coverage, status. filters: types, statuses, confidences (lists), match_mode any|all."""  # noqa: E501
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.query_engineering_memory(
        project_id,
        mode,
        record_id,
        path,
        symbol,
        query,
        scope,
        filters,
        max_results,
        include_stale,
        include_drafts,
        detail_level,
    )


async def manage_engineering_memory(
    ctx: Context[App],
    project_id: str,
    action: str,
    record_type: str | None = None,
    statement: str | None = None,
    subject_path: str | None = None,
    symbols: list[str] | None = None,
    evidence: list[dict[str, str]] | None = None,
    text: str | None = None,
    paths: list[str] | None = None,
    intent_id: UUID | None = None,
    propose: bool = False,
    receipt: dict[str, Any] | None = None,
    report: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Draft what lasts about the code; a person approves. action: record_candidate (record_type, statement: one fact, 300 chars; subject_path), validate_claims (text), declare_intent (paths, text), finish_intent (intent_id, paths: changed files; propose, receipt {claims, review}), propose_from_receipt (receipt), refresh_from_run (report)."""  # noqa: E501
    given = {
        "record_type": record_type,
        "statement": statement,
        "subject_path": subject_path,
        "symbols": symbols,
        "evidence": evidence,
        "text": text,
        "paths": paths,
        "intent_id": intent_id,
        "propose": propose,
        "receipt": receipt,
        "report": report,
    }
    memory = await ctx.request_context.lifespan_context.memory()
    arguments = {name: value for name, value in given.items() if value is not None}
    return await memory.manage_engineering_memory(project_id, action, arguments)


TOOLS = (
    (get_relevant_memory, REPEATABLE_WRITE),
    (query_engineering_memory, READ),
    (manage_engineering_memory, WRITE),
)
