"""Global writes need a person's leave: a token, once, in time. And decisions of a person: reviews."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from pgmem.calls.saves import holds_globally
from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Picture, Rows

GLOBAL: dict[str, dict[str, object]] = {
    "save_session": {"objective": "inform everybody"},
    "save_decision": {"title": "Use UTC everywhere", "rationale": "no doubt"},
    "save_pattern": {"trigger": "a release", "repeatable_steps": ["tag it"]},
    "save_context": {"content": "the office is closed in august"},
    "upsert_entity": {"entity_name": "office", "fact": "in Lyon"},
}


@pytest.fixture
def token(call: Call) -> Callable[..., str]:
    """`token("c")`: leave for one global write of these texts."""
    return lambda *texts: str(
        call("request_global_write_approval", content_preview="\n".join(texts or ("c",)))["token"]
    )


def texts(arguments: dict[str, object]) -> list[str]:
    """Every text of some arguments, as a person is shown them."""
    found: list[str] = []
    for value in arguments.values():
        found += [str(item) for item in value] if isinstance(value, list) else [str(value)]
    return found


@pytest.mark.parametrize("verb", GLOBAL)
def test_a_global_write_without_a_token_fails_and_writes_nothing(
    call: Call, picture: Picture, shop: str, verb: str
) -> None:
    before = picture(without={"save_attempt"})
    result = call(verb, project_id=shop, scope="global", **GLOBAL[verb])
    assert result["status"] == "failed"
    assert result["message"] == (
        "Global writes require a governance token. Call request_global_write_approval first."
    )
    assert "request_global_write_approval" in result["next_step"]
    assert picture(without={"save_attempt"}) == before


@pytest.mark.parametrize("verb", GLOBAL)
def test_a_token_is_good_for_one_global_write_of_any_kind(
    call: Call, token: Callable[..., str], shop: str, verb: str
) -> None:
    leave = token(*texts(GLOBAL[verb]))
    first = call(verb, project_id=shop, scope="global", governance_token=leave, **GLOBAL[verb])
    assert first["status"] == "saved"
    second = call("save_context", project_id=shop, content="more", scope="global", governance_token=leave)
    assert second["status"] == "failed"
    assert second["message"] == "Governance token is invalid, expired, or already used."


def test_a_token_says_how_long_it_lives_and_how_to_use_it(call: Call) -> None:
    given = call("request_global_write_approval", content_preview="Use UTC everywhere")
    assert given["ttl_seconds"] == 60
    assert "governance_token" in given["instructions"]
    assert len(given["token"]) == 64


def test_two_tokens_differ(token: Callable[..., str]) -> None:
    assert token() != token()


def test_only_the_hash_of_a_token_is_kept_anywhere(
    call: Call, rows: Rows, token: Callable[..., str], shop: str
) -> None:
    leave = token()
    call("save_context", project_id=shop, content="c", scope="global", governance_token=leave)
    call("save_context", project_id=shop, content="d", scope="global", governance_token=leave)
    for table in ("node", "node_version", "governance_token", "save_attempt", "edge"):
        found = rows(f"select count(*) from pgmem.{table} t where t::text like %s", f"%{leave}%")
        assert (table, found[0]["count"]) == (table, 0)
    assert (
        rows("select count(*) from pgmem.governance_token where secret_hash = sha256(%s::bytea)", leave)[0][
            "count"
        ]
        == 1
    )


def test_a_token_dies_after_its_seconds(
    call: Call, clock: Callable[[str], None], token: Callable[..., str], shop: str
) -> None:
    clock("2026-04-08 10:00:00+00")
    leave = token()
    clock("2026-04-08 10:01:00+00")
    late = call("save_context", project_id=shop, content="c", scope="global", governance_token=leave)
    assert (late["status"], late["message"]) == (
        "failed",
        "Governance token is invalid, expired, or already used.",
    )


def test_a_token_still_lives_in_its_last_second(
    call: Call, clock: Callable[[str], None], token: Callable[..., str], shop: str
) -> None:
    clock("2026-04-08 10:00:00+00")
    leave = token()
    clock("2026-04-08 10:00:59+00")
    assert (
        call("save_context", project_id=shop, content="c", scope="global", governance_token=leave)["status"]
        == "saved"
    )


def test_the_life_of_a_token_is_a_setting(
    call: Call, connection: psycopg.Connection[DictRow], clock: Callable[[str], None]
) -> None:
    connection.execute("update pgmem.setting set value = '600' where name = 'governance_token_ttl_s'")
    clock("2026-04-08 10:00:00+00")
    given = call("request_global_write_approval", content_preview="p")
    assert given["ttl_seconds"] == 600
    now = connection.execute("select pgmem.now() as now").fetchone()
    assert now is not None
    assert given["expires_at"] - now["now"] == timedelta(minutes=10)


def test_a_client_cannot_keep_a_token_alive_by_setting_the_clock(
    call: Call, connection: psycopg.Connection[DictRow], token: Callable[..., str], shop: str
) -> None:
    leave = token()
    connection.execute(
        "update pgmem.governance_token set expires_at = clock_timestamp() - interval '1 second'"
    )
    connection.execute("select set_config('pgmem.now', '2000-01-01', false)")
    assert (
        call("save_context", project_id=shop, content="c", scope="global", governance_token=leave)["status"]
        == "failed"
    )


@pytest.mark.parametrize(
    "given", ["", "   ", "nonsense", "0" * 64, "'; drop schema pgmem cascade; --", "x" * 1_000_000]
)
def test_a_token_that_was_never_given_is_refused(call: Call, shop: str, given: str) -> None:
    result = call("save_context", project_id=shop, content="c", scope="global", governance_token=given)
    assert result["status"] == "failed"
    assert "overnance token" in result["message"]


def test_a_token_of_another_tenant_is_refused_and_stays_good_for_its_own(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop")
    leave = call("request_global_write_approval", content_preview="c")["token"]
    act_as("acme", "bob")
    call("save_session", objective="o", project_id="shop")
    ask = {"project_id": "shop", "content": "c", "scope": "global", "governance_token": leave}
    refused = call("save_context", **ask)
    assert (refused["status"], refused["message"]) == (
        "failed",
        "Governance token is invalid, expired, or already used.",
    )
    act_as("acme", "alice")
    assert call("save_context", **ask)["status"] == "saved"


def test_a_token_is_spent_only_by_a_save_that_is_made(
    call: Call, rows: Rows, token: Callable[..., str], shop: str
) -> None:
    first, second = token("a b c", "r"), token("a b d", "r")
    ask = {"rationale": "r", "project_id": shop, "scope": "global"}
    assert call("save_decision", title="a b c", governance_token=first, **ask)["status"] == "saved"
    assert (
        call("save_decision", title="a b d", governance_token=second, **ask)["dedup_outcome"]
        == "manual_review"
    )
    assert rows("select count(*) as n from pgmem.governance_token where used_at is null") == [{"n": 1}]


def test_a_project_write_leaves_a_token_unspent(call: Call, token: Callable[..., str], shop: str) -> None:
    leave = token()
    call("save_context", content="c", project_id=shop, governance_token=leave)
    assert (
        call("save_context", content="c", project_id=shop, scope="global", governance_token=leave)["status"]
        == "saved"
    )


def test_one_token_is_good_for_a_whole_batch(call: Call, token: Callable[..., str], shop: str) -> None:
    leave = token("Use UTC", "r", "Speak French", "r", "t", "s")
    batch = {
        "session": {"objective": "o"},
        "project_id": shop,
        "decisions": [{"title": t, "rationale": "r", "scope": "global"} for t in ("Use UTC", "Speak French")],
        "patterns": [{"trigger": "t", "repeatable_steps": ["s"], "scope": "global"}],
    }
    assert call("store_session_with_learnings", governance_token=leave, **batch)["overall"] == "saved"
    again = call("store_session_with_learnings", governance_token=leave, **batch)
    assert (again["overall"], again["session"]["status"]) == ("partial", "saved")
    for part in again["decisions"] + again["patterns"]:
        assert part["status"] == "failed"
        assert part["message"] == "Governance token is invalid, expired, or already used."


def test_an_atomic_batch_with_a_global_child_and_no_token_writes_nothing(
    call: Call, picture: Picture, shop: str
) -> None:
    before = picture(without={"save_attempt"})
    batch = call(
        "store_session_with_learnings",
        session={"objective": "o"},
        project_id=shop,
        decisions=[{"title": "Use UTC", "rationale": "r", "scope": "global"}],
        atomic=True,
    )
    assert batch["overall"] == "failed"
    assert "governance token" in batch["message"]
    assert picture(without={"save_attempt"}) == before


def test_a_batch_that_is_refused_whole_leaves_its_token_unspent(
    call: Call, token: Callable[..., str], shop: str
) -> None:
    leave = token("o")
    call("save_decision", title="a b c", rationale="r", project_id=shop)
    refused = call(
        "store_session_with_learnings",
        session={"objective": "o", "scope": "global"},
        project_id=shop,
        decisions=[{"title": "a b d", "rationale": "r"}],
        atomic=True,
        governance_token=leave,
    )
    assert refused["overall"] == "failed"
    assert (
        call("save_context", content="o", project_id=shop, scope="global", governance_token=leave)["status"]
        == "saved"
    )


def test_a_global_memory_is_seen_from_every_project_of_its_tenant(
    call: Call, token: Callable[..., str], shop: str
) -> None:
    call("save_session", objective="o", project_id="bank")
    call("save_context", content="c", project_id=shop, scope="global", governance_token=token())
    for scope in ("global", "project"):
        bundle = call("retrieve_context", project_id="bank", scope=scope, categories=["Context"])
        assert [item["content"] for item in bundle["items"]] == ["c"]


@pytest.mark.parametrize("preview", ["", "  ", None])
def test_an_approval_needs_something_to_show(call: Call, picture: Picture, preview: str | None) -> None:
    before = picture()
    with pytest.raises(psycopg.Error, match="content_preview must not be empty"):
        call("request_global_write_approval", content_preview=preview)
    assert picture() == before


# Reviews


@pytest.fixture
def waiting(call: Call, shop: str) -> UUID:
    """A decision that waits for a person: its save_id."""
    call("save_decision", title="a b c", rationale="first", project_id=shop)
    result = call("save_decision", title="a b d", rationale="second", project_id=shop, owner="ana")
    assert result["dedup_outcome"] == "manual_review"
    return UUID(str(result["save_id"]))


def decisions(rows: Rows) -> list[tuple[str, str]]:
    return [
        (r["title"], r["status"])
        for r in rows("select title, status from pgmem.node where label = 'Decision' order by seq")
    ]


def test_a_waiting_save_is_listed_beside_what_it_resembles(each: Each, waiting: UUID) -> None:
    (review,) = each("list_reviews")
    assert (review["save_id"], review["project"], review["title"], review["rationale"]) == (
        waiting,
        "shop",
        "a b d",
        "second",
    )
    assert (review["candidate_title"], review["candidate_rationale"], review["score"]) == (
        "a b c",
        "first",
        0.5,
    )


def test_reviews_are_listed_by_project(each: Each, waiting: UUID) -> None:
    assert [r["save_id"] for r in each("list_reviews", project_id="shop")] == [waiting]
    assert each("list_reviews", project_id="bank") == []


def test_a_review_resolved_as_new_stores_what_was_said(
    call: Call, each: Each, rows: Rows, waiting: UUID
) -> None:
    result = call("resolve_review", save_id=waiting, outcome="new", by="ana")
    assert (result["status"], result["dedup_outcome"], result["save_id"]) == ("saved", "new", waiting)
    assert decisions(rows) == [("a b c", "active"), ("a b d", "active")]
    assert rows("select props ->> 'owner' as owner from pgmem.node where title = 'a b d'") == [
        {"owner": "ana"}
    ]
    assert each("list_reviews") == []


def test_a_review_resolved_as_supersede_takes_the_candidates_place(
    call: Call, rows: Rows, waiting: UUID
) -> None:
    result = call("resolve_review", save_id=waiting, outcome="supersede", by="ana")
    assert (result["status"], result["dedup_outcome"]) == ("saved", "supersede")
    assert decisions(rows) == [("a b c", "superseded"), ("a b d", "active")]
    assert rows("select count(*) from pgmem.edge where rel = 'SUPERSEDES'")[0]["count"] == 1


def test_a_dropped_review_writes_nothing_and_is_listed_no_more(
    call: Call, each: Each, rows: Rows, waiting: UUID
) -> None:
    assert call("resolve_review", save_id=waiting, outcome="drop", by="ana")["status"] == "dropped"
    assert decisions(rows) == [("a b c", "active")]
    assert each("list_reviews") == []
    assert call("get_save_status", project_id="shop")["count"] == 0


def test_who_decided_is_on_record(call: Call, rows: Rows, waiting: UUID) -> None:
    call("resolve_review", save_id=waiting, outcome="drop", by="ana")
    assert rows("select resolved_by from pgmem.save_attempt where save_id = %s", waiting) == [
        {"resolved_by": "ana"}
    ]


def test_a_review_is_decided_once(call: Call, waiting: UUID) -> None:
    call("resolve_review", save_id=waiting, outcome="new", by="ana")
    with pytest.raises(psycopg.Error, match="ana has decided save .* already: it is saved") as caught:
        call("resolve_review", save_id=waiting, outcome="drop", by="ana")
    assert caught.value.sqlstate == "PM002"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outcome": "maybe", "by": "ana"}, "outcome is new, supersede or drop"),
        ({"outcome": None, "by": "ana"}, "outcome is new, supersede or drop"),
        ({"outcome": "new", "by": " "}, "by must not be empty"),
        ({"outcome": "new", "by": None}, "by must not be empty"),
        ({"outcome": "new", "by": "a\x02b"}, "control character"),
    ],
)
def test_a_review_needs_an_outcome_and_a_name(
    call: Call, picture: Picture, waiting: UUID, arguments: dict[str, object], message: str
) -> None:
    before = picture()
    with pytest.raises(psycopg.Error, match=message) as caught:
        call("resolve_review", save_id=waiting, **arguments)
    assert caught.value.sqlstate == "PM001"
    assert picture() == before


def test_a_save_id_that_nobody_knows_cannot_be_reviewed(call: Call, waiting: UUID) -> None:
    with pytest.raises(psycopg.Error, match="waits for a review"):
        call("resolve_review", save_id=uuid4(), outcome="new", by="ana")


@pytest.mark.parametrize("limit", [0, -1, 1001, None])
def test_a_list_of_reviews_has_a_limit_that_makes_sense(each: Each, limit: int | None) -> None:
    with pytest.raises(psycopg.Error, match="limit is a whole number from 1 to 1000"):
        each("list_reviews", limit=limit)


def test_what_a_colleague_decides_is_stored_for_whoever_asked(call: Call, act_as: ActAs, rows: Rows) -> None:
    act_as("acme")
    call("save_session", objective="o", project_id="shop")
    call("save_decision", title="a b c", rationale="r", project_id="shop")
    waiting = call("save_decision", title="a b d", rationale="r", project_id="shop")["save_id"]
    act_as("acme", "alice")
    assert call("resolve_review", save_id=waiting, outcome="supersede", by="alice")["status"] == "saved"
    assert rows("select org_id, user_id from pgmem.node where title = 'a b d'") == [
        {"org_id": "acme", "user_id": ""}
    ]
    assert rows("select status, resolved_by from pgmem.save_attempt where save_id = %s", waiting) == [
        {"status": "saved", "resolved_by": "alice"}
    ]


def test_a_waiting_save_retried_meets_the_same_candidate(call: Call, waiting: UUID) -> None:
    assert call("retry_save", save_id=waiting)["dedup_outcome"] == "manual_review"


def test_a_waiting_save_retried_after_its_candidate_was_deleted_is_saved(
    call: Call, connection: psycopg.Connection[DictRow], each: Each, waiting: UUID
) -> None:
    connection.execute("select pgmem.set_status(seq, 'archived') from pgmem.node where title = 'a b c'")
    assert call("retry_save", save_id=waiting)["dedup_outcome"] == "new"
    assert each("list_reviews") == []


@pytest.mark.parametrize("place", ["", "session", "decisions", "patterns", "memories"])
@pytest.mark.parametrize("scope", ["global", "project", None])
def test_python_and_sql_say_alike_which_saves_hold_for_all_projects(
    connection: psycopg.Connection[DictRow], place: str, scope: str | None
) -> None:
    part: dict[str, Any] = {"title": "t", "properties": {"scope": "global"}} | (
        {"scope": scope} if scope else {}
    )
    sent = {"": part, "session": {"session": part}}.get(place, {place: [{"title": "u"}, "no object", part]})
    sent = {"related_entities": ["SQL"], "patterns": "no list", "focus": None, **sent}
    row = connection.execute(
        "select pgmem.is_global(%(sent)s) or exists (select from pgmem.batch_items(%(sent)s) i where pgmem.is_global(i.arguments))"
        " as held",
        {"sent": Jsonb(sent)},
    ).fetchone()
    assert row is not None
    assert row["held"] is holds_globally(sent) is (scope == "global")
