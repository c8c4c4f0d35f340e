"""Routing without a server, for an agent whose database is away: the rules of sql/core/quality/62-routing.sql."""

from __future__ import annotations

import re
from typing import Any

from pgmem._verbs import WAYS_TO_REASON
from pgmem.calls.caller import Caller
from pgmem.errors import InvalidArgument
from pgmem.models import Route

SERVERLESS = frozenset({"route_analysis"})
"""The verbs whose method asks no server."""

_MAX_CHARS = 100_000  # as the setting max_text_chars is delivered


async def route_analysis(_caller: Caller, params: dict[str, Any]) -> Route:
    """Recommend a way to reason; asks no server."""
    return routed(params["task_description"], params["task_type_hint"])


def routed(task_description: str, task_type_hint: str | None = None) -> Route:
    """Return the way to reason about a task.

    Raises:
        InvalidArgument: a text is too long.
    """
    hint = _text(task_type_hint, "task_type_hint")
    text = f"{_text(task_description, 'task_description')} {hint}"
    hinted = next((mode for mode in WAYS_TO_REASON if hint == mode or _count(hint, mode)), None)
    found = {mode: _count(text, mode) for mode in WAYS_TO_REASON}
    if hinted is not None:
        mode, rationale = hinted, f"task_type_hint matched {hinted} keywords"
    elif found["debate"] > max(found["sequential"], found["socratic"]):
        mode, rationale = "debate", "task description suggests trade-off evaluation"
    elif found["socratic"] > max(found["sequential"], found["debate"]):
        mode, rationale = "socratic", "task description suggests requirements discovery"
    else:
        mode, rationale = "sequential", "default: structured multi-step analysis"
    _, steps = WAYS_TO_REASON[mode]
    return Route(mode=mode, rationale=rationale, suggested_steps=list(steps))  # type: ignore[arg-type]


def _text(value: str | None, name: str) -> str:
    if value is not None and len(value) > _MAX_CHARS:
        raise InvalidArgument(f"{name} has {len(value)} characters; send at most {_MAX_CHARS}.")
    return (value or "").lower()


def _count(text: str, mode: str) -> int:
    """How many keywords of a way to reason a text holds, as words; a plural counts as its word."""
    patterns = (r"\b" + r"\s+".join(word.split()) + r"s?\b" for word in WAYS_TO_REASON[mode][0])
    return sum(re.search(pattern, text) is not None for pattern in patterns)
