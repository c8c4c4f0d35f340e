"""Routing without a server: the rules of sql/61-routing.sql, read by an agent whose database is away.

The verb in SQL is the declaration; a test compares the two, word by word.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from pgmem.engines.base import Engine
from pgmem.errors import InvalidArgument
from pgmem.models import Route

SERVERLESS = frozenset({"route_analysis"})
"""The verbs whose method asks no server."""

_Mode = Literal["sequential", "debate", "socratic"]
_MAX_CHARS = 100_000  # as the setting max_text_chars is delivered

_WORDS: dict[_Mode, tuple[str, ...]] = {
    "sequential": (
        *("strategic", "strategy", "multi-factor", "planning", "roadmap", "prioritize"),
        *("milestone", "initiative", "phase"),
    ),
    "debate": (
        *("trade-off", "tradeoff", "compare", "versus", "vs", "debate", "alternatives", "option", "choose"),
        "decision between",
    ),
    "socratic": (
        *("unclear", "requirements", "discovery", "explore", "what do you mean", "clarify", "understand"),
        *("not sure", "ambiguous"),
    ),
}

_STEPS: dict[_Mode, list[str]] = {
    "sequential": [
        "Define the problem statement and success criteria.",
        "Gather relevant context from memory (retrieve_context).",
        "Break the problem into sequential steps or phases.",
        "Analyze each step for dependencies and risks.",
        "Synthesize conclusions and save durable decisions.",
    ],
    "debate": [
        "Enumerate the competing options or trade-offs.",
        "Retrieve prior decisions on similar trade-offs.",
        "Evaluate each option against criteria (cost, risk, fit).",
        "State the recommended option with rationale.",
        "Save the final decision with confidence score.",
    ],
    "socratic": [
        "Identify what is unclear or ambiguous in the request.",
        "Ask targeted clarifying questions (one at a time).",
        "Confirm understanding before proceeding.",
        "Restate requirements in your own words for validation.",
        "Proceed with analysis only after requirements are resolved.",
    ],
}


class Routing(Engine):
    """How to reason about a task."""

    async def _route_analysis(self, params: dict[str, Any]) -> Route:
        """Recommend a way to reason; asks no server."""
        hint = _text(params["task_type_hint"], "task_type_hint")
        text = f"{_text(params['task_description'], 'task_description')} {hint}"
        hinted = next((mode for mode in _WORDS if hint == mode or _count(hint, mode)), None)
        if hinted is not None:
            return Route(
                mode=hinted,
                rationale=f"task_type_hint matched {hinted} keywords",
                suggested_steps=_STEPS[hinted],
            )
        found = {mode: _count(text, mode) for mode in _WORDS}
        if found["debate"] > max(found["sequential"], found["socratic"]):
            mode, rationale = "debate", "task description suggests trade-off evaluation"
        elif found["socratic"] > max(found["sequential"], found["debate"]):
            mode, rationale = "socratic", "task description suggests requirements discovery"
        else:
            mode, rationale = "sequential", "default: structured multi-step analysis"
        return Route(mode=mode, rationale=rationale, suggested_steps=_STEPS[mode])  # type: ignore[arg-type,index]


def _text(value: str | None, name: str) -> str:
    if value is not None and len(value) > _MAX_CHARS:
        raise InvalidArgument(f"{name} has {len(value)} characters; send at most {_MAX_CHARS}.")
    return (value or "").lower()


def _count(text: str, mode: _Mode) -> int:
    """How many keywords of a way to reason a text holds, as words; a plural counts as its word."""
    patterns = (r"\b" + r"\s+".join(word.split()) + r"s?\b" for word in _WORDS[mode])
    return sum(re.search(pattern, text) is not None for pattern in patterns)
