"""The tasks of Cline and the sessions of opencode: one document each, with a list of messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pgmem.foreign import holds_words
from pgmem.transcripts.forms import Spoken, kind_of, texts
from pgmem.transcripts.reading import Reader, Turn

# ui_messages.json of Cline: {ts, type: say | ask, say | ask, text}
_CLINE_SAID = {"task": "user", "user_feedback": "user", "text": "assistant", "completion_result": "assistant"}
_CLINE_ASKED = {"followup": "question", "plan_mode_respond": "response"}
_CLINE_SILENT = frozenset(
    "error error_retry api_req_started api_req_finished api_req_retried reasoning user_feedback_diff command"
    " command_output tool shell_integration_warning shell_integration_warning_with_suggestion browser_action_launch"
    " browser_action browser_action_result mcp_server_request_started mcp_server_response mcp_notification"
    " use_mcp_server diff_error deleted_api_reqs clineignore_error checkpoint_created load_mcp_documentation info"
    " task_progress hook hook_status hook_output_stream command_permission_denied generate_explanation"
    " conditional_rules_applied use_subagents subagent subagent_usage completion_result api_req_failed resume_task"
    " resume_completed_task mistake_limit_reached auto_approval_max_req_reached new_task condense summarize_task"
    " report_bug".split()
)
# api_conversation_history.json of Cline: what a person typed is in one of these elements.
_CLINE_TYPED = re.compile(r"<(task|feedback|answer|user_message)>\s*(.*?)\s*</\1>", re.DOTALL)
_CLINE_RESULT = re.compile(r"\[[^\]\n]*\] Result:|<environment_details>|\[(?:ERROR|TASK RESUMPTION|NOTE)\b")
_CLINE_ANSWER = re.compile(r"<(result|question|response)>\s*(.*?)\s*</\1>", re.DOTALL)
_CLINE_CALL = re.compile(r"<(thinking|[a-z]+(?:_[a-z]+)+)>.*?(?:</\1>|\Z)", re.DOTALL)

_PARTS_SILENT = frozenset(
    "reasoning file tool step-start step-finish snapshot patch agent subtask retry compaction".split()
)


def of_cline(found: Any, reader: Reader) -> list[Turn]:
    """Return the turns of a task of Cline: of the messages that it showed, or of those that it sent."""
    reader.form = "cline"
    messages = found if isinstance(found, list) else []
    return reader.hear(list(_cline(messages, reader)))


def _cline(messages: list[Any], reader: Reader) -> Iterator[tuple[int, Spoken]]:
    is_first = True
    for number, message in enumerate(messages, 1):
        reader.number = number
        if not isinstance(message, dict):
            reader.leave("it is not a JSON object")
        elif "role" in message:
            yield from ((number, one) for one in _sent_by_cline(message, reader))
        else:
            one = _shown_by_cline(message, reader, is_first=is_first)
            is_first = is_first and one is None
            if one is not None:
                yield number, one


def _shown_by_cline(message: dict[str, Any], reader: Reader, *, is_first: bool) -> Spoken | None:
    way = kind_of(message)
    kind, text = kind_of(message, way) if way in ("say", "ask") else way, message.get("text")
    if message.get("partial") is True or (isinstance(text, str) and not text.strip()):
        return None
    if way == "say" and kind in _CLINE_SAID and isinstance(text, str):
        role = "user" if is_first and kind == "text" else _CLINE_SAID[kind]  # the task, before 3.0
        return Spoken(role, [text], at=message.get("ts"), by_person=role == "user")
    if way == "ask" and kind in _CLINE_ASKED and isinstance(text, str):
        try:
            asked = json.loads(text)
        except ValueError:
            asked = {_CLINE_ASKED[kind]: text}
        words = asked.get(_CLINE_ASKED[kind]) if isinstance(asked, dict) else None
        return Spoken("assistant", [words], at=message.get("ts")) if isinstance(words, str) else None
    if kind not in _CLINE_SILENT and holds_words(message):
        reader.meet(f"the message type {str(kind)[:60]}")
    return None


def _sent_by_cline(message: dict[str, Any], reader: Reader) -> Iterator[Spoken]:
    role, at = message.get("role"), message.get("ts")
    if role not in ("user", "assistant"):
        if holds_words(message):
            reader.meet(f"the role {str(role)[:60]}")
        return
    found = []
    for part in texts(message.get("content"), reader):
        if role == "user":
            typed = [each[2] for each in _CLINE_TYPED.finditer(part)]
            found += typed or ([] if _CLINE_RESULT.match(part) else [part])
        else:
            said = [_CLINE_CALL.sub("", part).strip(), *(each[2] for each in _CLINE_ANSWER.finditer(part))]
            found += [text for text in said if text]
    yield Spoken(str(role), found, at=at, by_person=role == "user" and bool(found))


def of_opencode(found: Any, reader: Reader) -> list[Turn]:
    """Return the turns of a session that `opencode export` wrote: {info, messages: [{info, parts}]}."""
    reader.form = "opencode"
    about = found.get("info") if isinstance(found, dict) else None
    about = about if isinstance(about, dict) else {}
    reader.session = _text(about.get("id"))
    reader.folder = _text(about.get("directory"))
    reader.release = _text(about.get("version")) or ""
    times = about.get("time")
    reader.began = times.get("created") if isinstance(times, dict) else None
    agent = "subagent" if about.get("parentID") else None
    messages = found.get("messages") if isinstance(found, dict) else None
    return reader.hear(list(_opencode(messages if isinstance(messages, list) else [], reader, agent)))


def _opencode(messages: list[Any], reader: Reader, agent: str | None) -> Iterator[tuple[int, Spoken]]:
    for number, message in enumerate(messages, 1):
        reader.number = number
        about = message.get("info") if isinstance(message, dict) else None
        if not isinstance(about, dict):
            reader.leave("the message is not a JSON object with an info")
            continue
        role, parts = about.get("role"), message.get("parts")
        if role not in ("user", "assistant"):
            if holds_words(message):
                reader.meet(f"the role {str(role)[:60]}")
            continue
        if role == "assistant" and about.get("summary") is True:
            continue  # of a compaction
        times = about.get("time")
        at = times.get("created") if isinstance(times, dict) else None
        found = [text for part in (parts if isinstance(parts, list) else []) for text in _said(part, reader)]
        if not isinstance(parts, list) and holds_words(message):
            reader.leave("its parts are not a list")
        yield number, Spoken(role, found, _text(about.get("id")), at, agent, role == "user" and agent is None)


def _said(part: Any, reader: Reader) -> Iterator[str]:
    if not isinstance(part, dict):
        reader.leave("a part of it is not a JSON object")
        return
    kind = kind_of(part)
    if kind == "text" and isinstance(part.get("text"), str):
        if not part.get("synthetic") and not part.get("ignored"):
            yield part["text"]
    elif kind not in _PARTS_SILENT and holds_words(part):
        reader.meet(f"the part type {str(kind)[:60]}")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
