"""LoCoMo: long conversations between two people, and questions with the turns that are their evidence.

Each conversation becomes a project, each session a Session, each turn a memory, through the public API. `search_memory`
gets only the text of a question. Even conversations are for tuning, odd ones for reporting. The data is CC BY-NC 4.0
and not part of pgmem (github.com/snap-research/LoCoMo, data/locomo10.json).
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from benchmarks.databases import Progress, unseen
from benchmarks.metrics import mean_of, score
from benchmarks.talks import Question, Talk, Turn, each, percentages, save, search, settle
from benchmarks.trust import abstention, budgeted
from pgmem.memory import Memory

SHA256 = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
SIGNALS = (
    "names",
    "window",
    "question",
    "session",
    "prior",
    "instruction",
    "time",
    "date",
    "source",
    "graph",
)
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(slots=True)
class Conversation(Talk[Question]):
    """One conversation of the data, with its place there."""

    number: int = 0


def read(file: Path) -> tuple[list[Conversation], bool]:
    """The conversations of a file, and whether it is the published one (by SHA-256).

    Raises:
        ValueError: the file is in another schema; the message names the conversation.
    """
    raw, found = file.read_bytes(), []
    for number, entry in enumerate(json.loads(raw)):
        try:
            found.append(_conversation(number, entry))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"conversation {number} is not in LoCoMo's schema: {error}") from error
    return found, hashlib.sha256(raw).hexdigest() == SHA256


def _conversation(number: int, entry: dict[str, Any]) -> Conversation:
    talk = entry["conversation"]
    names = sorted(
        (k for k in talk if re.fullmatch(r"session_\d+", k)), key=lambda k: int(k.removeprefix("session_"))
    )
    sessions = []
    for place, name in enumerate(names, start=1):
        when = datetime.strptime(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        turns = [_turn(turn, when) for turn in talk[name]]
        sessions.append((f"Conversation {place}, {when:%d %B %Y}", turns))
    known = {turn.key for _, turns in sessions for turn in turns}
    questions = []
    for question in entry["qa"]:
        ids = {f"D{a}:{b}" for item in question.get("evidence", []) for a, b in _EVIDENCE.findall(item)}
        ids = {re.sub(r"D0*(\d+):0*(\d+)", r"D\1:\2", key) for key in ids} & known
        if ids:
            kind = CATEGORIES.get(question["category"], str(question["category"]))
            questions.append(Question(question["question"], kind, frozenset(ids)))
    return Conversation(f"locomo-{number}", sessions, questions, number=number)


def _turn(turn: dict[str, Any], when: datetime) -> Turn:
    shares = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return Turn(turn["dia_id"], turn["speaker"], f"{turn['speaker']}: {turn['text']}{shares}", when)


async def ask(
    memory: Memory, talk: Conversation, without: Sequence[str] = (), **options: Any
) -> list[dict[str, Any]]:
    """The scores of every question of a conversation, by turn and by session (a session ranks by its best turn)."""
    scored = []
    for question in talk.questions:
        found = await search(memory, talk, question, without=without, **options)
        turns = talk.keys(found)
        sessions = list(dict.fromkeys(key.partition(":")[0] for key in turns))
        scored.append(
            {
                "conversation": talk.number,
                "category": question.kind,
                "turn": score(turns, set(question.evidence)),
                "budget": budgeted(found, talk.saved, set(question.evidence)),
                "session": score(sessions, {key.partition(":")[0] for key in question.evidence}),
            }
        )
    return scored


def summary(scored: list[dict[str, Any]], unit: str) -> dict[str, Any]:
    """Means over all questions, over those without category 5, and by category."""
    return {
        **mean_of(row[unit] for row in scored),
        "without_adversarial": mean_of(row[unit] for row in scored if row["category"] != "adversarial"),
        "by_category": {
            name: mean_of(row[unit] for row in scored if row["category"] == name)
            for name in CATEGORIES.values()
        },
    }


async def run(
    memory: Memory, file: Path, *, ablation: bool = False, progress: Progress = unseen
) -> dict[str, Any]:
    """Save the conversations, ask the questions, score the results.

    Args:
        memory: an empty store.
        file: locomo10.json.
        ablation: ask again without each signal.
        progress: called with the name of a step, its finished units and their total.

    Returns:
        {bench, data, provider, seconds, splits: {odd, even, all: {turn, session}}, ablation}, metrics in percent.
    """
    talks, published = read(file)
    began = time.perf_counter()
    turns = await _save_all(memory, talks, progress)
    written = time.perf_counter()
    await settle(memory)
    prepared = time.perf_counter()
    scored = await _ask_all(memory, talks, (), progress, "questions")
    asked = time.perf_counter()
    report: dict[str, Any] = {
        "bench": "locomo",
        "data": "published file" if published else "another file than the published one",
        "provider": memory.embedding_model,
        "turns": turns,
        "questions": len(scored),
        "seconds": {
            "write": round(written - began, 1),
            "windows_and_counts": round(prepared - written, 1),
            "ask": round(asked - prepared, 1),
        },
        "splits": {
            name: {
                unit: summary([row for row in scored if row["conversation"] % 2 in halves], unit)
                for unit in ("turn", "session")
            }
            for name, halves in (("odd", {1}), ("even", {0}), ("all", {0, 1}))
        },
    }
    for name, half in (("odd", 1), ("even", 0)):
        budgets = (row["budget"] for row in scored if row["conversation"] % 2 == half)
        report["splits"][name] |= {
            "abstention": await abstention(memory, [talk for talk in talks if talk.number % 2 == half]),
            "budget": percentages(budgets),
        }
    if ablation:
        report["ablation"] = await _ablation(memory, talks, progress)
    return report


async def _save_all(memory: Memory, talks: list[Conversation], progress: Progress) -> int:
    """Save the conversations concurrently; the number of turns."""
    total = sum(1 for talk in talks for _ in talk.turns)
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        progress("writing turns", done, total)

    async with anyio.create_task_group() as tasks:
        for talk in talks:
            tasks.start_soon(save, memory, talk, count)
    return total


async def _ablation(memory: Memory, talks: list[Conversation], progress: Progress) -> dict[str, Any]:
    """Means by turn without each signal, and without all of them."""
    found = {}
    for signal in (*SIGNALS, "all of these"):
        left_out = SIGNALS if signal == "all of these" else (signal,)
        rows = await _ask_all(memory, talks, left_out, progress, f"without {signal}")
        found[f"without {signal}"] = {
            "odd": mean_of(row["turn"] for row in rows if row["conversation"] % 2),
            "all": mean_of(row["turn"] for row in rows),
        }
    return found


async def _ask_all(
    memory: Memory, talks: list[Conversation], without: Sequence[str], progress: Progress, what: str
) -> list[dict[str, Any]]:
    asked = await each(memory, talks, partial(ask, without=without), progress, what)
    return [row for rows in asked for row in rows]
