"""What a prompt brings: the decisions on the work that it gives, in any wording, and nothing for talk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import static_vectors, texts
from pgmem.features.editor.events import nearest
from tests.features.editor.conftest import Hook, context

PROMPTS = json.loads((Path(__file__).parents[3] / "benchmarks" / "prompts.json").read_text())
STORES = {
    name: (kept, part["wordings"], part["idle"], *bounds)
    for part, bounds in zip(PROMPTS["sets"], ((15, 2), (12, 2), (12, 2), (11, 6)), strict=True)
    for name, kept in part["stores"].items()
}
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
            limit=12,
        )["matches"]
        return [match["title"] for match in nearest(matches, by_words=bool(vectors))]


@pytest.fixture
def store(vectors: None, call: Call, connection: psycopg.Connection[DictRow]) -> Store:
    return Store(call, connection, True)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=() if name in ("bikes", "logs") else pytest.mark.long,
        )
        for name in STORES
    ],
)
def test_a_task_brings_what_was_decided_on_it_in_any_wording_and_talk_brings_nothing(
    name: str, store: Store
) -> None:
    """Of tasks that share words with the decision all, of those that share the topic alone 12 of 15.

    The last set was written before the rule was and looked at after: 11 of 15. Half of the work on something else in it
    begins with a verb of building ("add two cups of flour"), and is answered too.
    """
    kept, wordings, idle, least, most = STORES[name]
    store.fill(name, kept)
    counts = {}
    for wording, words in wordings.items():
        counts[wording] = sum(
            kept["decisions"][place][0] in store.brought(words.format(ticket=ticket), name)
            for ticket, place in kept["tickets"]
        )
    answered = [prompt for prompt in idle if store.brought(prompt, name)]
    long = [prompt for prompt in PROMPTS["long"] if store.brought(prompt, name)]
    print(name, counts, f"{len(answered)} of {len(idle)}", answered, f"{len(long)} of 15", long)
    assert min(counts.values()) >= least
    assert len(answered) <= most
    assert len(long) <= 6


def test_the_hook_brings_a_task_its_decisions_in_few_words_and_once_a_session(
    hook: Hook, store: Store, tmp_path: Path
) -> None:
    kept, wordings, *_ = STORES["bikes"]
    folder = tmp_path / "bikes"
    folder.mkdir()
    event = {"session_id": "a", "cwd": str(folder), "hook_event_name": "UserPromptSubmit"}
    store.fill("bikes", kept)
    task = wordings["three sentences"].format(ticket="implement GET /v2/orders with page and page size")
    text = context(hook({**event, "prompt": task}, PGMEM_PROJECT="bikes"), "UserPromptSubmit")
    lines = [line for line in text.splitlines() if line.startswith("- [Decided")]
    assert any("Page lists by keyset, never by offset" in line for line in lines)
    assert len(lines) <= 3
    assert sum(map(len, lines)) <= 240
    again = context(hook({**event, "prompt": task}, PGMEM_PROJECT="bikes"), "UserPromptSubmit")
    assert not set(lines) & set(again.splitlines())
    for talk in ("thanks, go on", "run it again", "looks good, commit it"):
        assert hook({**event, "session_id": "b", "prompt": talk}, PGMEM_PROJECT="bikes") is None


@pytest.mark.parametrize(
    ("title", "standing", "cut"),
    [
        ("Always page lists by keyset", True, False),
        ("Always page lists by keyset" + ", in each endpoint" * 20, True, True),
        ("Always page lists by …", True, True),
        ("Page lists by keyset" + ", in each endpoint" * 20, False, False),
    ],
)
def test_a_prompt_says_that_an_instruction_is_not_whole(title: str, standing: bool, cut: bool) -> None:
    match = {"title": title, "standing": standing, "by": "person", "created_at": "2026-01-01"}
    assert texts.cuts_instructions([match], texts.near_lines([match])) is cut
