"""The tools, one file a toolset. A tool is one method of `Memory`; its docstring is what the agent reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.types import ToolAnnotations

from pgmem.mcp.tools import cards, core, graph, quality

__all__ = ["TOOLSETS", "Tool"]

Tool = tuple[Callable[..., Awaitable[Any]], ToolAnnotations]

TOOLSETS: dict[str, tuple[Tool, ...]] = {
    "core": core.TOOLS,
    "graph": graph.TOOLS,
    "quality": quality.TOOLS,
    "cards": cards.TOOLS,
}
