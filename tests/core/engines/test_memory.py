"""Every verb of the core through Python: typed results, a status where a status belongs, an error where one does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from time import monotonic
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import AsyncConnection

import pgmem
from pgmem import Memory, MemoryScope, Settings
from pgmem.database.watch import Call, Save
from pgmem.errors import (
    AmbiguousName,
    IdentityRequired,
    InvalidArgument,
    MemoryNotFound,
    NotPermitted,
    RelationNotAllowed,
    SaveIdReused,
    TierMissing,
    WrongIsolation,
)
from pgmem.models import ContextBundle, SaveResult, ScopeState

pytestmark = pytest.mark.anyio


@pytest.fixture
async def shop(memory: Memory) -> str:
    """The name of a project that is there."""
    assert (await memory.save_session("open the shop", "shop")).status == "saved"
    return "shop"


async def titles(memory: Memory, query: str) -> list[str]:
    return [result.title for result in (await memory.search_memory(query, project_id="shop")).results]


async def test_the_public_names_are_sorted_and_there() -> None:
    assert pgmem.__all__ == sorted(pgmem.__all__)
    assert all(hasattr(pgmem, name) for name in pgmem.__all__)


async def test_a_scope_is_unresolved_then_uncertain_then_resolved(memory: Memory) -> None:
    assert (await memory.get_scope_state()).state == "unresolved"
    assert await memory.get_scope_state("shop", "checkout") == ScopeState(
        scope_state="uncertain",
        state="uncertain",
        project_id="shop",
        focus="checkout",
        project_exists=False,
        focus_exists=False,
        write_permitted=False,
    )
    await memory.save_session("open", "shop", focus="checkout")
    assert (await memory.get_scope_state("shop", "checkout")).state == "resolved_focus"


async def test_a_save_answers_with_its_result(memory: Memory, shop: str) -> None:
    save_id = uuid4()
    result = await memory.save_decision("Take cards", "customers ask", shop, save_id=save_id)
    assert result == SaveResult(
        status="saved",
        artifact_id=result.artifact_id,
        dedup_outcome="new",
        save_id=save_id,
        embedded=result.embedded,
    )
    assert isinstance(result.artifact_id, UUID)


async def test_what_every_verb_saved_is_read_back(memory: Memory, shop: str) -> None:
    await memory.save_session("choose", shop, ["a"], ["d"], ["o"], ["n"])
    await memory.save_decision("Take cards", "r", shop, owner="ana", date="2026-04-08", confidence=0.5)
    await memory.save_pattern("a release", ["tag", "ship"], shop, ["fridays"])
    await memory.save_context("four minutes", shop, "builds", relevance_score=0.5)
    await memory.upsert_entity("gateway", "on port 443", shop)
    bundle = await memory.retrieve_context(shop, "project")
    assert bundle.retrieval_status == "succeeded"
    assert [item.label for item in bundle.items] == [
        "EntityFact",
        "Context",
        "Pattern",
        "Decision",
        "Session",
        "Session",
    ]
    entity, context, pattern, decision, session, _ = bundle.items
    assert (session.actions_taken, session.next_actions) == (["a"], ["n"])
    assert (decision.owner, decision.date) == ("ana", "2026-04-08")
    assert (pattern.repeatable_steps, pattern.exclusions) == (["tag", "ship"], ["fridays"])
    assert (context.topic, context.relevance_score) == ("builds", 0.5)
    assert (entity.entity_name, entity.fact) == ("gateway", "on port 443")


async def test_what_python_saves_is_trusted_as_a_program(memory: Memory, shop: str) -> None:
    await memory.save_context("c", shop)
    bundle = await memory.retrieve_context(shop, "project", categories=["Context"])
    assert bundle.items[0].trust_level == 0.8


async def test_dedup_outcomes_are_fields(memory: Memory, shop: str) -> None:
    first = await memory.save_decision("a b c d e f g", "r", shop)
    assert (await memory.save_decision("a b c d e f g", "r", shop)).dedup_outcome == "duplicate_skip"
    nearer = await memory.save_decision("a b c d e f g h i j", "r", shop)
    assert (nearer.dedup_outcome, nearer.candidate_id) == ("supersede", first.artifact_id)
    half = await memory.save_decision("a b c d e f g x y z", "r", shop)
    assert (half.status, half.dedup_outcome, half.candidate_id) == (
        "failed",
        "manual_review",
        nearer.artifact_id,
    )
    check = await memory.check_duplicate("a b c d e f g x y z", "r", shop)
    assert (check.dedup_outcome, check.candidate_id) == ("manual_review", nearer.artifact_id)


async def test_a_review_is_listed_and_decided(memory: Memory, shop: str) -> None:
    await memory.save_decision("a b c", "first", shop)
    waiting = await memory.save_decision("a b d", "second", shop)
    (review,) = await memory.list_reviews(shop)
    assert (review.save_id, review.title, review.candidate_title, review.score) == (
        waiting.save_id,
        "a b d",
        "a b c",
        0.5,
    )
    result = await memory.resolve_review(review.save_id, "supersede", "ana")
    assert (result.status, result.dedup_outcome) == ("saved", "supersede")
    assert await memory.list_reviews() == []
    with pytest.raises(MemoryNotFound, match="ana has decided save"):
        await memory.resolve_review(review.save_id, "new", "ana")


async def test_the_near_duplicate_index_is_made_anew(memory: Memory, shop: str) -> None:
    await memory.save_decision("a b c", "r", shop)
    assert await memory.refresh_dedup() == 2
    assert (await memory.save_decision("a b d", "r", shop)).dedup_outcome == "manual_review"


async def test_a_global_write_needs_a_token(memory: Memory, shop: str) -> None:
    refused = await memory.save_decision("Use UTC", "r", shop, scope="global")
    assert refused.status == "failed"
    assert "governance token" in (refused.message or "")
    leave = await memory.request_global_write_approval("Use UTC: r")
    assert leave.ttl_seconds == 60
    assert leave.expires_at > datetime.now(UTC)
    saved = await memory.save_decision("Use UTC", "r", shop, scope="global", governance_token=leave.token)
    assert saved.status == "saved"
    again = await memory.save_context("c", shop, scope="global", governance_token=leave.token)
    assert again.status == "failed"


async def test_a_batch_answers_with_a_result_for_each_part(memory: Memory, shop: str) -> None:
    batch = await memory.store_session_with_learnings(
        {"objective": "choose"},
        shop,
        decisions=[
            {"title": "Take cards", "rationale": "r", "date": date(2026, 4, 8)},
            {"title": "", "rationale": "r"},
        ],
        patterns=[
            {
                "trigger": "a release",
                "repeatable_steps": ["tag"],
                "last_validated_at": datetime(2026, 4, 8, tzinfo=UTC),
            }
        ],
    )
    assert batch.overall == "partial"
    assert batch.session is not None
    assert [part.status for part in (batch.session, *batch.decisions, *batch.patterns)] == [
        "saved",
        "saved",
        "failed",
        "saved",
    ]
    assert isinstance(batch.decisions[0].artifact_id, UUID)
    assert "title must not be empty" in (batch.decisions[1].message or "")
    session = await memory.get_session(str(batch.session.artifact_id))
    assert [part.label for part in session.produced] == ["Decision", "Pattern"]


async def test_a_batch_without_learnings_is_saved(memory: Memory, shop: str) -> None:
    batch = await memory.store_session_with_learnings({"objective": "o"}, shop)
    assert (batch.overall, batch.decisions, batch.patterns) == ("saved", [], [])


async def test_an_atomic_batch_saves_nothing_when_a_part_is_refused(memory: Memory, shop: str) -> None:
    await memory.save_decision("a b c", "r", shop)
    parts = [{"title": "Take cards", "rationale": "r"}, {"title": "a b d", "rationale": "r"}]
    batch = await memory.store_session_with_learnings({"objective": "o"}, shop, parts, atomic=True)
    assert batch.overall == "failed"
    assert "Nothing was saved" in (batch.message or "")
    assert "Take cards" not in await titles(memory, "cards")


async def test_a_blocked_save_is_seen_and_retried(memory: Memory) -> None:
    blocked = await memory.save_context("c", "shop")
    assert blocked.status == "blocked_scope"
    status = await memory.get_save_status("shop")
    assert (status.status, status.count) == ("failed", 1)
    await memory.save_session("open", "shop")
    assert blocked.save_id is not None
    assert (await memory.retry_save(blocked.save_id)).status == "saved"
    assert (await memory.get_save_status("shop")).count == 0
    assert (await memory.get_save_status("shop", save_id=blocked.save_id)).status == "saved"


async def test_a_save_id_used_for_another_save_is_an_error(memory: Memory, shop: str) -> None:
    save_id = uuid4()
    first = await memory.save_context("c", shop, save_id=save_id)
    assert (await memory.save_context("c", shop, save_id=save_id)).artifact_id == first.artifact_id
    with pytest.raises(SaveIdReused, match="was used for another save"):
        await memory.save_context("d", shop, save_id=save_id)


async def test_memories_are_joined_and_walked(memory: Memory, shop: str) -> None:
    for title in ("Take cards", "Refuse cash"):
        await memory.save_decision(title, "r", shop)
    edge = await memory.relate("Decision", "Take cards", "CONFLICTS_WITH", "Decision", "Refuse cash")
    assert edge.created is True
    around = await memory.neighbours("Decision", "Take cards")
    assert [(node.title, node.depth, node.path) for node in around.nodes] == [
        ("Refuse cash", 1, ["CONFLICTS_WITH"])
    ]
    assert (await memory.retrieve_context(shop, "project")).retrieval_status == "conflicted"
    with pytest.raises(RelationNotAllowed, match="made by the verbs"):
        await memory.relate("Decision", "Take cards", "SUPERSEDES", "Decision", "Refuse cash")
    with pytest.raises(MemoryNotFound, match="No Decision named 'nobody'"):
        await memory.neighbours("Decision", "nobody")
    await memory.save_session("o", "bank")
    await memory.save_decision("Take cards", "r", "bank")
    with pytest.raises(AmbiguousName, match="names 2 nodes"):
        await memory.neighbours("Decision", "Take cards")


@pytest.mark.usefixtures("age")
async def test_the_graph_is_read_checked_and_rebuilt(memory: Memory, shop: str) -> None:
    await memory.save_decision("Take cards", "r", shop)
    query = "match (d:Decision) where d.title = $title return count(d) as n"
    assert await memory.run_cypher(query, {"title": "Take cards"}) == [{"n": 1}]
    assert await memory.check_graph() == []
    assert (await memory.rebuild_graph()).vertices > 0
    with pytest.raises(NotPermitted, match="read only"):
        await memory.run_cypher("match (d:Decision) delete d return 1")
    with pytest.raises(InvalidArgument, match="This query cannot be run"):
        await memory.run_cypher("match (d return d")


async def test_without_the_extension_cypher_names_what_is_missing(
    server: str, template_text_only: str, tmp_path: Path
) -> None:
    from tests.conftest import new_database

    with new_database(server, template_text_only) as dsn:
        async with Memory.connect(Settings(dsn=dsn, data_dir=tmp_path)) as memory:
            with pytest.raises(TierMissing, match="Apache AGE"):
                await memory.run_cypher("match (n) return n")
            assert (await memory.status()).tier == "full text only"


async def test_a_search_reports_how_it_was_made(memory: Memory, shop: str) -> None:
    await memory.save_context("the gateway is slow", shop, "gateway")
    found = await memory.search_memory("gateway", project_id=shop)
    assert found.results[0].title == "gateway"
    assert found.results[0].score > 0
    assert found.search_mode.mode
    nothing = await memory.search_memory("gateway", project_id="nope")
    assert (nothing.results, bool(nothing.search_mode.mode)) == ([], True)


# Time limits


async def test_a_retrieval_that_takes_too_long_is_tried_twice_and_answers_timed_out(
    dsn: str, tmp_path: Path, memory: Memory, shop: str
) -> None:
    limit = 0.4
    settings = Settings(dsn=dsn, data_dir=tmp_path, retrieval_timeout_s=limit)
    async with Memory.connect(settings) as hurried:
        with psycopg.connect(dsn) as blocker:
            blocker.execute("lock table pgmem.node in access exclusive mode")
            started = monotonic()
            bundle = await hurried.retrieve_context(shop, "project")
            taken = monotonic() - started
            blocker.rollback()
        assert bundle == ContextBundle(
            retrieval_status="timed_out",
            conflicts_found=False,
            hygiene_due=False,
            next_step="The memory did not answer: go on without it and try again later.",
        )
        assert taken >= 2 * limit
        assert (await hurried.retrieve_context(shop, "project")).retrieval_status == "succeeded"


async def test_a_retrieval_that_is_slow_once_succeeds(
    dsn: str, tmp_path: Path, memory: Memory, shop: str
) -> None:
    await memory.save_context("c", shop)
    settings = Settings(dsn=dsn, data_dir=tmp_path, retrieval_timeout_s=0.4)
    outcomes: list[str] = []
    async with Memory.connect(settings) as hurried:
        with psycopg.connect(dsn) as blocker:
            blocker.execute("lock table pgmem.node in access exclusive mode")

            def unlock(seen: Call | Save) -> None:
                assert isinstance(seen, Call)
                outcomes.append(seen.outcome)
                blocker.rollback()

            hurried.watch(unlock)
            assert (await hurried.retrieve_context(shop, "project")).retrieval_status == "succeeded"
    assert outcomes == ["timeout", "ok"]


# Identity


async def test_one_store_serves_several_tenants(memory: Memory) -> None:
    alice = memory.acting_as(MemoryScope(org_id="acme", user_id="alice"))
    bob = memory.acting_as(MemoryScope(org_id="acme", user_id="bob"))
    await alice.save_session("o", "shop", share="org")
    await alice.save_context("ours", "shop", share="org")
    await alice.save_context("mine", "shop")
    found = await bob.retrieve_context("shop", "project", categories=["Context"])
    assert [item.content for item in found.items] == ["ours"]
    assert (await bob.status()).user_id == "bob"
    assert (await memory.get_scope_state("shop")).project_exists is False


async def test_what_a_session_saves_is_joined_to_it(memory: Memory, shop: str) -> None:
    session = await memory.save_session("o", shop)
    inside = memory.acting_as(MemoryScope(session_id=str(session.artifact_id)))
    saved = await inside.save_decision("Take cards", "r", shop)
    produced = (await memory.get_session(str(session.artifact_id))).produced
    assert [part.id for part in produced] == [saved.artifact_id]


async def test_where_identity_is_required_a_save_without_one_is_an_error(
    memory: Memory, shop: str, connection: psycopg.Connection[object]
) -> None:
    connection.execute("update pgmem.setting set value = 'true' where name = 'require_identity'")
    with pytest.raises(IdentityRequired, match=r"set DEFAULT_ORG_ID or DEFAULT_USER_ID"):
        await memory.save_context("c", shop)
    assert (await memory.retrieve_context(shop, "project")).retrieval_status == "empty"
    assert (await memory.search_memory("shop")).results == []


# On a caller's connection


@pytest.mark.direct("a front cannot take back a save: its cell has committed it")
async def test_verbs_run_inside_the_callers_transaction(dsn: str, memory: Memory, shop: str) -> None:
    async with await AsyncConnection.connect(dsn) as connection:
        inside = Memory.on(connection)
        assert (await inside.save_decision("Take cards", "r", shop)).status == "saved"
        assert "Take cards" in await titles(inside, "cards")
        assert "Take cards" not in await titles(memory, "cards")
        await connection.commit()
    assert "Take cards" in await titles(memory, "cards")


@pytest.mark.direct("a front cannot take back a save: its cell has committed it")
async def test_a_refused_save_leaves_the_callers_transaction_usable(dsn: str, shop: str) -> None:
    async with await AsyncConnection.connect(dsn) as connection:
        inside = Memory.on(connection)
        assert (await inside.save_context("c", "nope")).status == "blocked_scope"
        assert (await inside.save_context("c", shop)).status == "saved"


@pytest.mark.direct("a front cannot take back a save: its cell has committed it")
async def test_a_snapshot_older_than_the_locks_is_refused(dsn: str, shop: str) -> None:
    async with await AsyncConnection.connect(dsn) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        with pytest.raises(WrongIsolation, match="REPEATABLE READ"):
            await Memory.on(connection).save_context("c", shop)
