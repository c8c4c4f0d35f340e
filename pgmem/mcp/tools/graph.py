"""The graph toolset: relations and neighbourhoods."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import Field

from pgmem.mcp.app import App
from pgmem.mcp.tools.annotations import DESTRUCTIVE, READ, REPEATABLE_WRITE, WRITE
from pgmem.models import Edge, Forgotten, History, Neighbours, Node, Remembered, Reverted

__all__ = ["TOOLS"]


async def remember(
    ctx: Context[App],
    label: str,
    properties: dict[str, Any],
    relations: dict[str, list[Any]] | None = None,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    project_id: str | None = None,
) -> Remembered:
    """Create or update a thing by its name or title: Technology, Person, Concept, Problem (labels: pgmem://schema).

    relations: {"USES": ["Redis", {"name": "Ada", "label": "Person"}]}; a missing target becomes a stub.
    """
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.remember(label, properties, relations, valid_from, valid_to, project_id)


async def get_node(
    ctx: Context[App],
    label: str,
    key: str,
    project_id: str | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> Node:
    """One memory whole, by id, name or exact title; as_of: as true then, known_at: as recorded then."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.get_node(label, key, project_id, as_of, known_at)


async def memory_history(ctx: Context[App], label: str, key: str, project_id: str | None = None) -> History:
    """Every state a memory was recorded in, oldest first, forgotten ones too."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.memory_history(label, key, project_id)


async def forget(
    ctx: Context[App],
    label: str,
    key: str,
    purge: bool = False,
    project_id: str | None = None,
    governance_token: str | None = None,
) -> Forgotten:
    """Hide a memory; remembering it again brings it back. purge: gone for good, only if the person asks."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.forget(label, key, purge, project_id, governance_token)


async def revert(
    ctx: Context[App],
    label: str,
    key: str,
    version: int,
    project_id: str | None = None,
    governance_token: str | None = None,
) -> Reverted:
    """Bring back an earlier version (memory_history lists them) as a new one."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.revert(label, key, version, project_id, governance_token)


async def relate(
    ctx: Context[App],
    from_label: str,
    from_key: str,
    rel_type: str,
    to_label: str,
    to_key: str,
    project_id: str | None = None,
) -> Edge:
    """Join two memories, e.g. Decision CONFLICTS_WITH Decision. A key is an id, a name or an exact title."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.relate(from_label, from_key, rel_type, to_label, to_key, project_id)


async def neighbours(
    ctx: Context[App],
    label: str,
    key: str,
    hops: Annotated[int, Field(ge=1, le=5)] = 1,
    limit: Annotated[int, Field(ge=1, le=100)] = 50,
    project_id: str | None = None,
) -> Neighbours:
    """What is connected with a memory, nearest first, with the relations on the way (< walked backwards)."""
    memory = await ctx.request_context.lifespan_context.memory()
    return await memory.neighbours(label, key, hops, limit, project_id)


TOOLS = (
    (remember, REPEATABLE_WRITE),
    (relate, REPEATABLE_WRITE),
    (neighbours, READ),
    (get_node, READ),
    (memory_history, READ),
    (forget, DESTRUCTIVE),
    (revert, WRITE),
)
