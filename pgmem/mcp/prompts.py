"""The prompts that a user can choose in a client."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

from pgmem import escaping
from pgmem.escaping import quoted
from pgmem.mcp.app import App
from pgmem.worker.extraction_prompt import EXTRACTION


def add(server: MCPServer[App]) -> None:
    """Register the prompts; the docstring of each is its description for users."""

    @server.prompt()
    def start_session(project_id: str, focus: str | None = None) -> str:
        """Load the memory of a project and begin."""
        about = f", focus={quoted(focus)}" if focus else ""
        return (
            f"Call get_scope_state(project_id={quoted(project_id)}{about}). If it is resolved, call "
            f'retrieve_context(project_id={quoted(project_id)}, scope="{"focus" if focus else "project"}"{about}) '
            "and summarise in a few lines what is current, what conflicts, and what the last session left open. "
            "If it is uncertain, say that nothing is stored yet. Then ask me what we work on."
        )

    @server.prompt()
    def end_session(project_id: str) -> str:
        """Save the session, its decisions and its patterns."""
        return (
            f"Close this session for project {quoted(project_id)}: call store_session_with_learnings with the "
            "session (objective, actions_taken, decisions_made, open_items, next_actions), each decision "
            "(title, rationale) and each pattern (trigger, repeatable_steps) that was settled here and is "
            "not stored yet. Leave out what we only looked at. Then list the status of each, and which wait "
            "for a person."
        )

    @server.prompt()
    def memory_review(project_id: str) -> str:
        """Review and repair the memory, with the person."""
        return (
            f"Call run_hygiene(project_id={quoted(project_id)}) and memory_freshness("
            f"project_id={quoted(project_id)}), page by "
            "page while next_offset is set. Give the counts in one line, then finding by finding what to do. "
            "Change nothing before I agree: then use the verb that the finding names; merge_entities, supersede, "
            "retry_save and resolve_review are mine to run (pgmem hygiene, pgmem review). Then call reflect and "
            "surface_insights, and ask me of each insight whether to approve or dismiss it (review_insight)."
        )

    @server.prompt()
    def extract_memories(project_id: str) -> str:
        """Extract memories from captured turns."""
        return (
            f"Call begin_extraction(project_id={quoted(project_id)}). {EXTRACTION} Call apply_extraction "
            "once, report what was stored, what waits for me and what was rejected, and go on while turns remain."
        )

    @server.prompt()
    def analysis_routing(task_description: str) -> str:
        """Choose how to reason about a task before you begin."""
        return (
            f"Call route_analysis with this task: {escaping.as_data(task_description)}\n"
            "Say which mode and why, then follow its "
            "suggested steps one by one. Look up what was decided before with search_memory, and save what is "
            "decided now with save_decision."
        )
