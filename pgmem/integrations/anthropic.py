"""The public names of pgmem.features.integrations.anthropic."""

from __future__ import annotations

from pgmem.features.integrations.anthropic import AsyncMemoryTool, MemoryTool

__all__ = ["AsyncMemoryTool", "MemoryTool"]
