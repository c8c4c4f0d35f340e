"""Common parts of the benchmarks of conversations: they save the turns, and ask the questions of each conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import TypeVar
from uuid import UUID

from benchmarks.databases import Progress
from pgmem.memory import Memory
from pgmem.models import MemoryScope, SaveResult

T = TypeVar("T")
R = TypeVar("R")


async def say(
    memory: Memory, project: str, session: SaveResult, speaker: str, text: str, when: datetime
) -> UUID:
    """Save what somebody said in a session as a note of theirs; the id of the note."""
    speaking = memory.acting_as(MemoryScope(session_id=str(session.artifact_id), agent_id=speaker))
    result = await speaking.save_context(text, project, valid_from=when)
    assert result.artifact_id is not None, result
    return result.artifact_id


async def each(
    memory: Memory,
    talks: Sequence[T],
    step: Callable[[Memory, T], Awaitable[R]],
    progress: Progress | None,
    what: str,
) -> list[R]:
    """Take a step with each talk in turn; what the steps returned."""
    done = []
    for place, talk in enumerate(talks, start=1):
        done.append(await step(memory, talk))
        if progress is not None:
            progress(what, place, len(talks))
    return done


async def settle(memory: Memory) -> None:
    """Embed what was written, and count its words."""
    await memory.embed_waiting()
    await memory.refresh_statistics(everything=True)


def percentages(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each share, in percent."""
    given = list(rows)
    return {name: round(100 * fmean(row[name] for row in given), 2) for name in (given[0] if given else ())}
