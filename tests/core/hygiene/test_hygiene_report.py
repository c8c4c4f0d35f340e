"""run_hygiene: five checks that change nothing, counted whole and shown page by page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Picture, Rows

NOW = "2026-06-30T12:00:00Z"
TEXT = " ".join(f"word{i}" for i in range(20))


def ids_of(report: DictRow, check: str) -> list[list[str]]:
    return [finding["ids"] for finding in report["findings"] if finding["check"] == check]


def decide(call: Call, title: str, **more: Any) -> str:
    return str(
        call("save_decision", title=title, rationale=f"because of {title}", project_id="shop", **more)[
            "artifact_id"
        ]
    )


def test_a_new_project_needs_no_repair(call: Call, shop: str) -> None:
    report = call("run_hygiene", project_id=shop)
    assert (report["total"], report["findings"], report["next_offset"]) == (0, [], None)
    assert report["next_step"] == "Nothing to repair."


def test_a_decision_of_181_days_that_superseded_nothing_is_outdated_and_one_of_180_is_not(
    call: Call, clock: Callable[[str], None], shop: str
) -> None:
    clock(NOW)
    old = decide(call, "Sell tea", date="2025-12-31")
    decide(call, "Paint walls", date="2026-01-01")
    decide(call, "Close on Monday", date="2026-01-02")
    report = call("run_hygiene", project_id=shop)
    assert ids_of(report, "outdated_decisions") == [[old]]
    assert report["outdated_decisions"] == 1
    assert report["candidate_ids"]["outdated_decisions"] == [old]


def test_an_old_decision_that_took_the_place_of_another_is_not_outdated_nor_is_the_one_it_replaced(
    call: Call, clock: Callable[[str], None], shop: str
) -> None:
    clock(NOW)
    decide(call, "use redis for cache of all pages", date="2025-01-01")
    newer = call(
        "save_decision",
        title="use redis for cache of all images",
        rationale="r",
        project_id=shop,
        date="2025-01-02",
    )
    assert newer["dedup_outcome"] == "supersede"
    assert call("run_hygiene", project_id=shop)["outdated_decisions"] == 0


def test_a_pattern_validated_91_days_ago_is_obsolete_and_one_of_89_is_not(
    call: Call, clock: Callable[[str], None], shop: str
) -> None:
    clock(NOW)
    steps = {"repeatable_steps": ["x"], "project_id": shop}
    old = call("save_pattern", trigger="Release", last_validated_at="2026-03-31T11:00:00Z", **steps)[
        "artifact_id"
    ]
    call("save_pattern", trigger="Hotfix", last_validated_at="2026-04-02T12:00:00Z", **steps)
    report = call("run_hygiene", project_id=shop)
    assert ids_of(report, "obsolete_patterns") == [[str(old)]]
    assert report["findings"][0]["verb"] == "confirm"


def test_two_spellings_of_one_entity_are_drift_and_the_newest_fact_is_kept(call: Call, shop: str) -> None:
    save = {"project_id": shop}
    first = call("upsert_entity", entity_name="Post-greSQL", fact="a database", **save)["artifact_id"]
    second = call("upsert_entity", entity_name="postgresql", fact="an elephant", **save)
    call("upsert_entity", entity_name="POSTGRESQL", fact="a snake", scope="focus", focus="db", **save)
    call("upsert_entity", entity_name="Redis", fact="a cache", **save)
    report = call("run_hygiene", project_id=shop)
    assert report["entity_drift_count"] == 1
    assert report["candidate_ids"]["entity_drift"] == [f"{second['artifact_id']}+{first}"]
    (finding,) = report["findings"]
    assert finding["verb"] == "merge_entities"
    assert finding["arguments"] == {"entity": str(first), "into": str(second["artifact_id"])}
    call("merge_entities", by="ada", **finding["arguments"])
    facts = {
        item["fact"] for item in call("retrieve_context", project_id=shop, categories=["EntityFact"])["items"]
    }
    assert facts == {"an elephant", "a cache"}


def test_spellings_with_hyphen_blank_and_underscore_are_reported(call: Call, shop: str) -> None:
    """They were not reported at all."""
    for name in ("Payments-API", "payments api", "payments_api"):
        call("upsert_entity", entity_name=name, fact=f"as {name}", project_id=shop)
    assert call("run_hygiene", project_id=shop)["entity_drift_count"] == 2


def test_entities_of_two_projects_are_two_entities(call: Call, shop: str) -> None:
    call("save_session", objective="x", project_id="other")
    for project in (shop, "other"):
        call("upsert_entity", entity_name="Redis", fact=f"the cache of {project}", project_id=project)
    assert call("run_hygiene")["total"] == 0


def test_nineteen_of_twentyone_words_are_enough_and_eighteen_of_twenty_are_not(call: Call, shop: str) -> None:
    twenty = [f"word{i}" for i in range(19)]
    save = {"project_id": shop}
    call("save_context", content=" ".join(twenty), topic="topic", **save)  # 20 tokens with the topic
    call("save_context", content=" ".join([*twenty, "more"]), topic="topic", **save)  # 20 / 21 = 0.952
    assert call("run_hygiene", project_id=shop)["duplicates_found"] == 1
    call("save_context", content=" ".join([*twenty[:18], "a", "b"]), topic="topic", **save)
    assert call("run_hygiene", project_id=shop)["duplicates_found"] == 1
    # Exactly nine tenths is not above: 18 of 20.
    call("save_context", content=" ".join(f"x{i}" for i in range(18)), topic="exact", **save)
    call("save_context", content=" ".join([*(f"x{i}" for i in range(17)), "y"]), topic="exact", **save)
    assert call("run_hygiene", project_id=shop)["duplicates_found"] == 1


def test_one_decision_kept_in_the_project_and_in_a_focus_area_is_a_duplicate(call: Call, shop: str) -> None:
    first = decide(call, "Sell tea")
    second = decide(call, "Sell tea", scope="focus", focus="menu")
    assert first != second
    report = call("run_hygiene", project_id=shop)
    assert report["candidate_ids"]["duplicate_decisions"] == [f"{first}+{second}"]
    assert report["findings"][0]["similarity"] == 1
    assert report["findings"][0]["verb"] == "supersede"


def test_the_same_text_in_two_projects_or_of_two_tenants_is_not_a_duplicate(
    call: Call, act_as: ActAs
) -> None:
    for user in ("alice", "bob"):
        act_as("acme", user)
        for project in ("a", "b"):
            call("save_session", objective=f"open {project}", project_id=project)
            call("save_context", content=TEXT, project_id=project)
    assert call("run_hygiene")["duplicates_found"] == 0


def test_an_archived_memory_is_not_a_duplicate(call: Call, shop: str) -> None:
    saved = [call("save_context", content=TEXT, topic="t", project_id=shop)["artifact_id"] for _ in range(2)]
    finding = call("run_hygiene", project_id=shop)["findings"][0]
    assert (finding["verb"], finding["arguments"]) == ("forget", {"label": "Context", "key": str(saved[1])})
    call(finding["verb"], **finding["arguments"])
    assert call("run_hygiene", project_id=shop)["total"] == 0


def test_failed_saves_are_found_with_the_verb_that_resolves_each(call: Call, shop: str) -> None:
    failed, review = uuid4(), uuid4()
    call("save_decision", title="x y", rationale="r", project_id=shop, scope="global", save_id=failed)
    decide(call, "a b c")
    call("save_decision", title="a b d", rationale="r", project_id=shop, save_id=review)
    report = call("run_hygiene", project_id=shop)
    assert report["unresolved_saves"] == 2
    assert {f["ids"][0]: f["verb"] for f in report["findings"]} == {
        str(failed): "retry_save",
        str(review): "resolve_review",
    }
    assert set(report["pending_artifact_ids"]) == {failed, review}
    assert report["oldest_pending_at"] is not None
    call("resolve_review", save_id=review, outcome="drop", by="ada")
    assert call("run_hygiene", project_id=shop)["unresolved_saves"] == 1


def test_a_batch_that_failed_says_how_to_send_it_again(call: Call, shop: str) -> None:
    decide(call, "a b c")
    call(
        "store_session_with_learnings",
        session={"objective": "x"},
        project_id=shop,
        decisions=[{"title": "a b d", "rationale": "r"}],
        atomic=True,
    )
    (finding,) = [
        f
        for f in call("run_hygiene", project_id=shop)["findings"]
        if f["verb"] == "store_session_with_learnings"
    ]
    assert "save_id" in finding["what"]


def last_hygiene(rows: Rows) -> object:
    return rows("select last_hygiene_at from pgmem.project where name = 'shop'")[0]["last_hygiene_at"]


def test_a_whole_report_is_noted_on_the_project_and_nothing_else_changes(
    call: Call, rows: Rows, picture: Picture, clock: Callable[[str], None], shop: str
) -> None:
    clock(NOW)
    decide(call, "Sell tea", date="2020-01-01")
    rows("update pgmem.node set created_at = '2026-01-01' where label = 'Project' returning id")
    assert call("retrieve_context", project_id=shop, scope="project")["hygiene_due"] is True
    before = picture()
    project = rows("select version, updated_at, recorded_at, tsv from pgmem.node where label = 'Project'")
    report = call("run_hygiene", project_id=shop)
    assert last_hygiene(rows) == datetime(2026, 6, 30, 12, tzinfo=UTC)
    after = picture()
    assert {name for name in before if before[name] != after[name]} <= {
        "pgmem.node",
        "pgmem_graph._ag_label_vertex",
        'pgmem_graph."Project"',
    }
    assert (
        rows("select version, updated_at, recorded_at, tsv from pgmem.node where label = 'Project'")
        == project
    )
    assert rows("select * from pgmem.node_version") == []
    assert call("retrieve_context", project_id=shop, scope="project")["hygiene_due"] is False
    assert call("run_hygiene", project_id=shop) == report
    assert picture() == after


@pytest.mark.usefixtures("age")
def test_the_graph_agrees_with_the_tables_after_a_report(call: Call, rows: Rows, shop: str) -> None:
    call("run_hygiene", project_id=shop)
    assert rows("select * from pgmem.check_graph()") == []


@pytest.mark.parametrize(
    "partly",
    [{"check_pending_only": True}, {"scope": "focus"}, {"offset": 1}],
    ids=["pending only", "scope", "page"],
)
def test_a_report_on_a_part_touches_nothing(
    call: Call, picture: Picture, shop: str, partly: dict[str, Any]
) -> None:
    decide(call, "Sell tea", date="2020-01-01")
    before = picture()
    report = call("run_hygiene", project_id=shop, **partly)
    assert picture() == before
    assert report["pending_only"] is ("check_pending_only" in partly)
    assert (report["outdated_decisions"] == 1) is ("offset" in partly)


def test_a_report_that_fails_is_not_noted(
    call: Call, rows: Rows, connection: psycopg.Connection[DictRow], shop: str
) -> None:
    for i in range(40):
        call("save_context", content=f"{TEXT} {i}", project_id=shop)
    connection.execute("set statement_timeout = '1ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        call("run_hygiene", project_id=shop)
    connection.execute("reset statement_timeout")
    assert last_hygiene(rows) is None


def test_pages_are_cut_from_the_whole_in_one_order(call: Call, shop: str) -> None:
    for _ in range(5):
        call("save_context", content=TEXT, topic="t", project_id=shop)
    for i in range(3):
        decide(call, f"decision number {i} about {'x' * i} y{i}", date="2020-01-01")
    whole = call("run_hygiene", project_id=shop)
    assert (whole["duplicates_found"], whole["outdated_decisions"], whole["total"]) == (10, 3, 13)
    paged: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        page = call("run_hygiene", project_id=shop, limit=4, offset=offset)
        assert page["total"] == 13
        paged += page["findings"]
        offset = page["next_offset"]
    assert paged == whole["findings"]
    assert len({tuple(f["ids"]) for f in paged}) == 13
    assert call("run_hygiene", project_id=shop, limit=5, offset=13)["findings"] == []


def test_a_scope_is_looked_at_alone_and_all_projects_together(call: Call, rows: Rows, shop: str) -> None:
    call("save_session", objective="x", project_id="other")
    decide(call, "Sell tea", date="2020-01-01")
    decide(call, "Buy milk", date="2020-01-01", scope="focus", focus="menu")
    assert call("run_hygiene", project_id=shop)["outdated_decisions"] == 2
    assert call("run_hygiene", project_id=shop, scope="focus")["outdated_decisions"] == 1
    assert call("run_hygiene", project_id="other")["outdated_decisions"] == 0
    assert call("run_hygiene", scope="global")["outdated_decisions"] == 0
    assert call("run_hygiene")["outdated_decisions"] == 2
    assert rows("select name from pgmem.project where last_hygiene_at is null") == []


def test_another_tenants_memories_are_never_in_a_report(call: Call, rows: Rows, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("save_session", objective="x", project_id="shop")
    decide(call, "Sell tea", date="2020-01-01")
    act_as("acme", "bob")
    assert call("run_hygiene")["total"] == 0
    with pytest.raises(psycopg.Error, match="No project 'shop'"):
        call("run_hygiene", project_id="shop")
    act_as("acme", "alice")
    assert last_hygiene(rows) is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"project_id": "nowhere"}, "No project 'nowhere'"),
        ({"scope": "world"}, "scope is global, project or focus"),
        ({"limit": 0}, "limit is a whole number"),
        ({"offset": -1}, "offset is a whole number from 0 up"),
    ],
)
def test_what_cannot_be_reported_on_is_refused(call: Call, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(psycopg.Error, match=message):
        call("run_hygiene", **wrong)
