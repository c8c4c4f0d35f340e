"""The work of a session, read from its transcript: files that were edited, commands that failed, and commits.

A transcript is read here by its calls of tools alone. The work in a batch of lines is one turn of the role tool, which
an opening reads without a model (sql/features/editor/88-opening.sql).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

_MOST_CHARACTERS = 20_000
_MOST_OF_A_COMMAND = 200
_EDITS = frozenset(
    "edit write multiedit notebookedit replace writefile editfile strreplace createfile".split()
)
"""Tools that change a file, by their names in small letters without underscores."""
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_COMMITTED = re.compile(r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] (.{1,200})$", re.MULTILINE)
_EXITED = re.compile(r"\A(?:Chunk ID: .*\n|Wall time: .*\n)*Process exited with code (\d{1,3})")
_REFUSED = ("The user doesn't want", "Permission to use", "<tool_use_error>")
"""The beginnings of results of calls that never ran."""


def done(lines: Iterable[bytes | str]) -> list[dict[str, str]]:
    """Return the work in the lines of a transcript as a turn of the role tool; none if there is none."""
    acts = _Acts()
    for line in lines:
        text = line.decode(errors="replace") if isinstance(line, bytes) else line
        if "tool" not in text and "call" not in text:
            continue
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):  # a line that is being written, or nested as no client does
            continue
        if isinstance(entry, dict):
            acts.read(entry)
    found = acts.turn()
    return [found] if found else []


class _Acts:
    """The tool calls of a transcript since its last turn: files edited, commands that failed, commits."""

    def __init__(self) -> None:
        self._commands: dict[str, str] = {}
        self._failed: set[str] = set()
        self._begin("")

    def _begin(self, name: str) -> None:
        self._id, self._at, self._agent = name, "", ""
        self._lines: dict[str, list[str]] = {}

    def turn(self) -> dict[str, str] | None:
        """Return the work since the last turn as a separate turn, and begin the next; else None."""
        lines = [
            f"Edited: {', '.join(done)}" if kind == "Edited" else "\n".join(f"{kind}: {one}" for one in done)
            for kind, done in self._lines.items()
        ]
        found = {"id": f"{self._id}-acts", "role": "tool", "content": "\n".join(lines)[:_MOST_CHARACTERS]}
        found |= {name: value for name, value in (("at", self._at), ("agent", self._agent)) if value}
        self._begin("")
        return found if lines else None

    def read(self, entry: dict[str, Any]) -> None:
        """Note the tool calls and results of a line."""
        cwd = str(entry.get("cwd") or "")
        for part in _parts(entry):
            name, call = part.get("name"), str(part.get("id") or part.get("call_id") or "")
            if name and part.get("type") != "tool_result":
                self._called(str(name), call, _arguments(part), cwd, entry)
                if "status" in part and part.get("type") not in ("function_call", "custom_tool_call"):
                    self._ended(
                        call, part.get("status") == "error", "", entry
                    )  # Gemini: call and result are one
            elif found := str(part.get("tool_use_id") or part.get("call_id") or ""):
                text = _texts(part.get("content")) or str(part.get("output") or "")
                self._ended(
                    found, bool(part.get("is_error")) or _exit_code(text) not in (None, 0), text, entry
                )

    def _called(self, name: str, call: str, given: dict[str, Any], cwd: str, entry: dict[str, Any]) -> None:
        tool = name.lower().replace("_", "")
        if tool in _EDITS:
            for key in ("file_path", "notebook_path", "absolute_path", "path"):
                if isinstance(given.get(key), str):
                    self._note("Edited", _below(given[key], cwd), call, entry)
                    return
        patch = given.get("input") if isinstance(given.get("input"), str) else given.get("patch")
        command = given.get("command") or given.get("cmd")
        if isinstance(command, list):
            command = (
                str(command[-1])
                if command[:1] in (["bash"], ["sh"], ["zsh"])
                else " ".join(map(str, command))
            )
        for text in (patch, command):
            if isinstance(text, str) and "*** Begin Patch" in text:
                for path in _PATCHED.findall(text):
                    self._note("Edited", _below(path.strip(), cwd), call, entry)
                return
        if isinstance(command, str) and command.strip():
            self._commands[call] = " ".join(command.split())[:_MOST_OF_A_COMMAND]

    def _ended(self, call: str, failed: bool, text: str, entry: dict[str, Any]) -> None:
        command = self._commands.pop(call, None)
        if command is None or text.startswith(_REFUSED):
            return
        if failed:
            self._failed.add(command)
            self._note("Failed", command, call, entry)
            return
        if command in self._failed:
            self._failed.discard(command)
            self._note("Passed", command, call, entry)
        if "commit" in command:
            for title in _COMMITTED.findall(text):
                self._note("Committed", title.strip(), call, entry)

    def _note(self, kind: str, done: str, call: str, entry: dict[str, Any]) -> None:
        if not self._id:
            self._id = call or hashlib.sha256(json.dumps(entry, default=str).encode()).hexdigest()[:32]
            self._at = str(entry.get("timestamp") or "")
            if entry.get("isSidechain"):
                self._agent = str(entry.get("agentId") or "subagent")
        if done and done not in self._lines.setdefault(kind, []):
            self._lines[kind].append(done)


def _parts(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a line that may be calls of tools or their results, of whichever client."""
    message, payload = entry.get("message"), entry.get("payload")
    if isinstance(payload, dict):
        return [payload] if "call" in str(payload.get("type")) else []
    content = message.get("content") if isinstance(message, dict) else entry.get("toolCalls")
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _arguments(part: dict[str, Any]) -> dict[str, Any]:
    """The input of a tool: an object, or the text of one; of a tool with one text, that text as input."""
    for name in ("input", "arguments", "args", "action"):
        given = part.get(name)
        if isinstance(given, dict):
            return given
        if isinstance(given, str):
            try:
                found = json.loads(given)
            except (ValueError, RecursionError):
                return {"input": given}
            return found if isinstance(found, dict) else {"input": given}
    return {}


def _exit_code(output: str) -> int | None:
    """The exit code that Codex puts beside the output of a command; None where it names none."""
    try:
        found = json.loads(output)["metadata"]["exit_code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        stated = _EXITED.search(output)
        return int(stated[1]) if stated else None
    return found if isinstance(found, int) else None


def _below(path: str, folder: str) -> str:
    """A path from the folder of the session; a path elsewhere as it is."""
    try:
        return PurePath(path).relative_to(folder).as_posix() if folder else path
    except ValueError:
        return path


def _texts(content: object) -> str:
    """The text of a result: a string, or the texts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"]) for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
    )
