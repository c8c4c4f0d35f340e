"""The events of the clients: names, fields, and the JSON by which each takes a text to its model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

Kind = Literal["start", "prompt", "file", "result", "child", "keep"]

_EVENTS: dict[Kind, str] = {
    "start": "sessionstart taskstart taskresume",
    "prompt": "userpromptsubmit beforeagent beforesubmitprompt preuserprompt prellmcall",
    "file": "pretooluse beforetool beforereadfile beforeshellexecution pretoolcall",
    "result": "posttooluse aftertool posttoolusefailure",
    "child": "subagentstart",
    "keep": "precompact precompress stop subagentstop afteragent afteragentresponse sessionend postcascaderesponse"
    " postcascaderesponsewithtranscript postllmcall onsessionend taskcomplete taskcancel",
}
_KINDS = {event: kind for kind, events in _EVENTS.items() for event in events.split()}
"""The purpose of each event, by its name in small letters without hyphens: all clients spell the same few."""
_CODES = ("exit_code", "exitCode", "returncode", "return_code", "code")
_PRINTED = ("llmContent", "output", "aggregated_output", "stdout", "stderr")
_EXIT = re.compile(r"\s*(?:(?:process )?exit(?:ed with)? (?:exit )?code|exit status):? (\d+)", re.IGNORECASE)
_GEMINI = ("beforeagent", "afteragent", "beforetool", "aftertool", "precompress")


def kind_of(event: str) -> Kind | None:
    """Return the purpose of an event; None for one without work for pgmem."""
    return _KINDS.get(_folded(event))


def as_others(client: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event with the names that most clients give to its fields.

    Hermes has the words of a turn in `extra`, Cline all of an event under the name of its kind. Qwen Code sends results
    of tools as prompts too: a person typed the text in `submitted_prompt`.
    """
    if client == "hermes":
        extra = given.get("extra")
        extra = extra if isinstance(extra, Mapping) else {}
        said = extra.get("user_message")
        if isinstance(said, list):  # with an image
            said = "\n\n".join(
                str(part["text"]) for part in said if isinstance(part, dict) and part.get("text")
            )
        found = {"prompt": said, "last_assistant_message": extra.get("assistant_response")}
        return {**given, **found, "is_first": bool(extra.get("is_first_turn"))}
    if client == "cline":
        return _of_cline(given)
    if client == "qwen-code" and _folded(str(given.get("hook_event_name"))) == "userpromptsubmit":
        return {**given, "prompt": given.get("submitted_prompt")}
    return given


_CLINE_TOOLS = {"execute_command": "Bash", "write_to_file": "Write", "replace_in_file": "Edit"}


def _of_cline(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event of Cline: {hookName, taskId, workspaceRoots, userPromptSubmit: {prompt}}, …."""
    event = str(given.get("hookName") or given.get("hook_event_name") or "")
    inner = given.get(event[:1].lower() + event[1:])
    inner = inner if isinstance(inner, Mapping) else {}
    about = inner.get("taskMetadata")
    about = about if isinstance(about, Mapping) else {}
    tool = inner.get("toolName", inner.get("tool"))
    found = {
        "hook_event_name": event,
        "session_id": given.get("taskId"),
        "workspace_roots": given.get("workspaceRoots"),
        "prompt": inner.get("prompt"),
        "tool_name": _CLINE_TOOLS.get(str(tool), tool),
        "tool_input": inner.get("parameters"),
        "last_assistant_message": about.get("result"),
    }
    if "result" in inner:
        failed = inner.get("success") is False
        found["tool_response"] = {"error": inner["result"]} if failed else inner["result"]
    return {**given, **{name: value for name, value in found.items() if value is not None}}


def is_of_child(event: str) -> bool:
    """Whether an event is of a sub-agent."""
    return _folded(event) in ("subagentstart", "subagentstop")


def failure_of(event: str, given: Mapping[str, Any]) -> str | None:
    """Return the output of a tool that has failed; None where it has not, or where a person stopped it."""
    if given.get("is_interrupt"):
        return None
    if is_failure(event):
        return str(given.get("error") or given.get("error_message") or "") or None
    answer = given.get("tool_response", given.get("tool_output"))
    if isinstance(answer, str):
        try:
            answer = json.loads(answer)
        except ValueError:
            found = _EXIT.match(answer)
            return answer if found and int(found[1]) else None
    if not isinstance(answer, dict) or answer.get("interrupted"):
        return None
    inner = answer.get("metadata")
    codes = (place.get(name) for place in (answer, inner) if isinstance(place, dict) for name in _CODES)
    code = next((code for code in codes if code is not None), None)
    printed = [str(answer[name]) for name in _PRINTED if isinstance(answer.get(name), str) and answer[name]]
    if code is None and (
        found := re.search(r"^Exit Code: (\d+)", str(answer.get("llmContent")), re.MULTILINE)
    ):
        code = found[1]
    error = answer.get("error")
    if str(code or 0) == "0" and not error:
        return None
    return "\n".join([*printed, *([str(error)] if error else [])]) or None


def is_failure(event: str) -> bool:
    """Whether an event says that a tool has failed."""
    return _folded(event) == "posttoolusefailure"


def client_of(event: str, given: Mapping[str, Any]) -> str:
    """Return the client that sends an event, by the fields that only it sends."""
    if "agent_action_name" in given or "trajectory_id" in given:
        return "windsurf"
    if "cursor_version" in given or "conversation_id" in given or event[:1].islower():
        return "cursor"
    if _folded(event) in _GEMINI or ("timestamp" in given and "permission_mode" not in given):
        return "gemini-cli"
    if "turn_id" in given or ".codex" in str(given.get("transcript_path") or ""):
        return "codex"
    return "claude-code"


def session_of(given: Mapping[str, Any]) -> str:
    """Return the id of the session."""
    return str(
        given.get("session_id") or given.get("conversation_id") or given.get("trajectory_id") or "unknown"
    )


def prompt_of(given: Mapping[str, Any]) -> str | None:
    """Return the prompt of an event."""
    about = given.get("tool_info")
    found = given.get("prompt") or (about.get("user_prompt") if isinstance(about, dict) else None)
    return found if isinstance(found, str) else None


def answer_of(given: Mapping[str, Any]) -> str | None:
    """Return the agent's answer in an event."""
    about = given.get("tool_info")
    found = given.get("prompt_response") or given.get("text") or given.get("last_assistant_message")
    found = found or (about.get("response") if isinstance(about, dict) else None)
    return found if isinstance(found, str) else None


def transcript_of(given: Mapping[str, Any]) -> str | None:
    """Return the path of the transcript of the session."""
    about = given.get("tool_info")
    found = given.get("transcript_path") or (
        about.get("transcript_path") if isinstance(about, dict) else None
    )
    return found if isinstance(found, str) and found else None


def folder_of(given: Mapping[str, Any]) -> Path:
    """Return the folder that the session works in."""
    roots = given.get("workspace_roots")
    found = given.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return Path(str(found)) if found else Path.cwd()


def file_of(given: Mapping[str, Any]) -> str | None:
    """Return the file that a tool reads or edits; None for another tool."""
    asked = given.get("tool_input")
    for place in (asked if isinstance(asked, dict) else {}, given):
        for name in ("file_path", "notebook_path", "absolute_path", "target_file", "path"):
            if isinstance(place.get(name), str) and place[name]:
                return str(place[name])
    return None


_ASKS = {"claude-code": "PreToolUse", "cursor": "beforeShellExecution", "hermes": "pre_tool_call"}
"""The event at which a client asks its person before a tool runs if an answer wants it."""
_SILENT = {
    "cursor": ("pretooluse", "beforeshellexecution", "posttoolusefailure", "subagentstart"),
    "gemini-cli": ("beforetool",),
    "copilot": ("userpromptsubmit", "pretooluse", "precompact", "stop", "subagentstop", "sessionend"),
    "qwen-code": ("pretooluse",),  # it wants a decision there, so it gets no hook
    "hermes": ("pretoolcall", "postllmcall", "onsessionend"),
    "cline": ("precompact", "taskcomplete", "taskcancel"),
}
"""Events that take no text for the model."""


def asks(client: str, event: str) -> bool:
    """Whether a client asks its person at an event if an answer wants it."""
    return _folded(_ASKS.get(client, "")) == _folded(event)


def reads(client: str, event: str) -> bool:
    """Whether the model of a client reads a text that comes with an event."""
    return _folded(event) not in _SILENT.get(client, ())


def output(client: str, event: str, text: str, reason: str = "", notice: str = "") -> str:
    """Return the JSON that brings a text to the model of a client; empty where the event takes none.

    `systemMessage` and plain text of tool events are shown to the person or to nobody; `additionalContext` is what the
    model reads. With a reason the person is asked, where the client can; a notice is for the person alone.
    """
    reason = reason if asks(client, event) else ""
    text = text if reads(client, event) else ""
    if client == "windsurf":  # its hooks take no text for the model
        return ""
    if client == "cursor":
        if kind_of(event) == "prompt":
            return json.dumps({"continue": True})
        if reason:
            return json.dumps({"permission": "ask", "user_message": reason, "agent_message": reason})
        return json.dumps({"additional_context": text}) if text else ""
    if client == "hermes":
        if reason:
            return json.dumps({"action": "approve", "message": reason})
        return json.dumps({"context": text}) if text else ""
    if client == "cline":  # it wants an answer to every event
        return json.dumps({"cancel": False, "contextModification": text, "errorMessage": ""})
    if client == "copilot":
        return json.dumps({"additionalContext": text}) if text else ""
    said = {"additionalContext": text} if text else {}
    if reason:
        said |= {"permissionDecision": "ask", "permissionDecisionReason": reason}
    shown = {"systemMessage": notice} if notice else {}
    inner = {"hookSpecificOutput": {"hookEventName": event, **said}} if said else {}
    return json.dumps({**inner, **shown}) if inner or shown else ""


def _folded(event: str) -> str:
    return event.replace("-", "").replace("_", "").lower()
