"""`pgmem connect`: the other settings of a client stay, and every change can be undone."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pgmem.cli import app
from pgmem.features.editor import jsonc
from pgmem.features.editor.catalog import CLIENTS

FILES = {
    "claude-code": (".claude.json", ".claude/settings.json"),
    "cursor": (".cursor/mcp.json", ".cursor/hooks.json"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "gemini-cli": (".gemini/settings.json",),
    "windsurf": (".codeium/windsurf/mcp_config.json",),
    "zed": (".config/zed/settings.json",),
}
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
CODEX = """# mine
model = "o4"  # fast

[mcp_servers.other]
command = "other"
"""


def connect(home: Path, *arguments: str, **environment: str) -> str:
    done = CliRunner().invoke(
        app,
        ["connect", *arguments, "--home", str(home)],
        env={
            "XDG_CONFIG_HOME": "",
            "CODEX_HOME": "",
            "CLAUDE_CONFIG_DIR": "",
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
        read = tomllib.loads(text.decode()) if name.endswith(".toml") else json.loads(text)
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
