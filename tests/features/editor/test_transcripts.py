"""Transcripts of clients through `pgmem hook`: turns are kept, whoever writes it down and however."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.features.editor import events
from pgmem.features.editor.libpq import Connection
from pgmem.features.editor.state import Session
from tests.conftest import Call
from tests.features.editor.conftest import Hook, context, repository

Event = Callable[..., dict[str, Any]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "webshop", "git@github.com:acme/webshop.git")


@pytest.fixture
def event(root: Path, tmp_path: Path) -> Event:
    """`event("Stop")`: the JSON of an event of Claude Code."""

    def event(name: str, **more: Any) -> dict[str, Any]:
        found = {"session_id": "s1", "cwd": str(root), "permission_mode": "default", "hook_event_name": name}
        return {**found, "transcript_path": str(tmp_path / "s1.jsonl"), **more}

    return event


@pytest.fixture
def cursor(root: Path, tmp_path: Path) -> Event:
    """`cursor("beforeSubmitPrompt")`: the JSON of an event of Cursor."""

    def event(name: str, turn: str = "g1", **more: Any) -> dict[str, Any]:
        found = {"conversation_id": "9f0c", "generation_id": turn, "cursor_version": "2.6.1"}
        rest = {"workspace_roots": [str(root)], "transcript_path": str(tmp_path / "9f0c.jsonl")}
        return {**found, **rest, "hook_event_name": name, **more}

    return event


def turns(connection: psycopg.Connection[DictRow]) -> list[tuple[str, str]]:
    rows = connection.execute("select role, content from pgmem.turn order by session_id, place").fetchall()
    return [(row["role"], row["content"]) for row in rows]


def line(number: int, kind: str, content: object, **more: Any) -> str:
    """A line of a transcript of Claude Code."""
    message = {"role": kind, "content": content, **({"model": "m-1"} if kind == "assistant" else {})}
    entry = {"type": kind, "uuid": f"u-{number}", "sessionId": "s1", "message": message}
    return json.dumps({**entry, "timestamp": f"2026-09-01T10:00:{number:02d}Z", **more}) + "\n"


def of_cursor(role: str, text: str) -> str:
    return json.dumps({"role": role, "message": {"content": [{"type": "text", "text": text}]}}) + "\n"


def log_of(data_dir: Path) -> str:
    file = data_dir / "hooks" / "hook.log"
    return file.read_text() if file.exists() else ""


@pytest.mark.parametrize("written", ["at once", "by the answer", "late", "never", "in no known form"])
def test_the_words_of_cursor_are_kept_once_whenever_it_writes_its_transcript(
    hook: Hook, cursor: Event, connection: psycopg.Connection[DictRow], tmp_path: Path, written: str
) -> None:
    """Nothing was kept where an event named a transcript."""
    file = tmp_path / "9f0c.jsonl"
    said = [("user", "Never log the challenge."), ("assistant", "It is not logged."), ("user", "Why not?")]
    texts = [
        of_cursor(role, f"<user_query>\n{text}\n</user_query>" if role == "user" else text)
        for role, text in said
    ]
    if written == "in no known form":
        file.write_text('{"speaker": "human", "words": "Never log the challenge."}\n')
    if written == "at once":
        file.write_text(texts[0])
    hook(cursor("beforeSubmitPrompt", prompt=said[0][1]), "--client", "cursor")
    if written == "by the answer":
        file.write_text("".join(texts[:2]))
    hook(cursor("afterAgentResponse", text=said[1][1]), "--client", "cursor")
    hook(cursor("beforeSubmitPrompt", "g2", prompt=said[2][1]), "--client", "cursor")
    if written in ("late", "at once", "by the answer"):
        file.write_text("".join(texts))
    hook(cursor("sessionEnd", "g3"), "--client", "cursor")
    assert turns(connection) == said


def test_an_answer_that_is_said_again_is_kept_again(
    hook: Hook, cursor: Event, connection: psycopg.Connection[DictRow], tmp_path: Path
) -> None:
    file = tmp_path / "9f0c.jsonl"
    for number in range(2):
        hook(cursor("afterAgentResponse", f"g{number}", text="Done."), "--client", "cursor")
        file.write_text(of_cursor("assistant", "Done.") * (number + 1))
    hook(cursor("sessionEnd", "g9"), "--client", "cursor")
    assert turns(connection) == [("assistant", "Done.")] * 2


def test_the_words_of_events_are_kept_where_a_transcript_gives_none_and_it_is_logged_once(
    hook: Hook, event: Event, connection: psycopg.Connection[DictRow], data_dir: Path, tmp_path: Path
) -> None:
    """A session on another machine, whose transcript is elsewhere; and one of a form that nobody knows."""
    hook(event("UserPromptSubmit", prompt="# Retry a payment once\n\nand never twice."))
    hook(event("Stop", last_assistant_message="It retries once."))
    (tmp_path / "s1.jsonl").write_text(
        '{"kind": "talk", "who": "human", "text": "Keep the old tax table too."}\n'
    )
    hook(event("UserPromptSubmit", prompt="Keep the old tax table too."))
    hook(event("Stop", last_assistant_message="It stays."))
    assert turns(connection) == [
        ("user", "# Retry a payment once\n\nand never twice."),
        ("assistant", "It retries once."),
        ("user", "Keep the old tax table too."),
        ("assistant", "It stays."),
    ]
    assert log_of(data_dir).count("gives no turn: the words of the events are kept in its place") == 1


def test_what_a_person_types_while_the_agent_works_is_kept(
    hook: Hook, event: Event, connection: psycopg.Connection[DictRow], tmp_path: Path
) -> None:
    """The correction was lost."""
    queued = {
        "type": "queued_command",
        "prompt": [{"type": "image", "source": {}}, {"type": "text", "text": "Leave legacy_tax.py alone."}],
        "commandMode": "prompt",
        "origin": {"kind": "human"},
    }
    done = {**queued, "prompt": "npm test is done now", "commandMode": "task-notification"}
    (tmp_path / "s1.jsonl").write_text(
        line(1, "user", "Move the cart to the new service.")
        + "".join(
            json.dumps({"type": "attachment", "uuid": f"q-{n}", "sessionId": "s1", "attachment": each}) + "\n"
            for n, each in enumerate((queued, done))
        )
        + line(3, "assistant", [{"type": "text", "text": "legacy_tax.py stays."}])
    )
    hook(event("Stop"))
    assert turns(connection) == [
        ("user", "Move the cart to the new service."),
        ("user", "Leave legacy_tax.py alone."),
        ("assistant", "legacy_tax.py stays."),
    ]


def test_a_session_opens_with_what_was_said_and_not_with_what_a_client_put_in(
    hook: Hook, event: Event, tmp_path: Path
) -> None:
    """It began with a task notification as asked, and with an error of the service as answered."""
    (tmp_path / "s1.jsonl").write_text(
        line(1, "user", "Migrate the invoices table to euro cents.")
        + line(2, "assistant", [{"type": "text", "text": "Step 2 of 3 is done."}])
        + line(3, "user", "<task-notification>\n<status>completed</status>\n</task-notification>")
        + line(4, "user", "npm test completed with code 0", origin={"kind": "task-notification"})
        + line(
            5, "assistant", [{"type": "text", "text": "API Error: 529 Overloaded."}], isApiErrorMessage=True
        )
    )
    hook(event("Stop", last_assistant_message="API Error: 529 Overloaded."))
    opening = context(hook(event("SessionStart", session_id="s2", source="startup")), "SessionStart")
    assert "asked] Migrate the invoices table to euro cents." in opening
    assert "answered] Step 2 of 3 is done." in opening
    assert "npm test" not in opening
    assert "529" not in opening


def test_a_form_that_a_new_release_brings_is_logged_once_and_listed_by_doctor(
    hook: Hook, event: Event, connection: psycopg.Connection[DictRow], data_dir: Path, tmp_path: Path
) -> None:
    from pgmem.features.editor.checks import examine_clients

    file = tmp_path / "s1.jsonl"
    spoken = {
        "type": "voice_note",
        "uuid": "v-1",
        "version": "3.0.1",
        "transcript": "Ship it on Tuesday only.",
    }
    file.write_text(line(1, "user", "Ship it.", version="3.0.1") + json.dumps(spoken) + "\n")
    hook(event("Stop"))
    with file.open("a") as more:
        more.write(json.dumps({**spoken, "uuid": "v-2"}) + "\n" + line(2, "user", "Why?"))
    hook(event("Stop"))
    hook(event("SessionEnd", session_id="s2"))
    assert turns(connection)[:2] == [("user", "Ship it."), ("user", "Why?")]
    form = "the line type voice_note of claude-code 3.0.1"
    assert log_of(data_dir).count(form) == 1
    assert f"line 2 of {file}" in log_of(data_dir)
    found = list(examine_clients(tmp_path, tmp_path, {"PGMEM_DATA_DIR": str(data_dir)}))
    assert [finding.check for finding in found if form in finding.message] == ["transcripts"]


TASK = "Change the cache time of product pages to two minutes"
DECIDED = "Serve product pages from a cache for five minutes"


@pytest.fixture
def brought(
    dsn: str, hook: Hook, event: Event, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """`brought(prompt)`: the text that a prompt brings, however long a busy machine takes for it."""
    monkeypatch.setitem(events._QUERY_S, "prompt", 30.0)
    hook(event("SessionStart", session_id="s0", source="startup"))
    call("save_decision", title=DECIDED, rationale="Load.", project_id="webshop")

    def brought(prompt: str) -> str:
        given = event("UserPromptSubmit", prompt=prompt)
        session = Session(tmp_path, "claude-code", "s1")
        with Connection(dsn) as server:
            return events.prompt(
                events.Event("UserPromptSubmit", "prompt", "claude-code", given, session, tmp_path), server
            ).text

    return brought


@pytest.mark.parametrize(
    "prompt",
    [TASK, f"# {TASK}", f"## Bug\n\n{TASK}", f"/fix {TASK}", f"!{TASK}", f"#{TASK}", f"- {TASK}", f"> {TASK}",
     f"I saw <system-reminder> in the log. {TASK}", f"{TASK}\n<ide_selection>\nx = 1\n</ide_selection>"],
)  # fmt: skip
def test_a_prompt_is_a_prompt_whatever_sign_it_begins_with(
    brought: Callable[[str], str], prompt: str
) -> None:
    assert DECIDED in brought(prompt)


@pytest.mark.parametrize(
    "prompt",
    ["/clear", "/compact", "/plugin:review", "<task-notification>\nproduct pages cache\n</task-notification>",
     "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"],
)  # fmt: skip
def test_a_bare_command_of_the_client_asks_nothing(brought: Callable[[str], str], prompt: str) -> None:
    assert brought(prompt) == ""


def test_windsurf_brings_its_words_by_events(
    hook: Hook, root: Path, connection: psycopg.Connection[DictRow], tmp_path: Path
) -> None:
    about = {
        "trajectory_id": "t-1",
        "execution_id": "e-1",
        "timestamp": "2026-09-01T10:00:00Z",
        "cwd": str(root),
    }
    file = tmp_path / "t-1.jsonl"

    def sent(name: str, **more: str) -> None:
        hook(
            {**about, "agent_action_name": name, "hook_event_name": name, "tool_info": more},
            "--client",
            "windsurf",
        )

    sent("pre_user_prompt", user_prompt="Move the tests to pytest.")
    sent("post_cascade_response", response="They are moved.")
    file.write_text(
        '{"type": "user_input", "status": "done", "user_input": {"user_response": "Move the tests to pytest."}}\n'
        '{"type": "planner_response", "status": "done", "planner_response": {"response": "They are moved."}}\n'
    )
    sent("post_cascade_response_with_transcript", transcript_path=str(file))
    assert turns(connection) == [("user", "Move the tests to pytest."), ("assistant", "They are moved.")]
