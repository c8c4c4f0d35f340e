"""Repeated saves: skipped, superseding, or decided by a person."""

from __future__ import annotations

from datetime import date
from uuid import UUID

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.verbs import Rows


def titles(bundle: object) -> list[str]:
    return [item["title"] for item in bundle["items"]]  # type: ignore[index]


def context(call: Call, project: str = "shop") -> list[str]:
    return titles(
        call(
            "retrieve_context",
            project_id=project,
            scope="project",
            categories=["Decision", "Pattern", "Context"],
        )
    )


def decide(
    call: Call, title: str, rationale: str = "because", project: str = "shop", **more: object
) -> dict[str, object]:
    return dict(call("save_decision", title=title, rationale=rationale, project_id=project, **more))


def test_the_same_decision_twice_is_one_row(call: Call, rows: Rows, shop: str) -> None:
    first, second = decide(call, "Use PostgreSQL"), decide(call, "Use PostgreSQL")
    assert (first["status"], first["dedup_outcome"]) == ("saved", "new")
    assert (second["status"], second["dedup_outcome"]) == ("saved", "duplicate_skip")
    assert second["artifact_id"] == first["artifact_id"]
    assert "Duplicate detected" in str(second["message"])
    assert rows("select count(*) from pgmem.node where label = 'Decision'")[0]["count"] == 1


def test_a_decision_hash_is_64_hex_digits_of_its_normalised_text(call: Call, rows: Rows, shop: str) -> None:
    decide(call, "Use SHA-256", "because fast.")
    found = rows("select content_hash from pgmem.node where label = 'Decision'")[0]["content_hash"]
    assert found == "1e21232a490bc6e9189f8bbe56d839e30feaa2b92cca66d3c3d523a5455043aa"


def test_the_border_between_title_and_rationale_does_not_count(call: Call, shop: str) -> None:
    first = decide(call, "a b", "c")
    assert decide(call, "a", "b c")["artifact_id"] == first["artifact_id"]


def test_decisions_of_emoji_alone_are_not_taken_for_one(call: Call, rows: Rows, shop: str) -> None:
    assert decide(call, "🚀", "🎉")["dedup_outcome"] == "new"
    assert decide(call, "🔥", "💥")["dedup_outcome"] == "new"
    assert decide(call, "🚀", " 🎉")["dedup_outcome"] == "duplicate_skip"
    assert rows("select count(*) from pgmem.node where label = 'Decision'")[0]["count"] == 2


def test_five_of_seven_words_shared_supersede(call: Call, rows: Rows, shop: str) -> None:
    old = decide(call, "cache the product pages in redis")
    new = decide(call, "cache all product pages in redis")
    assert (new["status"], new["dedup_outcome"], new["candidate_id"]) == (
        "saved",
        "supersede",
        old["artifact_id"],
    )
    assert context(call) == ["cache all product pages in redis"]
    assert rows(
        "select s.id as new, d.id as old, d.status from pgmem.edge e join pgmem.node s on s.seq = e.src"
        " join pgmem.node d on d.seq = e.dst where e.rel = 'SUPERSEDES'"
    ) == [{"new": new["artifact_id"], "old": old["artifact_id"], "status": "superseded"}]


def test_superseding_closes_the_old_decision(call: Call, rows: Rows, shop: str) -> None:
    decide(call, "cache the product pages in redis")
    decide(call, "cache all product pages in redis")
    old = rows(
        "select valid_to, valid_to >= created_at as after from pgmem.node where status = 'superseded'"
    )[0]
    assert old["valid_to"] is not None
    assert old["after"] is True


def test_the_superseded_decision_is_in_the_history(call: Call, rows: Rows, shop: str) -> None:
    decide(call, "cache the product pages in redis")
    decide(call, "cache all product pages in redis")
    assert rows("select title, status from pgmem.node_version where label = 'Decision'") == [
        {"title": "cache the product pages in redis", "status": "active"}
    ]


def test_a_superseded_decision_saved_again_is_answered_with_what_replaced_it(call: Call, shop: str) -> None:
    decide(call, "cache the product pages in redis")
    newer = decide(call, "cache all product pages in redis")
    back = decide(call, "cache the product pages in redis")
    assert (back["dedup_outcome"], back["artifact_id"]) == ("duplicate_skip", newer["artifact_id"])
    assert str(back["message"]).startswith("Not saved: ")
    assert context(call) == ["cache all product pages in redis"]


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("a b c d e f g h i j", "a b c d e f g k l m", "manual_review"),  # 7 of 13
        ("a b c d e f g", "a b c d e f g h i j", "supersede"),  # 7 of 10, exactly the threshold
        ("a b c d e f g h i j k l m n o p", "a b c d e f g h i j k q", "manual_review"),  # 11 of 17
        ("a b c", "a b d", "manual_review"),  # 2 of 4, exactly the threshold
        ("a b c d", "a b e f", "new"),  # 2 of 6
        ("a b c", "d e f", "new"),
        ("Use SHA-256", "use sha 256", "supersede"),  # equal words, another text
        ("Straße", "strasse", "new"),
    ],
)
def test_the_outcome_follows_the_words_two_titles_share(
    call: Call, shop: str, first: str, second: str, outcome: str
) -> None:
    assert decide(call, first, "one")["dedup_outcome"] == "new"
    assert decide(call, second, "two")["dedup_outcome"] == outcome


def test_half_the_words_shared_waits_for_a_person_and_writes_nothing(
    call: Call, rows: Rows, shop: str
) -> None:
    first = decide(call, "a b c")
    second = decide(call, "a b d")
    assert (second["status"], second["dedup_outcome"], second["artifact_id"]) == (
        "failed",
        "manual_review",
        None,
    )
    assert (
        second["message"] == f"Not saved: it may be the same decision as “a b c” ({date.today()}, by agent)."
        f" Review candidate: {first['artifact_id']}"
    )
    assert "pgmem review" in str(second["next_step"])
    assert rows("select title from pgmem.node where label = 'Decision'") == [{"title": "a b c"}]


def test_the_thresholds_are_settings_of_the_store(
    call: Call, rows: Rows, connection: psycopg.Connection, shop: str
) -> None:
    connection.execute("update pgmem.setting set value = '0.9' where name = 'dedup_supersede'")
    connection.execute("update pgmem.setting set value = '0.6' where name = 'dedup_manual_review'")
    decide(call, "a b c d e f g")
    assert decide(call, "a b c d e f g h i j")["dedup_outcome"] == "manual_review"
    assert decide(call, "a b c d x y z")["dedup_outcome"] == "new"


def test_the_same_text_in_two_projects_is_two_decisions(call: Call, shop: str) -> None:
    call("save_session", objective="o", project_id="bank")
    here, there = decide(call, "Use PostgreSQL"), decide(call, "Use PostgreSQL", project="bank")
    assert (there["dedup_outcome"], there["artifact_id"] != here["artifact_id"]) == ("new", True)


def test_the_same_text_in_focus_and_project_is_two_decisions(call: Call, shop: str) -> None:
    wide = decide(call, "Use PostgreSQL")
    narrow = decide(call, "Use PostgreSQL", scope="focus", focus="checkout")
    other = decide(call, "Use PostgreSQL", scope="focus", focus="returns")
    assert {r["dedup_outcome"] for r in (wide, narrow, other)} == {"new"}
    assert len({r["artifact_id"] for r in (wide, narrow, other)}) == 3


def test_the_same_pattern_is_skipped_whatever_its_exclusions(call: Call, rows: Rows, shop: str) -> None:
    pattern = {"trigger": "a release", "repeatable_steps": ["tag it", "ship it"], "project_id": shop}
    first = call("save_pattern", **pattern)
    second = call("save_pattern", **pattern, exclusions=["on fridays"])
    assert (second["status"], second["dedup_outcome"], second["message"]) == (
        "saved",
        "duplicate_skip",
        "Duplicate pattern skipped.",
    )
    assert second["artifact_id"] == first["artifact_id"]
    assert rows("select count(*) from pgmem.node where label = 'Pattern'")[0]["count"] == 1


def test_two_steps_are_not_one_step_of_the_same_words(call: Call, shop: str) -> None:
    two = call("save_pattern", trigger="t", repeatable_steps=["do a", "do b"], project_id=shop)
    one = call("save_pattern", trigger="t", repeatable_steps=["do a do b"], project_id=shop)
    assert (one["dedup_outcome"], one["artifact_id"] != two["artifact_id"]) == ("new", True)


def test_every_context_is_a_separate_row(call: Call, rows: Rows, shop: str) -> None:
    first, second = (call("save_context", content="same", project_id=shop) for _ in range(2))
    assert first["artifact_id"] != second["artifact_id"]
    assert rows("select count(*) from pgmem.node where label = 'Context'")[0]["count"] == 2


def test_every_session_is_a_separate_row(call: Call, rows: Rows) -> None:
    first, second = (call("save_session", objective="same", project_id="shop") for _ in range(2))
    assert first["artifact_id"] != second["artifact_id"]
    assert rows("select count(*) from pgmem.node where label = 'Session'")[0]["count"] == 2


@pytest.mark.parametrize(
    "title", ['foo/bar:(baz"', "a & b | !c", "100% \\ 'quoted'", "<tag> {x} [y] ^ ~ * ?", "-- drop"]
)
def test_special_characters_in_a_title_are_saved_as_they_are(call: Call, shop: str, title: str) -> None:
    assert decide(call, title)["status"] == "saved"
    assert context(call) == [title]
    assert decide(call, title)["dedup_outcome"] == "duplicate_skip"


def test_a_decision_whose_validity_has_passed_does_not_swallow_the_same_again(
    call: Call, rows: Rows, connection: psycopg.Connection, shop: str
) -> None:
    first = decide(call, "Use PostgreSQL")
    connection.execute("update pgmem.node set valid_to = now() - interval '1 day' where label = 'Decision'")
    again = decide(call, "Use PostgreSQL")
    assert (again["dedup_outcome"], again["artifact_id"] != first["artifact_id"]) == ("new", True)
    assert rows("select status from pgmem.node where id = %s", first["artifact_id"]) == [
        {"status": "expired"}
    ]


def test_check_duplicate_says_what_a_save_would_find_and_writes_nothing(
    call: Call, rows: Rows, shop: str
) -> None:
    saved = decide(call, "a b c d e f g")
    ask = {"rationale": "because", "project_id": shop}
    assert call("check_duplicate", title="A b c, d e f G!", **ask) == {
        "dedup_outcome": "duplicate_skip", "candidate_id": saved["artifact_id"], "score": 1.0}  # fmt: skip
    assert call("check_duplicate", title="a b c d e f g h i j", **ask) == {
        "dedup_outcome": "supersede", "candidate_id": saved["artifact_id"], "score": 0.7}  # fmt: skip
    half = call("check_duplicate", title="a b c d e x y", **ask)
    assert (half["dedup_outcome"], half["score"]) == ("manual_review", pytest.approx(5 / 9))
    assert call("check_duplicate", title="x y z", **ask)["dedup_outcome"] == "new"
    assert rows("select count(*) from pgmem.node where label = 'Decision'")[0]["count"] == 1


def test_check_duplicate_refuses_what_a_save_would_refuse(call: Call, shop: str) -> None:
    with pytest.raises(Exception, match="scope is global, project or focus, not galaxy"):
        call("check_duplicate", title="t", rationale="r", project_id=shop, scope="galaxy")
    with pytest.raises(Exception, match="title must not be empty"):
        call("check_duplicate", title=" ", rationale="r", project_id=shop)
    with pytest.raises(Exception, match="scope focus needs focus"):
        call("check_duplicate", title="t", rationale="r", project_id=shop, scope="focus")


def test_a_save_id_given_again_returns_the_first_result(call: Call, rows: Rows, shop: str) -> None:
    save_id = UUID("00000000-0000-4000-8000-000000000001")
    first = call("save_context", content="once", project_id=shop, save_id=save_id)
    again = call("save_context", content="once", project_id=shop, save_id=save_id)
    assert again == first
    assert rows("select count(*) from pgmem.node where label = 'Context'")[0]["count"] == 1


def test_a_save_id_given_again_with_other_arguments_is_refused(call: Call, shop: str) -> None:
    save_id = UUID("00000000-0000-4000-8000-000000000001")
    call("save_context", content="once", project_id=shop, save_id=save_id)
    with pytest.raises(Exception, match="was used for another save") as caught:
        call("save_context", content="twice", project_id=shop, save_id=save_id)
    assert isinstance(caught.value, psycopg.Error)
    assert caught.value.sqlstate == "PM007"


def test_a_blocked_save_id_runs_again_once_the_project_is_there(call: Call) -> None:
    ask = {"content": "once", "project_id": "shop", "save_id": UUID("00000000-0000-4000-8000-000000000001")}
    assert call("save_context", **ask)["status"] == "blocked_scope"
    call("save_session", objective="o", project_id="shop")
    assert call("save_context", **ask)["status"] == "saved"
    assert call("save_context", **ask)["status"] == "saved"
    assert context(call) == ["once"]
