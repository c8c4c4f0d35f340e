"""The resources, which a client reads without a tool: the schema, the status, a project, a session."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, is_dataclass

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from pgmem import escaping
from pgmem.errors import DatabaseUnavailable, InvalidArgument, MemoryNotFound, PgmemError
from pgmem.mcp.app import App
from pgmem.memory import Memory


def add(server: MCPServer[App], app: App) -> None:
    """Register the resources; the docstring of each is its description for clients."""

    async def read(what: Callable[[Memory], Awaitable[object]]) -> str:
        try:
            found = await what(await app.memory())
        except (MemoryNotFound, InvalidArgument) as error:
            raise ResourceNotFoundError(escaping.as_data(str(error))) from error
        except DatabaseUnavailable as error:
            raise ResourceError(escaping.as_data(app.trouble or str(error))) from error
        except PgmemError as error:
            raise ResourceError(escaping.as_data(str(error))) from error
        plain = asdict(found) if is_dataclass(found) and not isinstance(found, type) else found
        text = json.dumps(escaping.as_data(plain), default=str, ensure_ascii=False, indent=2)
        return escaping.as_data_in_json(text)

    @server.resource("pgmem://schema", mime_type="application/json", meta=escaping.MARK)
    async def schema() -> str:
        """The labels and relations a memory can have."""
        return await read(Memory.describe_schema)

    @server.resource("pgmem://status", mime_type="application/json", meta=escaping.MARK)
    async def status() -> str:
        """The server, the tier, the release and the counts of the store."""
        return await read(Memory.status)

    @server.resource("pgmem://project/{project_id}", mime_type="application/json", meta=escaping.MARK)
    async def project(project_id: str) -> str:
        """The memories of a project."""
        return await read(lambda memory: memory.retrieve_context(escaping.as_sent(project_id), "project"))

    @server.resource("pgmem://project/{project_id}/{focus}", mime_type="application/json", meta=escaping.MARK)
    async def focus(project_id: str, focus: str) -> str:
        """The memories of a focus area and its project."""
        project, area = escaping.as_sent(project_id), escaping.as_sent(focus)
        return await read(lambda memory: memory.retrieve_context(project, "focus", area))

    @server.resource("pgmem://memory/{label}/{key}", mime_type="application/json", meta=escaping.MARK)
    async def memory(label: str, key: str) -> str:
        """One memory whole, by id, name or exact title."""
        return await read(lambda memory: memory.get_node(escaping.as_sent(label), escaping.as_sent(key)))

    @server.resource("pgmem://session/{session_id}", mime_type="application/json", meta=escaping.MARK)
    async def session(session_id: str) -> str:
        """A session and the memories that it produced."""
        return await read(lambda memory: memory.get_session(escaping.as_sent(session_id)))
