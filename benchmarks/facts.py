"""FactConsolidation: numbered facts of which later ones contradict earlier ones, and questions about what holds now.

The facts are saved in order through the public API, once as contexts, word for word, and once as facts of an entity
with the relation as their slot. `search_memory` gets only the text of a question. In the answer the newest fact
that states it counts as right; an earlier fact with the same subject and relation and another object counts as stale.
The data is MIT and not part of pgmem (MemoryAgentBench, Conflict_Resolution, single hop).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.databases import Progress, unseen
from benchmarks.talks import percentages, settle
from pgmem.memory import Memory

_DEPTH = 20
_FACT = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
# Sentences of the data: "The capital of A is B", "A's child is B" and "A was born in the city of B".
_FORMS = (
    re.compile(r"^(?P<relation>The .+?) (?:of|that produced) (?P<subject>.+) (?:is|are) (?P<object>.+)$"),
    re.compile(r"^(?P<subject>.+)'s (?P<relation>child) is (?P<object>.+)$"),
    re.compile(
        r"^(?P<subject>.+?) (?P<relation>(?:is|was|plays|speaks|worked|works|died)(?: [a-z]+)*?"
        r"(?: (?:of|by|to|for|in|is|from|with|city|language|field))+) (?P<object>.+)$"
    ),
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the number of the fact that answers it, and the earlier facts that say otherwise."""

    text: str
    newest: int
    stale: frozenset[int]


@dataclass(frozen=True, slots=True)
class FactSet:
    """Facts in the order in which they were given, and questions about them."""

    facts: list[str]
    questions: list[Question]
    left_out: int


def read(file: Path) -> list[FactSet]:
    """The sets of a file.

    Raises:
        ValueError: the file is in another schema; the message names the set.
    """
    found = []
    for number, entry in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        try:
            facts = _FACT.findall(entry["context"])
            pairs = zip(entry["questions"], entry["answers"], strict=True)
            asked = [_question(facts, text, answers) for text, answers in pairs]
        except (KeyError, TypeError) as error:
            raise ValueError(f"set {number} is not in FactConsolidation's schema: {error}") from error
        questions = [question for question in asked if question is not None]
        found.append(FactSet(facts, questions, len(asked) - len(questions)))
    return found


def _question(facts: Sequence[str], text: str, answers: Sequence[str]) -> Question | None:
    """The last fact that ends in an answer and shares most words with the question, and those that begin as it does.

    A word counts the more, the fewer facts have it: "developer" and "Apple DOS" say more than "is" and "the".
    """
    asked, best = _words(text), (0.0, -1, "")
    rarity = _rarity(tuple(facts))

    def weight(words: set[str]) -> float:
        return sum(rarity.get(word, 0.0) for word in words)

    for number, fact in enumerate(facts):
        for answer in answers:
            beginning = fact.rstrip(".").removesuffix(answer.rstrip("."))
            if beginning == fact.rstrip(".") or len(beginning.split()) < 2:
                continue
            given = _words(beginning)
            best = max(best, (weight(asked & given) / (weight(asked | given) or 1), number, beginning))
    share, newest, beginning = best
    if newest < 0 or share == 0:
        return None
    twins = {number for number, fact in enumerate(facts) if fact.startswith(beginning)}
    if max(twins) != newest:
        return None  # the answer is not what the last of these facts says
    return Question(text, newest, frozenset(number for number in twins if facts[number] != facts[newest]))


@cache
def _rarity(facts: tuple[str, ...]) -> dict[str, float]:
    """The logarithm of how many times more facts there are than facts with a word."""
    found = Counter(word for fact in facts for word in _words(fact))
    return {word: log(len(facts) / number) for word, number in found.items()}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _slot(fact: str) -> tuple[str, str]:
    """The subject and the relation of a sentence; a sentence in another form is all subject."""
    for form in _FORMS:
        if parts := form.match(fact.rstrip(".")):
            return parts["subject"], parts["relation"].strip()
    return fact, "fact"


async def _save(memory: Memory, given: FactSet, project: str, as_facts: bool) -> dict[UUID, int]:
    """Save each fact as a context of its sentence, or as a fact of its subject with the relation as the slot."""
    saved = {}
    await memory.save_session("Facts are given.", project)
    for number, fact in enumerate(given.facts):
        subject, relation = _slot(fact)
        result = await (
            memory.upsert_entity(subject, fact, project, about=relation)
            if as_facts
            else memory.save_context(fact, project)
        )
        assert result.artifact_id is not None, result
        saved[result.artifact_id] = number
    return saved


async def _ask(
    memory: Memory, given: FactSet, project: str, saved: dict[UUID, int]
) -> list[dict[str, float]]:
    scored = []
    for question in given.questions:
        found = await memory.search_memory(question.text, _DEPTH, project)
        ranked = [given.facts[saved[result.id]] for result in found.results if result.id in saved]
        newest = given.facts[question.newest]
        stale = {given.facts[number] for number in question.stale}
        above = ranked[: ranked.index(newest)] if newest in ranked else ranked
        scored.append(
            {
                "pair": float(bool(stale)),
                "first": float(ranked[:1] == [newest]),
                "above": float(any(fact in stale for fact in above)),
                "among five": float(any(fact in stale for fact in ranked[:5])),
            }
        )
    return scored


async def run(memory: Memory, file: Path, *, progress: Progress = unseen) -> dict[str, Any]:
    """Save each set in both ways, ask, score.

    Args:
        memory: an empty store.
        file: a list of sets, each with context, questions and answers.
        progress: called with (what, done, of) as work goes on.

    Returns:
        {bench, provider, rows: [{saved, facts, questions, left_out, pairs, first, above, among five}]}: first is the
        percentage of the questions whose newest fact is the first result; above and among five, of those with a stale
        fact, how often one is above the newest or among the first five results.

    Raises:
        ValueError: the file is in another schema, or holds no question.
    """
    sets = read(file)
    if not any(given.questions for given in sets):
        raise ValueError(f"no question with its fact is in {file.name}")
    rows = []
    for given in sets:
        for way in ("contexts", "facts"):
            project = f"{way} {len(given.facts)}"
            saved = await _save(memory, given, project, way == "facts")
            await settle(memory)
            scored = await _ask(memory, given, project, saved)
            pairs = [row for row in scored if row["pair"]]
            rows.append(
                {
                    "saved": way,
                    "facts": len(given.facts),
                    "questions": len(scored),
                    "left_out": given.left_out,
                    "pairs": len(pairs),
                    "first": percentages({"first": row["first"]} for row in scored)["first"],
                    **percentages({name: row[name] for name in ("above", "among five")} for row in pairs),
                }
            )
            progress("facts", len(rows), 2 * len(sets))
    return {"bench": "facts", "provider": memory.embedding_model, "rows": rows}
