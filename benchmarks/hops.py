"""The effect of one graph step from the best results of a search: R@10 and NDCG@10 on LoCoMo and BEAM.

The step is taken over the best hundred of each search: what is adjacent to the best three, what is of their sessions,
and what shares a rare name with them is ranked higher; `spread` limits the results of a session, where a
question asks for a course of events. docs/decisions/0034 has the result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks import beam, locomo
from benchmarks.databases import Progress, unseen
from benchmarks.metrics import mean_of, score
from benchmarks.talks import Question, Talk, each, save, search, settle
from pgmem.memory import Memory

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
    """Rank memories adjacent to the best three higher."""

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


async def run(memory: Memory, talks: Path, chats: Path, *, progress: Progress = unseen) -> dict[str, Any]:
    """Load both corpora, ask, take each step from what was found, score.

    Args:
        memory: an empty store.
        talks: the file of LoCoMo.
        chats: a folder of BEAM, with one folder a chat.
        progress: called with (what, done, of) as work goes on.

    Returns:
        {bench, provider, questions, steps: {step: {corpus: metrics in percent}}}.

    Raises:
        ValueError: the file or the folder is in another layout.
    """
    spoken, written = locomo.read(talks)[0], beam.read(chats)
    await each(memory, spoken, save, progress, "writing conversations")
    await each(memory, written, save, progress, "writing chats")
    await settle(memory)
    asked: list[Asked] = []
    for talks_of, what in ((spoken, "questions, LoCoMo"), (written, "questions, BEAM")):
        asked += chain.from_iterable(await each(memory, talks_of, _ask, progress, what))
    corpora = list(dict.fromkeys(one.corpus for one in asked))
    return {
        "bench": "hops",
        "provider": memory.embedding_model,
        "questions": len(asked),
        "steps": {
            name: {
                corpus: mean_of(
                    score([found.key for found in step(one)], set(one.gold))
                    for one in asked
                    if one.corpus == corpus
                )
                for corpus in corpora
            }
            for name, step in STEPS.items()
        },
    }


async def _ask(memory: Memory, talk: Talk[Question]) -> list[Asked]:
    corpus = "BEAM"
    if isinstance(talk, locomo.Conversation):
        corpus = "LoCoMo, odd" if talk.number % 2 else "LoCoMo, even"
    # The session of each turn, its place in it and its text.
    placed = {
        turn.key: (str(number), place, turn.text)
        for number, (_, turns) in enumerate(talk.sessions)
        for place, turn in enumerate(turns)
    }
    asked = []
    for question in talk.questions:
        results = await search(memory, talk, question)
        found = [
            Found(key, *placed[key], one.score)
            for one in results
            if (key := talk.saved.get(one.id)) is not None
        ]
        asked.append(Asked(corpus, question.text, question.evidence, found))
    return asked
