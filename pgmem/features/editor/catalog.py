"""Entries of pgmem in the settings of each client: the MCP server, and hooks where the client has them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pgmem.database.dsn import without_secrets
from pgmem.programs import AGAIN, installed

Client = Literal[
    "claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini-cli", "windsurf", "zed",
    "opencode", "copilot-cli", "hermes", "openclaw", "qwen-code", "cline",
]  # fmt: skip


class Change(NamedTuple):
    """A member of a settings file: its path, its value, and whether it is an item of a list of hooks.

    Without a path the value is the text of a program, and the file is pgmem's alone.
    """

    file: Path
    path: tuple[str, ...]
    value: Any
    is_item: bool = False


_COMMANDS = "Bash|mcp__(?!.*pgmem).*"
_MATCHERS: dict[str, dict[str, str]] = {
    "claude-code": {
        "PreToolUse": f"Edit|MultiEdit|Write|NotebookEdit|{_COMMANDS}",
        "PostToolUse": "Bash",
        "PostToolUseFailure": _COMMANDS,
    },
    "codex": {"PreToolUse": "Bash|apply_patch|Edit|Write", "PostToolUse": "Bash"},
    "gemini-cli": {"AfterTool": "run_shell_command|write_file|replace"},
    "qwen-code": {
        "PostToolUse": "run_shell_command|write_file|edit",
        "PostToolUseFailure": "run_shell_command",
    },
    "copilot-cli": {"PostToolUse": "bash|powershell|create|edit|str_replace_editor|apply_patch"},
    "hermes": {"pre_tool_call": "terminal"},
}
"""The tools of an event that is of tools: those that run a command, change a file, or call another server."""
_CLAUDE_EVENTS = (
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart PreCompact Stop SubagentStop"
    " SessionEnd"
).split()
_CODEX_EVENTS = (
    "SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStart PreCompact SubagentStop Stop".split()
)
_GEMINI_EVENTS = "SessionStart BeforeAgent AfterTool PreCompress AfterAgent SessionEnd".split()
_CURSOR_EVENTS = (
    *("sessionStart", "beforeSubmitPrompt", "beforeShellExecution", "postToolUse", "afterAgentResponse"),
    "sessionEnd",
)
# Qwen Code wants a decision from PreToolUse, and Copilot CLI refuses a tool if a hook before it does not start.
_QWEN_EVENTS = (
    "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure SubagentStart PreCompact Stop SubagentStop SessionEnd"
).split()
_COPILOT_EVENTS = "SessionStart UserPromptSubmit PostToolUse PreCompact Stop SubagentStop SessionEnd".split()
_WINDSURF_EVENTS = ("pre_user_prompt", "post_cascade_response")
_CLINE_EVENTS = (
    "TaskStart TaskResume UserPromptSubmit PreToolUse PostToolUse PreCompact TaskComplete TaskCancel".split()
)
_HERMES_EVENTS = "pre_llm_call pre_tool_call post_llm_call on_session_end".split()


def command(*, shared: bool = False) -> list[str]:
    """Return the command that runs this pgmem: a client has another PATH than a shell, and starts it in any folder.

    Settings that a team shares name no path of one person: there it is the program on the PATH.

    It is the program that pip made for this package, wherever its folder of programs is. Only where there is none it is
    the interpreter, which must not look for modules in the folder where the client starts it.
    """
    if shared:
        return ["pgmem"]
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


class _Place(NamedTuple):
    """The owner of settings, and the store of the server and the hooks: PGMEM_DSN and PGMEM_DATA_DIR."""

    home: Path
    folder: Path | None
    environment: Mapping[str, str]

    def server(self, **more: Any) -> dict[str, Any]:
        """Return the entry of the MCP server."""
        program, *arguments = command(shared=self.folder is not None)
        found: dict[str, Any] = {**more, "command": program, "args": [*arguments, "mcp"]}
        names = ("PGMEM_DSN", "PGMEM_DATA_DIR", "PGMEM_TOOLSETS")
        kept = {name: self.environment[name] for name in names if self.environment.get(name)}
        return {**found, "env": kept} if kept else found

    def hook(self, event: str, client: str) -> str:
        """Return the command of a hook. Everybody on the machine can read it, so it holds no password."""
        words = [*command(shared=self.folder is not None), "hook", event, "--client", client]
        if dsn := self.environment.get("PGMEM_DSN"):
            words += ["--dsn", without_secrets(dsn)]
        if folder := self.environment.get("PGMEM_DATA_DIR"):
            words += ["--data-dir", folder]
        return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)

    def grouped(
        self, file: Path, client: Client, events: Sequence[str], timeout: int, **more: Any
    ) -> list[Change]:
        """Return hooks as Claude Code has them: an event has groups with a matcher, a group has hooks."""
        found = []
        for event in events:
            hook = {**more, "type": "command", "command": self.hook(event, client), "timeout": timeout}
            tools = _MATCHERS.get(client, {}).get(event)
            matcher = {"matcher": tools} if tools else {}
            found.append(Change(file, ("hooks", event), {**matcher, "hooks": [hook]}, True))
        return found


def _claude_code(place: _Place) -> list[Change]:
    if place.folder is not None:
        servers, settings = place.folder / ".mcp.json", place.folder / ".claude" / "settings.json"
    else:
        own = place.environment.get("CLAUDE_CONFIG_DIR")
        servers = Path(own) / ".claude.json" if own else place.home / ".claude.json"
        settings = (Path(own) if own else place.home / ".claude") / "settings.json"
    found = [Change(servers, ("mcpServers", "pgmem"), place.server(type="stdio"))]
    return found + place.grouped(settings, "claude-code", _CLAUDE_EVENTS, 20)


def _claude_desktop(place: _Place) -> list[Change]:
    file = _application(place, "Claude") / "claude_desktop_config.json"
    return [Change(file, ("mcpServers", "pgmem"), place.server())]


def _cursor(place: _Place) -> list[Change]:
    folder = (place.folder or place.home) / ".cursor"
    found = [
        Change(folder / "mcp.json", ("mcpServers", "pgmem"), place.server()),
        Change(folder / "hooks.json", ("version",), 1),
    ]
    return found + [
        Change(folder / "hooks.json", ("hooks", event), {"command": place.hook(event, "cursor")}, True)
        for event in _CURSOR_EVENTS
    ]


def _vscode(place: _Place) -> list[Change]:
    folder = place.folder / ".vscode" if place.folder else _application(place, "Code") / "User"
    return [Change(folder / "mcp.json", ("servers", "pgmem"), place.server(type="stdio"))]


def _codex(place: _Place) -> list[Change]:
    own = place.environment.get("CODEX_HOME")
    folder = place.folder / ".codex" if place.folder else Path(own) if own else place.home / ".codex"
    found = [Change(folder / "config.toml", ("mcp_servers", "pgmem"), place.server())]
    return found + place.grouped(folder / "hooks.json", "codex", _CODEX_EVENTS, 20)


def _gemini_cli(place: _Place) -> list[Change]:
    file = (place.folder or place.home) / ".gemini" / "settings.json"
    found = [Change(file, ("mcpServers", "pgmem"), place.server())]
    return found + place.grouped(file, "gemini-cli", _GEMINI_EVENTS, 20_000, name="pgmem")


def _windsurf(place: _Place) -> list[Change]:
    folder = place.home / ".codeium" / "windsurf"
    found = [Change(folder / "mcp_config.json", ("mcpServers", "pgmem"), place.server())]
    return found + [
        Change(
            folder / "hooks.json",
            ("hooks", event),
            {"command": place.hook(event, "windsurf"), "show_output": False},
            True,
        )
        for event in _WINDSURF_EVENTS
    ]


def _zed(place: _Place) -> list[Change]:
    own = place.environment.get("XDG_CONFIG_HOME")
    folder = place.folder / ".zed" if place.folder else (Path(own) if own else place.home / ".config") / "zed"
    return [Change(folder / "settings.json", ("context_servers", "pgmem"), place.server(source="custom"))]


def _opencode(place: _Place) -> list[Change]:
    own, base = place.environment.get("OPENCODE_CONFIG"), place.environment.get("XDG_CONFIG_HOME")
    folder = place.folder or (Path(base) if base else place.home / ".config") / "opencode"
    file = Path(own) if own and not place.folder else folder / "opencode.json"
    if not (own and not place.folder) and not file.exists() and (folder / "opencode.jsonc").exists():
        file = folder / "opencode.jsonc"
    server = place.server()
    entry: dict[str, Any] = {"type": "local", "command": [server["command"], *server["args"]]}
    if "env" in server:
        entry["environment"] = server["env"]
    if _holds(file, "mcp", "servers"):  # written for OpenCode 2, which reads the form of 1 too
        return [Change(file, ("mcp", "servers", "pgmem"), entry)]
    return [Change(file, ("mcp", "pgmem"), {**entry, "enabled": True})]


def _holds(file: Path, *keys: str) -> bool:
    """Whether a settings file has an object at a path."""
    from pgmem import plain_files
    from pgmem.features.editor import jsonc

    try:
        found = jsonc.plain(plain_files.read(Path(os.path.realpath(file)), 2**20).decode())
    except (OSError, UnicodeDecodeError, jsonc.Unreadable):
        return False
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return isinstance(found, dict)


def _copilot_cli(place: _Place) -> list[Change]:
    own = place.environment.get("COPILOT_HOME")
    folder = place.folder / ".github" if place.folder else Path(own) if own else place.home / ".copilot"
    servers, hooks = (
        folder / ("mcp.json" if place.folder else "mcp-config.json"),
        folder / "hooks" / "pgmem.json",
    )
    found = [Change(servers, ("mcpServers", "pgmem"), place.server(type="local", tools=["*"]))]
    found.append(Change(hooks, ("version",), 1))
    for event in _COPILOT_EVENTS:
        tools = _MATCHERS["copilot-cli"].get(event)
        hook = {"type": "command", "command": place.hook(event, "copilot"), "timeoutSec": 20}
        found.append(Change(hooks, ("hooks", event), {**({"matcher": tools} if tools else {}), **hook}, True))
    return found


def _hermes(place: _Place) -> list[Change]:
    own = place.environment.get("HERMES_HOME")
    file = (Path(own) if own else place.home / ".hermes") / "config.yaml"
    found = [Change(file, ("mcp_servers", "pgmem"), place.server())]
    for event in _HERMES_EVENTS:
        tools = _MATCHERS["hermes"].get(event)
        hook = {"command": place.hook(event, "hermes"), "timeout": 20}
        found.append(Change(file, ("hooks", event), {**({"matcher": tools} if tools else {}), **hook}, True))
    return found


def _openclaw(place: _Place) -> list[Change]:
    file, state = (place.environment.get(f"OPENCLAW_{name}") for name in ("CONFIG_PATH", "STATE_DIR"))
    folder = Path(state) if state else place.home / ".openclaw"
    return [
        Change(Path(file) if file else folder / "openclaw.json", ("mcp", "servers", "pgmem"), place.server())
    ]


def _qwen_code(place: _Place) -> list[Change]:
    file = (place.folder or place.home) / ".qwen" / "settings.json"
    found = [Change(file, ("mcpServers", "pgmem"), place.server())]
    return found + place.grouped(file, "qwen-code", _QWEN_EVENTS, 20_000, name="pgmem")


def _cline(place: _Place) -> list[Change]:
    own = place.environment.get("CLINE_MCP_SETTINGS_PATH")
    name = "cline_mcp_settings.json"
    file = Path(own) if own else place.home / ".cline" / "data" / "settings" / name
    before = (
        _application(place, "Code") / "User" / "globalStorage" / "saoudrizwan.claude-dev" / "settings" / name
    )
    files = [file, before] if before.exists() else [file]  # the extension kept its own before it shared them
    found = [Change(each, ("mcpServers", "pgmem"), place.server(disabled=False)) for each in files]
    if os.name != "nt":  # where Cline runs no hooks
        folder = place.home / "Documents" / "Cline" / "Hooks"
        for event in _CLINE_EVENTS:
            about = "# Written by pgmem connect cline; --undo removes it."
            text = f"#!/bin/sh\n{about}\nexec {place.hook(event, 'cline')}\n"
            found.append(Change(folder / event, (), text, True))
    return found


def _application(place: _Place, name: str) -> Path:
    """Return the directory in which a desktop program keeps its settings."""
    home, environment = place.home, place.environment
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / name
    if sys.platform == "win32":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming") / name
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / name


_CLIENTS: dict[str, Callable[[_Place], list[Change]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _claude_desktop,
    "cursor": _cursor,
    "vscode": _vscode,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "windsurf": _windsurf,
    "zed": _zed,
    "opencode": _opencode,
    "copilot-cli": _copilot_cli,
    "hermes": _hermes,
    "openclaw": _openclaw,
    "qwen-code": _qwen_code,
    "cline": _cline,
}
CLIENTS = tuple(_CLIENTS)
"""The clients that `pgmem connect` knows."""
WITHOUT_PROJECT = ("claude-desktop", "windsurf", "hermes", "openclaw", "cline")
"""Those whose settings are of a user alone."""


def by_hand(client: str, found: Sequence[Change]) -> str:
    """Return how a person adds the server where a file cannot be changed; empty where it says nothing new.

    Args:
        client: one of `CLIENTS`.
        found: its changes.
    """
    if client == "openclaw":  # its JSON5 is more than JSON with comments
        return f"Or run: openclaw mcp set pgmem {shlex.quote(json.dumps(found[0].value))}"
    if client == "cline":
        line = next(
            change.value.splitlines()[-1].removeprefix("exec ") for change in found if not change.path
        )
        return f"Cline runs one program an event: move yours away, or call from it: {line}"
    if client == "hermes":
        return f"Or add under mcp_servers by hand: pgmem: {json.dumps(found[0].value)}"
    return ""


def changes(client: str, home: Path, folder: Path | None, environment: Mapping[str, str]) -> list[Change]:
    """Return the changes for a client.

    Args:
        client: one of `CLIENTS`.
        home: the home directory.
        folder: the project whose settings are changed; None for those of the user.
        environment: the variables that say where the store is, and where clients keep their settings.
    """
    return _CLIENTS[client](_Place(home, folder, environment))


def starts_unsafely(entry: Any) -> bool:
    """Whether an entry for pgmem, a server or a hook, imports modules of the folder in which a client starts it.

    An earlier release wrote them so where pgmem's program was not beside the interpreter.
    """
    if isinstance(entry, list):
        return any(starts_unsafely(item) for item in entry)
    if not isinstance(entry, Mapping):
        return False
    given, arguments = entry.get("command"), entry.get("args")
    if isinstance(given, list):
        given, arguments = str(given[0]) if given else "", given[1:]
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
