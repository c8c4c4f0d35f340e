"""Approval by the person behind a client: a global save is shown to them, where their client supports it.

The store decides the weight of an answer (the setting `approval`), and a token is good for the text that was
shown. Where the client cannot ask, or the agent sends a token, the save is passed on unchanged.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import mcp.types as protocol
from mcp.server.context import ServerRequestContext
from mcp.server.elicitation import render_elicitation_schema
from pydantic import BaseModel, Field, ValidationError

from pgmem import escaping
from pgmem.calls.saves import holds_globally
from pgmem.declaration import Verb
from pgmem.errors import NotPermitted
from pgmem.mcp.app import App
from pgmem.mcp.tool import Refused
from pgmem.memory import Memory

_WITHIN_ANSWERS = "2026-07-28"
"""From this version of MCP on, a question travels in the answer to a call, which needs no stream to the client."""
_QUESTION = "approval"
"""The name of the question in such an answer."""

Context = ServerRequestContext[App, Any]


class Approval(BaseModel):
    """The answer of a person."""

    approve: bool = Field(title="Save it", description="For all your projects, until somebody forgets it.")


def asks(verb: Verb) -> bool:
    """Whether a save of this verb can hold globally."""
    return "governance_token" in verb.listed and not verb.listed.keys().isdisjoint(("scope", "session"))


async def approved(
    memory: Memory, arguments: dict[str, Any], context: Context, sent: protocol.CallToolRequestParams
) -> dict[str, Any] | protocol.InputRequiredResult:
    """Return the arguments of a save, with a token if a person approved it; or the question that the client asks them.

    Raises:
        NotPermitted: the person declined.
        Refused: the client sent no answer that can be read.
    """
    if arguments["governance_token"] or not holds_globally(arguments) or not _can_ask(context):
        return arguments
    # The person must see the whole text that a token approves, so a text with invisible characters gets none.
    shown = escaping.visible(await memory.preview_global_write(arguments))
    if not shown:
        return arguments
    answer = await _answer(_question(shown), context, sent)
    if isinstance(answer, protocol.InputRequiredResult):
        return answer
    if answer.action == "cancel":  # they gave no answer, which leaves it to the store
        return {**arguments, "governance_token": None}
    if answer.action != "accept" or not _read(answer).approve:
        raise NotPermitted(
            "The person you work for declined: nothing was saved. Do not send it again unless they ask for it."
        )
    token = (await memory.request_global_write_approval(shown, asked=True)).token
    return {**arguments, "governance_token": token}


async def _answer(
    question: str, context: Context, sent: protocol.CallToolRequestParams
) -> protocol.ElicitResult | protocol.InputRequiredResult:
    """Return the answer to a question; or the question, for a client that brings the answer with its next call."""
    form = render_elicitation_schema(Approval)
    if context.protocol_version < _WITHIN_ANSWERS:
        return await context.session.elicit_form(question, form, related_request_id=context.request_id)
    asked = sha256(question.encode()).hexdigest()
    answer = (sent.input_responses or {}).get(_QUESTION)
    if answer is None or sent.request_state != asked:  # an answer to another text counts for nothing
        params = protocol.ElicitRequestFormParams(message=question, requested_schema=form)
        return protocol.InputRequiredResult(
            input_requests={_QUESTION: protocol.ElicitRequest(params=params)}, request_state=asked
        )
    if not isinstance(answer, protocol.ElicitResult):
        raise Refused("The answer of the client is not one to the question whether to save this.")
    return answer


def _read(answer: protocol.ElicitResult) -> Approval:
    if answer.content is None:
        raise Refused(
            "The client says that the person accepted, and sends no answer of theirs: nothing was saved."
        )
    try:
        return Approval.model_validate(answer.content)
    except ValidationError as error:
        raise Refused("The answer of the person does not fit the question: nothing was saved.") from error


def _can_ask(context: Context) -> bool:
    """Whether the client can show its person a form, and a question reaches it."""
    capabilities = context.session.client_capabilities
    declared = capabilities.elicitation if capabilities else None
    if declared is None or (declared.form is None and declared.url is not None):
        return False
    return context.protocol_version >= _WITHIN_ANSWERS or context.session.can_send_request


def _question(shown: str) -> str:
    """Return the question: each line of the text is quoted, so that it does not pass for words of pgmem."""
    quoted = "\n".join(f"> {line}" for line in shown.splitlines())
    return f"An agent asks to save this for all your projects, where every agent of yours will read it:\n\n{quoted}"
