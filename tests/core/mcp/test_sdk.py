"""The MCP SDK is used by its public names: another release may lack those that it keeps to itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import mcp
import mcp_types
import pytest

PGMEM = Path(__file__).parent.parent.parent.parent / "pgmem"
OVER_HTTP = PGMEM / "features" / "http"  # goes round the sessions of the SDK, and says why
SDK = [
    path.read_text(encoding="utf-8")
    for package in (mcp, mcp_types)
    for path in Path(str(package.__file__)).parent.rglob("*.py")
]
KEPT = {
    name
    for text in SDK
    for found in re.findall(r"\b(?:self|cls)\.(_[a-z]\w*)|def (_[a-z]\w*)", text)
    for name in found
}


def private_names(text: str, own: set[str]) -> Iterator[str]:
    """The names of a module that begin with an underscore and are the SDK's."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and re.match(r"mcp(_types)?(\.|$)", node.module or ""):
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from (part for part in parts if part.startswith("_"))
        elif isinstance(node, ast.Attribute) and node.attr in KEPT - own:
            of = node.value.id if isinstance(node.value, ast.Name) else ""
            if of not in ("self", "cls"):
                yield node.attr


def test_no_private_name_of_the_sdk_is_used_but_for_http() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in PGMEM.rglob("*.py")}
    own = {name for text in texts.values() for name in re.findall(r"(?:def|self\.|other\.)\s*(_\w+)", text)}
    found = {
        str(path.relative_to(PGMEM)): names
        for path, text in texts.items()
        if OVER_HTTP not in path.parents and (names := sorted({*private_names(text, own)}))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    ["from mcp_types import _wire_base", "from mcp.shared._streams import x", "server._tool_manager.list()"],
)
def test_a_private_name_would_be_found(line: str) -> None:
    assert [*private_names(line, set())]
