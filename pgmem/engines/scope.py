"""ScopeEngine: what a project and a focus resolve to, and whether a write is permitted."""

from __future__ import annotations

from typing import Any

from pgmem.engines.base import Engine
from pgmem.models import ScopeState, Status

__all__ = ["ScopeEngine"]


class ScopeEngine(Engine):
    """Scope gates as verbs."""

    async def get_scope_state(self, project_id: str | None = None, focus: str | None = None) -> ScopeState:
        """What (project_id, focus) resolves to for the caller; call it before reading or writing."""
        return await self._database.one("get_scope_state", ScopeState, project_id=project_id, focus=focus)

    async def status(self) -> Status:
        """The server, the tier, the release and what the caller can see, in numbers."""
        return await self._database.one("status", Status)

    async def describe_schema(self) -> dict[str, Any]:
        """The labels and relations a memory can have."""
        return dict((await self._database.rows("describe_schema"))[0])
