"""Generated conversations in the format of LoCoMo, for a gate that needs no external data.

Two people talk in sessions some weeks apart. Some turns are facts, the rest is small talk. A question needs the words
of a fact, its meaning, the turns around it (the place follows two turns after the thing), the speaker (both talk about
the thing), or the date (each thing comes up in two sessions). The same seed gives the same conversations.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

_PEOPLE = [("Ava", "Noah"), ("Mina", "Otto"), ("Ines", "Karl"), ("Lena", "Paul")]
_THINGS = [
    ("violin", "instrument"), ("pottery", "clay"), ("kayak", "boat"), ("bakery", "bread"),
    ("telescope", "stars"), ("greenhouse", "plants"), ("marathon", "running"), ("beehive", "honey"),
    ("sailing", "sea"), ("chess", "board"), ("sculpture", "stone"), ("vineyard", "wine"),
    ("podcast", "radio"), ("puppy", "dog"), ("novel", "book"), ("orchestra", "music"),
    ("motorbike", "engine"), ("quilt", "fabric"), ("drone", "flight"), ("orchard", "apples"),
]  # fmt: skip
_PLACES = ["Lisbon", "Oslo", "Kyoto", "Quito", "Cairo", "Perth", "Turin", "Cork", "Lviv", "Cusco"]
_TALK = [
    "How was your week?", "It rained all morning here.", "I slept badly again.", "That sounds lovely.",
    "Work keeps me busy as always.", "We should meet for coffee soon.", "My sister sends her regards.",
    "I am so glad to hear that.", "The traffic was terrible today.", "Did you see the news?",
    "I tried a new recipe for soup.", "Thanks, that means a lot to me.", "The neighbours are loud tonight.",
    "I think I will rest this weekend.",
]  # fmt: skip


def conversations(count: int = 4, sessions: int = 6, seed: int = 1) -> list[dict[str, Any]]:
    """Conversations with questions, in the format of `locomo10.json`."""
    return [_conversation(number, sessions, random.Random(1000 * seed + number)) for number in range(count)]


def _conversation(number: int, sessions: int, chance: random.Random) -> dict[str, Any]:
    people = _PEOPLE[number % len(_PEOPLE)]
    # Each thing comes up in two sessions, so that only the date identifies the one that is meant.
    pool = chance.sample(_THINGS, sessions)
    things = [*pool, *pool[1:], pool[0]]
    talk: dict[str, Any] = {"speaker_a": people[0], "speaker_b": people[1]}
    questions: list[dict[str, Any]] = []
    day = datetime(2023, 1 + number, 3, 14, 5)
    for place in range(1, sessions + 1):
        turns: list[tuple[str, str]] = []
        for thing, about in things[2 * (place - 1) : 2 * place]:
            speaker, other = chance.sample(people, 2)
            town = chance.choice(_PLACES)
            turns += [(chance.choice(people), text) for text in chance.sample(_TALK, 4)]
            first = len(turns) + 1
            turns.append((speaker, f"I have news about the {thing}, it is all about {about} these days."))
            turns.append((other, "Go on, where did that happen?"))
            turns.append((speaker, f"It was in {town}, and I paid {chance.randint(20, 900)} for it."))
            # The other person says something similar, which no question is about.
            turns.append((other, f"I once had something like your {thing}, but I gave it away."))
            news, paid, gave = (f"D{place}:{first + step}" for step in (0, 2, 3))
            month = f"{day:%B} {day.year}"
            questions += [
                _question(f"What is {speaker}'s news about the {thing} in {month}?", 4, news),
                _question(
                    f"Where did {speaker} get the {thing} in {month}, and what was paid?", 1, news, paid
                ),
                _question(f"Which town was {speaker} in for {about} in {month}?", 2, paid),
                _question(f"In {month}, what did {other} say about giving up a {thing}?", 4, gave),
            ]
        talk[f"session_{place}_date_time"] = f"{day:%I:%M %p} on {day.day} {day:%B, %Y}"
        talk[f"session_{place}"] = [
            {"speaker": speaker, "dia_id": f"D{place}:{turn}", "text": text}
            for turn, (speaker, text) in enumerate(turns, start=1)
        ]
        day += timedelta(days=chance.randint(32, 45))
    return {"sample_id": f"made-{number}", "conversation": talk, "qa": questions}


def _question(text: str, category: int, *evidence: str) -> dict[str, Any]:
    return {"question": text, "answer": "", "category": category, "evidence": list(evidence)}
