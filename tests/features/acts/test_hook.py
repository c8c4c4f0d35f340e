"""Texts at an act: a rule before the command, a repair after its failure, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.features.acts.conftest import Act, Save
from tests.features.editor.conftest import Hook

RULE = "Never rewrite the history of main."
FORCE = "git push --force origin main"
FAILED = "Exit code 1\nModuleNotFoundError: No module named 'zarnakplot'"


def said(answer: Any) -> str:
    return "" if answer is None else str(answer["hookSpecificOutput"].get("additionalContext", ""))


def asked(answer: Any) -> str | None:
    return None if answer is None else answer["hookSpecificOutput"].get("permissionDecisionReason")


def test_a_prohibition_of_a_person_comes_with_its_command_and_makes_the_client_ask(
    save: Save, act: Act
) -> None:
    save(RULE)
    answer = act(FORCE)
    assert RULE in said(answer)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert RULE in str(asked(answer))
    assert "A person said on" in str(asked(answer))
    again = act(FORCE)
    assert said(again) == ""  # it is in the context already
    assert RULE in str(asked(again))
    assert act("git push origin work") is None
    assert act("git log main") is None


def test_one_setting_ends_the_questions_and_another_all_of_it(save: Save, act: Act) -> None:
    save(RULE)
    quiet = act(FORCE, PGMEM_ASK="off")
    assert RULE in said(quiet)
    assert asked(quiet) is None
    assert act(FORCE, session="s2", PGMEM_ACTS="off") is None


def test_a_rule_of_an_agent_is_data_and_asks_nobody(save: Save, act: Act) -> None:
    save("Never publish packages from a branch.", by="mcp")
    answer = act("npm publish")
    assert "by agent" in said(answer)
    assert "Instruction" not in said(answer)
    assert asked(answer) is None


@pytest.mark.parametrize(
    ("rule", "meets", "foreign"),
    [
        ("Never run terraform destroy, whatever the workspace.", "terraform destroy", "terraform plan"),
        ("cargo publish is Lena's job, not yours.", "cargo publish", "cargo build"),
        ("Only deploy to fly with the canary strategy.", "fly deploy", "fly deploy --strategy canary"),
        ("Never squash when you merge.", "gh pr merge 12 --squash", "gh pr merge 12 --merge"),
        ("Search with rg; grep reads the build folders.", "grep -rn x src", "rg x src"),
        ("Don't delete remote branches.", "git push origin --delete old", "git branch -d old"),
    ],
)
def test_a_rule_in_another_turn_of_phrase(save: Save, act: Act, rule: str, meets: str, foreign: str) -> None:
    save(rule)
    assert act(foreign) is None
    assert rule in said(act(meets, session="s2"))


def test_what_comes_has_at_most_three_lines_and_sixty_tokens(save: Save, act: Act) -> None:
    for number in range(5):
        save(
            f"Never force a push to main, reason {number}: "
            + "the release of the customers is cut from it. " * 4
        )
    text = said(act(FORCE))
    assert len(text) <= 240
    assert 1 <= text.count("\n- ") <= 3
    assert "2 more" in text


def test_a_command_of_every_client_is_read_by_its_form(save: Save, act: Act, root: Path, hook: Hook) -> None:
    save(RULE)
    codex = act("", tool_input={"command": ["bash", "-lc", FORCE]}, session="c", turn_id="1")
    assert RULE in said(codex)
    assert asked(codex) is None  # it would refuse the answer as a whole
    cursor = hook(
        {
            "hook_event_name": "beforeShellExecution",
            "conversation_id": "u",
            "workspace_roots": [str(root)],
            "cursor_version": "2.0.77",
            "command": FORCE,
            "cwd": str(root),
        }
    )
    assert cursor["permission"] == "ask"
    assert RULE in cursor["user_message"]
    gemini = act(
        FORCE,
        "AfterTool",
        "g",
        tool_name="run_shell_command",
        timestamp="2026-03-01T10:00:00Z",
        tool_response={"llmContent": "Output: done\nExit Code: 0"},
        permission_mode=None,
    )
    assert RULE in said(gemini)
    patched = act(
        "*** Begin Patch\n*** Update File: src/generated/api.ts\n*** End Patch",
        "PreToolUse",
        "p",
        turn_id="1",
    )
    assert patched is None
    save("Never change generated files by hand.")
    patched = act(
        "*** Begin Patch\n*** Update File: src/generated/api.ts\n*** End Patch",
        "PreToolUse",
        "p",
        turn_id="1",
    )
    assert "generated" in said(patched)


def test_a_new_file_is_no_change_of_one(save: Save, act: Act, root: Path) -> None:
    save("Never edit a migration that was applied.")
    (root / "migrations").mkdir()
    (root / "migrations" / "0001.sql").write_text("select 1;\n")
    for name, found in (("0001.sql", True), ("0002.sql", False)):
        given = {"file_path": str(root / "migrations" / name), "content": "select 2;"}
        assert ("migration" in said(act("", tool_name="Write", tool_input=given))) is found


def test_a_commit_is_on_the_branch_of_the_work_tree(save: Save, act: Act, root: Path) -> None:
    save("Never commit to main.")
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert "main" in said(act("git commit -m x"))
    (root / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    assert act("git commit -m x", session="s2") is None


def test_a_tool_of_another_server_is_compared_by_its_name_and_one_of_pgmem_is_not(
    save: Save, act: Act
) -> None:
    save("Never merge a pull request without a review.")
    given = {"tool_name": "mcp__github__merge_pull_request", "tool_input": {"number": 12}}
    assert "merge" in said(act("", **given))
    assert act("", tool_name="mcp__pgmem__save_decision", tool_input={"title": "merge"}) is None


def test_an_error_gets_what_mended_it_once_in_a_session(save: Save, act: Act) -> None:
    save(
        "The import of zarnakplot fails since it left our index: uv add zarnakplot==2.4 --index wheelhouse.",
        by="mcp",
    )
    first = act("uv run python -m plots", "PostToolUseFailure", error=FAILED)
    assert "uv add zarnakplot==2.4" in said(first)
    assert act("uv run python -m plots", "PostToolUseFailure", error=FAILED) is None
    other = FAILED.replace("zarnakplot", "pandas")
    assert act("uv run python -m plots", "PostToolUseFailure", error=other) is None
    assert act("x", "PostToolUseFailure", "s3", error=FAILED, is_interrupt=True) is None


@pytest.mark.parametrize(
    "response",
    [
        {"stdout": "", "stderr": FAILED, "exit_code": 1},
        json.dumps({"output": FAILED, "metadata": {"exit_code": 1}}),
        FAILED.replace("Exit code 1", "Process exited with code 1"),
    ],
)
def test_a_result_that_is_not_zero_is_a_failure_too(save: Save, act: Act, response: Any) -> None:
    save("zarnakplot left our index: uv add zarnakplot==2.4 --index wheelhouse.", by="mcp")
    assert "wheelhouse" in said(act("python plots.py", "PostToolUse", tool_response=response))


def test_a_failure_that_a_change_mended_is_proposed_as_a_pattern(save: Save, act: Act, dsn: str) -> None:
    save("The project begins.")
    act("make plots", "PostToolUseFailure", error=FAILED)
    act("cat plots.py")
    act("uv add zarnakplot==2.4")
    act("make plots", "PostToolUse", tool_response={"stdout": "done", "stderr": ""})
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "select arguments, message from pgmem.save_attempt where verb = 'save_pattern'"
        ).fetchall()
    ((arguments, message),) = rows
    assert arguments["repeatable_steps"] == ["uv add zarnakplot==2.4"]
    assert arguments["trigger"] == "make plots fails: ModuleNotFoundError: No module named 'zarnakplot'"
    assert "claude-code" in message


def test_a_success_without_a_change_proposes_nothing(save: Save, act: Act, dsn: str) -> None:
    save("The project begins.")
    act("make plots", "PostToolUseFailure", error=FAILED)
    act("make plots", "PostToolUse", tool_response={"stdout": "done", "stderr": ""})
    with psycopg.connect(dsn) as connection:
        assert (
            connection.execute("select from pgmem.save_attempt where verb = 'save_pattern'").fetchall() == []
        )


def test_a_sub_agent_begins_with_the_rules_of_now(save: Save, act: Act, dsn: str) -> None:
    save("Never use tabs.")
    assert "Never use tabs." in said(act("", "SubagentStart", agent_id="a1", agent_type="Explore"))
    with psycopg.connect(dsn) as connection:
        connection.execute("select set_config('pgmem.source', 'cli', true)")
        connection.execute(
            "select pgmem.forget(p_label => 'Context', p_key => n.id::text) from pgmem.node n where n.title = 'Never use tabs.'"
        )
    save("Never use spaces.")
    later = said(act("", "SubagentStart", agent_id="a2", agent_type="Explore"))
    assert "Never use spaces." in later
    assert "tabs" not in later


def test_what_a_sub_agent_said_is_not_the_last_conversation(save: Save, act: Act, tmp_path: Path) -> None:
    save("The project begins.")
    own, child = tmp_path / "own.jsonl", tmp_path / "agent-a1.jsonl"
    line = {"type": "user", "timestamp": "2026-03-01T10:00:00.000Z"}
    asked_for = {"role": "user", "content": "Please count the red bricks."}
    own.write_text(
        json.dumps({**line, "uuid": "00000000-0000-4000-8000-000000000001", "message": asked_for}) + "\n"
    )
    order = {"role": "user", "content": "You are a searcher of files, find all the yellow chairs."}
    child.write_text(
        json.dumps({**line, "uuid": "00000000-0000-4000-8000-000000000002", "message": order}) + "\n"
    )
    act("", "Stop", "s1", transcript_path=str(own))
    act(
        "",
        "SubagentStop",
        "s2",
        agent_id="a1",
        agent_transcript_path=str(child),
        last_assistant_message="done",
    )
    begun = said(act("", "SessionStart", "s3", source="startup"))
    assert "red bricks" in begun
    assert "yellow chairs" not in begun


def test_what_was_brought_comes_again_after_a_compaction(save: Save, act: Act) -> None:
    save("The import of zarnakplot fails since it left our index: uv add zarnakplot==2.4.", by="mcp")
    act("", "SessionStart", source="startup")
    act("python plots.py", "PostToolUseFailure", error=FAILED)
    act("", "PreCompact", trigger="auto")
    again = said(act("", "SessionStart", source="compact"))
    assert again.count("zarnakplot==2.4") >= 1
