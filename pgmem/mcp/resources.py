"""What a client can read without a tool: the schema, the status, a project, a session."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError

from pgmem.errors import PgmemError
from pgmem.mcp.app import App

__all__ = ["add"]


def add(server: MCPServer[App], app: App) -> None:
    """Register the resources."""

    @server.resource("pgmem://schema", mime_type="application/json")
    async def schema() -> str:
        """The labels and relations a memory can have."""
        try:
            return _json(await (await app.memory()).describe_schema())
        except PgmemError as error:
            raise ResourceError(str(error)) from error

    @server.resource("pgmem://status", mime_type="application/json")
    async def status() -> str:
        """The server, the tier, the release and what is kept, in numbers."""
        try:
            return _json(asdict(await (await app.memory()).status()))
        except PgmemError as error:
            raise ResourceError(str(error)) from error

    @server.resource("pgmem://project/{project_id}", mime_type="application/json")
    async def project(project_id: str) -> str:
        """What is remembered of a project."""
        try:
            return _json(asdict(await (await app.memory()).retrieve_context(project_id, "project")))
        except PgmemError as error:
            raise ResourceError(str(error)) from error

    @server.resource("pgmem://session/{session_id}", mime_type="application/json")
    async def session(session_id: str) -> str:
        """A session and what was produced in it."""
        try:
            return _json(await (await app.memory()).get_session(session_id))
        except PgmemError as error:
            raise ResourceError(str(error)) from error


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False, indent=2)
