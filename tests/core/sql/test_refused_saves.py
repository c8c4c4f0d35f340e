"""Saves that were refused: open ones, their closing, and the texts for a person and an agent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Rows


def batch(call: Call, **parts: Any) -> DictRow:
    """A batch of the project shop."""
    return call(
        "store_session_with_learnings", **{"session": {"objective": "o"}, "project_id": "shop", **parts}
    )


def test_a_global_part_without_a_token_leaves_the_rest_of_the_batch_saved(call: Call, shop: str) -> None:
    found = batch(
        call,
        decisions=[
            {"title": "Use UTC", "rationale": "r", "scope": "global"},
            {"title": "Cards only", "rationale": "r"},
        ],
        patterns=[{"trigger": "t", "repeatable_steps": ["s"]}],
    )
    assert (found["overall"], found["session"]["status"]) == ("partial", "saved")
    refused, kept = found["decisions"]
    assert (refused["status"], kept["status"], found["patterns"][0]["status"]) == ("failed", "saved", "saved")
    assert "governance token" in refused["message"]
    assert "request_global_write_approval" in refused["next_step"]
    token = call("request_global_write_approval", content_preview="Use UTC: r")["token"]
    again = call("retry_save", save_id=UUID(refused["save_id"]), governance_token=token)
    assert (again["status"], call("get_save_status", project_id=shop)["count"]) == ("saved", 0)


def test_a_global_part_of_a_batch_with_a_focus_is_global(call: Call, rows: Rows, shop: str) -> None:
    """The focus of the batch is not one of its global part."""
    token = call("request_global_write_approval", content_preview="Use UTC: r")["token"]
    found = batch(
        call,
        focus="checkout",
        governance_token=token,
        decisions=[{"title": "Use UTC", "rationale": "r", "scope": "global"}],
    )
    assert found["overall"] == "saved"
    assert rows("select scope, focus from pgmem.node where label = 'Decision'") == [
        {"scope": "global", "focus": None}
    ]


@pytest.mark.parametrize(
    ("parts", "list_name", "named"),
    [
        ({"session": {"objective": "o", "summary": "s"}}, "session", "save_session has no argument summary"),
        ({"decisions": [{"title": "t", "rationale": "r", "tags": ["x"]}]}, "decisions", "no argument tags"),
        ({"decisions": [{"title": "t", "rational": "r"}]}, "decisions", "Did you mean rationale"),
        ({"patterns": [{"trigger": "t", "steps": ["s"]}]}, "patterns", "It takes: trigger, repeatable_steps"),
        (
            {"decisions": [{"title": "t", "rationale": "r", "focus": "f"}]},
            "decisions",
            "focus is that of the whole",
        ),
        (
            {"decisions": [{"title": "t", "rationale": "r", "save_id": "x"}]},
            "decisions",
            "no argument save_id",
        ),
    ],
)
def test_a_part_with_a_field_that_its_verb_does_not_have_fails_by_name(
    call: Call, shop: str, parts: dict[str, Any], list_name: str, named: str
) -> None:
    """Nothing is dropped without a word."""
    found = batch(call, **parts)
    part = found[list_name] if list_name == "session" else found[list_name][0]
    assert (found["overall"] in ("partial", "failed"), part["status"]) == (True, "failed")
    assert named in part["message"]


def test_an_atomic_batch_with_an_unknown_field_is_an_error(call: Call, rows: Rows, shop: str) -> None:
    with pytest.raises(psycopg.Error, match="save_decision has no argument tags"):
        batch(call, atomic=True, decisions=[{"title": "t", "rationale": "r", "tags": []}])
    assert rows("select count(*) from pgmem.node where label = 'Decision'") == [{"count": 0}]


def test_a_part_may_say_the_place_of_its_batch(call: Call, shop: str) -> None:
    """The same project and focus do not contradict each other."""
    part = {"title": "t", "rationale": "r", "project_id": shop, "focus": "f", "scope": "focus"}
    assert batch(call, focus="f", decisions=[part])["overall"] == "saved"


def test_a_blocked_save_that_is_repeated_with_success_is_closed(call: Call, rows: Rows) -> None:
    """Get_save_status went on saying failed."""
    first = call("save_context", content="c", project_id="shop")
    call("save_session", objective="o", project_id="shop")
    again = call("save_context", content="c", project_id="shop")
    status = call("get_save_status", project_id="shop")
    assert (status["status"], status["count"]) == ("saved", 0)
    one = call("get_save_status", project_id="shop", save_id=first["save_id"])
    assert (one["status"], one["artifact_ids"]) == ("saved", [again["artifact_id"]])
    assert str(again["save_id"]) in one["saves"][0]["message"]
    assert call("retry_save", save_id=first["save_id"])["artifact_id"] == again["artifact_id"]
    assert rows("select count(*) from pgmem.node where label = 'Context'") == [{"count": 1}]


def test_a_global_save_that_succeeds_with_a_token_closes_the_refusal(call: Call, shop: str) -> None:
    call("save_context", content="c", project_id=shop, scope="global")
    assert call("get_save_status", project_id=shop)["count"] == 1
    token = call("request_global_write_approval", content_preview="c")["token"]
    call("save_context", content="c", project_id=shop, scope="global", governance_token=token)
    assert call("get_save_status", project_id=shop)["count"] == 0


def test_a_save_given_up_by_the_outbox_is_closed_by_the_same_save(call: Call, shop: str) -> None:
    """Its row has no hash, and its arguments no defaults."""
    arguments = {"content": "c", "project_id": shop, "topic": None}
    save_id = UUID("00000000-0000-4000-8000-000000000002")
    call("fail_save", save_id=save_id, verb="save_context", arguments=arguments, message="Given up.")
    call("save_context", content="d", project_id=shop)
    assert call("get_save_status", project_id=shop)["count"] == 1
    call("save_context", content="c", project_id=shop)
    assert call("get_save_status", project_id=shop)["count"] == 0


def test_the_success_of_another_tenant_closes_nothing(call: Call, act_as: ActAs) -> None:
    """Only the same caller's save makes it good."""
    act_as("acme", "alice")
    call("save_context", content="c", project_id="shop")
    act_as("acme", "bob")
    call("save_session", objective="o", project_id="shop")
    call("save_context", content="c", project_id="shop")
    act_as("acme", "alice")
    assert call("get_save_status", project_id="shop")["count"] == 1


def test_the_same_refused_decision_waits_once(call: Call, each: Each, shop: str) -> None:
    """Sent twice it waited twice."""
    call("save_decision", title="a b c", rationale="r", project_id=shop)
    first, second = (call("save_decision", title="a b d", rationale="s", project_id=shop) for _ in range(2))
    assert (first["dedup_outcome"], second["dedup_outcome"]) == ("manual_review", "manual_review")
    assert first["save_id"] == second["save_id"]
    assert [review["save_id"] for review in each("list_reviews")] == [first["save_id"]]


def test_the_next_step_of_a_refusal_is_kept(call: Call, shop: str) -> None:
    """Get_save_status gave a general one."""
    call("save_decision", title="a b c", rationale="r", project_id=shop)
    refused = call("save_decision", title="a b d", rationale="s", project_id=shop)
    (listed,) = call("get_save_status", project_id=shop)["saves"]
    assert listed["next_step"] == refused["next_step"]
    assert "pgmem review" in listed["next_step"]


@pytest.mark.parametrize("global_save", [True, False])
def test_every_open_save_can_be_dropped(call: Call, shop: str, global_save: bool) -> None:
    """Only reviews could."""
    place = {"project_id": shop, "scope": "global"} if global_save else {"project_id": "elsewhere"}
    refused = call("save_context", content="c", **place)
    dropped = call("resolve_review", save_id=refused["save_id"], outcome="drop", by="ana")
    assert (dropped["status"], dropped["dedup_outcome"]) == ("dropped", None)
    assert call("get_save_status", project_id=place["project_id"])["count"] == 0
    with pytest.raises(psycopg.Error, match="ana has decided save .* already: it is dropped"):
        call("resolve_review", save_id=refused["save_id"], outcome="drop", by="ana")


def test_an_open_save_without_a_review_is_only_dropped(call: Call, shop: str) -> None:
    refused = call("save_context", content="c", project_id=shop, scope="global")
    with pytest.raises(psycopg.Error, match="waits for a review"):
        call("resolve_review", save_id=refused["save_id"], outcome="new", by="ana")


def test_hygiene_advises_to_drop_what_no_retry_can_make(call: Call, shop: str) -> None:
    """It advised retry_save for a date that is not a valid date."""
    found = batch(call, decisions=[{"title": "t", "rationale": "r", "date": "yesterday"}])
    refused = found["decisions"][0]
    assert "Save this part again" in refused["next_step"]
    (finding,) = [
        finding
        for finding in call("run_hygiene", project_id=shop)["findings"]
        if finding["check"] == "unresolved_saves"
    ]
    assert finding["verb"] == "resolve_review"
    assert finding["arguments"] == {"save_id": refused["save_id"], "outcome": "drop"}
    assert "no retry makes it" in finding["what"]
    call("resolve_review", by="ana", **{**finding["arguments"], "save_id": UUID(refused["save_id"])})
    assert call("get_save_status", project_id=shop)["count"] == 0


def test_an_unknown_project_is_an_error_that_names_what_is_near(call: Call, shop: str) -> None:
    with pytest.raises(psycopg.Error, match=r"No project 'shopp' found.* Did you mean shop\?"):
        call("get_save_status", project_id="shopp")
    blocked = call("save_context", content="c", project_id="shopp")
    assert blocked["next_step"].startswith("Did you mean shop? Call save_session")
    swapped = call("save_context", content="c", project_id="shpo")
    assert swapped["next_step"].startswith("Did you mean shop? Call save_session")


def test_an_unknown_session_is_an_error_that_names_the_last_ones(
    call: Call, act_as: ActAs, shop: str
) -> None:
    """Session_id junk answered saved."""
    session = call("save_session", objective="sell tea", project_id=shop)
    with pytest.raises(psycopg.Error, match=rf"session 'junk'\..*{session['artifact_id']} \(sell tea\)"):
        call("get_save_status", project_id=shop, session_id="junk")
    assert call("get_save_status", project_id=shop, session_id=str(session["artifact_id"]))["count"] == 0
    act_as(session_id="monday")
    call("save_context", content="c", project_id=shop)
    assert call("get_save_status", project_id=shop, session_id="monday")["count"] == 0


@pytest.fixture
def moved_on(call: Call, connection: psycopg.Connection[DictRow], shop: str) -> dict[str, Any]:
    """A review whose candidate another decision has taken the place of since."""
    old = call("save_decision", title="kiwi mango papaya", rationale="old", project_id=shop)
    waiting = call("save_decision", title="kiwi mango lychee", rationale="x", project_id=shop)
    newer = call("save_decision", title="kiwi mango papaya", rationale="newer", project_id=shop)
    assert (waiting["dedup_outcome"], newer["dedup_outcome"]) == ("manual_review", "supersede")
    return {"old": old["artifact_id"], "waiting": waiting["save_id"], "newer": newer["artifact_id"]}


def test_a_review_shows_the_present_decision(each: Each, moved_on: dict[str, Any]) -> None:
    """It showed the superseded one."""
    (review,) = each("list_reviews")
    shown = review["candidate_id"], review["candidate_rationale"], review["candidate_status"]
    assert shown == (moved_on["newer"], "newer", "active")


@pytest.mark.parametrize("outcome", ["new", "supersede", "drop"])
def test_a_review_of_what_has_changed_since_it_was_shown_is_refused(
    call: Call, rows: Rows, moved_on: dict[str, Any], outcome: str
) -> None:
    """It replaced a decision that nobody was shown."""
    with pytest.raises(
        psycopg.Error, match=rf"has changed since it was shown: now it is {moved_on['newer']}"
    ):
        call(
            "resolve_review",
            save_id=moved_on["waiting"],
            outcome=outcome,
            by="ana",
            candidate_id=moved_on["old"],
        )
    assert rows("select count(*) from pgmem.node where title = 'kiwi mango lychee'") == [{"count": 0}]


def test_a_review_without_a_candidate_supersedes_only_the_one_of_the_refusal(
    call: Call, moved_on: dict[str, Any]
) -> None:
    with pytest.raises(psycopg.Error, match="has changed since it was shown"):
        call("resolve_review", save_id=moved_on["waiting"], outcome="supersede", by="ana")


def test_a_review_supersedes_what_was_shown(call: Call, rows: Rows, moved_on: dict[str, Any]) -> None:
    result = call(
        "resolve_review",
        save_id=moved_on["waiting"],
        outcome="supersede",
        by="ana",
        candidate_id=moved_on["newer"],
    )
    assert (result["dedup_outcome"], result["candidate_id"]) == ("supersede", moved_on["newer"])
    assert rows(
        "select props ->> 'rationale' as r, status from pgmem.node where label = 'Decision' order by seq"
    ) == [
        {"r": "old", "status": "superseded"},
        {"r": "newer", "status": "superseded"},
        {"r": "x", "status": "active"},
    ]


def test_a_review_whose_candidate_was_deleted_supersedes_nothing(
    call: Call, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    call("save_decision", title="a b c", rationale="r", project_id=shop)
    refused = call("save_decision", title="a b d", rationale="s", project_id=shop)
    connection.execute("select pgmem.set_status(seq, 'archived') from pgmem.node where title = 'a b c'")
    with pytest.raises(psycopg.Error, match="is not live any more"):
        call("resolve_review", save_id=refused["save_id"], outcome="supersede", by="ana")


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("save_decision", {"title": "t", "rationale": "r"}),
        ("save_context", {"content": "c"}),
        ("save_session", {"objective": "o"}),
        ("upsert_entity", {"entity_name": "e", "fact": "f"}),
    ],
)
def test_a_global_save_with_a_focus_is_refused(
    call: Call, shop: str, verb: str, arguments: dict[str, Any]
) -> None:
    """It answered saved and dropped the focus."""
    preview = ": ".join(arguments.values())
    token = call("request_global_write_approval", content_preview=preview)["token"]
    with pytest.raises(
        psycopg.Error, match="A global memory has no focus area: leave focus out, or send scope focus"
    ):
        call(verb, project_id=shop, scope="global", focus="zz", governance_token=token, **arguments)


@pytest.mark.parametrize("project_id", [None, "", "  "])
def test_a_save_without_a_project_says_what_to_send(call: Call, project_id: str | None) -> None:
    """It said to call save_session with this project_id."""
    for refused in (
        call("save_session", objective="o", project_id=project_id),
        call("save_context", content="c", project_id=project_id),
    ):
        assert (refused["status"], refused["message"]) == ("blocked_scope", "No project is named.")
        assert refused["next_step"] == "Send project_id, the name of the project."


def test_a_context_shows_the_confidence_of_a_decision(call: Call, shop: str) -> None:
    call("save_decision", title="t", rationale="r", project_id=shop, confidence=0.4)
    (item,) = call("retrieve_context", project_id=shop, categories=["Decision"])["items"]
    assert item["confidence"] == 0.4


@pytest.mark.parametrize("entity_name", ["db", "ghost"])
def test_an_unknown_relation_is_one_error_whether_the_entity_exists_or_not(
    call: Call, shop: str, entity_name: str
) -> None:
    """It raised for one that exists and failed for one that does not."""
    call("upsert_entity", entity_name="db", fact="f", project_id=shop)
    related = [{"entity_name": entity_name, "relationship_type": "DEPENDS_OM"}]
    with pytest.raises(psycopg.Error, match=r"Unknown relation 'DEPENDS_OM'\. Did you mean DEPENDS_ON"):
        call("upsert_entity", entity_name="api", fact="f", project_id=shop, related_entities=related)


def test_an_unknown_relation_to_a_name_that_fits_several_is_an_error(call: Call, shop: str) -> None:
    """Remember answered did_you_mean for the name and said nothing of the relation."""
    call("remember", label="Concept", properties={"name": "cash"})
    call("remember", label="Technology", properties={"name": "cash"})
    with pytest.raises(psycopg.Error, match="Unknown relation 'USE'"):
        call("remember", label="Tool", properties={"name": "till"}, relations={"USE": ["cash"]})
