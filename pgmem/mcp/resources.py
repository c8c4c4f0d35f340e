"""The resources, which a client reads without a tool: the schema, the status, a project, a session."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, TypeVar

import mcp.types as protocol
from mcp.server.mcpserver.resources import DEFAULT_RESOURCE_SECURITY
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from pgmem import escaping
from pgmem.errors import DatabaseUnavailable, InvalidArgument, MemoryNotFound, PgmemError
from pgmem.mcp.app import App
from pgmem.memory import Memory

log = logging.getLogger("pgmem")

Read = Callable[..., Awaitable[str]]
R = TypeVar("R", bound=Read)


class Unreadable(Exception):
    """A resource cannot be read; the client gets the message."""

    code = protocol.INTERNAL_ERROR


class Unknown(Unreadable):
    """No resource has this address."""

    code = protocol.INVALID_PARAMS


@dataclass(frozen=True)
class _Template:
    listed: protocol.ResourceTemplate
    parsed: UriTemplate
    read: Read


class Resources:
    """The resources of a server, by their addresses."""

    def __init__(self) -> None:
        self._fixed: dict[str, tuple[protocol.Resource, Read]] = {}
        self._templates: list[_Template] = []

    def at(
        self,
        address: str,
        *,
        mime_type: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[R], R]:
        """Return a decorator that registers a function as the resource at an address, which may have parameters.

        The name of the function and its docstring are those of the resource, unless others are given.
        """

        def register(read: R) -> R:
            about: dict[str, Any] = {
                "name": name or read.__name__,
                "title": title,
                "description": description or read.__doc__ or "",
                "mime_type": mime_type,
                "_meta": meta,
            }
            parsed = UriTemplate.parse(address)
            if parsed.variable_names:
                listed = protocol.ResourceTemplate(uri_template=address, **about)
                self._templates.append(_Template(listed, parsed, read))
            else:
                self._fixed[address] = (protocol.Resource(uri=address, **about), read)
            return read

        return register

    def listed(self) -> list[protocol.Resource]:
        """Return the resources without parameters."""
        return [resource for resource, _ in self._fixed.values()]

    def templates(self) -> list[protocol.ResourceTemplate]:
        """Return the resources with parameters."""
        return [template.listed for template in self._templates]

    async def read(self, address: str) -> protocol.ReadResourceResult:
        """Read a resource.

        Raises:
            MCPError: there is none (-32602), or it cannot be read.
        """
        try:
            about, reading = self._at(address)
            text = await reading
        except Unreadable as error:
            raise MCPError(error.code, str(error), {"uri": address}) from error
        except MCPError:
            raise
        except Exception as error:
            log.exception("a resource cannot be read")
            message = f"Error reading resource {address}"
            raise MCPError(protocol.INTERNAL_ERROR, message, {"uri": address}) from error
        contents = protocol.TextResourceContents(
            uri=address, text=text, mime_type=about.mime_type, _meta=about.meta
        )
        return protocol.ReadResourceResult(contents=[contents])

    def _at(self, address: str) -> tuple[protocol.Resource | protocol.ResourceTemplate, Awaitable[str]]:
        if address in self._fixed:
            resource, read = self._fixed[address]
            return resource, read()
        for template in self._templates:
            found = template.parsed.match(address)
            if found is None:
                continue
            if DEFAULT_RESOURCE_SECURITY.validate(found) is None:
                return template.listed, template.read(**found)
            break
        raise Unknown(f"Unknown resource: {address}")


def add(resources: Resources, app: App) -> None:
    """Register the resources of the core."""

    async def read(what: Callable[[Memory], Awaitable[object]]) -> str:
        try:
            found = await what(await app.memory())
        except (MemoryNotFound, InvalidArgument) as error:
            raise Unknown(escaping.as_data(str(error))) from error
        except DatabaseUnavailable as error:
            raise Unreadable(escaping.as_data(app.trouble or str(error))) from error
        except PgmemError as error:
            raise Unreadable(escaping.as_data(str(error))) from error
        plain = asdict(found) if is_dataclass(found) and not isinstance(found, type) else found
        text = json.dumps(escaping.as_data(plain), default=str, ensure_ascii=False, indent=2)
        return escaping.as_data_in_json(text)

    @resources.at("pgmem://schema", mime_type="application/json", meta=escaping.MARK)
    async def schema() -> str:
        """The labels and relations a memory can have."""
        return await read(Memory.describe_schema)

    @resources.at("pgmem://status", mime_type="application/json", meta=escaping.MARK)
    async def status() -> str:
        """The server, the tier, the release and the counts of the store."""
        return await read(Memory.status)

    @resources.at("pgmem://project/{project_id}", mime_type="application/json", meta=escaping.MARK)
    async def project(project_id: str) -> str:
        """The memories of a project."""
        return await read(lambda memory: memory.retrieve_context(escaping.as_sent(project_id), "project"))

    @resources.at("pgmem://project/{project_id}/{focus}", mime_type="application/json", meta=escaping.MARK)
    async def focus(project_id: str, focus: str) -> str:
        """The memories of a focus area and its project."""
        project, area = escaping.as_sent(project_id), escaping.as_sent(focus)
        return await read(lambda memory: memory.retrieve_context(project, "focus", area))

    @resources.at("pgmem://memory/{label}/{key}", mime_type="application/json", meta=escaping.MARK)
    async def memory(label: str, key: str) -> str:
        """One memory whole, by id, name or exact title."""
        return await read(lambda memory: memory.get_node(escaping.as_sent(label), escaping.as_sent(key)))

    @resources.at("pgmem://session/{session_id}", mime_type="application/json", meta=escaping.MARK)
    async def session(session_id: str) -> str:
        """A session and the memories that it produced."""
        return await read(lambda memory: memory.get_session(escaping.as_sent(session_id)))
