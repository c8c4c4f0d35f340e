"""The prompts that a user can choose in a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature

import mcp.types as protocol
from mcp.shared.exceptions import MCPError

from pgmem import escaping
from pgmem.calls import routing
from pgmem.escaping import quoted
from pgmem.mcp.arguments import unknown
from pgmem.worker.extraction_prompt import EXTRACTION


def start_session(project_id: str, focus: str | None = None) -> str:
    """Load the memory of a project and begin."""
    about = f", focus={quoted(focus)}" if focus else ""
    return (
        f"Call get_scope_state(project_id={quoted(project_id)}{about}). If it is resolved, call "
        f'retrieve_context(project_id={quoted(project_id)}, scope="{"focus" if focus else "project"}"{about}) '
        "and summarise in a few lines what is current, what conflicts, and what the last session left open. "
        "If it is uncertain, say that nothing is stored yet. Then ask me what we work on."
    )


def end_session(project_id: str) -> str:
    """Save the session, its decisions and its patterns."""
    return (
        f"Close this session for project {quoted(project_id)}: call store_session_with_learnings with the "
        "session (objective, actions_taken, decisions_made, open_items, next_actions), each decision "
        "(title, rationale) and each pattern (trigger, repeatable_steps) that was settled here and is "
        "not stored yet. Leave out what we only looked at. Then list the status of each, and which wait "
        "for a person."
    )


def memory_review(project_id: str) -> str:
    """Review and repair the memory, with the person."""
    return (
        f"Call run_hygiene(project_id={quoted(project_id)}), page by "
        "page while next_offset is set. Give the counts in one line, then finding by finding what to do. "
        "Change nothing before I agree: then use the verb that the finding names; merge_entities, supersede, "
        "retry_save and resolve_review are mine to run (pgmem hygiene, pgmem review). How old memories "
        "are (pgmem freshness) and what they say together (pgmem reflect --review) is shown to me."
    )


def extract_memories(project_id: str) -> str:
    """Extract memories from captured turns."""
    return (
        f"Call begin_extraction(project_id={quoted(project_id)}). {EXTRACTION} Call apply_extraction "
        "once, report what was stored, what waits for me and what was rejected, and go on while turns remain."
    )


def analysis_routing(task_description: str) -> str:
    """Choose how to reason about a task before you begin."""
    route = routing.routed(task_description)
    steps = "".join(f"\n{number}. {step}" for number, step in enumerate(route.suggested_steps, 1))
    return (
        f"The task: {escaping.as_data(task_description)}\n"
        f"Reason about it in the mode {route.mode} ({route.rationale}), step by step:{steps}\n"
        "Look up what was decided before with search_memory, and save what is decided now with save_decision."
    )


_PROMPTS: Mapping[str, Callable[..., str]] = {
    prompt.__name__: prompt
    for prompt in (start_session, end_session, memory_review, extract_memories, analysis_routing)
}


def listed() -> list[protocol.Prompt]:
    """Return the prompts; the docstring of each is its description for users."""
    return [
        protocol.Prompt(name=name, description=prompt.__doc__, arguments=_arguments(prompt))
        for name, prompt in _PROMPTS.items()
    ]


def _arguments(prompt: Callable[..., str]) -> list[protocol.PromptArgument]:
    return [
        protocol.PromptArgument(name=part.name, required=part.default is Parameter.empty)
        for part in signature(prompt).parameters.values()
    ]


def filled(name: str, arguments: Mapping[str, str]) -> protocol.GetPromptResult:
    """Return a prompt with its arguments filled in.

    Raises:
        MCPError: the prompt is unknown, or its arguments are not those that it takes (-32602).
    """
    prompt = _PROMPTS.get(name)
    if prompt is None:
        known = ", ".join(_PROMPTS)
        raise MCPError(protocol.INVALID_PARAMS, f"Unknown prompt {name[:80]!r}. Known: {known}.")
    taken = _arguments(prompt)
    if message := unknown(name, [part.name for part in taken], arguments):
        raise MCPError(protocol.INVALID_PARAMS, message)
    if missing := [part.name for part in taken if part.required and not arguments.get(part.name)]:
        raise MCPError(protocol.INVALID_PARAMS, f"{name}: {', '.join(missing)} is missing, send text.")
    text = protocol.TextContent(type="text", text=prompt(**arguments))
    return protocol.GetPromptResult(
        description=prompt.__doc__, messages=[protocol.PromptMessage(role="user", content=text)]
    )
