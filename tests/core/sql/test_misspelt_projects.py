"""A save into a project that is spelt wrongly: named at once, found, and moved by a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

Call = Callable[..., Any]


def test_a_save_into_a_misspelt_project_names_the_near_one_and_is_moved_there(call: Call) -> None:
    call("save_session", objective="begin", project_id="webshop")
    state = call("get_scope_state", project_id="web-shop")
    assert (state["scope_state"], state["next_step"]) == ("uncertain", "Did you mean webshop?")
    lost = call("save_decision", title="Sell tea", rationale="r", project_id="web-shop")
    assert lost["status"] == "blocked_scope"
    assert "webshop" in lost["next_step"]
    (found,) = call("get_save_status")["saves"]
    assert (found["save_id"], found["project"]) == (str(lost["save_id"]), "web-shop")
    with pytest.raises(psycopg.Error, match="tea-shop"):
        call("retry_save", save_id=lost["save_id"], project_id="tea-shop")
    moved = call("retry_save", save_id=lost["save_id"], project_id="webshop")
    assert moved["status"] == "saved"
    assert call("retrieve_context", project_id="webshop")["items"][0]["title"] == "Sell tea"
    assert call("get_save_status")["count"] == 0
    assert (
        call("retry_save", save_id=lost["save_id"], project_id="webshop")["artifact_id"]
        == moved["artifact_id"]
    )


def test_a_save_that_waits_for_a_project_says_when_it_exists(call: Call) -> None:
    call("save_decision", title="Sell tea", rationale="r", project_id="teahouse")
    assert "save_session" in call("get_save_status")["saves"][0]["next_step"]
    call("save_session", objective="begin", project_id="teahouse")
    assert call("get_save_status")["saves"][0]["next_step"] == "The project exists now: send the save again."
