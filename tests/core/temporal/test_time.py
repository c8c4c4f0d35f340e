"""Two axes of time: when a thing was true, and when it was recorded."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from math import exp
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import InvalidArgument, Memory
from pgmem.settings import Settings
from tests.conftest import Call, GraphDifferences, past_the_pooler
from tests.fixtures.verbs import ActAs, Each, Rows

Clock = Callable[[str], None]


def refusal(call: Call, verb: str, **arguments: object) -> tuple[str | None, str]:
    with pytest.raises(psycopg.Error) as caught:
        call(verb, **arguments)
    return caught.value.sqlstate, caught.value.diag.message_primary or ""


def titles(answer: DictRow) -> list[str]:
    return [item["title"] for item in answer["items"]]


@pytest.fixture
def storage(call: Call, clock: Clock) -> str:
    """A decision of January that another one superseded in March; it is May now."""
    clock("2026-01-10")
    call("save_session", objective="open the shop", project_id="shop")
    clock("2026-01-15")
    call("save_decision", title="Keep orders in one SQLite file", rationale="Small.", project_id="shop")
    clock("2026-03-15")
    newer = call(
        "save_decision",
        title="Keep orders in one PostgreSQL file",
        rationale="Grown.",
        project_id="shop",
        supersedes="Keep orders in one SQLite file",
    )
    assert newer["dedup_outcome"] == "supersede"
    clock("2026-05-01")
    return "shop"


OLD, NEW = "Keep orders in one SQLite file", "Keep orders in one PostgreSQL file"


def decisions(call: Call, project: str, **times: object) -> list[str]:
    return titles(
        call("retrieve_context", project_id=project, scope="project", categories=["Decision"], **times)
    )


def test_by_default_a_context_holds_what_is_true_and_known_now(call: Call, storage: str) -> None:
    assert decisions(call, storage) == [NEW]


def test_as_of_a_date_finds_what_was_true_then_though_it_was_superseded_since(
    call: Call, storage: str
) -> None:
    assert decisions(call, storage, as_of="2026-02-01") == [OLD]
    assert decisions(call, storage, as_of="2026-04-01") == [NEW]
    assert decisions(call, storage, as_of="2026-01-01") == []


def test_known_at_a_date_finds_what_was_recorded_then(call: Call, storage: str) -> None:
    assert decisions(call, storage, known_at="2026-02-01") == [OLD]
    assert decisions(call, storage, known_at="2026-04-01") == [NEW]
    assert decisions(call, storage, known_at="2026-01-01") == []


def test_both_dates_together_ask_what_we_then_knew_of_another_day(call: Call, storage: str) -> None:
    assert decisions(call, storage, known_at="2026-02-01", as_of="2026-04-01") == [OLD]
    assert decisions(call, storage, known_at="2026-04-01", as_of="2026-02-01") == [OLD]
    assert decisions(call, storage, known_at="2026-01-01", as_of="2026-02-01") == []


def test_a_context_of_the_past_is_narrowed_by_topic_too(call: Call, storage: str) -> None:
    assert decisions(call, storage, as_of="2026-02-01", topic="sqlite") == [OLD]
    assert decisions(call, storage, as_of="2026-02-01", topic="kafka") == []


def test_search_finds_a_superseded_decision_as_of_its_time_and_says_how_it_searched_the_record(
    each: Each, storage: str
) -> None:
    def found(**times: object) -> list[str]:
        return [
            row["title"] for row in each("search_memory", query="orders file", labels=["Decision"], **times)
        ]

    assert found() == [NEW]
    assert OLD in found(as_of="2026-02-01")
    assert found(known_at="2026-02-01") == [OLD]
    mode = each("search_memory", query="orders file", known_at="2026-02-01")[0]
    assert "known" in f"{mode['mode']} {mode['reason']}" or "record" in f"{mode['mode']} {mode['reason']}"


def test_a_date_before_within_and_after_a_period_gives_absent_present_absent(call: Call, shop: str) -> None:
    call(
        "remember",
        label="Technology",
        properties={"name": "MySQL"},
        valid_from="2020-01-01",
        valid_to="2024-12-31",
    )
    ask = {"label": "Technology", "key": "MySQL"}
    assert refusal(call, "get_node", **ask, as_of="2019-12-31")[0] == "PM002"
    assert call("get_node", **ask, as_of="2022-06-01")["status"] == "active"
    assert call("get_node", **ask, as_of="2020-01-01")["status"] == "active"
    assert call("get_node", **ask, as_of="2024-12-31")["status"] == "active"
    assert refusal(call, "get_node", **ask, as_of="2025-01-01")[0] == "PM002"


def test_what_becomes_true_later_is_not_shown_yet(call: Call, clock: Clock, shop: str) -> None:
    arguments = {"label": "Problem", "properties": {"title": "Licence ends"}, "project_id": shop}
    call("remember", **arguments, valid_from="2099-01-01")
    assert "Licence ends" not in titles(call("retrieve_context", project_id=shop, scope="project"))
    clock("2099-02-01")
    assert "Licence ends" in titles(call("retrieve_context", project_id=shop, scope="project"))


def test_only_a_period_that_ends_before_it_begins_is_refused(call: Call) -> None:
    label, properties = "Concept", {"name": "a"}
    state, message = refusal(
        call, "remember", label=label, properties=properties, valid_from="2026-02-01", valid_to="2026-01-31"
    )
    assert state == "PM001"
    assert "valid_to" in message
    same = call(
        "remember", label=label, properties=properties, valid_from="2026-02-01", valid_to="2026-02-01"
    )
    assert same["created"]


def test_a_write_onto_a_memory_with_an_end_is_flagged_and_both_versions_stay(call: Call, each: Each) -> None:
    call("remember", label="Tool", properties={"name": "make"}, valid_to="2024-01-01")
    answer = call("remember", label="Tool", properties={"name": "make", "summary": "back in use"})
    assert answer["conflict"]["conflict"] == "revived"
    assert answer["conflict"]["action"] == "cleared"
    assert datetime.fromisoformat(answer["conflict"]["previous_valid_to"]) == datetime(2024, 1, 1, tzinfo=UTC)
    versions = each("memory_history", label="Tool", key="make")
    assert [version["valid_to"] for version in versions] == [datetime(2024, 1, 1, tzinfo=UTC), None]
    assert versions[1]["valid_from"] > datetime(2026, 1, 1, tzinfo=UTC)
    again = call("remember", label="Tool", properties={"name": "make"})
    assert again["conflict"] is None


def test_an_entity_saved_again_after_its_end_is_flagged_too(call: Call, rows: Rows, shop: str) -> None:
    call("upsert_entity", entity_name="Redis", fact="in use", project_id=shop)
    rows("update pgmem.node set valid_to = '2024-01-01' where key = 'Redis' returning seq")
    answer = call("upsert_entity", entity_name="Redis", fact="in use again", project_id=shop)
    assert "revived" in answer["message"]
    assert "2024-01-01" in answer["message"]
    assert call("get_node", label="EntityFact", key="Redis")["valid_to"] is None


@pytest.mark.parametrize(("outcome", "ends"), [("supersede", True), ("drop", False)])
@pytest.mark.parametrize("verb", ["remember", "upsert_entity"])
def test_a_write_onto_a_closed_period_waits_where_a_person_sees_it(
    call: Call, each: Each, rows: Rows, shop: str, verb: str, outcome: str, ends: bool
) -> None:
    of_verbs: dict[str, dict[str, Any]] = {
        "remember": {"label": "Tool", "properties": {"name": "make", "summary": "builds"}},
        "upsert_entity": {"entity_name": "make", "fact": "builds"},
    }
    written = of_verbs[verb]
    call(verb, **written, project_id=shop)
    rows("update pgmem.node set valid_to = '2024-01-01' where key = 'make' returning seq")
    call(verb, **written, project_id=shop)
    (waiting,) = each("list_reviews", project_id=shop)
    assert (waiting["verb"], waiting["candidate_title"], waiting["outcomes"]) == (
        "revert",
        "make",
        ["supersede", "drop"],
    )
    assert "had ended on 2024-01-01" in waiting["message"]
    assert call("count_waiting", project_id=shop)["reviews"] == 1
    call("resolve_review", save_id=waiting["save_id"], outcome=outcome, by="Ada")
    (node,) = rows("select valid_to from pgmem.node where key = 'make'")
    assert (node["valid_to"] is not None) is ends
    assert each("list_reviews") == []


def test_a_write_that_names_its_period_or_is_by_a_person_waits_for_nobody(
    call: Call, each: Each, rows: Rows, shop: str
) -> None:
    named: dict[str, Any] = {"label": "Tool", "properties": {"name": "make"}, "project_id": shop}
    call("remember", **named, valid_to="2024-01-01")
    call("remember", **named, valid_from="2025-01-01")
    rows("update pgmem.node set valid_to = '2025-02-01' where key = 'make' returning seq")
    rows("select set_config('pgmem.source', 'cli', true)")
    assert call("remember", **named)["conflict"]["conflict"] == "revived"
    assert each("list_reviews") == []


def test_forgetting_hides_everywhere_and_saving_again_brings_back(call: Call, each: Each, shop: str) -> None:
    words = {"title": "Ship on Fridays", "rationale": "Bold.", "project_id": shop}
    first = call("save_decision", **words)
    forgotten = call("forget", label="Decision", key="Ship on Fridays")
    assert forgotten["status"] == "archived"
    assert "Ship on Fridays" not in titles(call("retrieve_context", project_id=shop, scope="project"))
    assert each("search_memory", query="fridays") == []
    assert decisions(call, shop, as_of=str(datetime.now(UTC))) == []
    second = call("save_decision", **words)
    assert second["dedup_outcome"] == "new"
    assert second["artifact_id"] != first["artifact_id"]
    assert [row["title"] for row in each("search_memory", query="fridays")] == ["Ship on Fridays"]


def test_remembering_a_forgotten_thing_is_the_same_node_again(call: Call, each: Each) -> None:
    made = call("remember", label="Tool", properties={"name": "make"})
    call("forget", label="Tool", key="make")
    back = call("remember", label="Tool", properties={"name": "make"})
    assert (back["id"], back["status"], back["created"]) == (made["id"], "active", False)
    states = [row["status"] for row in each("memory_history", label="Tool", key="make")]
    assert states == ["active", "archived", "active"]


def test_a_purge_leaves_nothing_of_a_memory(
    graph_differences: GraphDifferences, call: Call, rows: Rows, each: Each, shop: str
) -> None:
    call("remember", label="Tool", properties={"name": "make"}, relations={"USES": ["sh"]}, project_id=shop)
    call("remember", label="Tool", properties={"name": "make", "summary": "builds"}, project_id=shop)
    gone = call("forget", label="Tool", key="make", purge=True)
    assert (gone["status"], gone["edges"], gone["versions"]) == ("purged", 1, 1)
    assert rows("select from pgmem.node where key = 'make'") == []
    assert rows("select from pgmem.node_version where key = 'make'") == []
    assert rows("select from pgmem.edge where rel = 'USES'") == []
    assert each("search_memory", query="builds") == []
    assert graph_differences() == []
    assert refusal(call, "memory_history", label="Tool", key="make")[0] == "PM002"


def test_a_superseded_decision_is_brought_back_by_revert(call: Call, storage: str) -> None:
    call("forget", label="Decision", key=NEW)
    assert decisions(call, storage) == []
    answer = call("revert", label="Decision", key=OLD, version=1)
    assert (answer["status"], answer["version"], answer["reverted_to"]) == ("active", 3, 1)
    assert decisions(call, storage) == [OLD]


def test_a_revert_is_refused_while_the_same_content_is_live_elsewhere(call: Call, shop: str) -> None:
    words = {"title": "Ship on Fridays", "rationale": "Bold.", "project_id": shop}
    old = call("save_decision", **words)["artifact_id"]
    call("forget", label="Decision", key=str(old))
    new = call("save_decision", **words)["artifact_id"]
    state, message = refusal(call, "revert", label="Decision", key=str(old), version=1)
    assert state == "PM001"
    assert str(new) in message


def test_a_decision_is_known_again_by_the_text_that_a_revert_brought_back(call: Call, shop: str) -> None:
    saved = call("save_decision", title="Sell tea", rationale="They ask.", project_id=shop)
    edit = {"properties": {"rationale": "They pay."}, "title": "Sell coffee", "by": "ada"}
    call("edit_memory", id=saved["artifact_id"], version=1, **edit)
    call("revert", label="Decision", key=str(saved["artifact_id"]), version=1)
    again = call("save_decision", title="Sell tea", rationale="They ask.", project_id=shop)
    assert again["dedup_outcome"] == "duplicate_skip"
    other = call("save_decision", title="Sell coffee", rationale="They pay.", project_id=shop)
    assert other["dedup_outcome"] == "new"


def test_a_global_memory_is_forgotten_and_reverted_with_an_approval_only(call: Call, shop: str) -> None:
    def token(preview: str) -> str:
        return str(call("request_global_write_approval", content_preview=preview)["token"])

    words = {"title": "Answer in English", "rationale": "All read it.", "project_id": shop, "scope": "global"}
    call("save_decision", **words, governance_token=token("Answer in English: All read it."))
    ask = {"label": "Decision", "key": "Answer in English"}
    assert refusal(call, "forget", **ask)[0] == "PM004"
    spent = token("Forget: Answer in English")
    assert call("forget", **ask, governance_token=spent)["status"] == "archived"
    assert refusal(call, "revert", **ask, version=1, governance_token=spent)[0] == "PM004"
    assert (
        call("revert", **ask, version=1, governance_token=token("Revert: Answer in English"))["status"]
        == "active"
    )


def test_projects_and_focus_areas_are_not_forgotten_by_themselves(call: Call, shop: str) -> None:
    assert refusal(call, "forget", label="Project", key=shop, purge=True)[0] == "PM011"


@pytest.mark.parametrize(
    ("initial", "days", "rate", "wanted"),
    [
        (1.0, 100, 0.01, exp(-1)),
        (0.5, 50, 0.01, 0.5 * exp(-0.5)),
        (1.0, 100, 0.0, 1.0),
        (0.8, 0, 0.01, 0.8),
        (0.0, 100, 0.01, 0.0),
    ],
)
def test_confidence_is_initial_times_exp_of_minus_rate_times_days(
    call: Call, clock: Clock, rows: Rows, shop: str, initial: float, days: int, rate: float, wanted: float
) -> None:
    rows("update pgmem.setting set value = '0' where name = 'decay_max_age_days' returning name")
    rows("update pgmem.setting set value = %s where name = 'decay_rate' returning name", str(rate))
    clock("2026-01-01")
    call("remember", label="Concept", properties={"name": "c", "confidence": initial})
    clock(f"{datetime.fromordinal(datetime(2026, 1, 1).toordinal() + days):%Y-%m-%d}")
    first = call("get_node", label="Concept", key="c")["confidence"]
    assert first == pytest.approx(wanted, abs=1e-6)
    call("decay_scores")
    call("decay_scores")
    assert call("get_node", label="Concept", key="c")["confidence"] == first


def test_confidence_is_constant_until_the_age_at_which_decay_begins(call: Call, clock: Clock) -> None:
    clock("2026-01-01")
    call("remember", label="Concept", properties={"name": "c"})
    clock("2026-04-01")
    assert call("get_node", label="Concept", key="c")["confidence"] == 1.0
    clock("2026-04-02")
    assert call("get_node", label="Concept", key="c")["confidence"] == pytest.approx(exp(-0.91), abs=1e-6)


def test_decay_counts_and_touches_nothing(call: Call, clock: Clock, rows: Rows, shop: str) -> None:
    clock("2026-01-01")
    for number in range(3):
        call("remember", label="Concept", properties={"name": f"c{number}"})
    clock("2026-06-01")
    call("remember", label="Concept", properties={"name": "fresh"})
    before = rows("select seq, xmin::text, ctid::text, updated_at, version from pgmem.node order by seq")
    done = call("decay_scores")
    assert (done["affected"], done["archived"]) == (3, 0)
    assert call("decay_scores", archive_below=0.5, dry_run=True)["remaining"] == 3
    assert (
        rows("select seq, xmin::text, ctid::text, updated_at, version from pgmem.node order by seq") == before
    )
    assert rows("select from pgmem.node_version") == []


def test_decay_archives_below_a_threshold_in_batches(call: Call, clock: Clock, rows: Rows) -> None:
    clock("2026-01-01")
    for number in range(5):
        call("remember", label="Concept", properties={"name": f"c{number}"})
    clock("2026-06-01")
    assert call("decay_scores", archive_below=0.1)["archived"] == 0
    first = call("decay_scores", archive_below=0.5, limit=3)
    assert (first["archived"], first["remaining"]) == (3, 2)
    second = call("decay_scores", archive_below=0.5, limit=3)
    assert (second["archived"], second["remaining"]) == (2, 0)
    updated = rows("select distinct updated_at from pgmem.node where label = 'Concept'")
    assert [row["updated_at"] for row in updated] == [datetime(2026, 1, 1, tzinfo=UTC)]
    assert call("get_node", label="Concept", key="c0", known_at="2026-05-01")["status"] == "active"


@pytest.mark.anyio
async def test_a_rate_given_to_decay_holds_for_that_call_alone(memory: Memory) -> None:
    """A call that counts or archives changes no setting of the owner's."""
    before = await memory.list_settings()
    await memory.decay_scores()
    await memory.decay_scores(max_age_days=30, decay_rate=0.02, dry_run=True)
    await memory.decay_scores(max_age_days=30, decay_rate=0.02, archive_below=0.5)
    assert await memory.list_settings() == before


@pytest.mark.anyio
async def test_a_rate_that_would_change_nothing_is_refused_with_the_setting_that_counts(
    memory: Memory,
) -> None:
    with pytest.raises(InvalidArgument, match=r"decay_rate \(0\.01\).*set_setting"):
        await memory.decay_scores(decay_rate=0.05)
    await memory.decay_scores(decay_rate=0.01)  # the store's own


def test_a_time_to_live_archives_or_purges_what_nobody_touched(
    call: Call, clock: Clock, rows: Rows, shop: str
) -> None:
    clock("2026-01-01")
    call("remember", label="Concept", properties={"name": "old"})
    call("remember", label="Tool", properties={"name": "old tool"})
    clock("2026-06-01")
    call("remember", label="Concept", properties={"name": "new"})
    assert call("forget_by_ttl", days=90, dry_run=True)["remaining"] == 2
    assert call("forget_by_ttl", days=90, label="Concept")["affected"] == 1
    assert rows("select status from pgmem.node where key = 'old'") == [{"status": "archived"}]
    assert call("forget_by_ttl", days=90, label="Concept", purge=True)["affected"] == 0
    clock("2026-12-01")
    assert call("forget_by_ttl", days=90, label="Concept", purge=True)["affected"] == 2
    assert rows("select key from pgmem.node where label in ('Concept', 'Tool')") == [{"key": "old tool"}]


@pytest.mark.anyio
async def test_python_forgets_reverts_and_returns_the_history(dsn: str, tmp_path: Path) -> None:
    async with Memory.connect(Settings(dsn=dsn, data_dir=tmp_path)) as memory:
        made = await memory.remember("Technology", {"name": "AGE", "summary": "a graph"})
        await memory.remember("Technology", {"name": "AGE", "summary": "a graph in PostgreSQL"})
        await memory.revert("Technology", "AGE", 1)
        assert (await memory.get_node("Technology", "AGE")).properties["summary"] == "a graph"
        await memory.forget("Technology", "AGE")
        versions = (await memory.memory_history("Technology", "AGE")).versions
        assert [version.status for version in versions] == ["active", "active", "active", "archived"]
        assert isinstance(made.id, UUID)


def test_many_that_change_at_once_cost_the_same_in_a_session_that_changed_single_ones(
    connection: psycopg.Connection[DictRow], dsn: str, rows: Rows, shop: str
) -> None:
    rows(
        "insert into pgmem.node (label, title, scope, project, project_seq, source, trust_level, scope_key, tsv,"
        " created_at, updated_at, recorded_at) select 'Context', 'filler ' || i, 'project', p.key, p.seq, 'sql', 0.5, p.scope_key,"
        " '', now(), now(), now() from pgmem.node p cross join generate_series(1, 5200) i where p.label = 'Project' returning seq"
    )
    archive = (
        "with next as (select seq from pgmem.node where label = 'Context' and status = 'active' order by seq limit %s)"
        " update pgmem.node n set status = 'archived' from next where n.seq = next.seq"
    )

    def seconds(single_ones: int) -> float:
        with psycopg.connect(past_the_pooler(dsn), autocommit=True) as session:
            for _ in range(single_ones):
                session.execute(archive, (1,))
            begun = perf_counter()
            assert session.execute(archive, (2500,)).rowcount == 2500
            return perf_counter() - begun

    fresh = seconds(0)
    assert seconds(20) < 4 * fresh + 0.1
    assert (
        rows(
            "select count(*) from pgmem.node_version v join pgmem.node n on n.seq = v.node_seq and v.version = n.version - 1"
            " where n.label = 'Context'"
        )[0]["count"]
        == 5020
    )


HARBOUR: dict[str, object] = {"label": "Technology", "key": "HarbourDB"}


@pytest.mark.parametrize("way", ["remember", "upsert_entity"])
def test_a_closed_period_is_found_after_the_same_name_was_written_again(
    way: str, call: Call, each: Each, clock: Clock, shop: str
) -> None:
    """The database used in March, after something else took its place in July."""
    if way == "remember":
        ask = HARBOUR
        for engine, begins, ends in (
            ("Oracle", "2025-01-01", "2025-06-30"),
            ("Postgres", "2025-07-01", None),
        ):
            call(
                "remember",
                label="Technology",
                properties={"name": "HarbourDB", "notes": f"engine {engine}"},
                valid_from=begins,
                valid_to=ends,
                project_id=shop,
            )
    else:
        ask = {"label": "EntityFact", "key": "HarbourDB"}
        for engine, day in (("Oracle", "2025-01-01"), ("Postgres", "2025-07-01")):
            clock(day)
            call("upsert_entity", entity_name="HarbourDB", fact=f"engine {engine}", project_id=shop)
        clock("2026-01-01")
    for day, engine in (("2025-03-01", "Oracle"), ("2025-07-02", "Postgres"), ("2025-12-01", "Postgres")):
        assert engine in str(call("get_node", **ask, as_of=day)["properties"])
        items = call("retrieve_context", project_id=shop, scope="project", as_of=day)["items"]
        assert [engine in str(item) for item in items if item["title"] == "HarbourDB"] == [True]
        (found,) = each("search_memory", query="HarbourDB", as_of=day)
        assert engine in found["summary"]
        assert (found["mode"], found["degraded"]) == ("fulltext_only", False)
        assert "recorded states are searched by full text" in found["reason"]
    assert refusal(call, "get_node", **ask, as_of="2024-12-31")[0] == "PM002"
    assert [
        f"{state['valid_from']:%Y-%m-%d} {state['valid_to'] and format(state['valid_to'], '%Y-%m-%d')}"
        for state in each("memory_history", **ask)
    ] == [f"2025-01-01 {'2025-06-30' if way == 'remember' else '2025-07-01'}", "2025-07-01 None"]


def test_an_open_end_is_closed_where_another_content_begins_and_known_at_still_sees_it_open(
    call: Call, clock: Clock
) -> None:
    """Both dates together ask both axes."""
    clock("2025-01-10")
    call(
        "remember",
        label="Technology",
        properties={"name": "HarbourDB", "notes": "Oracle"},
        valid_from="2025-01-01",
    )
    clock("2025-08-01")
    call(
        "remember",
        label="Technology",
        properties={"name": "HarbourDB", "notes": "Postgres"},
        valid_from="2025-07-01",
    )

    def notes(**when: object) -> object:
        return call("get_node", **HARBOUR, **when)["properties"]["notes"]

    assert (notes(as_of="2025-06-30"), notes(as_of="2025-07-01")) == ("Oracle", "Postgres")
    assert notes(as_of="2025-07-15", known_at="2025-07-20") == "Oracle"
    assert notes(as_of="2025-07-15", known_at="2025-08-02") == "Postgres"
    assert notes(known_at="2025-07-20") == "Oracle"


def test_the_same_content_with_the_same_start_corrects_the_end_and_other_periods_are_added(
    call: Call, each: Each
) -> None:
    thing = {"label": "Tool", "properties": {"name": "make"}}
    ask = {"label": "Tool", "key": "make"}
    call("remember", **thing, valid_from="2024-01-01", valid_to="2024-06-30")
    call("remember", **thing, valid_from="2024-01-01", valid_to="2024-05-31")
    call("remember", **thing, valid_from="2025-01-01", valid_to="2025-06-30")
    assert [call("get_node", **ask, as_of=day)["version"] for day in ("2024-03-01", "2025-03-01")] == [2, 3]
    for day in ("2024-06-15", "2024-09-01"):
        assert refusal(call, "get_node", **ask, as_of=day)[0] == "PM002"
    assert [state["restated"] for state in each("memory_history", **ask)] == [True, False, False]


PILOTS = (
    ("Bjarne", "2001-01-01", "2009-12-31"),
    ("Knut", "2012-01-01", "2013-12-31"),
    ("Astrid", "2015-01-01", None),
    ("Ingrid", "2030-01-01", None),
)


@pytest.mark.parametrize(
    ("verb", "order"),
    list(zip(itertools.cycle(["remember", "upsert_entity"]), itertools.permutations(range(4)))),
)
def test_a_history_told_in_any_order_is_the_same(
    verb: str, order: tuple[int, ...], call: Call, each: Each, clock: Clock, shop: str
) -> None:
    """The future becomes true by itself, and every read says the same."""
    clock("2026-01-01")
    for name, begins, ends in (PILOTS[number] for number in order):
        when = {"project_id": shop, "valid_from": begins, "valid_to": ends}
        if verb == "remember":
            call("remember", label="Technology", properties={"name": "Pilot", "notes": name}, **when)
        else:
            call("upsert_entity", entity_name="Pilot", fact=name, **when)
    ask = {"label": "Technology" if verb == "remember" else "EntityFact", "key": "Pilot"}

    def said(state: dict[str, Any]) -> str:
        return str(state.get("notes") or state["fact"])

    for day, name in (
        ("2005-01-01", "Bjarne"),
        ("2013-01-01", "Knut"),
        ("2020-01-01", "Astrid"),
        ("2031-01-01", "Ingrid"),
    ):
        assert said(call("get_node", **ask, as_of=day)["properties"]) == name
    for day in ("2000-01-01", "2011-01-01", "2014-06-01"):
        assert refusal(call, "get_node", **ask, as_of=day)[0] == "PM002"
    for today, name in (("2026-01-02", "Astrid"), ("2030-01-02", "Ingrid")):
        clock(today)
        assert said(call("get_node", **ask)["properties"]) == name
        (item,) = [
            i
            for i in call("retrieve_context", project_id=shop, scope="project")["items"]
            if i["title"] == "Pilot"
        ]
        assert said(item) == name
        (found,) = each("search_memory", query="pilot", project_id=shop)
        assert name in found["passage"]
        (found,) = each("search_memory", query=name, project_id=shop)
        assert found["title"] == "Pilot"
    assert not each("search_memory", query="Astrid", project_id=shop)


def test_a_period_that_is_told_later_cuts_the_others_exactly_where_it_says(call: Call) -> None:
    ask = {"label": "Technology", "key": "Toll"}
    for notes, begins, ends in (("ten", "2020-01-01", None), ("five", "2022-11-01", "2022-11-30")):
        call(
            "remember",
            label="Technology",
            properties={"name": "Toll", "notes": notes},
            valid_from=begins,
            valid_to=ends,
        )
    assert [
        call("get_node", **ask, as_of=day)["properties"]["notes"]
        for day in ("2022-10-31", "2022-11-01", "2022-11-30", "2022-12-01")
    ] == ["ten", "five", "five", "ten"]
    assert call("get_node", **ask)["properties"]["notes"] == "ten"


@pytest.mark.parametrize(("outcome", "now"), [("supersede", "Bjarne"), ("drop", "Astrid")])
def test_two_open_periods_that_contradict_each_other_go_to_review(
    outcome: str, now: str, call: Call, each: Each
) -> None:
    ask = {"label": "Technology", "key": "Pilot"}
    for name, begins in (("Astrid", "2015-01-01"), ("Bjarne", "2001-01-01")):
        answer = call(
            "remember",
            label="Technology",
            properties={"name": "Pilot", "notes": name},
            valid_from=begins,
        )
    assert answer["conflict"]["action"] == "review"
    assert call("get_node", **ask)["properties"]["notes"] == "Astrid"
    assert call("get_node", **ask, as_of="2010-01-01")["properties"]["notes"] == "Bjarne"
    (review,) = each("list_reviews")
    assert "both without an end" in review["message"]
    call("resolve_review", save_id=review["save_id"], outcome=outcome, by="Ada")
    assert call("get_node", **ask)["properties"]["notes"] == now
    assert not each("list_reviews")


def test_a_state_that_has_become_true_is_stored_by_the_sweep(call: Call, rows: Rows, clock: Clock) -> None:
    clock("2026-01-01")
    for notes, begins in (("ten", "2020-01-01"), ("twelve", "2030-01-01")):
        call("remember", label="Technology", properties={"name": "Toll", "notes": notes}, valid_from=begins)
    clock("2030-01-02")
    assert rows("select props ->> 'notes' as notes from pgmem.node where key = 'Toll'") == [{"notes": "ten"}]
    call("sweep")
    assert rows("select props ->> 'notes' as notes from pgmem.node where key = 'Toll'") == [
        {"notes": "twelve"}
    ]


@pytest.mark.parametrize("swept", [False, True])
def test_what_is_true_again_after_an_announced_period_is_found_though_nobody_wrote_meanwhile(
    call: Call, rows: Rows, clock: Clock, swept: bool
) -> None:
    clock("2026-01-01")
    toll = {"label": "Technology", "properties": {"name": "toll", "notes": "ten"}}
    call("remember", **toll, valid_from="2025-01-01")
    toll["properties"] = {"name": "toll", "notes": "free for the fair"}
    call("remember", **toll, valid_from="2026-02-01", valid_to="2026-02-03")
    clock("2026-03-01")
    if swept:
        rows("select pgmem.settle_due(10)")
        assert rows("select count(*) from pgmem.node where turns_at <= pgmem.now()") == [{"count": 0}]
    found = call("search_memory", query="toll for ten")
    assert found["title"] == "toll"
    assert call("get_node", label="Technology", key="toll")["properties"]["notes"] == "ten"


def test_an_end_without_a_start_has_an_open_start(call: Call, each: Each) -> None:
    """It was never true at any date."""
    call("remember", label="Tool", properties={"name": "make"}, valid_to="2024-01-01")
    ask = {"label": "Tool", "key": "make"}
    assert call("get_node", **ask, as_of="2023-06-01")["title"] == "make"
    assert call("get_node", **ask, as_of="1990-01-01")["title"] == "make"
    assert refusal(call, "get_node", **ask, as_of="2024-01-02")[0] == "PM002"
    (state,) = each("memory_history", **ask)
    assert (state["valid_from"], state["valid_to"]) == (None, datetime(2024, 1, 1, tzinfo=UTC))


def test_an_end_in_the_past_that_is_saved_later_leaves_the_thing_true_before_it(call: Call) -> None:
    """The start must not lie after the end."""
    call("remember", label="Tool", properties={"name": "make", "notes": "in use"})
    call("remember", label="Tool", properties={"name": "make", "notes": "out of use"}, valid_to="2024-01-01")
    ask = {"label": "Tool", "key": "make"}
    assert call("get_node", **ask, as_of="2023-06-01")["properties"]["notes"] == "out of use"
    assert refusal(call, "get_node", **ask, as_of="2025-01-01")[0] == "PM002"


def test_an_unrelated_edit_keeps_an_end_in_the_future(call: Call) -> None:
    """Only an end that has passed is cleared, and either is reported."""
    call(
        "remember", label="Tool", properties={"name": "make"}, valid_from="2024-01-01", valid_to="2099-01-01"
    )
    answer = call("remember", label="Tool", properties={"name": "make", "notes": "old"})
    conflict = answer["conflict"]
    assert (conflict["conflict"], conflict["action"]) == ("has_end", "kept")
    node = call("get_node", label="Tool", key="make")
    assert (node["valid_from"].year, node["valid_to"].year) == (2024, 2099)
    again = call("remember", label="Tool", properties={"name": "make"}, valid_from="2025-01-01")["conflict"]
    assert (again["conflict"], again["action"]) == ("has_end", "cleared")
    assert call("get_node", label="Tool", key="make")["valid_to"] is None


def test_a_revived_entity_was_not_true_between_its_end_and_now(
    call: Call, clock: Clock, rows: Rows, shop: str
) -> None:
    """The same fact saved again after its end is true again from now on, and its old period is kept."""
    clock("2024-01-01")
    call("upsert_entity", entity_name="Redis", fact="in use", project_id=shop)
    rows("update pgmem.node set valid_to = '2024-06-30' where key = 'Redis' returning seq")
    clock("2025-01-01")
    assert (
        "2024-06-30" in call("upsert_entity", entity_name="Redis", fact="in use", project_id=shop)["message"]
    )
    ask = {"label": "EntityFact", "key": "Redis"}
    assert [call("get_node", **ask, as_of=day)["version"] for day in ("2024-03-01", "2025-01-02")] == [2, 3]
    assert refusal(call, "get_node", **ask, as_of="2024-09-01")[0] == "PM002"
    rows("update pgmem.node set valid_to = '2030-01-01' where key = 'Redis' returning seq")
    assert call("upsert_entity", entity_name="Redis", fact="in use", project_id=shop)["message"] is None
    assert call("get_node", **ask)["valid_to"].year == 2030


def test_a_forgotten_memory_is_read_with_its_status_and_the_time(call: Call, clock: Clock) -> None:
    """Get_node found none; a live memory of the name comes before it."""
    clock("2026-01-01")
    call("remember", label="Tool", properties={"name": "make"})
    clock("2026-02-01")
    call("forget", label="Tool", key="make")
    node = call("get_node", label="Tool", key="make")
    assert (node["status"], node["archived_at"]) == ("archived", datetime(2026, 2, 1, tzinfo=UTC))
    call("remember", label="Tool", properties={"name": "make"})
    node = call("get_node", label="Tool", key="make")
    assert (node["status"], node["archived_at"]) == ("active", None)


def test_a_status_of_archived_is_not_a_property(call: Call) -> None:
    """It became a property beside the real status."""
    state, message = refusal(
        call, "remember", label="Tool", properties={"name": "make", "status": "archived"}
    )
    assert (state, "Call forget" in message, "\n" in message) == ("PM001", True, False)
    call("remember", label="Problem", properties={"title": "it leaks", "status": "open"})
    assert call("get_node", label="Problem", key="it leaks")["properties"]["status"] == "open"


def test_a_node_shows_who_wrote_each_of_its_states(
    call: Call, rows: Rows, act_as: ActAs, clock: Clock
) -> None:
    """The agent; of the session the present state alone."""
    clock("2026-01-01")
    rows("select set_config('pgmem.agent_id', 'planner', false)")
    act_as("acme", "alice", "s-1")
    call("remember", label="Tool", properties={"name": "make"})
    clock("2026-02-01")
    rows("select set_config('pgmem.agent_id', 'builder', false)")
    call("remember", label="Tool", properties={"name": "make", "notes": "builds"})
    node = call("get_node", label="Tool", key="make")
    assert (node["agent_id"], node["session_id"]) == ("builder", "s-1")
    assert call("get_node", label="Tool", key="make", as_of="2026-01-15")["agent_id"] == "planner"


def test_a_revert_to_what_the_present_state_says_changes_no_period(
    call: Call, each: Each, clock: Clock
) -> None:
    """It makes no version, so the start of the present state stays too."""
    ask = {"label": "Tool", "key": "make"}
    for day, notes in (("2024-01-01", "a"), ("2024-02-01", "b")):
        clock(day)
        call("remember", label="Tool", properties={"name": "make", "notes": notes})
    clock("2024-03-01")
    for _ in range(2):
        assert call("revert", **ask, version=1)["version"] == 3
    assert call("get_node", **ask, as_of="2024-02-15")["properties"]["notes"] == "b"
    begins = [f"{state['valid_from']:%m}" for state in each("memory_history", **ask)]
    assert begins == ["01", "02", "03"]
