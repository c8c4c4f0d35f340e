"""Pairs of decisions and notes: what a save names, what it replaces, and how the pair is settled.

The pairs are in decisions.json: reversals and contradictions, which are conflicts; others, which are about two things;
and notes of which the second adds where, when or for whom it holds, or says what changed. Each pair has a project of
its own. Rules were chosen on the first half of each set, the pairs in even places; the second half is to be reported,
and the sets of which the name ends in *later*, which were written after the rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.databases import Progress, unseen
from pgmem.memory import Memory

PAIRS = Path(__file__).with_name("decisions.json")
_WRITINGS: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper)
_WHY = "It is what the team wants."


async def run(memory: Memory, file: Path = PAIRS, *, progress: Progress = unseen) -> dict[str, Any]:
    """Save every pair, and count what the second save says of the first.

    Args:
        memory: an empty store.
        file: an object of sets, each a list of pairs; a third text of a pair is a query.
        progress: called with (what, done, of) as work goes on.

    Returns:
        {bench, rows: [{set, half, pairs, …}], missed}: named, conflict, replaced, waits and settled count pairs of
        decisions, written counts those of one outcome in any capitals; conflict, both and marked count pairs of notes.
    """
    sets: dict[str, list[list[str]]] = json.loads(file.read_text(encoding="utf-8"))
    total, done = sum(map(len, sets.values())), 0
    rows: list[dict[str, Any]] = []
    missed: list[list[str]] = []
    for name, pairs in sets.items():
        kind = name.split(",")[0]
        notes = kind in ("qualifiers", "changed")
        for half in (0, 1):
            row: dict[str, Any] = {"set": name, "half": ("first", "second")[half], "pairs": 0}
            for place, pair in enumerate(pairs):
                if place % 2 != half:
                    continue
                found = await (_noted if notes else _decided)(memory, f"{name} {place}", pair)
                row["pairs"] += 1
                for key, value in found.items():
                    row[key] = row.get(key, 0) + value
                if found["conflict"] != (kind in ("reversals", "contradictions", "changed")):
                    missed.append([name, *pair[:2]])
                done += 1
                progress("pairs", done, total)
            rows.append(row)
    return {"bench": "decisions", "rows": rows, "missed": missed}


async def _decided(memory: Memory, project: str, pair: list[str]) -> dict[str, bool]:
    """Save two decisions in three writings, and settle the pair as it is typed."""
    outcomes = []
    for writing in _WRITINGS:
        place = f"{project} {writing.__name__}"
        await memory.save_session("Decisions are taken.", place)
        older = await memory.save_decision(writing(pair[0]), _WHY, place)
        newer = await memory.save_decision(writing(pair[1]), _WHY, place)
        outcomes.append((older, newer, newer.dedup_outcome, [one.axis for one in newer.conflicts]))
    older, newer = outcomes[0][:2]
    assert older.artifact_id is not None
    named = str(older.artifact_id)
    place = f"{project} str"
    found = {
        "named": named in {str(one.id) for one in newer.near} | {str(one.id) for one in newer.conflicts},
        "conflict": bool(newer.conflicts),
        "replaced": newer.dedup_outcome == "supersede",
        "waits": newer.dedup_outcome == "manual_review",
        "written": all(each[2:] == outcomes[0][2:] for each in outcomes),
    }
    if len(pair) > 2:
        ranked = (await memory.search_memory(pair[2], project_id=place)).results
        shown = [one for one in ranked if str(one.id) == named]
        found["found"] = any(one.outdated_by == newer.artifact_id for one in shown)
    found["settled"] = await _settled(memory, place, pair, older.artifact_id)
    return found


async def _settled(memory: Memory, place: str, pair: list[str], older: UUID) -> bool:
    """Say once that both hold: both are live, no conflict is open, and a further save names neither of them."""
    newer = await memory.save_decision(pair[1], _WHY, place, beside=str(older))
    again = await memory.save_decision(pair[1], _WHY, place)
    live = {entry.title for entry in await memory.list_memories(place, labels=["Decision"])}
    waiting = await memory.count_waiting(place)
    return (
        newer.artifact_id == again.artifact_id
        and live == set(pair[:2])
        and not (waiting.conflicts or waiting.reviews or again.near or again.conflicts)
    )


async def _noted(memory: Memory, project: str, pair: list[str]) -> dict[str, bool]:
    """Save two notes of one writer, and ask an agent's question that both answer."""
    await memory.save_session("Notes are taken.", project)
    older = await memory.save_context(pair[0], project)
    newer = await memory.save_context(pair[1], project)
    query = pair[2] if len(pair) > 2 else " ".join(pair[0].split()[:5])
    found = (await memory.search_memory(query, project_id=project, answers_only=True)).results
    by_id = {one.id: one for one in found}
    return {
        "conflict": bool(newer.conflicts),
        "both": {older.artifact_id, newer.artifact_id} <= set(by_id),
        "marked": older.artifact_id in by_id and by_id[older.artifact_id].outdated_by == newer.artifact_id,
    }
