"""The part of the store that an agent is shown: the right note among few, and a mark where nothing answers.

shown.json holds two sets of 40 notes. Half of the notes are asked for in plain words of theirs, half in other words
throughout, and 20 questions of a set are answered by nothing in it. All of it was written before the first run. The
floor from which a search counts as answered (setting answered_yes) is chosen on the first set, so that of its 20
questions without an answer at most 4 pass, and both sets are reported at it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean
from typing import Any
from uuid import UUID

from benchmarks.databases import Progress, unseen
from benchmarks.talks import settle
from pgmem.memory import Memory
from pgmem.models import MemoryScope

_PASSING = 4


@dataclass(frozen=True, slots=True)
class _Asked:
    style: str
    person: list[UUID]
    agent: list[UUID]
    gold: UUID | None
    best: float
    answered: str


async def run(memory: Memory, *, progress: Progress = unseen) -> dict[str, Any]:
    """Save the notes, a project a set; ask as a person and as an agent.

    Returns:
        {bench, provider, floor, sets: {name: {style: {n, first, shown, results, yes, yes_at_floor}}}, alike, asked};
        first counts the right notes at a person's first place, shown those in an agent's list, results is its mean
        length, yes counts the questions that are answered; alike the agent's lists that are a person's in its order.
    """
    sets = json.loads(files("benchmarks").joinpath("shown.json").read_text(encoding="utf-8"))
    agent = memory.acting_as(MemoryScope(), source="mcp")
    asked: dict[str, list[_Asked]] = {}
    saved: dict[str, UUID | None] = {}
    for given in sets:
        await memory.save_session("Notes", given["name"])
        for note in given["notes"]:
            kept = await (
                memory.save_decision(note["title"], note["text"], given["name"])
                if "title" in note
                else memory.save_context(note["text"], given["name"])
            )
            saved[note["question"]] = kept.artifact_id
    await settle(memory)
    for given in sets:
        questions = [(note["question"], note["style"]) for note in given["notes"]]
        questions += [(text, "unanswerable") for text in given["unanswerable"]]
        rows = asked[given["name"]] = []
        for place, (text, style) in enumerate(questions, start=1):
            mine = await memory.search_memory(text, 10, given["name"])
            theirs = await agent.search_memory(text, 10, given["name"])
            best = max((result.relevance or 0.0 for result in mine.results), default=0.0)
            rows.append(
                _Asked(
                    style,
                    [result.id for result in mine.results],
                    [result.id for result in theirs.results],
                    saved.get(text),
                    best,
                    str(theirs.answered),
                )
            )
            progress(given["name"], place, len(questions))
    first = [row.best for row in asked[sets[0]["name"]] if row.style == "unanswerable"]
    floor = round(sorted(first, reverse=True)[_PASSING] + 0.0005, 3)
    every = [row for rows in asked.values() for row in rows]
    return {
        "bench": "shown",
        "provider": memory.embedding_model,
        "floor": floor,
        "sets": {
            name: {
                style: _figures([row for row in rows if row.style == style], floor)
                for style in ("plain", "own", "unanswerable")
            }
            for name, rows in asked.items()
        },
        "alike": sum(
            [id for id in row.person if id in set(row.agent)] == row.agent and bool(row.agent)
            for row in every
        ),
        "asked": len(every),
    }


def _figures(rows: list[_Asked], floor: float) -> dict[str, float]:
    return {
        "n": len(rows),
        "first": sum(row.person[:1] == [row.gold] for row in rows),
        "shown": sum(row.gold in row.agent for row in rows),
        "results": round(fmean(len(row.agent) for row in rows), 1),
        "yes": sum(row.answered == "yes" for row in rows),
        "yes_at_floor": sum(row.best >= floor for row in rows),
    }
