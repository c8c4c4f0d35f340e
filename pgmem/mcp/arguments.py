"""Invalid arguments of a tool: one sentence that says what to send."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from pgmem.mcp.schemas import resolved


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


def unknown(tool: str, known: Sequence[str], arguments: Mapping[str, object]) -> str | None:
    """Return a sentence about an argument that is none of those known; None if all are."""
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
    """Return in words the schema's requirement at a path."""
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
