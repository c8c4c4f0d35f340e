"""BEAM: long chats between a person and an assistant, and questions whose evidence is known message by message.

Each chat is a project, each of its batches a Session, each message a memory of its role written through the public API;
each question goes through `search_memory` and sees nothing but its own text. Questions about what the chat does not say
(abstention) have no evidence and are left out. The data is fetched by the caller (github.com/mohammadtavakoli78/BEAM):
a folder with one folder a chat, each with chat.json and probing_questions/probing_questions.json.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from statistics import pstdev
from typing import Any

from benchmarks.databases import Progress, unseen
from benchmarks.metrics import mean_of, score
from benchmarks.talks import Question, Talk, Turn, answered, percentages, search
from benchmarks.trust import abstention, budgeted
from pgmem.memory import Memory

Chat = Talk[Question]


def read(folder: Path) -> list[Chat]:
    """The chats of a folder.

    Raises:
        ValueError: there are none, or one is in another layout; the message names it.
    """
    found = []
    for place in sorted(path for path in folder.iterdir() if (path / "chat.json").is_file()):
        try:
            found.append(_chat(place))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{place.name} is not in BEAM's layout: {error}") from error
    if not found:
        raise ValueError(f"no folder with a chat.json is in {folder.name}")
    return found


def _chat(place: Path) -> Chat:
    when, sessions = datetime(2024, 1, 1, tzinfo=UTC), []
    batches = json.loads((place / "chat.json").read_text(encoding="utf-8"))
    for number, batch in enumerate(batches, start=1):
        messages = []
        for message in (message for turn in batch["turns"] for message in turn):
            when = _date(message.get("time_anchor")) or when
            messages.append(Turn(str(message["id"]), message["role"], message["content"], when))
        sessions.append((f"Conversation {number}", messages))
    known = {message.key for _, messages in sessions for message in messages}
    asked = json.loads((place / "probing_questions" / "probing_questions.json").read_text(encoding="utf-8"))
    questions = [
        Question(entry["question"], kind, evidence)
        for kind, entries in asked.items()
        for entry in entries
        if kind != "abstention" and (evidence := _ids(entry.get("source_chat_ids")) & known)
    ]
    return Chat(f"beam-{place.name}", sessions, questions)


def _ids(given: object) -> frozenset[str]:
    """The ids in a number, a list or an object, however deep."""
    if isinstance(given, dict):
        given = list(given.values())
    if isinstance(given, list):
        return frozenset().union(*map(_ids, given))
    return frozenset() if given is None else frozenset({str(given)})


def _date(text: str | None) -> datetime | None:
    try:
        return datetime.strptime(text or "", "%B-%d-%Y").replace(tzinfo=UTC)
    except ValueError:
        return None


async def ask(memory: Memory, chat: Chat, **options: Any) -> list[dict[str, Any]]:
    """The scores of every question of a chat, by message."""
    scored = []
    for question in chat.questions:
        found = await search(memory, chat, question, **options)
        scored.append(
            {
                "chat": chat.project,
                "kind": question.kind,
                "message": score(chat.keys(found), set(question.evidence)),
                "budget": budgeted(found, chat.saved, set(question.evidence)),
            }
        )
    return scored


async def run(memory: Memory, folder: Path, *, progress: Progress = unseen) -> dict[str, Any]:
    """Load, ask, score.

    Args:
        memory: an empty store.
        folder: a folder with one folder a chat.
        progress: called with (what, done, of) as work goes on.

    Returns:
        {bench, provider, messages, questions, all, by_kind, leave_one_out, abstention, budget}, metrics in percent.

    Raises:
        ValueError: the folder is in another layout.
    """
    chats = read(folder)
    scored = await answered(memory, chats, ask, progress, "chats")
    kinds = sorted({row["kind"] for row in scored})
    return {
        "bench": "beam",
        "provider": memory.embedding_model,
        "messages": sum(len(chat.saved) for chat in chats),
        "questions": len(scored),
        "all": mean_of(row["message"] for row in scored),
        "by_kind": {kind: mean_of(row["message"] for row in scored if row["kind"] == kind) for kind in kinds},
        "leave_one_out": _spread(scored, [chat.project for chat in chats]),
        "abstention": await abstention(memory, chats),
        "budget": percentages(row["budget"] for row in scored),
    }


def _spread(scored: list[dict[str, Any]], chats: list[str]) -> dict[str, dict[str, float]]:
    """Least, most and standard deviation of the metrics when each chat in turn is left out."""
    if len(chats) < 2:
        return {}
    means = [mean_of(row["message"] for row in scored if row["chat"] != chat) for chat in chats]
    return {
        name: {
            "least": min(row[name] for row in means),
            "most": max(row[name] for row in means),
            "deviation": round(pstdev(row[name] for row in means), 2),
        }
        for name in ("R@1", "R@10", "NDCG@10", "MRR")
    }
