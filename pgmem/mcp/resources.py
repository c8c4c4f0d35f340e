"""What a client can read without a tool: the schema, the status, a project, a session."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, is_dataclass

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from pgmem.errors import DatabaseUnavailable, InvalidArgument, MemoryNotFound, PgmemError
from pgmem.mcp.app import App
from pgmem.memory import Memory

__all__ = ["add"]


def add(server: MCPServer[App], app: App) -> None:
    """Register the resources."""

    async def read(what: Callable[[Memory], Awaitable[object]]) -> str:
        try:
            found = await what(await app.memory())
        except (MemoryNotFound, InvalidArgument) as error:
            raise ResourceNotFoundError(str(error)) from error
        except DatabaseUnavailable as error:
            raise ResourceError(app.trouble or str(error)) from error
        except PgmemError as error:
            raise ResourceError(str(error)) from error
        plain = asdict(found) if is_dataclass(found) and not isinstance(found, type) else found
        return json.dumps(plain, default=str, ensure_ascii=False, indent=2)

    @server.resource("pgmem://schema", mime_type="application/json")
    async def schema() -> str:
        """The labels and relations a memory can have."""
        return await read(Memory.describe_schema)

    @server.resource("pgmem://status", mime_type="application/json")
    async def status() -> str:
        """The server, the tier, the release and what is kept, in numbers."""
        return await read(Memory.status)

    @server.resource("pgmem://project/{project_id}", mime_type="application/json")
    async def project(project_id: str) -> str:
        """What is remembered of a project."""
        return await read(lambda memory: memory.retrieve_context(project_id, "project"))

    @server.resource("pgmem://session/{session_id}", mime_type="application/json")
    async def session(session_id: str) -> str:
        """A session and what was produced in it."""
        return await read(lambda memory: memory.get_session(session_id))
