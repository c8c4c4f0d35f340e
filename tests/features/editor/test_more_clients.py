"""Hooks of Hermes, Copilot CLI and Qwen Code: the payload of each, the text for its model, and the turns kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.features.editor import payloads
from tests.conftest import Call
from tests.features.editor.conftest import Hook, repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "webshop", "git@github.com:acme/webshop.git")


def turns(connection: psycopg.Connection[DictRow]) -> list[tuple[str, str]]:
    rows = connection.execute("select role, content from pgmem.turn order by session_id, place").fetchall()
    return [(row["role"], row["content"]) for row in rows]


def hermes(root: Path, event: str, **extra: Any) -> dict[str, Any]:
    """An event of a shell hook of Hermes."""
    about = {
        "tool_name": None,
        "tool_input": None,
        "session_id": "sess_1",
        "cwd": str(root),
        "profile": "default",
    }
    return {"hook_event_name": event, **about, "extra": extra}


def test_hermes_gets_the_opening_with_the_first_prompt_and_its_words_are_kept(
    hook: Hook, call: Call, root: Path, connection: psycopg.Connection[DictRow]
) -> None:
    hook({"session_id": "s0", "cwd": str(root), "hook_event_name": "SessionStart", "source": "startup"})
    call("save_decision", title="Serve pages from a cache", rationale="Load.", project_id="webshop")
    first = hook(
        hermes(root, "pre_llm_call", user_message="Move the cart to the new service.", is_first_turn=True),
        *("--client", "hermes"),
    )
    assert set(first) == {"context"}
    assert "Serve pages from a cache" in first["context"]
    hook(
        hermes(
            root,
            "post_llm_call",
            user_message="Move the cart to the new service.",
            assistant_response="It is moved.",
        ),
        *("--client", "hermes"),
    )
    parts = [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": "And this?"}]
    hook(hermes(root, "pre_llm_call", user_message=parts, is_first_turn=False), "--client", "hermes")
    hook(hermes(root, "on_session_end", completed=False, interrupted=True), "--client", "hermes")
    assert turns(connection) == [
        ("user", "Move the cart to the new service."),
        ("assistant", "It is moved."),
        ("user", "And this?"),
    ]


def test_a_command_that_a_person_forbids_is_asked_for_in_hermes(hook: Hook, dsn: str, root: Path) -> None:
    hook({"session_id": "s0", "cwd": str(root), "hook_event_name": "SessionStart", "source": "startup"})
    with psycopg.connect(dsn) as connection:
        connection.execute("select set_config('pgmem.source', 'cli', true)")
        said = "Never run git push --force on main."
        connection.execute("select pgmem.save_context(%s, p_project_id => 'webshop')", (said,))
    event = hermes(root, "pre_tool_call")
    event |= {"tool_name": "terminal", "tool_input": {"command": "git push --force origin main"}}
    found = hook(event, "--client", "hermes")
    assert found["action"] == "approve"
    assert said.rstrip(".") in found["message"]


COPILOT = (
    {"type": "session.start", "data": {"sessionId": "c-1", "copilotVersion": "1.0.9"}, "id": "e-0"},
    {
        "type": "user.message",
        "id": "e-1",
        "timestamp": "2026-09-01T10:00:00Z",
        "data": {"content": "Add a health check."},
    },
    {"type": "tool.execution_start", "id": "e-2", "data": {"toolName": "bash"}},
    {
        "type": "assistant.message",
        "id": "e-3",
        "timestamp": "2026-09-01T10:00:09Z",
        "data": {"content": "At /healthz."},
    },
)


def test_copilot_gets_the_opening_and_its_transcript_is_kept_once(
    hook: Hook, call: Call, root: Path, connection: psycopg.Connection[DictRow], tmp_path: Path
) -> None:
    hook({"session_id": "s0", "cwd": str(root), "hook_event_name": "SessionStart", "source": "startup"})
    call("save_decision", title="Serve pages from a cache", rationale="Load.", project_id="webshop")
    about = {"session_id": "c-1", "timestamp": "2026-09-01T10:00:00.000Z", "cwd": str(root)}

    def sent(name: str, **more: Any) -> Any:
        return hook({**about, "hook_event_name": name, **more}, "--client", "copilot")

    opening = sent("SessionStart", source="new")
    assert set(opening) == {"additionalContext"}
    assert "Serve pages from a cache" in opening["additionalContext"]
    assert sent("UserPromptSubmit", prompt="Add a health check.") is None
    file = tmp_path / "c-1" / "events.jsonl"
    file.parent.mkdir()
    file.write_text("".join(json.dumps(line) + "\n" for line in COPILOT))
    for _ in range(2):
        sent("Stop", transcript_path=str(file), stop_reason="end_turn", stop_hook_active=False)
    assert turns(connection) == [("user", "Add a health check."), ("assistant", "At /healthz.")]


def test_a_rule_comes_with_the_result_of_a_command_in_qwen_code(hook: Hook, dsn: str, root: Path) -> None:
    hook({"session_id": "s0", "cwd": str(root), "hook_event_name": "SessionStart", "source": "startup"})
    with psycopg.connect(dsn) as connection:
        connection.execute("select set_config('pgmem.source', 'cli', true)")
        said = "Never run git push --force on main."
        connection.execute("select pgmem.save_context(%s, p_project_id => 'webshop')", (said,))
    event: dict[str, Any] = {
        "session_id": "q-1",
        "cwd": str(root),
        "hook_event_name": "PostToolUse",
        "tool_name": "run_shell_command",
    }
    event |= {
        "tool_input": {"command": "git push --force origin main"},
        "tool_response": {"llmContent": "done"},
    }
    found = hook(event, "--client", "qwen-code")
    assert said.rstrip(".") in found["hookSpecificOutput"]["additionalContext"]


def qwen(kind: str, name: str, *texts: Any, **more: Any) -> dict[str, Any]:
    """A record of a session of Qwen Code."""
    about = {
        "parentUuid": None,
        "sessionId": "q-1",
        "timestamp": "2026-09-01T10:00:00.000Z",
        "version": "0.26.8",
    }
    parts = [part if isinstance(part, dict) else {"text": part} for part in texts]
    role = "model" if kind == "assistant" else "user"
    return {
        "uuid": name,
        **about,
        "type": kind,
        "cwd": "/w",
        "message": {"role": role, "parts": parts},
        **more,
    }


def test_qwen_code_searches_for_typed_prompts_alone_and_its_records_are_kept(
    hook: Hook, root: Path, connection: psycopg.Connection[DictRow], tmp_path: Path
) -> None:
    assert (
        payloads.prompt_of(
            payloads.as_others(
                "qwen-code", {"hook_event_name": "UserPromptSubmit", "prompt": "a result of a tool"}
            )
        )
        is None
    )
    file = tmp_path / "q-1.jsonl"
    brought = "<qwen:user-prompt-submit-context>\nmemory\n</qwen:user-prompt-submit-context>"
    payload = {"displayText": "Add a health check.", "hookContext": "memory"}
    lines = (
        qwen("user", "u-1", "Add a health check.", brought, provenance="real_user", systemPayload=payload),
        qwen(
            "assistant",
            "u-2",
            {"text": "Let me think.", "thought": True},
            "At /healthz.",
            {"functionCall": {"name": "x"}},
        ),
        qwen("tool_result", "u-3", {"functionResponse": {"response": {"output": "a long result of a tool"}}}),
        qwen("user", "u-4", "A task is done in the background.", subtype="notification", provenance="system"),
        qwen("user", "u-5", "And log it, please.", subtype="mid_turn_user_message"),
        {
            **qwen("system", "u-6", subtype="ui_telemetry", systemPayload={"uiEvent": {"a": "b c d e"}}),
            "message": None,
        },
    )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    event = {"session_id": "q-1", "cwd": str(root), "hook_event_name": "Stop", "transcript_path": str(file)}
    hook({**event, "last_assistant_message": "At /healthz."}, "--client", "qwen-code")
    assert turns(connection) == [
        ("user", "Add a health check."),
        ("assistant", "At /healthz."),
        ("user", "And log it, please."),
    ]


def cline(root: Path, event: str, **inner: Any) -> dict[str, Any]:
    """An event of Cline, as docs.cline.bot's hook reference has it; its name is an argument of the command too."""
    about = {"clineVersion": "3.40.0", "timestamp": "1788256800000", "taskId": "1788256799", "userId": "u"}
    kind = event[:1].lower() + event[1:]
    return {"hook_event_name": event, "hookName": event, "workspaceRoots": [str(root)], **about, kind: inner}


def test_cline_gets_the_opening_with_its_task_and_its_words_are_kept(
    hook: Hook, call: Call, root: Path, connection: psycopg.Connection[DictRow]
) -> None:
    hook({"session_id": "s0", "cwd": str(root), "hook_event_name": "SessionStart", "source": "startup"})
    call("save_decision", title="Serve pages from a cache", rationale="Load.", project_id="webshop")
    given = ("--client", "cline")
    begun = hook(
        cline(root, "TaskStart", taskMetadata={"taskId": "1", "initialTask": "Move the cart."}), *given
    )
    assert set(begun) == {"cancel", "contextModification", "errorMessage"}
    assert begun["cancel"] is False
    assert "Serve pages from a cache" in begun["contextModification"]
    sent = hook(
        cline(root, "UserPromptSubmit", prompt="Move the cart to the new service.", attachments=[]), *given
    )
    assert sent["cancel"] is False
    done = cline(root, "TaskComplete", taskMetadata={"taskId": "1", "result": "It is moved.", "command": ""})
    assert hook(done, *given) in (None, {"cancel": False, "contextModification": "", "errorMessage": ""})
    assert turns(connection) == [("user", "Move the cart to the new service."), ("assistant", "It is moved.")]


def test_an_error_of_a_command_of_cline_is_read_as_one() -> None:
    given = payloads.as_others(
        "cline",
        cline(Path("/w"), "PostToolUse", toolName="execute_command", parameters={"command": "npm test"}, result="E404", success=False),
    )  # fmt: skip
    assert (given["tool_name"], given["tool_input"], payloads.failure_of("PostToolUse", given)) == ("Bash", {"command": "npm test"}, "E404")  # fmt: skip
    held = payloads.as_others(
        "cline", cline(Path("/w"), "PreToolUse", toolName="write_to_file", parameters={"path": "a.py"})
    )
    assert payloads.file_of(held) == "a.py"
