"""Read a file of another system, and store its records unchanged; safe to repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pgmem.errors import InvalidArgument
from pgmem.features.importers import engrama, letta, markdown, mcp_memory, mem0, table
from pgmem.features.importers.records import Item, Link, Reading, Vocabulary, unreadable, why_empty
from pgmem.memory import Memory
from pgmem.models import Imported

_LEFT_OUT = {
    "forgotten": "memories that were forgotten or merged in this store",
    "outranked": "memories with more trust in this store than this import has",
    "no end": "relations with an end that was not imported",
    "one end": "relations of a memory with itself",
}
"""The messages for records that `import_memories` does not change."""


class Source(StrEnum):
    """The systems whose files can be imported."""

    pgmem = "pgmem"
    mcp_memory = "mcp-memory"
    engrama = "engrama"
    mem0 = "mem0"
    letta = "letta"
    csv = "csv"
    markdown = "markdown"
    claude_code = "claude-code"
    codex = "codex"
    cursor = "cursor"
    gemini_cli = "gemini-cli"
    copilot = "copilot"
    windsurf = "windsurf"
    zed = "zed"
    qwen_code = "qwen-code"
    cline = "cline"
    opencode = "opencode"
    chatgpt = "chatgpt"
    claude = "claude"

    @property
    def is_conversations(self) -> bool:
        """Whether it holds conversations, which become turns, rather than memories."""
        return self not in (
            Source.pgmem,
            Source.mcp_memory,
            Source.engrama,
            Source.mem0,
            Source.letta,
            Source.csv,
            Source.markdown,
        )

    @property
    def names_folders(self) -> bool:
        """Whether its conversations name the folder that they were held in, which has a project."""
        return self in (
            Source.claude_code,
            Source.codex,
            Source.gemini_cli,
            Source.copilot,
            Source.qwen_code,
            Source.opencode,
        )

    @property
    def recorded_as(self) -> str:
        """The recorded source, which sets the trust level: notes come from a person, other memories from agents."""
        return "sync" if self is Source.markdown else "mcp"


def read(source: Source, path: Path, known: Vocabulary, user: str | None = None) -> Reading:
    """Read a file or folder of another system; nothing is written.

    Raises:
        InvalidArgument: the file is unreadable or not in that system's format.
    """
    try:
        if source is not Source.markdown and not path.is_file():
            raise InvalidArgument(f"{path} is not a file.")
        match source:
            case Source.mcp_memory:
                reading = mcp_memory.read(path, known)
            case Source.engrama:
                reading = engrama.read(path, known)
            case Source.mem0:
                reading = mem0.read(path, known, user)
            case Source.letta:
                reading = letta.read(path, known)
            case Source.csv:
                reading = table.read(path, known)
            case Source.markdown:
                reading = markdown.read(path, known)
            case _:
                raise AssertionError(
                    "an export of pgmem is imported line by line, and conversations by transcripts"
                )
    except (UnicodeDecodeError, EOFError, OSError) as error:
        raise InvalidArgument(f"{path} is not taken: {unreadable(error)}.") from error
    if not reading.items:
        raise InvalidArgument(f"{path} holds no memories of {source}: is --from right?{why_empty(reading)}")
    return reading


@dataclass(slots=True)
class _Outcomes:
    """Counts of the records so far, by outcome."""

    counts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, record: Item | Link, outcome: str, reason: str | None) -> None:
        if outcome in ("taken", "updated", "present"):
            self.counts[outcome] += 1
            if isinstance(record, Item) and outcome != "present":
                self.statuses[record.status] += 1
        elif reason is None:
            self.left_out[_LEFT_OUT[outcome]] += 1
        elif isinstance(record, Link):
            self.left_out[f"{record.relation} relations: {reason.rstrip('.')}"] += 1
        else:
            self.left_out[f"{record.label} {record.name[:60]!r}: {reason.rstrip('.')}"] += 1


async def load(
    memory: Memory,
    source: Source,
    reading: Reading,
    project: str,
    progress: Callable[[int, int], object] | None = None,
    *,
    dry_run: bool = False,
    forget_deleted: bool = False,
) -> Imported:
    """Store the records of a reading in a project, which is created if it does not exist.

    Every field that pgmem can hold is kept, and no two records of the file become one. A record that an earlier import
    brought is updated from the file.

    Args:
        memory: the store.
        source: the system that the records come from.
        reading: the records.
        project: the project's id.
        progress: called after each batch with the number of finished records and the total.
        dry_run: only count, and store nothing.
        forget_deleted: archive the notes of an earlier import that are no longer in the folder.
    """
    saver = memory.acting_as(source=source.recorded_as)
    records: list[Item | Link] = [*reading.items, *reading.links]
    done = _Outcomes(left_out=Counter(reading.left_out))

    def finished(rows: list[dict[str, Any]], first: int) -> None:
        for row in rows:
            done.add(records[first + row["place"] - 1], row["outcome"], row["reason"])
        if progress is not None:
            progress(first + len(rows), len(records))

    await saver.import_memories(
        project, str(source), [record.record() for record in records], finished, dry_run=dry_run
    )
    if reading.folder is not None:
        gone = await saver.forget_notes(
            project, reading.folder, reading.paths, dry_run=dry_run or not forget_deleted
        )
        if gone and forget_deleted:
            done.statuses["archived"] += gone
        elif gone:
            done.left_out["notes that were deleted in the folder: --forget-deleted forgets them here"] += gone
    return Imported(
        taken=done.counts["taken"],
        updated=done.counts["updated"],
        present=done.counts["present"],
        superseded=done.statuses["superseded"],
        archived=done.statuses["archived"],
        converted=dict(reading.converted),
        left_out=dict(done.left_out),
        dry_run=dry_run,
    )
