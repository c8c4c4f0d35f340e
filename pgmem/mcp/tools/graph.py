"""The graph toolset: relations and neighbourhoods."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import Context
from pydantic import Field

from pgmem.mcp.app import App
from pgmem.mcp.tools.annotations import READ, REPEATABLE_WRITE
from pgmem.models import Edge, Neighbours

__all__ = ["TOOLS"]


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


TOOLS = ((relate, REPEATABLE_WRITE), (neighbours, READ))
