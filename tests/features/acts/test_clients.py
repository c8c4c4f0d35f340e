"""The table of clients and events in the how-to gives the answer of a hook process to the events of each client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.features.acts.conftest import Save
from tests.features.editor.conftest import Hook

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "memory-at-the-act.md"
COLUMNS = ("client", "before a command", "asks you", "after an error", "sub-agent", "after a compaction")
CLIENTS = {
    "Claude Code": "claude-code",
    "Codex": "codex",
    "Gemini CLI": "gemini-cli",
    "Cursor": "cursor",
    "Windsurf": "windsurf",
}
BY_THEIR_OWN_TESTS = {"Copilot CLI", "Qwen Code", "Hermes", "Cline"}
"""Clients whose events tests/features/editor/test_more_clients.py sends; their rows are compared with no answer."""
RULE = "Never rewrite the history of main."
FORCE = "git push --force origin main"
FAILED = "ModuleNotFoundError: No module named 'zarnakplot'"
REPAIR = "zarnakplot left our index: uv add zarnakplot==2.4 --index wheelhouse."
TEXTS = ("additionalContext", "additional_context")


def table() -> dict[str, dict[str, str]]:
    """The rows of the table, by the name of the client."""
    lines = [line for line in HOW_TO.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    begin = rows.index(list(COLUMNS))
    found: dict[str, dict[str, str]] = {}
    for row in rows[begin + 2 :]:
        if len(row) != len(COLUMNS):
            break
        found[row[0]] = dict(zip(COLUMNS, row, strict=True))
    return found


def read(answer: Any) -> str:
    """The text that an answer gives to the model."""
    inner = (answer or {}).get("hookSpecificOutput") or answer or {}
    return " ".join(str(inner.get(name, "")) for name in TEXTS)


def asks(answer: Any) -> bool:
    """Whether an answer makes the client ask its person."""
    inner = (answer or {}).get("hookSpecificOutput") or answer or {}
    return "ask" in (inner.get("permissionDecision"), inner.get("permission"))


class Client:
    """The events of a client by their published forms, each answered by a separate process."""

    def __init__(self, name: str, hook: Hook, root: Path) -> None:
        self.name, self.hook, self.root = name, hook, root

    def send(self, event: str, session: str, **given: Any) -> Any:
        common: dict[str, Any] = {"hook_event_name": event, "session_id": session, "cwd": str(self.root)}
        if self.name == "claude-code":
            common |= {"permission_mode": "default"}
        elif self.name == "codex":
            common |= {"permission_mode": "default", "turn_id": "1"}
        elif self.name == "gemini-cli":
            common |= {"timestamp": "2026-03-01T10:00:00Z"}
        elif self.name == "cursor":
            common = {
                "hook_event_name": event,
                "conversation_id": session,
                "workspace_roots": [str(self.root)],
                "cursor_version": "2.0.77",
            }
        else:
            common = {"agent_action_name": event, "hook_event_name": event, "trajectory_id": session}
        return self.hook({**common, **given})

    def call(self, event: str, session: str, command: str, printed: str | None = None) -> Any:
        """An event about a command, with its output where it has failed."""
        if event == "beforeShellExecution":
            return self.send(event, session, command=command, cwd=str(self.root))
        given: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}}
        if self.name == "gemini-cli":
            given["tool_name"] = "run_shell_command"
        if event == "PostToolUseFailure":
            given["error"] = f"Exit code 1\n{printed}"
        elif event in ("PostToolUse", "postToolUse"):
            out = {"stdout": "", "stderr": printed or "", "exit_code": 1 if printed else 0}
            given |= {"tool_output": json.dumps(out)} if self.name == "cursor" else {"tool_response": out}
        elif event == "AfterTool":
            code = 1 if printed else 0
            given["tool_response"] = {"llmContent": f"Output: {printed or 'done'}\nExit Code: {code}"}
        return self.send(event, session, **given)


BEFORE = {
    "codex": "PreToolUse",
    "claude-code": "PreToolUse",
    "gemini-cli": "BeforeTool",
    "cursor": "preToolUse",
    "windsurf": "pre_run_command",
}
WITH_RESULT = {"gemini-cli": "AfterTool", "cursor": "postToolUse"}
ASKING = {**BEFORE, "cursor": "beforeShellExecution"}
AFTER: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": ("SessionStart", {"source": "compact"}),
    "codex": ("SessionStart", {"source": "compact"}),
    "gemini-cli": ("BeforeAgent", {"prompt": "Go on with the plots, please."}),
    "cursor": ("beforeSubmitPrompt", {"prompt": "Go on with the plots, please."}),
    "windsurf": ("pre_user_prompt", {"tool_info": {"user_prompt": "Go on with the plots, please."}}),
}
CHILD = {"claude-code": "SubagentStart", "codex": "SubagentStart", "cursor": "subagentStart"}
FAILING = {
    "claude-code": ("PostToolUseFailure", "PostToolUse"),
    "codex": ("PostToolUse",),
    "gemini-cli": ("AfterTool",),
    "cursor": ("postToolUse",),
    "windsurf": ("post_run_command",),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_each_row_of_the_table_is_what_the_hook_answers(
    name: str, save: Save, hook: Hook, root: Path
) -> None:
    row, client = table()[name], Client(CLIENTS[name], hook, root)
    save(RULE)
    save(REPAIR, by="mcp")

    before = client.call(BEFORE[client.name], "a", FORCE)
    later = client.call(WITH_RESULT.get(client.name, "none"), "a", FORCE)
    comes_before, comes_later = RULE in read(before), RULE in read(later)
    cell = row["before a command"]
    assert comes_before is (cell == BEFORE[client.name])
    assert comes_later is cell.startswith("with the result")
    assert comes_before or comes_later or cell == "nothing"

    asked = asks(client.call(ASKING[client.name], "b", FORCE))
    assert asked is row["asks you"].startswith("yes")

    for place, event in enumerate(FAILING[client.name]):
        repaired = "wheelhouse" in read(client.call(event, f"c{place}", "python plots.py", FAILED))
        assert repaired is (event in row["after an error"])
    assert row["after an error"] == "nothing" or FAILING[client.name][0] in row["after an error"]

    if client.name in CHILD:
        child = client.send(CHILD[client.name], "d", agent_id="x")
        assert (RULE in read(child)) is (row["sub-agent"] == "SubagentStart")
    else:
        assert row["sub-agent"] == "no event"

    session = "c0"  # which was brought the repair
    client.send({"gemini-cli": "PreCompress", "cursor": "preCompact"}.get(client.name, "PreCompact"), session)
    event, given = AFTER[client.name]
    again = "wheelhouse" in read(client.send(event, session, **given))
    assert again is (event in row["after a compaction"])


def test_the_table_has_each_client_with_hooks_of_pgmem() -> None:
    assert set(table()) == {*CLIENTS, *BY_THEIR_OWN_TESTS}
