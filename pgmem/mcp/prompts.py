"""Prompts a person can pick in a client."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

from pgmem.mcp.app import App

__all__ = ["add"]


def add(server: MCPServer[App]) -> None:
    """Register the prompts."""

    @server.prompt()
    def start_session(project_id: str, focus: str | None = None) -> str:
        """Load what is remembered and begin."""
        about = f', focus="{focus}"' if focus else ""
        return (
            f'Call get_scope_state(project_id="{project_id}"{about}). If it is resolved, call '
            f'retrieve_context(project_id="{project_id}", scope="{"focus" if focus else "project"}"{about}) '
            "and tell me in a few lines what holds, what conflicts, and what the last session left open. "
            "If it is uncertain, say that nothing is kept yet. Then ask me what we work on."
        )

    @server.prompt()
    def end_session(project_id: str) -> str:
        """Save what should last."""
        return (
            f'Close this session for project "{project_id}": call store_session_with_learnings with the '
            "session (objective, actions_taken, decisions_made, open_items, next_actions), each decision "
            "(title, rationale) and each pattern (trigger, repeatable_steps) that was settled here and is "
            "not kept yet. Leave out what we only looked at. Then tell me the status of each, and which wait "
            "for a person."
        )
