"""The arguments of a tool: how the SDK sees them, and one sentence about invalid ones that says what to send."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from inspect import Parameter, Signature
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from pydantic import ValidationError

from pgmem.mcp.schemas import resolved


def declare(
    function: Any, taken: Mapping[str, Any], returns: Any, defaults: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Give a function the keyword arguments and the answer that the SDK reads off its signature."""
    parts = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=defaults.get(name, Parameter.empty))
        for name, kind in taken.items()
    ]
    function.__annotations__ = {**taken, "return": returns}
    function.__signature__ = Signature(parts, return_annotation=returns)


class AsSent(FuncMetadata):
    """The arguments of a tool, of which text stays text where the schema takes text and neither a list nor an object.

    Clients send lists and objects as texts of JSON, which the SDK parses wherever a text is not all that an argument
    takes; so the topic `["x"]` of an optional text became a list.
    """

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Parse the texts that may be lists or objects."""
        parsed = super().pre_parse_json(data)
        fields = self.arg_model.model_fields
        texts = [name for name, value in data.items() if isinstance(value, str) and name in fields]
        return {**parsed, **{name: data[name] for name in texts if _is_plain_text(fields[name].annotation)}}


def _is_plain_text(annotation: Any) -> bool:
    kinds = set(_members(annotation))
    return str in kinds and all(get_origin(kind) is None and kind in _PLAIN for kind in kinds)


_PLAIN = {str, NoneType, UUID, date, datetime, int, float, bool}


def _members(annotation: Any) -> Iterator[Any]:
    """The types of a union, without what is annotated."""
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    elif get_origin(annotation) is Literal:
        yield from (type(value) for value in get_args(annotation))
    else:
        yield annotation


def refusal(tool: str, schema: Mapping[str, Any], error: ValidationError) -> str:
    """Return a sentence with every invalid argument and what to send instead."""
    problems = {}  # by argument: pydantic reports each branch of a union
    for wrong in error.errors(include_url=False, include_context=False):
        path = wrong["loc"]
        name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        if wrong["type"] == "extra_forbidden":
            problems[name] = f"{name} is not an argument: leave it out"
            continue
        expected = _expected(schema, path)
        if wrong["type"] == "missing":
            problems[name] = f"{name} is missing, send {expected}"
        else:
            problems[name] = f"{name} must be {expected}, not {_shown(wrong['input'])}"
    return f"{tool}: {'; '.join(problems.values())}."


def unknown(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, object]) -> str | None:
    """Return a sentence about an argument that the tool does not have; None if it has all of them."""
    known = list(schema.get("properties", {}))
    strangers = [name for name in arguments if name not in known]
    if not strangers:
        return None
    name = _shown(strangers[0])
    close = get_close_matches(strangers[0], known, 1)
    instead = f"did you mean {close[0]}?" if close else f"It takes {', '.join(known) or 'none'}."
    return (
        f"{tool} has no argument {name}: {instead}" if close else f"{tool} has no argument {name}. {instead}"
    )


def _expected(schema: Mapping[str, Any], path: Sequence[int | str]) -> str:
    """Return in words what the schema requires at a path."""
    root = schema
    for part in path:
        schema = resolved(schema, root)
        found = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        if not isinstance(found, Mapping):
            return "a value that fits the schema of the tool"
        schema = found
    return _words(resolved(schema, root), root)


def _words(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if schema.get("anyOf"):
        return " or ".join(_words(resolved(branch, root), root) for branch in schema["anyOf"])
    kind, form = schema.get("type"), schema.get("format")
    if form == "date":
        return "a date as YYYY-MM-DD"
    if form == "date-time":
        return "a time as YYYY-MM-DDTHH:MM:SSZ"
    if form == "uuid":
        return "a UUID"
    if kind in ("integer", "number"):
        number = "a whole number" if kind == "integer" else "a number"
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and high is not None:
            return f"{number} from {low} to {high}"
        return f"{number} from {low} up" if low is not None else number
    if kind == "array":
        inner = resolved(schema.get("items", {}), root).get("type")
        return {"string": "a list of texts", "object": "a list of objects"}.get(str(inner), "a list")
    return {"string": "text", "boolean": "true or false", "object": "an object", "null": "null"}.get(
        str(kind), "a value that fits the schema of the tool"
    )


def _shown(value: object) -> str:
    """Return a value as JSON, shortened, in ASCII."""
    text = json.dumps(value, default=str, ensure_ascii=True)
    return text if len(text) <= 40 else text[:37] + "..."
