"""The memory tool of Anthropic (memory_20250818) over the memory: its files are memories with a history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, TypeVar

from pgmem.errors import PgmemError
from pgmem.features.integrations import extra
from pgmem.memory import Memory
from pgmem.models import MemoryFile
from pgmem.sync import Memory as SyncMemory

with extra("anthropic"):
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

M = TypeVar("M", Memory, SyncMemory)
P = ParamSpec("P")
_MOST_LINES = 999_999
_SHOWN_AROUND = 2  # lines before and after an edit
_UNITS = "BKMG"


class _OverMemory(Generic[M]):
    """A tool over a memory.

    Args:
        memory: an open memory; its caller's files are the ones that the model sees.
        project_id: the project that the files belong to; None: none.
        cache_control: of the tool, as Anthropic takes it.
    """

    def __init__(
        self,
        memory: M,
        *,
        project_id: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]
        self._memory: M = memory
        self._project_id = project_id


class AsyncMemoryTool(_OverMemory[Memory], BetaAsyncAbstractMemoryTool):
    """The tool for `AsyncAnthropic`: every edit is a version, and a deletion can be reverted.

    ```python
    async with pgmem.Memory.connect() as memory:
        runner = client.beta.messages.tool_runner(…, tools=[AsyncMemoryTool(memory)])
    ```
    """

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with its line numbers, or the names and sizes of files two levels deep."""
        with _refusals_as_answers():
            files = await self._memory.view_files(command.path, project_id=self._project_id)
        if len(files) == 1 and files[0].text is not None:
            return _numbered(command.path, files[0].text, command.view_range)
        return _listed(command.path, files)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        with _refusals_as_answers():
            await self._memory.create_file(command.path, command.file_text, project_id=self._project_id)
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that a file holds exactly once."""
        with _refusals_as_answers():
            edited = await self._memory.replace_in_file(
                command.path, command.old_str, command.new_str or "", project_id=self._project_id
            )
        lines = edited.text.split("\n")
        first = max(1, edited.line - _SHOWN_AROUND)
        shown = lines[first - 1 : edited.line + _SHOWN_AROUND]
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([head, *_lines(shown, first)])

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text after a line."""
        with _refusals_as_answers():
            await self._memory.insert_in_file(
                command.path, command.insert_line, command.insert_text, project_id=self._project_id
            )
        return f"The file {command.path} has been edited."

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a directory with all of its files; `revert` brings them back."""
        with _refusals_as_answers():
            await self._memory.delete_files(command.path, project_id=self._project_id)
        return f"Successfully deleted {command.path}"

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Give a file or a directory another path; the history goes with it."""
        with _refusals_as_answers():
            await self._memory.rename_files(command.old_path, command.new_path, project_id=self._project_id)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear_all_memory(self) -> str:
        """Delete all files of the caller; `revert` brings them back."""
        with _refusals_as_answers():
            await self._memory.clear_files(project_id=self._project_id)
        return "All memory cleared"


def _waiting(
    method: Callable[Concatenate[AsyncMemoryTool, P], Awaitable[str]],
) -> Callable[Concatenate[MemoryTool, P], str]:
    """Return a method to await as one that waits for the answer, with its signature and docstring."""

    @wraps(method)
    def call(tool: MemoryTool, /, *args: P.args, **kwargs: P.kwargs) -> str:
        memory: SyncMemory = tool._memory
        return memory.call(
            method, AsyncMemoryTool(memory.opened, project_id=tool._project_id), *args, **kwargs
        )

    return call


class MemoryTool(_OverMemory[SyncMemory], BetaAbstractMemoryTool):
    """The tool for `Anthropic`; it does what `AsyncMemoryTool` does.

    ```python
    with pgmem.sync.Memory.connect() as memory:
        runner = client.beta.messages.tool_runner(…, tools=[MemoryTool(memory)])
    ```
    """

    view = _waiting(AsyncMemoryTool.view)
    create = _waiting(AsyncMemoryTool.create)
    str_replace = _waiting(AsyncMemoryTool.str_replace)
    insert = _waiting(AsyncMemoryTool.insert)
    delete = _waiting(AsyncMemoryTool.delete)
    rename = _waiting(AsyncMemoryTool.rename)
    clear_all_memory = _waiting(AsyncMemoryTool.clear_all_memory)


@contextmanager
def _refusals_as_answers() -> Iterator[None]:
    """Return the reason of a refusal to the model: any other exception would end its turn."""
    try:
        yield
    except PgmemError as error:
        raise ToolError(str(error)) from error


def _numbered(path: str, text: str, view_range: list[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first = 1
    if view_range is not None and len(view_range) == 2:
        first = max(1, view_range[0])
        lines = lines[first - 1 : None if view_range[1] == -1 else view_range[1]]
    return "\n".join([f"Here's the content of {path} with line numbers:", *_lines(lines, first)])


def _lines(lines: list[str], first: int) -> list[str]:
    return [f"{number:6}\t{line}" for number, line in enumerate(lines, first)]


def _listed(path: str, files: list[MemoryFile]) -> str:
    """Return the names and sizes of files and directories two levels deep; a directory has the size of its files."""
    top = path.rstrip("/")
    depth = len([name for name in top.split("/") if name])
    sizes: dict[str, int] = {}
    for file in files:
        names = file.path.split("/")[1 + depth :]
        if any(name.startswith(".") for name in names):
            continue
        for level, name in enumerate(names[:2], 1):
            is_directory = level < len(names)
            shown = "/".join([*names[: level - 1], name]) + ("/" if is_directory else "")
            sizes[shown] = sizes.get(shown, 0) + file.bytes
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    total = sum(size for shown, size in sizes.items() if "/" not in shown.rstrip("/"))
    return "\n".join(
        [
            head,
            f"{_size(total)}\t{path}",
            *(f"{_size(sizes[shown])}\t{top}/{shown}" for shown in sorted(sizes)),
        ]
    )


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f}{_UNITS[unit]}" if size == int(size) else f"{size:.1f}{_UNITS[unit]}"
