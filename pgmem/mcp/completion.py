"""Completion of the arguments of prompts and resources: projects, focus areas, labels and sessions."""

from __future__ import annotations

import psycopg
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from pgmem import escaping
from pgmem.errors import PgmemError, summary
from pgmem.mcp.app import App

_COMPLETED = ("project_id", "focus", "label", "session_id")
_MOST = 100
"""The most values that the protocol permits."""


def add(server: MCPServer[App], app: App) -> None:
    """Register the completion of names."""

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        await _require(server, ref)
        if argument.name not in _COMPLETED:
            return Completion(values=[])
        project = (context.arguments or {}).get("project_id") if context else None
        try:
            memory = await app.memory()
            found = await memory.complete_name(
                argument.name, argument.value, project or None, limit=_MOST + 1
            )
        except (PgmemError, psycopg.Error) as error:
            raise MCPError(INTERNAL_ERROR, app.trouble or summary(error)) from error
        values = [str(escaping.as_data(name.value)) for name in found[:_MOST]]
        return Completion(values=values, has_more=len(found) > _MOST)


async def _require(server: MCPServer[App], ref: PromptReference | ResourceTemplateReference) -> None:
    """Raise MCPError (-32602) for an unknown prompt or template."""
    if isinstance(ref, PromptReference):
        name, known = ref.name, [prompt.name for prompt in await server.list_prompts()]
    else:
        name, known = ref.uri, [template.uri_template for template in await server.list_resource_templates()]
    if name not in known:
        raise MCPError(INVALID_PARAMS, f"Unknown reference {name[:80]!r}. Known: {', '.join(known)}.")
