"""The quality toolset: what could be better, what is stale, what memories say together, how to reason."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from pgmem.mcp.app import App
from pgmem.mcp.tools.annotations import READ, REPEATABLE_WRITE
from pgmem.models import (
    FreshnessReport,
    HygieneReport,
    Insight,
    Insights,
    MemoryScopeName,
    Reflection,
    Route,
    Surface,
)

__all__ = ["TOOLS"]

Limit = Annotated[int, Field(ge=1, le=200)]
Offset = Annotated[int, Field(ge=0)]


async def run_hygiene(
    ctx: Context[App],
    project_id: str | None = None,
    scope: MemoryScopeName | None = None,
    check_pending_only: bool = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> HygieneReport:
    """Report duplicates, outdated decisions, obsolete patterns, entities named twice, unsaved saves. Repairs nothing."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.run_hygiene(project_id, scope, check_pending_only, limit, offset)


async def memory_freshness(
    ctx: Context[App],
    project_id: str | None = None,
    scope: MemoryScopeName = "project",
    stale_after_days: Annotated[int, Field(ge=0)] = 30,
    limit: Limit = 50,
) -> FreshnessReport:
    """How many memories are current, recent, stale; the stale ones, oldest first."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.memory_freshness(project_id, scope, stale_after_days, limit)


async def memory_surface(
    ctx: Context[App], query: str, project_id: str | None = None, limit: Limit = 5
) -> Surface:
    """Quick look at what is remembered about a path, identifier or line, before you edit it."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.memory_surface(query, project_id, limit)


async def route_analysis(
    ctx: Context[App], task_description: str, task_type_hint: str | None = None
) -> Route:
    """How to reason about a task: sequential, debate or socratic, with steps."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.route_analysis(task_description, task_type_hint)


async def reflect(ctx: Context[App]) -> Reflection:
    """Look for what memories say together; proposes insights, pending until reviewed."""
    return await (await ctx.request_context.lifespan_context.memory()).reflect()


async def surface_insights(ctx: Context[App], limit: Limit = 10, query: str | None = None) -> Insights:
    """The pending insights, surest first."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.surface_insights(limit, query)


async def review_insight(ctx: Context[App], title: str, action: Literal["approve", "dismiss"]) -> Insight:
    """Judge an insight as the person decides. Dismissed, it does not come back."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.review_insight(title, action)


TOOLS = (
    (run_hygiene, REPEATABLE_WRITE),
    (memory_freshness, READ),
    (memory_surface, READ),
    (route_analysis, READ),
    (reflect, REPEATABLE_WRITE),
    (surface_insights, READ),
    (review_insight, REPEATABLE_WRITE),
)
