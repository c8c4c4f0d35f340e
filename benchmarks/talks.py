"""Common parts of the benchmarks of conversations: they save the turns, and ask the questions of each conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean
from typing import Any, Generic, TypeVar
from uuid import UUID

from benchmarks.databases import Progress
from pgmem.memory import Memory
from pgmem.models import MemoryScope, SearchResult

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Turn:
    """A remark: its id in the data, the speaker, the words and the time."""

    key: str
    speaker: str
    text: str
    when: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its kind, and the ids of the turns that are its evidence."""

    text: str
    kind: str
    evidence: frozenset[str]


Q = TypeVar("Q", bound=Question)


@dataclass(slots=True)
class Talk(Generic[Q]):
    """A conversation, which becomes a project: its sessions with their titles, and the questions about it.

    `saved` maps ids of memories to ids of turns.
    """

    project: str
    sessions: list[tuple[str, list[Turn]]]
    questions: list[Q]
    saved: dict[UUID, str] = field(default_factory=dict)

    @property
    def turns(self) -> Iterator[Turn]:
        """The turns of all sessions."""
        return (turn for _, turns in self.sessions for turn in turns)

    def keys(self, results: Iterable[SearchResult]) -> list[str]:
        """The ids of the turns that were found, in their order."""
        return [self.saved[result.id] for result in results if result.id in self.saved]


async def save(memory: Memory, talk: Talk[Any], on_turn: Callable[[], None] | None = None) -> None:
    """Save a conversation in order: sessions as Sessions, turns as contexts with the speaker as agent."""
    for title, turns in talk.sessions:
        session = await memory.save_session(title, talk.project)
        for turn in turns:
            scope = MemoryScope(session_id=str(session.artifact_id), agent_id=turn.speaker)
            result = await memory.acting_as(scope).save_context(turn.text, talk.project, valid_from=turn.when)
            assert result.artifact_id is not None, result
            talk.saved[result.artifact_id] = turn.key
            if on_turn is not None:
                on_turn()


async def search(
    memory: Memory, talk: Talk[Any], question: Question, depth: int = 100, **options: Any
) -> list[SearchResult]:
    """Search the turns of a conversation by nothing but the text of a question."""
    found = await memory.search_memory(question.text, depth, talk.project, labels=["Context"], **options)
    return found.results


async def each(
    memory: Memory,
    talks: Sequence[T],
    step: Callable[[Memory, T], Awaitable[R]],
    progress: Progress,
    what: str,
) -> list[R]:
    """Take a step with each talk in turn; what the steps returned."""
    done = []
    for place, talk in enumerate(talks, start=1):
        done.append(await step(memory, talk))
        progress(what, place, len(talks))
    return done


async def answered(
    memory: Memory,
    talks: Sequence[Talk[Q]],
    ask: Callable[[Memory, Talk[Q]], Awaitable[list[R]]],
    progress: Progress,
    what: str,
) -> list[R]:
    """Save the conversations, ask the questions of each; the scores of all questions."""
    await each(memory, talks, save, progress, f"writing {what}")
    await settle(memory)
    return [row for rows in await each(memory, talks, ask, progress, "questions") for row in rows]


async def settle(memory: Memory) -> None:
    """Embed what was written, and count its words."""
    await memory.embed_waiting()
    await memory.refresh_statistics(everything=True)


def percentages(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each share, in percent."""
    given = list(rows)
    return {name: round(100 * fmean(row[name] for row in given), 2) for name in (given[0] if given else ())}
