"""The tools, made of the verbs that declare a toolset: methods of `Memory` with the arguments that agents send."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date as Date
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import mcp.types as protocol
import psycopg
from annotated_types import Ge, Le
from pydantic import Field, TypeAdapter

from pgmem._verbs import VERBS
from pgmem.calls.methods import RowLimit
from pgmem.calls.routing import SERVERLESS
from pgmem.declaration import Verb
from pgmem.errors import DatabaseUnavailable, PgmemError, summary
from pgmem.mcp import approval
from pgmem.mcp.app import App
from pgmem.mcp.shapes import shapes
from pgmem.mcp.tool import Tool
from pgmem.memory import Memory

log = logging.getLogger("pgmem")

TOOLSETS = tuple(dict.fromkeys(toolset for verb in VERBS.values() for toolset in verb.toolsets))

_AGENT_ROWS = 100
"""The largest number of rows in an answer to an agent, whose context window is limited."""


def names(*toolsets: str) -> tuple[str, ...]:
    """Return the names of the tools of some toolsets, in their order."""
    found = (verb.name for toolset in toolsets for verb in VERBS.values() if toolset in verb.toolsets)
    return tuple(dict.fromkeys(found))


@functools.cache
def kept() -> Mapping[str, protocol.Tool]:
    """Return every tool as it is listed, by name; scripts/generate writes the file, as making a tool takes 10 ms."""
    lines = Path(__file__).with_name("listed.json").read_text(encoding="utf-8")
    return {tool.name: tool for tool in TypeAdapter(list[protocol.Tool]).validate_json(lines)}


@functools.cache
def of_verb(name: str) -> Tool:
    """Return the tool of a verb."""
    verb = VERBS[name]
    method = getattr(Memory, name)
    kinds = get_type_hints(method, include_extras=True)
    declared = signature(method).parameters
    usual = {part: declared[part].default for part in verb.listed}
    return Tool(
        name=name,
        description=verb.description,
        taken={
            part: Annotated[_shaped(part, kinds[part]), Field(description=_brief(meaning))]
            for part, meaning in verb.listed.items()
        },
        usual={
            part: list(value) if value == () else value
            for part, value in usual.items()
            if value is not declared[part].empty
        },
        answer=kinds["return"],
        run=_method(name),
        hints=_hints(verb),
        serverless=name in SERVERLESS,
        asks=approval.asks(verb),
    )


def _method(name: str) -> Callable[..., Awaitable[Any]]:
    def run(memory: Memory, **arguments: Any) -> Awaitable[Any]:
        answer: Awaitable[Any] = getattr(memory, name)(**arguments)
        return answer

    return run


def _hints(verb: Verb) -> protocol.ToolAnnotations:
    """Return the hints for clients about the effects of a tool."""
    if verb.effect in ("read", "look"):
        return protocol.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return protocol.ToolAnnotations(
        read_only_hint=False,
        destructive_hint=verb.effect == "remove",
        idempotent_hint=True if verb.effect in ("repeat", "remove") else None,  # unset means false
        open_world_hint=False,
    )


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


def reason(app: App, tool: str, error: PgmemError | psycopg.Error) -> str:
    """Return the reason of a refusal for the agent; of all other errors it learns nothing."""
    if isinstance(error, DatabaseUnavailable):
        trouble = (app.trouble or str(error)).rstrip(".")
        kept = "; a save would be queued" if app.keeps_saves() else ""
        return f"{trouble}. Try again later{kept}."
    if isinstance(error, PgmemError):
        return str(error)
    if isinstance(error, psycopg.errors.QueryCanceled):
        return "The database took too long. Ask for less, or try again later."
    log.warning("%s: %s", tool, summary(error))
    return f"The database refused: {error.diag.message_primary or type(error).__name__}."
