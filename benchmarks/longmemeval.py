"""LongMemEval: questions about long chat histories, each with its own haystack of sessions.

Each haystack becomes a project, each session a Session, each turn a memory with the role as agent, through the public
API. `search_memory` gets only the text of a question. Abstention questions (`…_abs`) have no evidence and are left out,
as in the official retrieval score. Two schemas are read: the official one, and one with several questions per haystack.
The data is not part of pgmem (github.com/xiaowu0162/LongMemEval).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.databases import Progress, unseen
from benchmarks.metrics import score as scores_of
from benchmarks.talks import Question, Talk, Turn, answered, percentages, search
from benchmarks.trust import abstention, budgeted
from pgmem.memory import Memory

_CUTS = (1, 3, 5, 10, 20)
_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Asked(Question):
    """A question with its id in the data, and the ids of the sessions that are its evidence.

    A turn is session:place.
    """

    key: str
    sessions: frozenset[str]


Haystack = Talk[Asked]


def read(file: Path) -> tuple[list[Haystack], int]:
    """The haystacks of a file, and how many abstention questions were left out.

    Raises:
        ValueError: an entry is in none of the schemas; the message names the entry and the field.
    """
    found, left_out = [], 0
    for number, entry in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        try:
            haystack = _haystack(number, entry)
        except (KeyError, TypeError) as error:
            raise ValueError(f"entry {number} is not in LongMemEval's schema: {error}") from error
        if haystack.questions:
            found.append(haystack)
        else:
            left_out += 1
    return found, left_out


def _haystack(number: int, entry: dict[str, Any]) -> Haystack:
    ids, dates, talks = entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"]
    if not len(ids) == len(dates) == len(talks):
        raise TypeError("haystack_session_ids, haystack_dates and haystack_sessions differ in length")
    sessions = []
    for session, date, talk in zip(ids, dates, talks, strict=True):
        when = _date(date)
        turns = [
            Turn(f"{session}:{place}", turn["role"], turn["content"], when)
            for place, turn in enumerate(talk)
            if turn["content"].strip()
        ]
        sessions.append((f"Conversation {session}, {when:%d %B %Y}", turns))
    marked = {
        f"{key}:{place}"
        for key, talk in zip(ids, talks, strict=True)
        for place, turn in enumerate(talk)
        if turn.get("has_answer")
    }
    key, kind = str(entry["question_id"]), str(entry["question_type"])
    asked = [(entry["question"], entry["answer_session_ids"])] if "question" in entry else []
    if "questions" in entry:
        asked = list(zip(entry["questions"], entry["answer_session_ids"], strict=True))
    questions = []
    for place, (text, answers) in enumerate(asked):
        held = frozenset(str(answer) for answer in answers) & frozenset(map(str, ids))
        if key.endswith("_abs") or not held:
            continue
        evidence = frozenset(turn for turn in marked if turn.rpartition(":")[0] in held)
        questions.append(Asked(text, kind, evidence, key if len(asked) == 1 else f"{key}/{place}", held))
    return Haystack(f"longmemeval-{number}", sessions, questions)


def _date(text: str) -> datetime:
    # "2023/05/25 (Thu) 20:21"
    day, _, rest = text.partition(" ")
    hour = rest.rpartition(" ")[2] or "00:00"
    return datetime.strptime(f"{day} {hour}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


async def ask(memory: Memory, haystack: Haystack) -> list[dict[str, Any]]:
    """The scores of every question of a haystack; a session ranks by its best turn."""
    scored = []
    for question in haystack.questions:
        found, gold = await search(memory, haystack, question, _DEPTH), question.evidence
        turns = haystack.keys(found)
        sessions = list(dict.fromkeys(turn.rpartition(":")[0] for turn in turns))
        scored.append(
            {
                "question": question.key,
                "kind": question.kind,
                "session": score(sessions, question.sessions),
                "turn": score(turns, gold) if gold else None,
                "budget": budgeted(found, haystack.saved, set(gold)) if gold else None,
            }
        )
    return scored


def score(ranked: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    """`any@k` (the top k hold any of the evidence), `all@k` (all of it) and NDCG@10; each 0 to 1."""
    found: dict[str, float] = {}
    for k in _CUTS:
        found[f"any@{k}"] = float(any(item in gold for item in ranked[:k]))
        found[f"all@{k}"] = float(gold.issubset(ranked[:k]))
    whole = scores_of(ranked, set(gold))
    return {**found, **{name: whole[name] for name in ("R@1", "R@10", "NDCG@10", "MRR")}}


def _means(rows: Iterable[dict[str, float] | None]) -> dict[str, float]:
    given = [row for row in rows if row is not None]
    if not given:
        return {"n": 0}
    any5 = fmean(row["any@5"] for row in given)
    error = round(100 * math.sqrt(any5 * (1 - any5) / len(given)), 2)
    return {"n": len(given), **percentages(given), "SE(any@5)": error}


async def run(memory: Memory, file: Path, *, progress: Progress = unseen) -> dict[str, Any]:
    """Save the haystacks, ask the questions, score the results.

    Args:
        memory: an empty store.
        file: longmemeval_s.json, longmemeval_m.json or longmemeval_oracle.json, or a file in their schema.
        progress: called with the name of a step, its finished units and their total.

    Returns:
        {bench, provider, questions, left_out, session, turn, by_type}, metrics in percent.

    Raises:
        ValueError: the file is in another schema.
    """
    haystacks, left_out = read(file)
    scored = await answered(memory, haystacks, ask, progress, "haystacks")
    kinds = sorted({row["kind"] for row in scored})
    return {
        "bench": "longmemeval",
        "provider": memory.embedding_model,
        "questions": len(scored),
        "left_out": left_out,
        "session": _means(row["session"] for row in scored),
        "turn": _means(row["turn"] for row in scored),
        "abstention": await abstention(memory, haystacks),
        "budget": percentages(row["budget"] for row in scored if row["budget"] is not None),
        "by_type": {
            kind: {
                unit: _means(row[unit] for row in scored if row["kind"] == kind)
                for unit in ("session", "turn")
            }
            for kind in kinds
        },
    }
