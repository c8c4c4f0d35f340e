"""retrieve_context: the reading of an agent before it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import Rows


def items(call: Call, key: str = "content", **arguments: object) -> list[Any]:
    bundle = call(
        "retrieve_context",
        **{"project_id": "shop", "scope": "project", "categories": ["Context"], **arguments},
    )
    return [item[key] for item in bundle["items"]]


def note(call: Call, content: str, **more: object) -> object:
    result = call("save_context", **{"content": content, "project_id": "shop", **more})
    assert result["status"] == "saved"
    return result["artifact_id"]


def everywhere(call: Call, content: str) -> object:
    token = call("request_global_write_approval", content_preview=content)["token"]
    return note(call, content, scope="global", governance_token=token)


def test_a_new_project_is_empty_and_no_error(
    call: Call, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    connection.execute("delete from pgmem.node where label = 'Session'")
    bundle = call("retrieve_context", project_id=shop, scope="project")
    assert (bundle["retrieval_status"], bundle["items"], bundle["scope_state"]) == ("empty", [], "resolved")
    assert (bundle["conflicts_found"], bundle["truncated_scopes"]) == (False, [])
    assert bundle["next_step"]


def test_an_unknown_project_reads_nothing_not_even_global(call: Call, shop: str) -> None:
    everywhere(call, "for all")
    bundle = call("retrieve_context", project_id="nope", scope="project")
    assert (bundle["retrieval_status"], bundle["items"], bundle["scope_state"]) == ("empty", [], "uncertain")
    assert call("retrieve_context", project_id="nope", scope="global")["items"] == []


def test_focus_comes_before_project_before_global_each_with_its_limit(call: Call, shop: str) -> None:
    for number in range(12):
        note(call, f"focus {number}", scope="focus", focus="checkout")
    for number in range(12):
        note(call, f"project {number}")
    for number in range(7):
        everywhere(call, f"global {number}")
    bundle = call(
        "retrieve_context", project_id=shop, scope="focus", focus="checkout", categories=["Context"]
    )
    assert [item["content"] for item in bundle["items"]] == [
        *(f"focus {number}" for number in range(11, 1, -1)),
        *(f"project {number}" for number in range(11, 1, -1)),
        *(f"global {number}" for number in range(6, 1, -1)),
    ]
    assert bundle["truncated_scopes"] == ["focus", "project", "global"]
    assert "narrow" in bundle["next_step"] or bundle["hygiene_due"]


def test_a_scope_that_just_fills_its_limit_is_not_truncated(call: Call, shop: str) -> None:
    for number in range(10):
        note(call, f"project {number}")
    bundle = call("retrieve_context", project_id=shop, scope="project", categories=["Context"])
    assert (len(bundle["items"]), bundle["truncated_scopes"]) == (10, [])


def test_the_limits_are_settings_of_the_store(
    call: Call, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    connection.execute("update pgmem.setting set value = '2' where name = 'project_limit'")
    for number in range(3):
        note(call, f"project {number}")
    bundle = call("retrieve_context", project_id=shop, scope="project", categories=["Context"])
    assert ([item["content"] for item in bundle["items"]], bundle["truncated_scopes"]) == (
        ["project 2", "project 1"],
        ["project"],
    )


@pytest.mark.parametrize(
    "narrow",
    [
        {"topic": "zebra"},
        {"categories": ["Pattern"]},
        {"as_of": "1999-01-01T00:00:00Z"},
        {"known_at": "1999-01-01T00:00:00Z"},
    ],
)
def test_what_does_not_fit_is_not_called_an_empty_store(
    call: Call, shop: str, narrow: dict[str, Any]
) -> None:
    assert (
        "Nothing is stored here yet" in call("retrieve_context", project_id=shop, scope="global")["next_step"]
    )
    note(call, "The tent is blue.")
    bundle = call("retrieve_context", project_id=shop, scope="project", **narrow)
    assert (bundle["retrieval_status"], bundle["items"]) == ("empty", [])
    assert bundle["next_step"].startswith("Nothing here fits: leave out topic")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"scope": "global"}, ["global"]),
        ({"scope": "global", "focus": "checkout"}, ["global"]),
        ({"scope": "project"}, ["project", "global"]),
        ({"scope": "project", "focus": "checkout"}, ["checkout", "project", "global"]),
        ({"scope": "focus", "focus": "checkout"}, ["checkout", "project", "global"]),
        ({"scope": "focus", "focus": "returns"}, ["returns", "project", "global"]),
    ],
)
def test_each_scope_reads_its_own_and_the_wider_ones(
    call: Call, shop: str, arguments: dict[str, Any], expected: list[str]
) -> None:
    note(call, "checkout", scope="focus", focus="checkout")
    note(call, "returns", scope="focus", focus="returns")
    note(call, "project")
    everywhere(call, "global")
    call("save_session", objective="o", project_id="bank")
    note(call, "elsewhere", project_id="bank")
    assert items(call, **arguments) == expected


def test_a_topic_gives_only_what_speaks_of_it(call: Call, shop: str) -> None:
    note(call, "the authentication service signs tokens")
    note(call, "users log in by mail", topic="Authentication")
    note(call, "the pages are cached")
    assert items(call, topic="authentication") == [
        "users log in by mail",
        "the authentication service signs tokens",
    ]


def test_a_topic_that_nothing_speaks_of_is_empty(call: Call, shop: str) -> None:
    note(call, "the pages are cached")
    bundle = call("retrieve_context", project_id=shop, scope="project", topic="authentication")
    assert (bundle["retrieval_status"], bundle["items"]) == ("empty", [])


@pytest.mark.parametrize("topic", ["the", "of the and", "!?", "🚀"])
def test_a_topic_without_a_word_that_counts_is_empty_not_everything(
    call: Call, shop: str, topic: str
) -> None:
    note(call, "the pages are cached")
    assert items(call, topic=topic) == []


@pytest.mark.parametrize("topic", [None, "", "  "])
def test_no_topic_reads_everything(call: Call, shop: str, topic: str | None) -> None:
    note(call, "the pages are cached")
    assert items(call, topic=topic) == ["the pages are cached"]


def test_a_topic_reads_each_scope_with_its_limit_too(
    call: Call, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    connection.execute("update pgmem.setting set value = '1' where name in ('project_limit', 'focus_limit')")
    for number in range(2):
        note(call, f"cache {number} of the focus", scope="focus", focus="checkout")
        note(call, f"cache {number} of the project")
    everywhere(call, "cache of all")
    bundle = call("retrieve_context", project_id=shop, scope="focus", focus="checkout", topic="cache")
    assert [i["content"] for i in bundle["items"]] == [
        "cache 1 of the focus",
        "cache 1 of the project",
        "cache of all",
    ]
    assert bundle["truncated_scopes"] == ["focus", "project"]


@pytest.mark.parametrize("label", ["Session", "Decision", "Pattern", "Context", "EntityFact"])
def test_categories_give_only_the_labels_asked_for(call: Call, shop: str, label: str) -> None:
    call("save_decision", title="t", rationale="r", project_id=shop)
    call("save_pattern", trigger="t", repeatable_steps=["s"], project_id=shop)
    call("upsert_entity", entity_name="e", fact="f", project_id=shop)
    note(call, "c")
    assert items(call, key="label", categories=[label]) == [label]


def test_several_categories_are_read_together_newest_first(call: Call, shop: str) -> None:
    call("save_decision", title="t", rationale="r", project_id=shop)
    note(call, "c")
    call("save_pattern", trigger="t", repeatable_steps=["s"], project_id=shop)
    assert items(call, key="label", categories=["Decision", "Pattern"]) == ["Pattern", "Decision"]


def test_an_empty_list_of_categories_is_none_of_them(call: Call, shop: str) -> None:
    assert items(call, key="label", categories=[]) == []


@pytest.mark.parametrize(
    ("categories", "instead"),
    [
        (["Nonsense"], "Known: "),
        (["Decision", "decisions"], r"Did you mean Decision\?"),
        (["'; drop schema pgmem cascade; --"], "Known: "),
    ],
)
def test_an_unknown_category_is_an_error_that_names_the_nearest(
    call: Call, shop: str, categories: list[str], instead: str
) -> None:
    with pytest.raises(psycopg.Error, match=rf"Unknown label .*{instead}") as caught:
        call("retrieve_context", project_id=shop, scope="project", categories=categories)
    assert caught.value.sqlstate == "PM001"


@pytest.mark.parametrize("scope", [None, "", "galaxy", "GLOBAL"])
def test_a_retrieval_names_one_of_three_scopes(call: Call, shop: str, scope: str | None) -> None:
    with pytest.raises(psycopg.Error, match="scope is global, project or focus"):
        call("retrieve_context", project_id=shop, scope=scope)


def test_a_retrieval_of_the_focus_needs_its_name(call: Call, shop: str) -> None:
    with pytest.raises(psycopg.Error, match="scope focus needs focus"):
        call("retrieve_context", project_id=shop, scope="focus")


def conflicting(call: Call, titles: tuple[str, str] = ("Use cards", "Pay in cash")) -> None:
    for title in titles:
        call("save_decision", title=title, rationale="r", project_id="shop")
    call(
        "relate",
        from_label="Decision",
        from_key=titles[0],
        rel_type="CONFLICTS_WITH",
        to_label="Decision",
        to_key=titles[1],
    )


def test_two_memories_in_conflict_make_the_context_conflicted(call: Call, shop: str) -> None:
    conflicting(call)
    bundle = call("retrieve_context", project_id=shop, scope="project")
    assert (bundle["retrieval_status"], bundle["conflicts_found"]) == ("conflicted", True)
    assert "conflict" in bundle["next_step"]


def test_a_conflict_with_what_is_not_shown_does_not_count(
    call: Call, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    conflicting(call)
    connection.execute("update pgmem.setting set value = '1' where name = 'project_limit'")
    bundle = call("retrieve_context", project_id=shop, scope="project")
    assert (bundle["retrieval_status"], bundle["conflicts_found"], len(bundle["items"])) == (
        "succeeded",
        False,
        1,
    )


@pytest.mark.parametrize(
    ("made", "last", "due"),
    [
        ("2026-03-01", None, True),
        ("2026-04-08", None, True),
        ("2026-03-01", "2026-03-08 09:59+00", True),
        ("2026-03-01", "2026-03-10 10:00+00", False),
        ("2026-03-01", "2026-04-07 10:00+00", False),
    ],
)
def test_hygiene_is_due_without_a_report_and_after_thirty_days(
    call: Call,
    connection: psycopg.Connection[DictRow],
    clock: Callable[[str], None],
    shop: str,
    made: str,
    last: str | None,
    due: bool,
) -> None:
    clock("2026-04-08 10:00+00")
    connection.execute(
        "update pgmem.node set props = props || jsonb_strip_nulls(jsonb_build_object('last_hygiene_at', %s::text)),"
        " created_at = %s where label = 'Project'",
        (last, made),
    )
    assert call("retrieve_context", project_id=shop, scope="project")["hygiene_due"] is due


def test_a_project_that_has_just_begun_is_not_told_to_run_hygiene(
    call: Call, rows: Rows, clock: Callable[[str], None], shop: str
) -> None:
    clock("2026-04-08 10:00+00")
    note(call, "The oven heats in ten minutes")
    for made, advised in (("2026-04-08", False), ("2026-03-01", True)):
        rows("update pgmem.node set created_at = %s where label = 'Project' returning id", made)
        bundle = call("retrieve_context", project_id=shop, scope="project")
        assert bundle["hygiene_due"] is True
        assert ("run_hygiene" in bundle["next_step"]) is advised


def test_the_next_step_puts_conflicts_before_truncation_before_hygiene(
    call: Call, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    for number in range(11):
        note(call, f"project {number}")
    bundle = call("retrieve_context", project_id=shop, scope="project")
    assert bundle["truncated_scopes"] == ["project"]
    assert "narrow" in bundle["next_step"]
    conflicting(call)
    assert "conflict" in call("retrieve_context", project_id=shop, scope="project")["next_step"]


def test_a_report_is_advised_when_a_project_has_been_without_one_for_long(
    call: Call, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    def advice() -> str:
        return str(call("retrieve_context", project_id=shop, scope="project")["next_step"])

    note(call, "The gate squeaks")
    assert advice() == "Go on from here."
    connection.execute(
        "update pgmem.node set created_at = created_at - interval '31 days' where label = 'Project'"
    )
    assert "run_hygiene" in advice()


@pytest.mark.parametrize(
    ("saved_at", "freshness"),
    [
        ("2026-04-08 10:00+00", "current"),
        ("2026-04-01 10:00+00", "current"),
        ("2026-04-01 09:59+00", "recent"),
        ("2026-03-09 10:00+00", "recent"),
        ("2026-03-09 09:59+00", "stale"),
        ("2026-02-07 10:00+00", "stale"),
    ],
)
def test_an_item_says_how_fresh_it_is(
    call: Call, clock: Callable[[str], None], saved_at: str, freshness: str
) -> None:
    clock(saved_at)
    call("save_session", objective="o", project_id="shop")
    note(call, "c")
    clock("2026-04-08 10:00+00")
    assert items(call, key="freshness") == [freshness]


def test_what_is_no_longer_valid_is_not_read(
    call: Call, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    note(call, "past")
    connection.execute("update pgmem.node set valid_to = now() - interval '1 second' where label = 'Context'")
    note(call, "present")
    assert items(call) == ["present"]
    assert items(call, topic="past") == []


@pytest.mark.parametrize(
    "status", ["superseded", "archived", "expired", "merged", "stub", "pending", "draft", "rejected"]
)
def test_what_is_not_live_is_not_read(
    call: Call, connection: psycopg.Connection[DictRow], shop: str, status: str
) -> None:
    note(call, "past")
    connection.execute("update pgmem.node set status = %s where label = 'Context'", (status,))
    assert items(call) == []
    assert items(call, topic="past") == []


def test_an_item_carries_its_own_properties_and_its_position(call: Call, shop: str) -> None:
    saved = call(
        "save_decision", title="Use cards", rationale="r", owner="ana", date="2026-04-08", project_id=shop
    )
    (item,) = call("retrieve_context", project_id=shop, scope="project", categories=["Decision"])["items"]
    assert {name: item[name] for name in ("id", "label", "title", "scope", "rationale", "owner", "date", "trust_level")} == {
        "id": str(saved["artifact_id"]), "label": "Decision", "title": "Use cards", "scope": "project", "rationale": "r",
        "owner": "ana", "date": "2026-04-08", "trust_level": 0.5}  # fmt: skip


def test_no_item_comes_twice(call: Call, shop: str) -> None:
    for focus in ("checkout", "returns"):
        note(call, f"of {focus}", focus=focus)
    ids = items(call, key="id", focus="checkout")
    assert len(ids) == len(set(ids)) == 2


def test_a_retrieval_writes_nothing(call: Call, rows: Rows, shop: str) -> None:
    note(call, "c")
    before = rows("select xmin::text, ctid::text from pgmem.node order by seq")
    call("retrieve_context", project_id=shop, scope="project", topic="c")
    assert rows("select xmin::text, ctid::text from pgmem.node order by seq") == before
