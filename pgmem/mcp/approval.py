"""Approval by the person behind a client: a global save is shown to them, where their client supports it.

The store decides what an answer counts for (the setting `approval`), and a token is good for the text that was shown.
Where the client cannot ask, or the agent sends a token, the save is passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from mcp.server.elicitation import AcceptedElicitation, CancelledElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel, Field

from pgmem import escaping
from pgmem.declaration import Verb
from pgmem.errors import NotPermitted
from pgmem.mcp.app import App
from pgmem.mcp.arguments import declare
from pgmem.memory import Memory

_WITHIN_ANSWERS = "2026-07-28"
"""From this version of MCP on, a question travels in the answer to a call, which needs no stream to the client."""


class Approval(BaseModel):
    """The answer of a person."""

    approve: bool = Field(title="Save it", description="For all your projects, until somebody forgets it.")


def asks(verb: Verb) -> bool:
    """Whether a save of this verb can hold globally."""
    return "governance_token" in verb.listed and not verb.listed.keys().isdisjoint(("scope", "session"))


def injected(memory: Any, taken: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations of two parameters that the server fills: the text that was shown, and the answer to it.

    Args:
        memory: the annotation of the memory.
        taken: the annotations of the arguments of a tool that asks, by name.
    """

    async def preview(ctx: Context[App], memory: Memory, **arguments: Any) -> str:
        if arguments["governance_token"] or not _is_global(arguments) or not _can_ask(ctx):
            return ""
        # The person must see the whole text that a token approves, so a text with invisible characters gets none.
        return escaping.visible(await memory.preview_global_write(arguments))

    declare(preview, {"ctx": Context[App], "memory": memory, **taken}, str)
    shown = Annotated[str, Resolve(preview)]

    async def ask(shown: str) -> Elicit[Approval] | None:
        return Elicit(_question(shown), Approval) if shown else None

    ask.__annotations__ = {"shown": shown, "return": Elicit[Approval] | None}
    return {"shown": shown, "approval": Annotated[ElicitationResult[Approval], Resolve(ask)]}


async def token(memory: Memory, shown: str, approval: ElicitationResult[Approval]) -> str | None:
    """Return the token of an approved text; None if they gave no answer, which leaves it to the store.

    Raises:
        NotPermitted: the person declined.
    """
    if isinstance(approval, CancelledElicitation):
        return None
    if not isinstance(approval, AcceptedElicitation) or not approval.data.approve:
        raise NotPermitted(
            "The person you work for declined: nothing was saved. Do not send it again unless they ask for it."
        )
    return (await memory.request_global_write_approval(shown, asked=True)).token


def _is_global(arguments: Mapping[str, Any]) -> bool:
    """Whether a save, or a part of a batch, holds globally."""
    batch = [
        arguments.get("session"),
        *(arguments.get("decisions") or ()),
        *(arguments.get("patterns") or ()),
    ]
    return any(part.get("scope") == "global" for part in (arguments, *filter(None, batch)))


def _can_ask(ctx: Context[App]) -> bool:
    """Whether the client can show its person a form, and a question reaches it."""
    declared = ctx.client_capabilities.elicitation if ctx.client_capabilities else None
    if declared is None or (declared.form is None and declared.url is not None):
        return False
    return (ctx.protocol_version or "") >= _WITHIN_ANSWERS or ctx.session.can_send_request


def _question(shown: str) -> str:
    """Return the question: each line of the text is quoted, so that it does not pass for words of pgmem."""
    quoted = "\n".join(f"> {line}" for line in shown.splitlines())
    return f"An agent asks to save this for all your projects, where every agent of yours will read it:\n\n{quoted}"
