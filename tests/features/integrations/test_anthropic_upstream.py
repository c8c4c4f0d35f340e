"""Anthropic's own tests of its memory tool, run against MemoryTool and AsyncMemoryTool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pgmem.features.integrations.anthropic import AsyncMemoryTool, MemoryTool
from pgmem.sync import Memory as SyncMemory
from tests.features.integrations.upstream import applying, load

pytestmark = pytest.mark.anyio

SUITE = "anthropic-memory-tool"
_module = load(SUITE, "test_filesystem", {})


class _Files:
    """Where the snapshot of the tests looks: their directory is the memory."""

    opened: SyncMemory | None = None


def _snapshot(base_path: str) -> dict[str, str]:
    """The answer of `get_directory_snapshot`, by the verbs."""
    memory = _Files.opened
    assert memory is not None
    found = {}
    for file in memory.view_files("/memories"):
        (whole,) = memory.view_files(file.path)
        found[file.path.removeprefix("/")] = whole.text or ""
    return found


_module.get_directory_snapshot = _snapshot  # type: ignore[attr-defined]
globals().update(applying(SUITE, _module, without=("pytest",)))


@pytest.fixture(autouse=True)
def _opened(sync_memory: SyncMemory) -> Iterator[None]:
    _Files.opened = sync_memory
    yield
    _Files.opened = None


@pytest.fixture
def sync_local_filesystem_tool(sync_memory: SyncMemory) -> Any:
    tool = MemoryTool(sync_memory)
    tool.base_path = "the memory"  # type: ignore[attr-defined]
    return tool


@pytest.fixture
async def async_local_filesystem_tool(memory: Any) -> Any:
    tool = AsyncMemoryTool(memory)
    tool.base_path = "the memory"  # type: ignore[attr-defined]
    return tool
