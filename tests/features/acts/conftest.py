"""A project with rules, and the hook of a session in its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.features.editor.conftest import Hook, data_dir, hook, repository

__all__ = ["Save", "act", "data_dir", "hook"]

Save = Callable[..., None]
Act = Callable[..., Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the project, a work tree on branch work."""
    return repository(tmp_path / "shop", remote="https://git.example/acme/shop.git")


@pytest.fixture
def save(dsn: str, hook: Hook, root: Path) -> Save:
    """`save("Never …")`: keep a text in the project as a person; with `by="mcp"` as an agent."""
    hook({"hook_event_name": "SessionStart", "session_id": "first", "cwd": str(root), "source": "startup"})

    def save(text: str, by: str = "cli") -> None:
        with psycopg.connect(dsn) as connection:
            connection.execute("select set_config('pgmem.source', %s, true)", (by,))
            (project,) = connection.execute(
                "select key from pgmem.node where label = 'Project'"
            ).fetchone() or ("",)
            (status,) = connection.execute(
                "select status from pgmem.save_context(p_content => %s, p_project_id => %s)", (text, project)
            ).fetchone() or ("",)
            assert status == "saved"

    return save


@pytest.fixture
def act(hook: Hook, root: Path) -> Act:
    """`act("git push")`: the answer of the hook before a command; other events by name, other fields besides."""

    def act(command: str, event: str = "PreToolUse", session: str = "s1", *options: str, **more: Any) -> Any:
        environment = {name: more.pop(name) for name in list(more) if name.isupper()}
        given = {
            "session_id": session,
            "cwd": str(root),
            "permission_mode": "default",
            "hook_event_name": event,
            "tool_name": "Bash",
            "tool_input": {"command": command},
            **more,
        }
        return hook(given, *options, **environment)

    return act
