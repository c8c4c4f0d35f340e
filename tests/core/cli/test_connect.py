"""`pgmem connect`: the other settings of a client stay, and every change can be undone."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from pgmem.cli import app
from pgmem.features.editor import catalog, jsonc, yaml_text
from pgmem.features.editor.catalog import CLIENTS

FILES = {
    "claude-code": (".claude.json", ".claude/settings.json"),
    "cursor": (".cursor/mcp.json", ".cursor/hooks.json"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "gemini-cli": (".gemini/settings.json",),
    "windsurf": (".codeium/windsurf/mcp_config.json", ".codeium/windsurf/hooks.json"),
    "zed": (".config/zed/settings.json",),
    "opencode": (".config/opencode/opencode.json",),
    "copilot-cli": (".copilot/mcp-config.json", ".copilot/hooks/pgmem.json"),
    "hermes": (".hermes/config.yaml",),
    "openclaw": (".openclaw/openclaw.json",),
    "qwen-code": (".qwen/settings.json",),
    "cline": (
        ".cline/data/settings/cline_mcp_settings.json",
        *(f"Documents/Cline/Hooks/{event}" for event in catalog._CLINE_EVENTS),
    ),
}
PARSERS = {"": str, ".toml": tomllib.loads, ".yaml": yaml.safe_load}
ZED = """// Zed settings
{
  "theme": "One Dark", // the dark one
  "context_servers": {
    /* of the team */
    "other": { "source": "custom", "command": "other", "args": [] },
  },
}
"""
CLAUDE = """{
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
    }
}
"""
HERMES = """# my agent
model: anthropic/claude-sonnet-4.6   # the cheap one

mcp_servers:
  # of the team
  time:
    command: "uvx"
    args: ["mcp-server-time"]
hooks:
  post_tool_call:
    - matcher: "write_file|patch"
      command: "~/.hermes/agent-hooks/format.sh"   # black
  pre_llm_call:
  - command: say

terminal:
  cwd: .
"""
OPENCODE = """{
  "$schema": "https://opencode.ai/config.json",
  // mine
  "mcp": { "other": { "type": "remote", "url": "https://x.example/mcp" } },
}
"""
OPENCLAW = """{
  "agents": { "defaults": { "workspace": "~/w" } }, // JSON5
  "mcp": { "sessionIdleTtlMs": 0, "servers": { "docs": { "url": "https://x.example" } } },
}
"""
CODEX = """# mine
model = "o4"  # fast

[mcp_servers.other]
command = "other"
"""


OWN_PLACES = (
    *("OPENCODE_CONFIG", "COPILOT_HOME", "HERMES_HOME", "OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR"),
    "CLINE_MCP_SETTINGS_PATH",
)
"""Variables by which clients move their settings."""


def connect(home: Path, *arguments: str, **environment: str) -> str:
    done = CliRunner().invoke(
        app,
        ["connect", *arguments, "--home", str(home)],
        env={
            "XDG_CONFIG_HOME": "",
            "CODEX_HOME": "",
            "CLAUDE_CONFIG_DIR": "",
            **dict.fromkeys(OWN_PLACES, ""),
            "PGMEM_DSN": "",
            "PGMEM_DATA_DIR": "",
            **environment,
        },
    )
    assert done.exit_code == 0, done.output
    return done.output


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_gets_the_server_once_and_undo_leaves_nothing(client: str, tmp_path: Path) -> None:
    shown = connect(tmp_path, client)
    first = tree(tmp_path)
    assert first
    assert "+" in shown
    for name, text in first.items():
        read = PARSERS.get(Path(name).suffix, json.loads)(text.decode())
        assert "pgmem" in json.dumps(read)
    for expected in FILES.get(client, ()):
        assert expected in first
    assert connect(tmp_path, client) == "Nothing to change.\n"
    connect(tmp_path, client, "--undo")
    assert tree(tmp_path) == {}
    assert connect(tmp_path, client, "--undo") == "Nothing to change.\n"


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("zed", ".config/zed/settings.json", ZED),
        ("claude-code", ".claude/settings.json", CLAUDE),
        ("codex", ".codex/config.toml", CODEX),
        ("cursor", ".cursor/mcp.json", '{"mcpServers":{"other":{"command":"x"}}}'),
        ("gemini-cli", ".gemini/settings.json", "{}\n"),
        ("hermes", ".hermes/config.yaml", HERMES),
        ("hermes", ".hermes/config.yaml", "mcp_servers: {}  # none yet\nhooks: {}\n"),
        ("hermes", ".hermes/config.yaml", "model: x"),
        ("opencode", ".config/opencode/opencode.json", OPENCODE),
        ("opencode", ".config/opencode/opencode.jsonc", OPENCODE),
        ("openclaw", ".openclaw/openclaw.json", OPENCLAW),
        (
            "copilot-cli",
            ".copilot/mcp-config.json",
            '{"mcpServers": {"o": {"type": "local", "command": "x"}}}',
        ),
        ("qwen-code", ".qwen/settings.json", CLAUDE),
        ("cline", ".cline/data/settings/cline_mcp_settings.json", '{\n  "mcpServers": {}\n}'),
    ],
)
def test_what_was_there_stays_with_its_comments_and_undo_gives_it_back(
    client: str, file: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o600)
    connect(tmp_path, client)
    assert connect(tmp_path, client) == "Nothing to change.\n"
    assert path.with_name(path.name + ".before-pgmem").read_text() == text
    assert path.stat().st_mode & 0o777 == 0o600
    for comment in re.findall(r"(?://|#) \w.*|/\*.*?\*/", text):
        assert comment in path.read_text()
    connect(tmp_path, client, "--undo")
    if text.strip() == "{}":
        assert not path.exists()
    else:
        assert path.read_text() == text


def test_a_comment_stays_behind_its_entry_and_lines_end_as_the_others(tmp_path: Path) -> None:
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    before = b'{\r\n  "mcpServers": {\r\n    "o": {"command": "x"} // keep\r\n  }\r\n}\r\n'
    path.write_bytes(before)
    connect(tmp_path, "cursor")
    lines = path.read_bytes().split(b"\n")
    assert lines[2] == b'    "o": {"command": "x"}, // keep\r'
    assert all(line.endswith(b"\r") for line in lines[:-1])
    path.with_name("mcp.json.before-pgmem").unlink()
    connect(tmp_path, "cursor", "--undo")
    assert path.read_bytes() == before


def test_lines_that_end_as_on_windows_come_back_byte_for_byte_after_two_runs(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    before = CLAUDE.replace("\n", "\r\n").encode()
    path.write_bytes(before)
    connect(tmp_path, "claude-code")
    assert connect(tmp_path, "claude-code") == "Nothing to change.\n"
    connect(tmp_path, "claude-code", "--undo")
    assert path.read_bytes() == before
    assert path.with_name(path.name + ".before-pgmem").read_bytes() == before


@pytest.mark.parametrize("client", ["claude-code", "cursor", "codex", "gemini-cli"])
def test_server_and_hooks_get_the_same_store_and_no_command_holds_a_password(
    client: str, tmp_path: Path
) -> None:
    dsn = "postgresql://ada:geheim@db.example/memory"
    shown = connect(tmp_path, client, PGMEM_DSN=dsn, PGMEM_DATA_DIR="/srv/own store")
    texts = {name: text.decode() for name, text in tree(tmp_path).items()}
    commands = [
        shlex.split(json.loads(f'"{found}"'))
        for text in texts.values()
        for found in re.findall(r'"command": "((?:[^"\\]|\\.)* hook (?:[^"\\]|\\.)*)"', text)
    ]
    assert commands
    for command in commands:
        assert "geheim" not in " ".join(command)
        assert "host=db.example" in command[command.index("--dsn") + 1]
        assert command[command.index("--data-dir") + 1] == "/srv/own store"
    assert sum(dsn in text for text in texts.values()) == 1  # the server's own entry, which is the user's
    assert "The password of PGMEM_DSN is left out of the hooks" in shown
    assert "is kept for 90 days" in shown
    assert "PGMEM_CAPTURE=off" in shown


@pytest.mark.parametrize("client", ["claude-code", "cursor", "codex", "gemini-cli", "zed", "vscode"])
def test_settings_of_a_project_name_no_path_and_no_password_of_one_person(
    client: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    connect(tmp_path, client, "--folder", str(project), PGMEM_DSN="postgresql://ada:geheim@db.example/memory")
    text = "".join(found.decode() for found in tree(project).values())
    assert "geheim" not in text
    assert "db.example" in text
    assert not re.search(r'"(/[^"]*/)?(python|bin/pgmem)', text)


def test_a_dry_run_shows_and_writes_nothing(tmp_path: Path) -> None:
    assert '"mcpServers"' in connect(tmp_path, "claude-code", "--dry-run")
    assert tree(tmp_path) == {}


def test_hooks_of_others_stay_and_an_older_command_of_pgmem_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    old = {"hooks": [{"type": "command", "command": "/old/bin/pgmem hook Stop --client claude-code"}]}
    other = {"hooks": [{"type": "command", "command": "say done"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [other, old]}}))
    connect(tmp_path, "claude-code")
    stop = json.loads(path.read_text())["hooks"]["Stop"]
    assert stop[0] == other
    assert len(stop) == 2
    assert "/old/bin" not in json.dumps(stop)
    connect(tmp_path, "claude-code", "--undo")
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [other]}}


def test_a_file_that_is_not_json_is_unchanged_and_the_remedy_is_printed(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"mcpServers": }')
    done = CliRunner().invoke(app, ["connect", "claude-code", "--home", str(tmp_path)])
    assert done.exit_code == 1
    assert "line 1" in done.output
    assert list(tree(tmp_path)) == [".claude.json"]


def test_a_mistyped_client_is_an_error_with_the_known_ones(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["connect", "cluade-code", "--home", str(tmp_path)])
    assert done.exit_code != 0
    assert "Did you mean claude-code?" in done.output


def test_the_hooks_that_are_written_run(tmp_path: Path) -> None:
    connect(tmp_path, "claude-code")
    written = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]
    command = written["SessionEnd"][0]["hooks"][0]["command"]
    done = subprocess.run(
        shlex.split(command),
        input="{}",
        text=True,
        capture_output=True,
        check=False,
        env={
            "PGMEM_DATA_DIR": str(tmp_path / "data"),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(Path(__file__).parents[3]),
        },
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=5), plain, max_size=4), st.sampled_from([None, 0, 2, "\t"]), plain)
def test_put_and_take_are_as_those_of_a_dict(before: dict[str, Any], indent: Any, value: Any) -> None:
    text = json.dumps(before, indent=indent)
    inside = before.get("servers")
    if inside is not None and not isinstance(inside, dict):
        with pytest.raises(jsonc.Unreadable):
            jsonc.put(text, ("servers", "pgmem"), value)
        return
    after = jsonc.put(text, ("servers", "pgmem"), value)
    assert json.loads(after) == {**before, "servers": {**(inside or {}), "pgmem": value}}
    rest = {k: v for k, v in (inside or {}).items() if k != "pgmem"}
    left = {k: v for k, v in before.items() if k != "servers"} | ({"servers": rest} if rest else {})
    assert json.loads(jsonc.take(after, ("servers", "pgmem"))) == left


SERVER = {
    "type": "object",
    "required": ["command", "args"],
    "properties": {
        "command": {"type": "string", "minLength": 1},
        "args": {"type": "array", "items": {"type": "string"}, "contains": {"const": "mcp"}},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "additionalProperties": False,
}
COMMAND = {"type": "string", "pattern": " hook "}
COPILOT_HOOK = {
    "type": "object",
    "required": ["command"],
    "properties": {
        "type": {"const": "command"},
        "matcher": {"type": "string"},
        **dict.fromkeys(("command", "bash", "powershell"), COMMAND),
        "timeoutSec": {"type": "integer", "maximum": 30},
    },
    "additionalProperties": False,
}
QWEN_EVENTS = (
    "PreToolUse PostToolUse PostToolUseFailure UserPromptSubmit SessionStart SessionEnd Stop SubagentStart SubagentStop"
    " PreCompact"
)
COPILOT_EVENTS = "SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop SubagentStop PreCompact"
HERMES_EVENTS = (
    "pre_llm_call post_llm_call pre_tool_call post_tool_call on_session_start on_session_end subagent_stop"
)


def hooks_of(events: str, item: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {event: {"type": "array", "items": item} for event in events.split()},
        "additionalProperties": False,
    }


def with_(shape: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**shape, "required": [*shape["required"], *more], "properties": {**shape["properties"], **more}}


def members(**found: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(found), "properties": found, "additionalProperties": False}


SCHEMAS = {
    # opencode.ai/config.json: McpLocalConfig, of additionalProperties false
    "opencode": {
        ".config/opencode/opencode.json": members(
            mcp=members(
                pgmem=members(
                    type={"const": "local"},
                    command={"type": "array", "items": {"type": "string"}, "minItems": 2},
                    enabled={"type": "boolean"},
                )
            )
        )
    },
    # docs.github.com: hooks reference, and MCP servers of Copilot CLI
    "copilot-cli": {
        ".copilot/mcp-config.json": members(
            mcpServers=members(
                pgmem=with_(SERVER, type={"const": "local"}, tools={"type": "array", "items": {"const": "*"}})
            )
        ),
        ".copilot/hooks/pgmem.json": members(
            version={"const": 1}, hooks=hooks_of(COPILOT_EVENTS, COPILOT_HOOK)
        ),
    },
    # hermes-agent.nousresearch.com: MCP, and shell hooks
    "hermes": {
        ".hermes/config.yaml": members(
            mcp_servers=members(pgmem=SERVER),
            hooks=hooks_of(
                HERMES_EVENTS,
                {
                    "type": "object",
                    "required": ["command"],
                    "properties": {
                        "command": COMMAND,
                        "timeout": {"type": "integer", "maximum": 300},
                        "matcher": {"type": "string"},
                    },
                    "additionalProperties": False,
                },
            ),
        )
    },
    # docs.openclaw.ai: mcp.servers
    "openclaw": {".openclaw/openclaw.json": members(mcp=members(servers=members(pgmem=SERVER)))},
    # qwenlm.github.io: MCP, and hooks, whose times are thousandths of a second
    "qwen-code": {
        ".qwen/settings.json": members(
            mcpServers=members(pgmem=SERVER),
            hooks=hooks_of(
                QWEN_EVENTS,
                {
                    "type": "object",
                    "required": ["hooks"],
                    "properties": {
                        "matcher": {"type": "string"},
                        "hooks": {
                            "type": "array",
                            "items": members(
                                type={"const": "command"},
                                command=COMMAND,
                                timeout={"type": "integer", "minimum": 1_000},
                                name={"type": "string"},
                            ),
                        },
                    },
                    "additionalProperties": False,
                },
            ),
        )
    },
    # docs.windsurf.com: MCP, and hooks of Cascade
    "windsurf": {
        ".codeium/windsurf/mcp_config.json": members(mcpServers=members(pgmem=SERVER)),
        ".codeium/windsurf/hooks.json": members(
            hooks=hooks_of(
                "pre_user_prompt post_cascade_response",
                members(command=COMMAND, show_output={"const": False}),
            )
        ),
    },
    # docs.cline.bot: configuration, and MCP
    "cline": {
        ".cline/data/settings/cline_mcp_settings.json": members(
            mcpServers=members(pgmem=with_(SERVER, disabled={"const": False}))
        ),
        # docs.cline.bot: hooks are programs with the name of their event
        **{
            f"Documents/Cline/Hooks/{event}": {
                "type": "string",
                "pattern": rf"^#!/bin/sh\n#[^\n]*\nexec [^\n]* hook {event} --client cline\n$",
            }
            for event in "TaskStart TaskResume UserPromptSubmit PreToolUse PostToolUse PreCompact TaskComplete TaskCancel".split()
        },
    },
}
"""The settings of each client as its vendor describes them; nothing else may be in them."""


@pytest.mark.parametrize("client", SCHEMAS)
def test_settings_have_the_form_that_the_vendor_describes(client: str, tmp_path: Path) -> None:
    connect(tmp_path, client)
    written = {
        name: PARSERS.get(Path(name).suffix, json.loads)(text.decode())
        for name, text in tree(tmp_path).items()
    }
    assert set(written) == set(SCHEMAS[client])
    for name, schema in SCHEMAS[client].items():
        Draft7Validator(schema).validate(written[name])


def test_settings_of_opencode_2_get_the_server_among_the_others(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "opencode" / "opencode.json"
    path.parent.mkdir(parents=True)
    before = '{"mcp": {"servers": {"o": {"type": "local", "command": ["x"]}}}}'
    path.write_text(before)
    connect(tmp_path, "opencode")
    servers = json.loads(path.read_text())["mcp"]["servers"]
    assert (set(servers), set(servers["pgmem"])) == ({"o", "pgmem"}, {"type", "command"})
    connect(tmp_path, "opencode", "--undo")
    assert path.read_text() == before


REFUSED = (
    ("openclaw", ".openclaw/openclaw.json", "{ mcp: { servers: {} } }", "openclaw mcp set pgmem '{"),
    (
        "hermes",
        ".hermes/config.yaml",
        "mcp_servers: {time: {command: uvx}}\n",
        "add under mcp_servers by hand: pgmem: {",
    ),
    ("hermes", ".hermes/config.yaml", "hooks: [\n", "it is not YAML"),
    ("hermes", ".hermes/config.yaml", "mcp_servers: yes\n", "mcp_servers is not a mapping"),
    (
        "hermes",
        ".hermes/config.yaml",
        "hooks:\n  pre_llm_call: [{command: x}]\n",
        "holds its value on the same line",
    ),
    ("opencode", ".config/opencode/opencode.json", '{"mcp": []}', "mcp is not an object"),
    ("qwen-code", ".qwen/settings.json", '{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json", "{", "ends too early"),
    ("copilot-cli", ".copilot/mcp-config.json", "null null", "follows the end of the JSON"),
)


@pytest.mark.parametrize(("client", "file", "text", "message"), REFUSED)
def test_settings_that_cannot_be_changed_stay_and_the_sentence_says_what_to_do(
    client: str, file: str, text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    done = CliRunner().invoke(
        app,
        ["connect", client, "--home", str(tmp_path)],
        env=dict.fromkeys((*OWN_PLACES, "XDG_CONFIG_HOME"), ""),
    )
    assert done.exit_code == 1, done.output
    assert message in done.output
    assert path.name in done.output
    assert tree(tmp_path) == {file: text.encode()}


def test_a_hook_of_cline_is_a_program_and_that_of_a_person_stays(tmp_path: Path) -> None:
    connect(tmp_path, "cline")
    folder = tmp_path / "Documents" / "Cline" / "Hooks"
    assert {os.access(file, os.X_OK) for file in folder.iterdir()} == {True}
    connect(tmp_path, "cline", "--undo")
    assert list(folder.iterdir()) == []
    own = folder / "TaskStart"
    own.write_text("#!/bin/sh\necho '{}'\n")
    before = tree(tmp_path)
    done = CliRunner().invoke(app, ["connect", "cline", "--home", str(tmp_path)])
    assert done.exit_code == 1
    assert "TaskStart cannot be changed: it is a program of yours." in done.output.replace("\n", " ")
    assert "hook TaskStart --client cline" in done.output.replace("\n", " ")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("client", ["hermes", "openclaw", "cline"])
def test_a_client_without_settings_of_a_project_says_so(client: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["connect", client, "--folder", str(tmp_path)])
    assert done.exit_code == 2
    assert f"{client} has no project settings" in done.output


blocks = st.dictionaries(
    st.sampled_from(["mcp_servers", "hooks", "model", "terminal"]),
    st.dictionaries(
        st.sampled_from(["pre_llm_call", "time", "cwd"]),
        st.lists(st.sampled_from(["a", "b # c"]), min_size=1, max_size=2),
        max_size=2,
    )
    | st.sampled_from(["x", None, 3]),
    max_size=3,
)


@settings(max_examples=200, deadline=None)
@given(blocks, st.sampled_from([2, 4]), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_yaml_is_changed_by_lines_and_undone_byte_for_byte(
    before: dict[str, Any], indent: int, said: bool, end: str
) -> None:
    text = yaml.safe_dump(before, sort_keys=False, indent=indent) if before else ""
    text = ("# mine\n" + text + "# the end\n" if said else text).replace("\n", end)
    kept = before.get("hooks")
    changes = (
        (("mcp_servers", "pgmem"), {"command": "x"}, None),
        (("hooks", "pre_llm_call"), {"command": "pgmem hook x"}, catalog.is_own),
    )
    after = text
    try:
        for path, value, own in changes:
            after = yaml_text.put(after, path, value, own)
    except jsonc.Unreadable:
        assert any(isinstance(before.get(name), str | int) for name in ("mcp_servers", "hooks"))
        return
    read = yaml.safe_load(after)
    assert read["mcp_servers"]["pgmem"] == {"command": "x"}
    assert read["hooks"]["pre_llm_call"][-1] == {"command": "pgmem hook x"}
    for path, value, own in changes:
        assert yaml_text.put(after, path, value, own) == after
    back = after
    for path, _, own in changes:
        back = yaml_text.take(back, path, own)
    left = {
        name: value
        for name, value in before.items()
        if value not in (None, {}) or name not in ("mcp_servers", "hooks")
    }
    assert (yaml.safe_load(back) or {}) == left
    if left == before and text.endswith(end) and isinstance(kept, dict | None):
        assert back == text
