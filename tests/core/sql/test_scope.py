"""The scope gate: the targets of a project name and a focus, and the writes allowed there."""

from __future__ import annotations

import pytest

from tests.conftest import Call
from tests.fixtures.verbs import Picture, Rows

BLOCKED: dict[str, dict[str, object]] = {
    "save_decision": {"title": "Use PostgreSQL", "rationale": "one system"},
    "save_pattern": {"trigger": "a release", "repeatable_steps": ["tag it"]},
    "save_context": {"content": "the build takes 4 minutes"},
    "upsert_entity": {"entity_name": "api", "fact": "runs on port 80"},
}
EVERY_SAVE: dict[str, dict[str, object]] = {"save_session": {"objective": "look around"}, **BLOCKED}


def test_without_a_project_the_scope_is_unresolved(call: Call) -> None:
    state = call("get_scope_state")
    assert (state["scope_state"], state["state"]) == ("unresolved", "unresolved")
    assert (state["project_exists"], state["focus_exists"], state["write_permitted"]) == (False, False, False)


@pytest.mark.parametrize("project_id", [None, "", "   "])
@pytest.mark.parametrize("verb", EVERY_SAVE)
def test_a_save_without_a_project_is_blocked_with_a_message(
    call: Call, picture: Picture, verb: str, project_id: str | None
) -> None:
    before = picture(without={"save_attempt"})
    result = call(verb, project_id=project_id, **EVERY_SAVE[verb])
    assert (result["status"], result["message"]) == ("blocked_scope", "No project is named.")
    assert result["artifact_id"] is None
    assert picture(without={"save_attempt"}) == before


@pytest.mark.parametrize("project_id", [None, ""])
def test_a_retrieval_without_a_project_is_empty(call: Call, project_id: str | None) -> None:
    bundle = call("retrieve_context", project_id=project_id, scope="project")
    assert (bundle["retrieval_status"], bundle["items"], bundle["scope_state"]) == ("empty", [], "unresolved")
    assert bundle["next_step"] == "Send project_id."


def test_an_unknown_project_is_uncertain(call: Call, shop: str) -> None:
    state = call("get_scope_state", project_id="nope")
    assert (state["scope_state"], state["project_exists"], state["write_permitted"]) == (
        "uncertain",
        False,
        False,
    )


@pytest.mark.parametrize("verb", BLOCKED)
def test_a_save_to_an_unknown_project_is_blocked_and_writes_nothing(
    call: Call, picture: Picture, shop: str, verb: str
) -> None:
    before = picture(without={"save_attempt"})
    result = call(verb, project_id="nope", **BLOCKED[verb])
    assert (result["status"], result["message"]) == ("blocked_scope", "No project 'nope' found.")
    assert "save_session" in result["next_step"]
    assert picture(without={"save_attempt"}) == before


def test_a_batch_to_an_unknown_project_is_blocked_whole(call: Call, picture: Picture, shop: str) -> None:
    before = picture(without={"save_attempt"})
    batch = call(
        "store_session_with_learnings",
        session={"objective": "o"},
        project_id="nope",
        decisions=[{"title": "Use PostgreSQL", "rationale": "r"}],
    )
    assert (batch["overall"], batch["message"]) == ("blocked_scope", "No project 'nope' found.")
    assert (batch["decisions"], batch["patterns"]) == ([], [])
    assert picture(without={"save_attempt"}) == before


def test_the_first_session_opens_its_project(call: Call) -> None:
    assert call("get_scope_state", project_id="shop")["scope_state"] == "uncertain"
    assert call("save_session", objective="open the shop", project_id="shop")["status"] == "saved"
    state = call("get_scope_state", project_id="shop")
    assert (state["scope_state"], state["state"], state["write_permitted"]) == (
        "resolved",
        "resolved_project",
        True,
    )


def test_a_session_that_cannot_be_read_opens_no_project(call: Call, picture: Picture) -> None:
    before = picture()
    with pytest.raises(Exception, match="objective must not be empty"):
        call("save_session", objective="  ", project_id="shop")
    assert picture() == before


def test_a_global_session_without_a_token_opens_no_project(call: Call) -> None:
    assert call("save_session", objective="o", project_id="shop", scope="global")["status"] == "failed"
    assert call("get_scope_state", project_id="shop")["scope_state"] == "uncertain"


def test_a_project_name_is_met_without_its_outer_blanks(call: Call, shop: str) -> None:
    assert call("get_scope_state", project_id="  shop ")["project_id"] == "shop"
    assert call("save_session", objective="again", project_id=" shop ")["status"] == "saved"


@pytest.mark.parametrize("spelling", ["Shop", "SHOP", " ｓｈｏｐ "])
def test_a_project_is_one_whatever_the_case_and_width_of_its_name(
    call: Call, shop: str, spelling: str
) -> None:
    """The answer gives the name as it is stored."""
    found = call("get_scope_state", project_id=spelling)
    assert (found["scope_state"], found["project_id"]) == ("resolved", shop)


def test_an_unknown_focus_is_made_by_the_first_write_that_names_it(call: Call, shop: str) -> None:
    before = call("get_scope_state", project_id=shop, focus="checkout")
    assert (before["state"], before["focus_exists"], before["write_permitted"]) == (
        "resolved_project",
        False,
        True,
    )
    saved = call("save_context", content="cards only", project_id=shop, focus="checkout", scope="focus")
    assert saved["status"] == "saved"
    after = call("get_scope_state", project_id=shop, focus="checkout")
    assert (after["state"], after["focus_exists"]) == ("resolved_focus", True)


def test_a_focus_belongs_to_one_project(call: Call, shop: str) -> None:
    call("save_session", objective="o", project_id="bank")
    call("save_context", content="cards only", project_id=shop, focus="checkout", scope="focus")
    assert call("get_scope_state", project_id="bank", focus="checkout")["focus_exists"] is False


def test_an_unknown_focus_reads_project_and_global(call: Call, shop: str) -> None:
    call("save_context", content="in the project", project_id=shop)
    bundle = call("retrieve_context", project_id=shop, scope="focus", focus="nowhere")
    assert [item["scope"] for item in bundle["items"]] == ["project", "project"]


def test_a_refused_save_makes_no_focus(call: Call, rows: Rows, shop: str) -> None:
    call(
        "save_decision",
        title="red green blue",
        rationale="r",
        project_id=shop,
        focus="checkout",
        scope="project",
    )
    refused = call("save_decision", title="red green yellow", rationale="r", project_id=shop, focus="returns")
    assert refused["dedup_outcome"] == "manual_review"
    assert [row["key"] for row in rows("select key from pgmem.node where label = 'FocusArea'")] == [
        "checkout"
    ]


@pytest.mark.parametrize("verb", EVERY_SAVE)
def test_scope_focus_needs_a_focus(call: Call, picture: Picture, shop: str, verb: str) -> None:
    before = picture()
    with pytest.raises(Exception, match="scope focus needs focus"):
        call(verb, project_id=shop, scope="focus", **EVERY_SAVE[verb])
    assert picture() == before


@pytest.mark.parametrize("verb", EVERY_SAVE)
def test_a_scope_that_does_not_exist_is_an_error_that_names_the_three(
    call: Call, picture: Picture, shop: str, verb: str
) -> None:
    before = picture()
    with pytest.raises(Exception, match="scope is global, project or focus, not galaxy"):
        call(verb, project_id=shop, scope="galaxy", **EVERY_SAVE[verb])
    assert picture() == before


def test_a_decision_in_the_project_that_names_a_focus_stays_a_project_memory(call: Call, shop: str) -> None:
    call("save_decision", title="Cards only", rationale="r", project_id=shop, focus="checkout")
    bundle = call("retrieve_context", project_id=shop, scope="project", categories=["Decision"])
    assert [(item["scope"], item["focus"]) for item in bundle["items"]] == [("project", "checkout")]
