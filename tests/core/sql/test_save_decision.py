"""save_decision, called as an analyst calls it."""

from __future__ import annotations

from tests.conftest import Call


def test_the_same_decision_again_returns_the_first(call: Call) -> None:
    call("save_session", objective="o", project_id="shop")
    first = call("save_decision", title="Use SHA-256", rationale="because fast.", project_id="shop")
    again = call("save_decision", title="use sha256", rationale="Because, fast!", project_id="shop")
    assert (first["status"], first["dedup_outcome"]) == ("saved", "new")
    assert (again["status"], again["dedup_outcome"], again["artifact_id"]) == (
        "saved",
        "duplicate_skip",
        first["artifact_id"],
    )
