"""The prompts that a user can choose in a client."""

from __future__ import annotations

import json

from mcp.server.mcpserver import MCPServer

from pgmem import neutral
from pgmem.engines.asking import EXTRACTION
from pgmem.mcp.app import App


def add(server: MCPServer[App]) -> None:
    """Register the prompts; the docstring of each is its description for users."""

    @server.prompt()
    def start_session(project_id: str, focus: str | None = None) -> str:
        """Load what is remembered and begin."""
        about = f", focus={_quoted(focus)}" if focus else ""
        return (
            f"Call get_scope_state(project_id={_quoted(project_id)}{about}). If it is resolved, call "
            f'retrieve_context(project_id={_quoted(project_id)}, scope="{"focus" if focus else "project"}"{about}) '
            "and tell me in a few lines what holds, what conflicts, and what the last session left open. "
            "If it is uncertain, say that nothing is kept yet. Then ask me what we work on."
        )

    @server.prompt()
    def end_session(project_id: str) -> str:
        """Save what should last."""
        return (
            f"Close this session for project {_quoted(project_id)}: call store_session_with_learnings with the "
            "session (objective, actions_taken, decisions_made, open_items, next_actions), each decision "
            "(title, rationale) and each pattern (trigger, repeatable_steps) that was settled here and is "
            "not kept yet. Leave out what we only looked at. Then tell me the status of each, and which wait "
            "for a person."
        )

    @server.prompt()
    def memory_review(project_id: str) -> str:
        """Look through what is kept and mend it, with the person."""
        return (
            f"Call run_hygiene(project_id={_quoted(project_id)}) and memory_freshness(project_id={_quoted(project_id)}), page by "
            "page while next_offset is set. Tell me the counts in one line, then finding by finding what to do. "
            "Change nothing before I say so: then use the verb that the finding names; merge_entities, supersede, "
            "retry_save and resolve_review are mine to run (pgmem hygiene, pgmem review). Then call reflect and "
            "surface_insights, and ask me of each insight whether to approve or dismiss it (review_insight)."
        )

    @server.prompt()
    def extract_memories(project_id: str) -> str:
        """Look through what was said, and keep what should last."""
        return (
            f"Call begin_extraction(project_id={_quoted(project_id)}). {EXTRACTION} Call apply_extraction "
            "once, tell me what was stored, what waits for me and what was rejected, and go on while turns remain."
        )

    @server.prompt()
    def analysis_routing(task_description: str) -> str:
        """Choose how to reason about a task before you begin."""
        return (
            f"Call route_analysis with this task: {neutral.as_data(task_description)}\nTell me the mode and why, then follow its "
            "suggested steps one by one. Look up what was decided before with search_memory, and save what is "
            "decided now with save_decision."
        )


def _quoted(text: str) -> str:
    """A name as JSON has it, which ends at its own quotes only."""
    return neutral.as_data_in_json(json.dumps(neutral.as_data(text), ensure_ascii=False))
