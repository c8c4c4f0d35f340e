"""What a further step from the best results of a search would bring: R@10 and NDCG@10 on LoCoMo and BEAM.

The step is taken over the best hundred of each search: what stands next to the best three, what is of their sessions,
and what shares a rare name with them is ranked higher; `spread` lets a session bring so many results only, where a
question asks for a course of events. docs/decisions/0034 has the result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import anyio

from benchmarks import beam, locomo
from benchmarks.metrics import mean_of, score
from pgmem.database import schema
from pgmem.database.embedded import temporary_server
from pgmem.memory import Memory
from pgmem.settings import load

_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_COURSE = re.compile(
    r"\b(order|sequence|timeline|summar\w*|overview|over time|throughout|evol\w+|progress\w*|walk me through)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Found:
    """One result: which message, of which session, its place there, its text and score."""

    key: str
    session: str
    place: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the messages that answer it, and the best hundred that a search found."""

    corpus: str
    text: str
    gold: frozenset[str]
    found: list[Found]


Step = Callable[[Asked], list[Found]]


def nearby(weight: float) -> Step:
    """Rank what stands next to the best three higher."""

    def step(asked: Asked) -> list[Found]:
        best = [(one.session, one.place) for one in asked.found[:3]]
        return _raised(asked, weight, lambda one: any(
            one.session == session and abs(one.place - place) == 1 for session, place in best))  # fmt: skip

    return step


def of_their_sessions(weight: float) -> Step:
    """Rank what is of the sessions of the best three higher."""

    def step(asked: Asked) -> list[Found]:
        sessions = {one.session for one in asked.found[:3]}
        return _raised(asked, weight, lambda one: one.session in sessions)

    return step


def of_their_names(weight: float) -> Step:
    """Rank what shares a name with the best three higher; names of 2 to 10 of the hundred, none of the question's."""

    def step(asked: Asked) -> list[Found]:
        held = Counter(name for one in asked.found for name in set(_NAME.findall(one.text)))
        names = {name for one in asked.found[:3] for name in _NAME.findall(one.text) if 2 <= held[name] <= 10}
        names -= set(_NAME.findall(asked.text))
        return _raised(asked, weight, lambda one: bool(names & set(_NAME.findall(one.text))))

    return step


def spread(most: int) -> Step:
    """Let a session bring so many results only, where the question asks for a course of events."""

    def step(asked: Asked) -> list[Found]:
        if not _COURSE.search(asked.text):
            return asked.found
        seen: Counter[str] = Counter()
        over = {one.key for one in asked.found if (seen.update([one.session]) or seen[one.session] > most)}
        return sorted(asked.found, key=lambda one: one.key in over)

    return step


def _raised(asked: Asked, weight: float, chosen: Callable[[Found], bool]) -> list[Found]:
    return sorted(asked.found, key=lambda one: -(one.score + weight * chosen(one)))


STEPS: dict[str, Step] = {
    "as it is": lambda asked: asked.found,
    **{f"next to the best three, + {weight}": nearby(weight) for weight in (0.05, 0.1)},
    **{f"sessions of the best three, + {weight}": of_their_sessions(weight) for weight in (0.05, 0.1)},
    **{f"names of the best three, + {weight}": of_their_names(weight) for weight in (0.02, 0.05, 0.1)},
    **{f"at most {most} of a session": spread(most) for most in (1, 3)},
}


async def search(talks: list[locomo.Conversation], chats: list[beam.Chat]) -> list[Asked]:
    """Save both corpora into a store of their own and put every question."""
    with temporary_server() as (dsn, folder):
        schema.upgrade(dsn)
        settings = load(dsn=dsn, data_dir=folder, embedding_provider="static")
        async with Memory.connect(settings, source="sdk") as memory:
            for talk in talks:
                await locomo.save(memory, talk)
            for chat in chats:
                await beam.keep(memory, chat)
            await memory.embed_waiting()
            await memory.refresh_statistics(everything=True)
            asked = []
            for talk in talks:
                sessions = ([(turn.key, turn.text) for turn in turns] for _, turns in talk.sessions)
                half = "LoCoMo, odd" if talk.number % 2 else "LoCoMo, even"
                asked += await _ask(memory, half, talk.project, talk.questions, talk.saved, _placed(sessions))
            for chat in chats:
                batches = ([(key, text) for key, _, _, text in batch] for batch in chat.batches)
                asked += await _ask(memory, "BEAM", chat.project, chat.questions, chat.kept, _placed(batches))
            return asked


def _placed(sessions: Iterable[Iterable[tuple[str, str]]]) -> dict[str, tuple[str, int, str]]:
    """The session of each message, its place in it and its text, by its key."""
    return {
        key: (str(number), place, text)
        for number, session in enumerate(sessions)
        for place, (key, text) in enumerate(session)
    }


async def _ask(
    memory: Memory,
    corpus: str,
    project: str,
    questions: Sequence[locomo.Question | beam.Question],
    kept: dict[UUID, str],
    placed: dict[str, tuple[str, int, str]],
) -> list[Asked]:
    asked = []
    for question in questions:
        answer = await memory.search_memory(question.text, 100, project, labels=["Context"])
        found = [
            Found(kept[one.id], *placed[kept[one.id]], one.score) for one in answer.results if one.id in kept
        ]
        asked.append(Asked(corpus, question.text, frozenset(question.evidence), found))
    return asked


def run(talks: Path, chats: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Put every question of both corpora to a temporary store, and take each step from what was found.

    Args:
        talks: the file of LoCoMo.
        chats: a folder of BEAM, with one folder a chat.

    Returns:
        The corpora; and for each step, R@10 and NDCG@10 of each corpus.
    """
    asked = anyio.run(search, locomo.read(talks)[0], beam.read(chats))
    corpora = list(dict.fromkeys(one.corpus for one in asked))
    rows: dict[str, list[str]] = {}
    for name, step in STEPS.items():
        rows[name] = []
        for corpus in corpora:
            means = mean_of(
                score([found.key for found in step(one)], set(one.gold))
                for one in asked
                if one.corpus == corpus
            )
            rows[name].append(f"{means['R@10']:.1f} / {means['NDCG@10']:.1f}")
    return corpora, rows
