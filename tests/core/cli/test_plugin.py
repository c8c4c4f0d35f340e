"""The folder that four clients take as plugin or extension, as each of them documents its manifest, and the registry's.

The shapes here follow the schemas of the other side: the JSON schemas of Cursor's plugins and of the MCP
registry, the references of Claude Code and Codex, and Gemini CLI's ExtensionConfig.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from pgmem.cli import app
from pgmem.features.editor import catalog
from pgmem.features.editor.connect import PLUGINS

ROOT = Path(__file__).parents[3]
TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT}
RELEASE = {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}
INSIDE = {"type": "string", "pattern": r"^\./(?!.*\.\.)"}
SERVERS = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "type": "object",
        "required": ["command", "args"],
        "properties": {"command": TEXT, "args": TEXTS, "type": {"const": "stdio"}},
        "additionalProperties": False,
    },
}
ABOUT = {
    "name": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"},
    "version": RELEASE,
    "description": TEXT,
}
PLUGIN = {
    **ABOUT,
    "license": TEXT,
    "keywords": TEXTS,
    "author": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": TEXT},
        "additionalProperties": False,
    },
    "skills": INSIDE,
    "hooks": INSIDE,
    "mcpServers": INSIDE,
}
MANIFESTS = {
    "claude-code": (".claude-plugin/plugin.json", PLUGIN),
    "codex": (".codex-plugin/plugin.json", PLUGIN),
    "cursor": (".cursor-plugin/plugin.json", PLUGIN),
    "gemini-cli": ("gemini-extension.json", {**ABOUT, "contextFileName": TEXT, "mcpServers": SERVERS}),
}
HOOKS = {
    "claude-code": "hooks.json",
    "codex": "codex.json",
    "cursor": "cursor.json",
    "gemini-cli": "hooks.json",
}
REGISTRY = {
    "type": "object",
    "required": ["$schema", "name", "description", "version"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "maxLength": 200},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {**RELEASE, "maxLength": 255},
        "packages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["registryType", "identifier", "version", "transport"],
                "properties": {
                    "registryType": {"enum": ["npm", "pypi", "oci", "nuget", "mcpb"]},
                    "version": RELEASE,
                    "transport": {"type": "object", "properties": {"type": {"enum": ["stdio"]}}},
                    "packageArguments": {
                        "type": "array",
                        "items": {"type": "object", "required": ["type", "value"]},
                    },
                    "environmentVariables": {
                        "type": "array",
                        "items": {"type": "object", "required": ["name"]},
                    },
                },
            },
        },
    },
}


def shape(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["name", "version"],
        "properties": properties,
        "additionalProperties": False,
    }


@pytest.mark.parametrize("client", PLUGINS)
def test_a_client_finds_its_manifest_and_all_that_it_names(client: str) -> None:
    shown = CliRunner().invoke(app, ["connect", client, "--plugin"]).output
    assert Path(shown.strip()) == PLUGINS[client]
    name, properties = MANIFESTS[client]
    manifest = json.loads((PLUGINS[client] / name).read_text())
    Draft7Validator(shape(properties)).validate(manifest)
    for part in ("skills", "hooks", "mcpServers"):
        if isinstance(manifest.get(part), str):
            assert (PLUGINS[client] / manifest[part]).exists(), part


@pytest.mark.parametrize("client", PLUGINS)
def test_the_hooks_are_those_that_connect_writes_and_the_server_is_started_by_name(client: str) -> None:
    found = json.loads((PLUGINS[client] / "hooks" / HOOKS[client]).read_text())["hooks"]
    written = catalog.changes(client, Path("/home/ada"), Path("/project"), {})
    assert found == {change.path[1]: [change.value] for change in written if change.is_item}
    folder = PLUGINS[client]
    place = folder / ".mcp.json" if client != "gemini-cli" else folder / "gemini-extension.json"
    servers = json.loads(place.read_text())["mcpServers"]
    Draft7Validator(SERVERS).validate(servers)
    assert servers["pgmem"]["args"] == ["mcp"]


def test_all_clients_get_one_skill_in_the_form_of_agent_skills() -> None:
    texts = {(folder / "skills" / "pgmem-memory" / "SKILL.md").read_text() for folder in PLUGINS.values()}
    (text,) = texts
    found = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{1,1024})\n---\n", text)
    assert found is not None
    assert found[1] == "pgmem-memory"


def test_the_registry_takes_the_server_under_the_name_of_its_package() -> None:
    server = json.loads((ROOT / "server.json").read_text())
    Draft7Validator(REGISTRY).validate(server)
    (package,) = server["packages"]
    assert package["identifier"] == "pgmem-agent"
    assert package["version"] == server["version"]
    assert (
        f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text()
    )  # how the registry proves the owner
