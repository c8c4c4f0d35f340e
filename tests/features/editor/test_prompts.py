"""Memories for a prompt: the decisions on the work that it gives, in any wording, and nothing for talk."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import static_vectors, texts
from pgmem.features.editor import events
from pgmem.features.editor.events import nearest
from pgmem.features.editor.libpq import Connection
from pgmem.features.editor.state import Session
from tests.features.editor.conftest import Hook, context

PROMPTS = json.loads((Path(__file__).parents[3] / "benchmarks" / "prompts.json").read_text())
STORES = {
    name: (kept, part["wordings"], part["idle"])
    for part in PROMPTS["sets"]
    for name, kept in part["stores"].items()
}
TICKETS = json.loads((Path(__file__).parents[3] / "benchmarks" / "tickets.json").read_text())
Call = Callable[..., Any]


class Store:
    """A store that keeps vectors of the static model, or none, as the hook asks it."""

    def __init__(self, call: Call, connection: psycopg.Connection[DictRow], vectors: bool) -> None:
        self.call, self.connection, self.vectors = call, connection, vectors
        if vectors:
            call("register_model", name=static_vectors.MODEL, dimensions=256)

    def fill(self, project: str, kept: dict[str, Any]) -> None:
        self.call("save_session", objective="begin", project_id=project)
        for title, rationale in kept["decisions"]:
            saved = self.call("save_decision", title=title, rationale=rationale, project_id=project)
            assert saved["status"] == "saved"
        for note in kept["notes"]:
            self.call("save_context", content=note, project_id=project)
        if self.vectors:
            claimed = self.connection.execute(
                "select * from pgmem.claim_embeddings(%s, 1000)", (static_vectors.MODEL,)
            ).fetchall()
            made = static_vectors.vectors([row["text"] for row in claimed])
            items = [
                {**{n: row[n] for n in ("node_seq", "text_hash", "kind")}, "vector": vector}
                for row, vector in zip(claimed, made, strict=True)
            ]
            self.call("store_vectors", model=static_vectors.MODEL, items=json.dumps(items))

    def brought(self, prompt: str, project: str) -> list[str]:
        sentences = self.call("prompt_sentences", prompt=prompt)["sentences"]
        vectors = static_vectors.vectors(sentences) if self.vectors and sentences else None
        matches = self.call(
            "memory_for_prompt",
            prompt=prompt,
            project_id=project,
            embeddings=json.dumps(vectors) if vectors else None,
            embedding_model=static_vectors.MODEL if vectors else None,
            limit=8,
        )["matches"]
        return [match["title"] for match in nearest(matches)]


@pytest.fixture
def store(vectors: None, call: Call, connection: psycopg.Connection[DictRow]) -> Store:
    return Store(call, connection, True)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ("bikes", "logs") else pytest.mark.long) for name in STORES],
)
def test_a_task_brings_what_was_decided_on_it_in_any_wording_and_talk_brings_nothing(
    name: str, store: Store
) -> None:
    """Most lines are right: a task that shares too little with every decision gets none."""
    kept, wordings, idle = STORES[name]
    store.fill(name, kept)
    right = lines = 0
    for words in wordings.values():
        for ticket, place in kept["tickets"]:
            brought = store.brought(words.format(ticket=ticket), name)
            right += kept["decisions"][place][0] in brought
            lines += len(brought)
    answered = [prompt for prompt in idle if store.brought(prompt, name)]
    long = [prompt for prompt in PROMPTS["long"] if store.brought(prompt, name)]
    print(name, f"{right} of {15 * len(wordings)}, {lines} lines; {answered}; {long}")
    assert right >= 0.33 * 15 * len(wordings)
    assert right >= 0.55 * lines
    assert len(answered) <= 5
    assert len(long) <= 4


@pytest.mark.parametrize("name", ["wards", pytest.param("arena", marks=pytest.mark.long)])
def test_most_lines_that_a_prompt_brings_are_right(name: str, store: Store) -> None:
    kept = TICKETS["stores"][name]
    store.fill(name, kept)
    right = lines = 0
    for ticket, places in kept["tickets"]:
        brought = store.brought(ticket, name)
        right += bool({kept["decisions"][place][0] for place in places} & set(brought))
        lines += len(brought)
    answered = [prompt for prompt in kept["foreign"] if store.brought(prompt, name)]
    assert right >= 0.55 * len(kept["tickets"])
    assert right >= 0.55 * lines
    assert len(answered) <= 1


def test_a_verb_with_which_any_work_begins_counts_half(store: Store, call: Call) -> None:
    store.fill("surgery", TICKETS["stores"]["surgery"])

    def counted(prompt: str) -> float:
        matches = call("memory_for_prompt", prompt=prompt, project_id="surgery")["matches"]
        return next(float(one["words"]) for one in matches if one["title"].startswith("Delete records"))

    assert counted("delete the unused imports") == pytest.approx(counted("the imports that we delete") / 2)


def test_what_is_nearer_than_all_others_needs_fewer_shared_words(store: Store) -> None:
    store.fill("wards", TICKETS["stores"]["wards"])
    assert store.brought("write a cleanup job for old audit records", "wards") == [
        "Audit entries are append-only and kept ten years"
    ]


def near(title: str, words: float, likest: float, by: str = "person") -> dict[str, Any]:
    about = "cancel the invoices of last year"
    return {"title": title, "words": words, "likest": likest, "by": by, "about": about, "more": 0}


def test_a_decision_that_leads_is_brought_and_one_of_many_is_not() -> None:
    best, other = near("best", 0.8, 2.0), near("other", 0.7, 1.9)
    assert nearest([best, near("far", 0.1, 0.0)]) == [best]
    assert nearest([best, other]) == []


def test_an_agent_that_repeats_a_prompt_takes_no_lead_from_a_persons_decision() -> None:
    best = near("best", 0.8, 2.0)
    copies = [near(f"copy {number}", 1.5, 2.5, "agent") for number in range(4)]
    assert best in nearest([*copies, best])


def test_the_language_of_a_prompt_is_found_for_a_configuration_with_its_schema(
    connection: psycopg.Connection[DictRow],
) -> None:
    for config in ("english", "pg_catalog.english"):
        for text, is_other in (("Danke, mach weiter", True), ("thanks, go on", False)):
            row = connection.execute(
                "select pgmem.is_in_other_language(%s, %s) as found", (text, config)
            ).fetchone()
            assert row == {"found": is_other}, (config, text)


def test_a_prompt_in_another_language_brings_the_decisions_whose_words_it_shares(store: Store) -> None:
    store.fill("parcels", TICKETS["stores"]["parcels"])
    decisions = [title for title, _ in TICKETS["stores"]["parcels"]["decisions"]]
    for _, prompt, places in TICKETS["languages"]["tickets"]:
        assert {decisions[place] for place in places} & set(store.brought(prompt, "parcels")), prompt
    for prompt in TICKETS["languages"]["foreign"]:
        assert not store.brought(prompt, "parcels"), prompt


def test_a_long_paste_is_read_at_both_ends(hook: Hook, store: Store, tmp_path: Path) -> None:
    store.fill("parcels", TICKETS["stores"]["parcels"])
    log = "\n".join(f"2026-03-01T10:00:{n % 60:02d} GET /health 200 in {n} ms" for n in range(4_000))
    event = {"cwd": str(tmp_path), "hook_event_name": "UserPromptSubmit"}
    for number, prompt in enumerate(
        (f"{log}\nThat is the log. Explain how weights are stored", f"Explain how weights are stored.\n{log}")
    ):
        sent = {**event, "session_id": f"s{number}", "prompt": prompt}
        text = context(hook(sent, PGMEM_PROJECT="parcels"), "UserPromptSubmit")
        assert "Store weights in grams as integers" in text


def test_a_prompt_that_returns_to_what_was_left_gets_what_took_its_place_and_why(
    store: Store, call: Call
) -> None:
    store.fill("parcels", TICKETS["stores"]["parcels"])
    call(
        "save_decision",
        title="Deploy on Hetzner machines in Falkenstein",
        rationale="Fly lost two volumes in May.",
        project_id="parcels",
        supersedes="Deploy on Fly.io machines in Frankfurt and Ashburn",
    )
    sentences = call("prompt_sentences", prompt="Back to Fly as before")["sentences"]
    found = call(
        "memory_for_prompt",
        prompt="Back to Fly as before",
        project_id="parcels",
        embeddings=json.dumps(static_vectors.vectors(sentences)),
        embedding_model=static_vectors.MODEL,
    )
    (line,) = texts.near_lines(nearest(found["matches"]))
    assert line.startswith("- [Replaced on ")
    assert line.endswith(
        "Deploy on Fly.io machines in Frankfurt and Ashburn | now: Deploy on Hetzner machines in "
        "Falkenstein, because: Fly lost two volumes in May."
    )


def test_a_decision_comes_whole_and_once_a_session_but_a_question_is_answered_again(
    hook: Hook, store: Store, tmp_path: Path
) -> None:
    kept = TICKETS["stores"]["parcels"]
    folder = tmp_path / "parcels"
    folder.mkdir()
    event = {"session_id": "a", "cwd": str(folder), "hook_event_name": "UserPromptSubmit"}
    store.fill("parcels", kept)

    def ask(prompt: str) -> str:
        return context(hook({**event, "prompt": prompt}, PGMEM_PROJECT="parcels"), "UserPromptSubmit")

    task = "one customer hits our rate limit because they have forty packers on one line"
    whole = "Rate limit by API key, not by IP: 1200 requests a minute: Whole offices share one address behind their router."
    assert whole in ask(task)
    assert whole not in ask(task)
    question = "In which case are tracking numbers stored?"
    answer = "Tracking numbers are case insensitive and stored in upper case"
    assert answer in ask(question)
    again = ask(question)
    assert answer in again
    assert again.count("\n- [") == 1
    for talk in ("thanks, go on", "run it again", "looks good, commit it", "fix the typo in line 12"):
        assert hook({**event, "session_id": "b", "prompt": talk}, PGMEM_PROJECT="parcels") is None


def test_what_has_come_is_brought_when_a_part_does_not_come_in_time(dsn: str, tmp_path: Path) -> None:
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("create function pgmem.slow() returns int language sql as 'select 1 from pg_sleep(60)'")
    event = events.Event(
        "UserPromptSubmit", "prompt", "claude-code", {}, Session(tmp_path, "claude-code", "a"), tmp_path
    )
    with Connection(dsn) as connection:
        connection.begin(60)
        assert (
            events._in_time(event, connection, time.monotonic() + 0.6, lambda: connection.call("slow"))
            is None
        )
        found = events._in_time(
            event,
            connection,
            time.monotonic() + 20,
            lambda: connection.call("prompt_sentences", prompt="parcels"),
        )
        assert found is not None
        assert found["sentences"] == ["parcels"]
    assert "did not come in time" in (tmp_path / "hooks" / "hook.log").read_text()


@pytest.mark.parametrize(
    ("title", "standing", "cut"),
    [
        ("Always page lists by keyset", True, False),
        ("Always page lists by keyset" + ", in each endpoint" * 30, True, True),
        ("Page lists by keyset" + ", in each endpoint" * 30, False, False),
    ],
)
def test_a_prompt_says_that_an_instruction_is_not_whole(title: str, standing: bool, cut: bool) -> None:
    match = {
        "title": title,
        "standing": standing,
        "by": "person",
        "created_at": "2026-01-01",
        "id": "1234567890",
    }
    assert texts.cuts_instructions([match], texts.near_lines([match])) is cut
