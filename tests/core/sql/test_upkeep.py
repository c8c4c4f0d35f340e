"""Rare work of the worker: a new order of title words, old records of saves, memories that have decayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from pgmem import Memory
from pgmem.settings import Settings
from pgmem.worker.maintenance import maintain
from tests.conftest import Call, caller, tier
from tests.fixtures.verbs import ActAs, Rows


def import_titles(rows: Rows, count: int) -> None:
    """Decisions as an import brings them: rows beside the side table of near-duplicates."""
    rows(
        """
        insert into pgmem.node (label, title, status, scope, project, project_seq, source, trust_level, scope_key,
                                title_tokens, created_at, updated_at, recorded_at)
        select 'Decision', 'imported ' || i, 'active', n.scope, n.project, n.project_seq, n.source, n.trust_level, n.scope_key,
               array['imported', 'title', i::text], now(), now(), now()
        from pgmem.node n cross join generate_series(1, %s) i where n.label = 'Decision' limit %s returning seq
        """,
        count,
        count,
    )


@pytest.fixture
def shop(call: Call) -> None:
    call("save_session", objective="Open", project_id="shop")
    call("save_decision", title="Sell tea", rationale="r", project_id="shop")


@pytest.mark.usefixtures("shop")
def test_the_order_of_title_words_is_renewed_when_as_many_titles_have_come_as_were_counted(
    call: Call, rows: Rows
) -> None:
    assert call("refresh_dedup", if_worth=True) == {"refresh_dedup": 0}
    import_titles(rows, 998)
    assert call("refresh_dedup", if_worth=True) == {"refresh_dedup": 0}  # 999 titles
    import_titles(rows, 1)
    assert call("refresh_dedup", if_worth=True)["refresh_dedup"] > 1000
    assert rows("select counted from pgmem.title_order") == [{"counted": 1000}]
    assert rows("select count(*) as n from pgmem.token_frequency") == [{"n": 3}]
    assert call("refresh_dedup", if_worth=True) == {"refresh_dedup": 0}
    found = call("check_duplicate", title="title imported 500", rationale="x", project_id="shop")
    assert found["dedup_outcome"] == "supersede"


@pytest.mark.usefixtures("shop")
def test_who_finds_another_worker_at_it_goes_on_and_waits_for_nothing(
    call: Call, rows: Rows, store: str
) -> None:
    import_titles(rows, 1000)
    with psycopg.connect(store, row_factory=dict_row) as other:
        first = caller(other)
        assert first("refresh_dedup", if_worth=True)["refresh_dedup"] > 0
        first("sweep")
        rows("select set_config('statement_timeout', '5s', false)")
        assert set(call("sweep").values()) == {0}
        assert call("refresh_dedup", if_worth=True) == {"refresh_dedup": 0}
        other.rollback()
    assert call("refresh_dedup", if_worth=True)["refresh_dedup"] > 0


@pytest.mark.usefixtures("shop")
def test_records_of_finished_saves_are_pruned_when_they_are_old_and_open_ones_are_kept(
    call: Call, rows: Rows, clock: Callable[[str], None]
) -> None:
    rows("delete from pgmem.save_attempt returning save_id")
    clock("2026-01-01")
    call("save_decision", title="Sell coffee", rationale="r", project_id="shop")
    call("save_decision", title="Sell cake", rationale="r", project_id="nowhere")
    clock("2026-01-30")
    call("save_decision", title="Sell bread", rationale="r", project_id="shop")
    assert call("sweep")["saves_pruned"] == 0
    clock("2026-02-01")
    swept = call("sweep", limit=1)
    assert (swept["saves_pruned"], swept["turns_expired"], swept["archived"], swept["remaining"]) == (
        1,
        0,
        0,
        1,
    )
    assert call("sweep", limit=5)["saves_pruned"] == 0
    left = rows("select status from pgmem.save_attempt order by created_at")
    assert [row["status"] for row in left] == [
        "dropped",
        "saved",
    ]  # without its arguments after save_arguments_days


@pytest.mark.usefixtures("shop")
def test_sweeping_is_done_once_an_hour(call: Call, rows: Rows, clock: Callable[[str], None]) -> None:
    clock("2026-03-01 10:00+00")
    call("sweep")
    rows("update pgmem.save_attempt set updated_at = '2026-01-01' returning save_id")
    clock("2026-03-01 10:59+00")
    assert call("sweep")["saves_pruned"] == 0
    clock("2026-03-01 11:01+00")
    assert call("sweep")["saves_pruned"] == 2


OLD_CHANGES = """
insert into pgmem.change (stamp, subject, kind, id, label, tenant, at)
select '3', 'memory', 'saved', gen_random_uuid(), 'Context', '', '2020-01-01' from generate_series(1, %s) returning seq
"""


def test_old_rows_of_the_feed_are_counted_among_what_was_swept(call: Call, rows: Rows) -> None:
    rows(OLD_CHANGES, 3)
    swept = call("sweep", limit=2)
    assert (swept["rows_pruned"], swept["remaining"]) == (2, 1)
    assert call("sweep", limit=2)["rows_pruned"] >= 1


@pytest.mark.anyio
async def test_a_round_goes_on_while_rows_of_the_feed_alone_are_left(
    dsn: str, rows: Rows, tmp_path: Path
) -> None:
    """It ended after one batch and said that nothing was pruned."""
    rows(OLD_CHANGES, 4001)
    async with Memory.connect(Settings(dsn=dsn, data_dir=tmp_path, embedding_provider="none")) as memory:
        done = await maintain(memory)
    assert rows("select count(*) as n from pgmem.change where at < '2021-01-01'") == [{"n": 0}]
    assert done["pruned"] == 4001


def test_what_has_decayed_is_archived_where_a_setting_enables_it_whoever_the_worker_embeds_for(
    call: Call, rows: Rows, clock: Callable[[str], None], act_as: ActAs
) -> None:
    clock("2026-01-01")
    for user in ("alice", "bob"):
        act_as("acme", user)
        call("save_session", objective="Open", project_id=f"shop-{user}")
        call("save_context", content="Tea sells well.", project_id=f"shop-{user}")
        call("save_decision", title="Sell tea", rationale="r", project_id=f"shop-{user}")  # it holds
    archived = "select count(*) as n from pgmem.node where status = 'archived'"
    clock("2028-01-01")
    assert call("sweep")["archived"] == 0  # nothing unless a setting of the store enables it
    rows("update pgmem.setting set value = '0.1' where name = 'decay_archive_below' returning name")
    clock("2028-01-02")
    assert call("sweep")["archived"] == 4
    assert rows(archived) == [{"n": 4}]


@pytest.mark.usefixtures("vectors")
def test_the_backlog_counts_over_all_tenants_and_is_for_administrators_alone(
    call: Call, act_as: ActAs, connection: psycopg.Connection[DictRow]
) -> None:
    for user in ("alice", "bob"):
        act_as("acme", user)
        call("save_context", content="x", project_id="nowhere")
    found = call("backlog")
    assert found["saves_open"] == {"blocked_scope": 2}
    state = call("status")
    assert (found["tier"], found["isolation_layers"]) == (tier(connection), state["isolation_layers"])
    assert found["tenants"] is False
    call("register_model", name="test:two", dimensions=2)
    act_as("acme", "alice")
    call("save_session", objective="Open", project_id="shop")
    call("issue_token", org_id="acme")
    found = call("backlog")
    assert (found["embeddings_waiting"], found["embeddings_refused"], found["tenants"]) == (1, 0, True)
