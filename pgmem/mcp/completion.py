"""Completion of the arguments of prompts and resources: projects, focus areas, labels and sessions."""

from __future__ import annotations

import logging

import mcp.types as protocol
import psycopg
from mcp.shared.exceptions import MCPError

from pgmem import escaping
from pgmem.errors import PgmemError, summary
from pgmem.mcp import prompts
from pgmem.mcp.app import App
from pgmem.mcp.resources import Resources

log = logging.getLogger("pgmem")

_COMPLETED = ("project_id", "focus", "label", "session_id")
_MOST = 100
"""The most values that the protocol permits."""


async def complete(
    app: App, resources: Resources, asked: protocol.CompleteRequestParams
) -> protocol.CompleteResult:
    """Return the names that complete an argument.

    Raises:
        MCPError: the prompt or the template is unknown (-32602), or the names cannot be read.
    """
    _require(resources, asked.ref)
    name = asked.argument.name
    if name not in _COMPLETED:
        return protocol.CompleteResult(completion=protocol.Completion(values=[]))
    project = (asked.context.arguments or {}).get("project_id") if asked.context else None
    try:
        memory = await app.memory()
        found = await memory.complete_name(name, asked.argument.value, project or None, limit=_MOST + 1)
    except (PgmemError, psycopg.Error) as error:
        raise MCPError(protocol.INTERNAL_ERROR, app.trouble or summary(error)) from error
    except Exception as error:
        log.exception("the argument %r cannot be completed", name)
        raise MCPError(protocol.INTERNAL_ERROR, f"Error completing argument {name}") from error
    values = [str(escaping.as_data(name.value)) for name in found[:_MOST]]
    return protocol.CompleteResult(completion=protocol.Completion(values=values, has_more=len(found) > _MOST))


def _require(
    resources: Resources, ref: protocol.PromptReference | protocol.ResourceTemplateReference
) -> None:
    if isinstance(ref, protocol.PromptReference):
        name, known = ref.name, [prompt.name for prompt in prompts.listed()]
    else:
        name, known = ref.uri, [template.uri_template for template in resources.templates()]
    if name not in known:
        raise MCPError(
            protocol.INVALID_PARAMS, f"Unknown reference {name[:80]!r}. Known: {', '.join(known)}."
        )
