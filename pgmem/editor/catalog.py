"""What pgmem puts into the settings of each client: the MCP server, and hooks where the client has them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pgmem.programs import AGAIN, installed

Client = Literal[
    "claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini-cli", "windsurf", "zed"
]


class Change(NamedTuple):
    """A member of a settings file: its path, its value, and whether it is an item of a list of hooks."""

    file: Path
    path: tuple[str, ...]
    value: Any
    is_item: bool = False


_MATCHERS = {
    "PreToolUse": "Read|Edit|MultiEdit|Write|NotebookEdit",
    "AfterTool": "read_file|write_file|replace",
}
"""The tools of an event that is of tools."""
_CLAUDE_EVENTS = "SessionStart UserPromptSubmit PreToolUse PreCompact Stop SubagentStop SessionEnd".split()
_CODEX_EVENTS = "SessionStart UserPromptSubmit PreCompact SubagentStop Stop".split()
_GEMINI_EVENTS = "SessionStart BeforeAgent AfterTool PreCompress AfterAgent SessionEnd".split()
_CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "postToolUse", "afterAgentResponse", "sessionEnd")


def command() -> list[str]:
    """Return the command that runs this pgmem: a client has another PATH than a shell, and starts it in any folder.

    It is the program that pip made for this package, wherever its folder of programs is. Only where there is none it is
    the interpreter, which must not look for modules in the folder where the client starts it.
    """
    if "archive-v0" in sys.prefix:  # an environment that uvx made for this call
        return [installed("uvx") or "uvx", "--from", "pgmem-agent", "pgmem"]
    name = "pgmem.exe" if os.name == "nt" else "pgmem"
    try:
        files = metadata.files("pgmem-agent") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name and os.access(program := os.path.abspath(file.locate()), os.X_OK):
            return [program]
    return list(AGAIN)


def is_own(item: Any) -> bool:
    """Whether an item of a list of hooks is pgmem's."""
    if isinstance(item, Mapping):
        return any(is_own(value) for value in item.values())
    if isinstance(item, list):
        return any(is_own(value) for value in item)
    return isinstance(item, str) and "pgmem" in item and " hook " in item


def _server(environment: Mapping[str, str], **more: Any) -> dict[str, Any]:
    program, *arguments = command()
    found: dict[str, Any] = {**more, "command": program, "args": [*arguments, "mcp"]}
    kept = {name: environment[name] for name in ("PGMEM_DSN", "PGMEM_DATA_DIR") if environment.get(name)}
    return {**found, "env": kept} if kept else found


def _hook(event: str, client: Client) -> str:
    words = [*command(), "hook", event, "--client", client]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _grouped(file: Path, client: Client, events: list[str], timeout: int, **more: Any) -> list[Change]:
    """Hooks as Claude Code has them: an event has groups with a matcher, a group has hooks."""
    found = []
    for event in events:
        hook = {**more, "type": "command", "command": _hook(event, client), "timeout": timeout}
        matcher = {"matcher": _MATCHERS[event]} if event in _MATCHERS else {}
        found.append(Change(file, ("hooks", event), {**matcher, "hooks": [hook]}, True))
    return found


def _claude_code(home: Path, folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    if folder is not None:
        servers, settings = folder / ".mcp.json", folder / ".claude" / "settings.json"
    else:
        own = environment.get("CLAUDE_CONFIG_DIR")
        servers = Path(own) / ".claude.json" if own else home / ".claude.json"
        settings = (Path(own) if own else home / ".claude") / "settings.json"
    found = [Change(servers, ("mcpServers", "pgmem"), _server(environment, type="stdio"))]
    return found + _grouped(settings, "claude-code", _CLAUDE_EVENTS, 20)


def _claude_desktop(home: Path, _folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    file = _application(home, environment, "Claude") / "claude_desktop_config.json"
    return [Change(file, ("mcpServers", "pgmem"), _server(environment))]


def _cursor(home: Path, folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    place = (folder or home) / ".cursor"
    found = [
        Change(place / "mcp.json", ("mcpServers", "pgmem"), _server(environment)),
        Change(place / "hooks.json", ("version",), 1),
    ]
    return found + [
        Change(place / "hooks.json", ("hooks", event), {"command": _hook(event, "cursor")}, True)
        for event in _CURSOR_EVENTS
    ]


def _vscode(home: Path, folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    place = folder / ".vscode" if folder else _application(home, environment, "Code") / "User"
    return [Change(place / "mcp.json", ("servers", "pgmem"), _server(environment, type="stdio"))]


def _codex(home: Path, folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    own = environment.get("CODEX_HOME")
    place = folder / ".codex" if folder else Path(own) if own else home / ".codex"
    found = [Change(place / "config.toml", ("mcp_servers", "pgmem"), _server(environment))]
    return found + _grouped(place / "hooks.json", "codex", _CODEX_EVENTS, 20)


def _gemini_cli(home: Path, folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    file = (folder or home) / ".gemini" / "settings.json"
    found = [Change(file, ("mcpServers", "pgmem"), _server(environment))]
    return found + _grouped(file, "gemini-cli", _GEMINI_EVENTS, 20_000, name="pgmem")


def _windsurf(home: Path, _folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    file = home / ".codeium" / "windsurf" / "mcp_config.json"
    return [Change(file, ("mcpServers", "pgmem"), _server(environment))]


def _zed(home: Path, folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    own = environment.get("XDG_CONFIG_HOME")
    place = folder / ".zed" if folder else (Path(own) if own else home / ".config") / "zed"
    return [
        Change(place / "settings.json", ("context_servers", "pgmem"), _server(environment, source="custom"))
    ]


def _application(home: Path, environment: Mapping[str, str], name: str) -> Path:
    """Return the directory in which a desktop program keeps its settings."""
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / name
    if sys.platform == "win32":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming") / name
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / name


CLIENTS: dict[str, Callable[[Path, Path | None, Mapping[str, str]], list[Change]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _claude_desktop,
    "cursor": _cursor,
    "vscode": _vscode,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "windsurf": _windsurf,
    "zed": _zed,
}
"""The changes for each client, made from the home directory, a project (None: user settings) and the environment."""


def starts_unsafely(entry: Any) -> bool:
    """Whether an entry for pgmem, a server or a hook, imports modules of the folder in which a client starts it.

    An earlier release wrote them so where pgmem's program was not beside the interpreter.
    """
    if isinstance(entry, list):
        return any(starts_unsafely(item) for item in entry)
    if not isinstance(entry, Mapping):
        return False
    given, arguments = entry.get("command"), entry.get("args")
    if isinstance(given, str):
        words = [given, *map(str, arguments)] if isinstance(arguments, list) else _words(given)
        if ("-m", "pgmem") in pairwise(words):
            options = words[1 : words.index("-m")]
            return not any(re.fullmatch(r"-[A-Za-z]*[PI][A-Za-z]*", option) for option in options)
    return any(starts_unsafely(item) for item in entry.values())


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, posix=os.name != "nt")
    except ValueError:  # a quote is open: no shell runs it
        return []
