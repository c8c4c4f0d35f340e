"""The events of the clients: their names, what they say, and the JSON by which each takes a text to its model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

Kind = Literal["start", "prompt", "file", "keep"]

_EVENTS: dict[Kind, str] = {
    "start": "sessionstart",
    "prompt": "userpromptsubmit beforeagent beforesubmitprompt",
    "file": "pretooluse posttooluse beforetool aftertool beforereadfile",
    "keep": "precompact precompress stop subagentstop afteragent afteragentresponse sessionend",
}
_KINDS = {event: kind for kind, events in _EVENTS.items() for event in events.split()}
"""What each event is for, by its name in small letters without hyphens: all clients spell the same few."""
_GEMINI = ("beforeagent", "afteragent", "beforetool", "aftertool", "precompress")


def kind_of(event: str) -> Kind | None:
    """Return what an event is for; None for one that pgmem has nothing to do at."""
    return _KINDS.get(_folded(event))


def client_of(event: str, given: Mapping[str, Any]) -> str:
    """Return the client that sends an event, by what only it sends."""
    if "cursor_version" in given or "conversation_id" in given or event[:1].islower():
        return "cursor"
    if _folded(event) in _GEMINI or ("timestamp" in given and "permission_mode" not in given):
        return "gemini-cli"
    if "turn_id" in given or ".codex" in str(given.get("transcript_path") or ""):
        return "codex"
    return "claude-code"


def session_of(given: Mapping[str, Any]) -> str:
    """Return the id of the session."""
    return str(given.get("session_id") or given.get("conversation_id") or "unknown")


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


def output(client: str, event: str, text: str) -> str:
    """Return what brings a text to the model of a client; empty where the event takes none.

    `systemMessage` and plain text of tool events are shown to the person or to nobody; `additionalContext` is what the
    model reads.
    """
    if client == "cursor":
        if kind_of(event) == "prompt":
            return json.dumps({"continue": True})
        return json.dumps({"additional_context": text}) if text else ""
    if not text:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _folded(event: str) -> str:
    return event.replace("-", "").replace("_", "").lower()
