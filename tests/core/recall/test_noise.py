"""Memories brought are summed, and one that a person calls noise is not brought again to mere work."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.conftest import Call

PROMPT = "Add an insurance value to each shipment and store it with the weight."


@pytest.fixture
def weights(call: Call) -> UUID:
    call("save_session", objective="Ship", project_id="parcels")
    made = call("save_decision", title="Store weights of shipments in grams as integers", project_id="parcels",
                rationale="Floats rounded wrongly.")  # fmt: skip
    return UUID(str(made["artifact_id"]))


def brought(call: Call) -> list[str]:
    found: Any = call("memory_for_prompt", prompt=PROMPT, project_id="parcels")
    return [match["id"] for match in found["matches"] or []]


def test_what_is_named_noise_more_often_than_used_is_not_brought_to_work(call: Call, weights: UUID) -> None:
    assert brought(call) == [str(weights)]
    assert call("feedback", id=weights, verdict="noise")["noise"] == 1
    assert brought(call) == []
    found = call("search_memory", query="how are weights of shipments stored?", project_id="parcels")
    assert found["id"] == weights, "a question that it answers gets it"
    assert call("feedback", id=weights, verdict="used")["noise"] == 0, "the last word counts"
    assert brought(call) == [str(weights)]


def test_noise_does_not_rank_lower_in_searches(call: Call, weights: UUID, connection: Any) -> None:
    call("feedback", id=weights, verdict="noise")
    row = connection.execute("select value, noise, wrong from pgmem.usefulness").fetchone()
    assert row == {"value": 0.0, "noise": 1, "wrong": 0}


def test_the_sums_count_answers_silent_prompts_and_words(call: Call, weights: UUID) -> None:
    prompt = {"by": "UserPromptSubmit", "act": "injected", "project_id": "parcels", "client": "claude-code"}
    call("record_recall", **prompt, memory_ids=[str(weights)], tokens=40, session_id="a")
    call("record_recall", **prompt, memory_ids=[str(weights)], tokens=20, session_id="b")
    call("record_recall", **prompt, memory_ids=[], tokens=0, session_id="b")
    call("record_recall", by="search_memory", memory_ids=[str(weights)], tokens=5, project_id="parcels")
    call("feedback", id=weights, verdict="noise")
    sums = call("sum_recall", project_id="parcels")
    counted = {
        name: sums[name] for name in ("answers", "tokens", "prompts", "silent", "noise", "used", "wrong")
    }
    assert counted == {
        "answers": 3,
        "tokens": 65,
        "prompts": 3,
        "silent": 1,
        "noise": 1,
        "used": 0,
        "wrong": 0,
    }
    (most,) = sums["most"]
    assert (most["id"], most["times"], most["verdict"]) == (str(weights), 3, "noise")
    assert call("sum_recall", project_id="parcels", days=1)["answers"] == 3
