"""The tools, made of the verbs that declare a toolset: methods of `Memory` with the arguments that agents send."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date as Date
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import psycopg
from annotated_types import Ge, Le
from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, Tool, ToolAnnotations
from pydantic import Field, TypeAdapter

from pgmem._verbs import VERBS
from pgmem.calls.methods import RowLimit
from pgmem.calls.routing import SERVERLESS
from pgmem.declaration import Verb
from pgmem.errors import DatabaseUnavailable, PgmemError, summary
from pgmem.mcp import approval as approvals
from pgmem.mcp.app import App
from pgmem.mcp.arguments import AsSent, declare
from pgmem.mcp.shapes import shapes
from pgmem.memory import Memory

P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger("pgmem")

TOOLSETS = tuple(dict.fromkeys(toolset for verb in VERBS.values() for toolset in verb.toolsets))

_RESOLVED = AcceptedElicitation[Any]
"""The class in which the SDK wraps injected values. pydantic keeps it only while it is referenced, and takes 8 ms
to make it, which the SDK asks for at every call."""

_AGENT_ROWS = 100
"""The largest number of rows in an answer to an agent, whose context window is limited."""


def names(*toolsets: str) -> tuple[str, ...]:
    """Return the names of the tools of some toolsets, in their order."""
    found = (verb.name for toolset in toolsets for verb in VERBS.values() if toolset in verb.toolsets)
    return tuple(dict.fromkeys(found))


@functools.cache
def kept() -> Mapping[str, Tool]:
    """Return every tool as it is listed, by name; scripts/generate writes the file, as making a tool takes 10 ms."""
    lines = Path(__file__).with_name("listed.json").read_text(encoding="utf-8")
    return {tool.name: tool for tool in TypeAdapter(list[Tool]).validate_json(lines)}


def add(server: MCPServer[App], app: App, name: str) -> None:
    """Register the tool of a verb, unless it is registered already."""
    if server._tool_manager.get_tool(name) is not None:
        return

    @with_reasons(app)
    async def serverless(ctx: Context[App]) -> Memory:
        return ctx.request_context.lifespan_context.serverless()

    verb = VERBS[name]
    source = Annotated[Memory, Resolve(serverless)] if name in SERVERLESS else opened(app)
    server.add_tool(_tool(verb, app, source), annotations=_hints(verb))
    _answers_as_it_is(server, name)


def _answers_as_it_is(server: MCPServer[App], name: str) -> None:
    """Let the SDK pass a tool's answer on: it is of its class already, and the server writes the text itself."""
    tool = server._tool_manager.get_tool(name)
    assert tool is not None
    kept = tool.fn_metadata
    meta = AsSent.model_construct(**{name: getattr(kept, name) for name in type(kept).model_fields})
    tool.fn_metadata, run = meta, tool.fn
    model: Any = meta.output_model
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    listed = meta.wrap_output  # a list is the field of an object, as an answer is one

    async def call(**arguments: Any) -> CallToolResult:
        found = await run(**arguments)
        plain = adapter.dump_python(model.model_construct(result=found) if listed else found, mode="json")
        return CallToolResult(content=[], structured_content=plain)

    tool.fn, meta.output_model = call, None  # the schema stays


def opened(app: App) -> Any:
    """Return the annotation of a parameter that the server fills with the memory, which it opens if need be."""

    @with_reasons(app)
    async def memory(ctx: Context[App]) -> Memory:
        return await ctx.request_context.lifespan_context.memory()

    return Annotated[Memory, Resolve(memory)]


def _hints(verb: Verb) -> ToolAnnotations:
    """Return the hints for clients about the effects of a tool."""
    if verb.effect in ("read", "look"):
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=verb.effect == "remove",
        idempotent_hint=True if verb.effect in ("repeat", "remove") else None,  # unset means false
        open_world_hint=False,
    )


def _tool(verb: Verb, app: App, injected: Any) -> Callable[..., Awaitable[Any]]:
    """Return a verb as a function of the memory, which the server injects, and the arguments that agents send."""
    method = getattr(Memory, verb.name)
    kinds = get_type_hints(method, include_extras=True)
    declared = signature(method).parameters

    async def call(memory: Memory, shown: str = "", approval: Any = None, **arguments: Any) -> Any:
        if shown:
            arguments["governance_token"] = await approvals.token(memory, shown, approval)
        return await getattr(memory, verb.name)(**arguments)

    sent = {
        name: Annotated[_shaped(name, kinds[name]), Field(description=_brief(meaning))]
        for name, meaning in verb.listed.items()
    }
    usual = {
        name: list(part.default) if part.default == () else part.default for name, part in declared.items()
    }
    asked = approvals.injected(injected, sent) if approvals.asks(verb) else {}
    call.__name__, call.__doc__ = verb.name, verb.description
    declare(call, {"memory": injected, **sent, **asked}, kinds["return"], usual)
    return with_reasons(app)(call)


def _brief(meaning: str) -> str:
    """Return the first clause of the meaning of an argument; the rest is for people."""
    clause = re.split(r"[.;] |[.;]$", meaning, maxsplit=1)[0]
    return re.sub(r",? \d+ to \d+$", "", clause)  # the schema has the bounds


def _shaped(name: str, kind: Any) -> Any:
    """Return the type of an argument in JSON, with the fields of its objects."""
    if name not in shapes():
        return _as_sent(kind)
    return shapes()[name] | None if type(None) in get_args(kind) else shapes()[name]


def _as_sent(kind: Any) -> Any:
    """Return the type of an argument in JSON. Sequences become lists, because pydantic accepts a text as a sequence."""
    if kind == RowLimit:
        return Annotated[int, Ge(1), Le(_AGENT_ROWS)]
    if get_origin(kind) is Sequence:
        return list[get_args(kind)[0]]  # type: ignore[misc]
    if any(get_origin(part) is Sequence for part in get_args(kind)):
        return _as_sent(get_args(kind)[0]) | None
    if Date in get_args(kind):  # programs may also send a text; agents get the format of a date
        return Date | None
    return kind


def with_reasons(app: App) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Return a decorator that gives the agent the reason of a refusal; the SDK hides all other errors."""

    def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        # The annotations were set, not written: Python 3.14 would copy only what makes written ones.
        @functools.wraps(function, assigned=(*functools.WRAPPER_ASSIGNMENTS, "__annotations__"))
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return await function(*args, **kwargs)
            except DatabaseUnavailable as error:
                trouble = (app.trouble or str(error)).rstrip(".")
                kept = "; a save would be queued" if app.keeps_saves() else ""
                raise ToolError(f"{trouble}. Try again later{kept}.") from error
            except PgmemError as error:
                raise ToolError(str(error)) from error
            except psycopg.errors.QueryCanceled as error:
                raise ToolError("The database took too long. Ask for less, or try again later.") from error
            except psycopg.Error as error:
                log.warning("%s: %s", function.__name__, summary(error))
                message = error.diag.message_primary or type(error).__name__
                raise ToolError(f"The database refused: {message}.") from error

        return call

    return decorate
