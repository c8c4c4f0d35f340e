"""What was read from another system, told to the verbs: each item a save of its own, safe to repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from pgmem.errors import AmbiguousName, InvalidArgument, MemoryNotFound, PgmemError, RelationNotAllowed
from pgmem.importers import engrama, markdown, mcp_memory, mem0
from pgmem.importers.reading import Item, Reading, Vocabulary
from pgmem.memory import Memory
from pgmem.models import Imported

__all__ = ["Source", "read", "take"]


class Source(StrEnum):
    """Where memories come from."""

    pgmem = "pgmem"
    mcp_memory = "mcp-memory"
    engrama = "engrama"
    mem0 = "mem0"
    markdown = "markdown"

    @property
    def way_in(self) -> str:
        """What is stamped as the source: notes are a person's, the rest was told by agents, and is trusted like them."""
        return "sync" if self is Source.markdown else "mcp"


def read(source: Source, path: Path, known: Vocabulary, user: str | None = None) -> Reading:
    """Read a file or folder of another system; nothing is written.

    Raises:
        InvalidArgument: it is not what that system writes.
    """
    try:
        match source:
            case Source.mcp_memory:
                reading = mcp_memory.read(path, known)
            case Source.engrama:
                reading = engrama.read(path, known)
            case Source.mem0:
                reading = mem0.read(path, known, user)
            case Source.markdown:
                reading = markdown.read(path, known)
            case Source.pgmem:
                raise AssertionError("an export of pgmem is taken line by line")
    except (UnicodeDecodeError, EOFError, OSError) as error:
        raise InvalidArgument(f"{path} cannot be read: {error}.") from error
    if not reading.items:
        raise InvalidArgument(f"{path} holds nothing that {source} writes: is this the right --from?")
    return reading


async def take(
    memory: Memory,
    source: Source,
    reading: Reading,
    project: str,
    progress: Callable[[int, int], object] | None = None,
) -> Imported:
    """Remember what was read, in a project that is opened if it is not there.

    A thing that is here under its name is brought up to what the file says; a decision that is here stays.
    """
    total, done = len(reading.items) + len(reading.links), 0
    left_out = Counter(reading.left_out)
    counts = Counter[str]()
    if (await memory.get_scope_state(project)).scope_state == "uncertain":
        await memory.save_session(f"Import from {source}", project)
    keys = {row["name"]: row["key_field"] for row in (await memory.describe_schema())["labels"]}
    for item in reading.items:
        made = memory.acting_as(source=source.way_in, made_at=item.made_at)
        try:
            outcome = (
                await _decide(made, item, project)
                if item.label == "Decision"
                else await _remember(made, item, project, keys[item.label])
            )
            counts[outcome] += 1
        except _Waits as error:
            left_out[str(error)] += 1
        except PgmemError as error:
            left_out[_reason(f"{item.label} {item.name[:60]!r}", error)] += 1
        done += 1
        if progress is not None:
            progress(done, total)
    told = memory.acting_as(source=source.way_in)
    for link in reading.links:
        try:
            edge = await told.relate(
                link.source[0], link.source[1], link.relation, link.target[0], link.target[1], project
            )
            counts["taken" if edge.created else "present"] += 1
        except (MemoryNotFound, AmbiguousName, RelationNotAllowed, InvalidArgument):
            left_out["relations of which an end was not taken or is not one here"] += 1
        done += 1
        if progress is not None:
            progress(done, total)
    return Imported(taken=counts["taken"], present=counts["present"], left_out=dict(left_out))


class _Waits(Exception):
    """A save that a person decides over."""


async def _remember(memory: Memory, item: Item, project: str, key: str) -> str:
    remembered = await memory.remember(
        item.label,
        {**item.properties, key: item.name},
        valid_from=item.valid_from,
        valid_to=item.valid_to,
        project_id=project,
    )
    return "taken" if remembered.created else "present"


async def _decide(memory: Memory, item: Item, project: str) -> str:
    try:
        await memory.get_node("Decision", item.name, project)
        return "present"  # to save it again could supersede what has superseded it
    except AmbiguousName:
        return "present"
    except MemoryNotFound:
        pass
    texts = (
        item.properties.get(name) for name in ("rationale", "summary", "description", "details", "notes")
    )
    rationale = next((text for text in texts if text), item.name)
    if isinstance(rationale, list):
        rationale = "\n".join(map(str, rationale))
    saved = await memory.save_decision(item.name, str(rationale), project)
    if saved.dedup_outcome == "manual_review":
        raise _Waits("decisions that are half like one that is here: pgmem review shows them")
    if saved.status != "saved":
        raise InvalidArgument(saved.message or saved.status)
    return "taken" if saved.dedup_outcome != "duplicate_skip" else "present"


def _reason(what: str, error: PgmemError) -> str:
    return f"{what}: {str(error).rstrip('.')}"
