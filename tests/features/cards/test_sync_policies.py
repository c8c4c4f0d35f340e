"""When retrieval reads the repository by itself: each policy, with and without memory and repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgmem import CapacityReached, ContractError
from tests.conftest import Call
from tests.features.cards.conftest import Commit, Opened, Set, report

pytestmark = pytest.mark.anyio

SCOPE = ["pkg/till.py"]


async def test_with_policy_off_missing_memory_is_an_error_that_names_the_ways_in(
    opened: Opened, tree: Path, setting: Set
) -> None:
    setting("cards_sync_policy", "off")
    async with opened(tree, named=False) as memory:
        with pytest.raises(ContractError, match=r"sync policy off.*pgmem cards init.*refresh_from_run"):
            await memory.get_relevant_memory("shop", SCOPE)
        made = await memory.manage_engineering_memory("shop", "refresh_from_run")
        assert made["counts"]["inserted"] > 0  # type: ignore[index,call-overload,operator]
        assert (await memory.get_relevant_memory("shop", SCOPE)).digests


async def test_by_default_missing_memory_is_made_from_the_repository(opened: Opened, tree: Path) -> None:
    async with opened(tree, named=False) as memory:
        found = await memory.get_relevant_memory("shop", SCOPE)
        assert found.memory_sync.auto == "bootstrapped"
        assert found.digests is not None
        assert any(card.statement.startswith("pkg.till: Takes money.") for card in found.digests[0].cards)
        again = await memory.get_relevant_memory("shop", SCOPE)
        assert (again.memory_sync.auto, again.digests) == ("unchanged", found.digests)


async def test_without_a_repository_nothing_is_read_and_missing_memory_is_an_error(opened: Opened) -> None:
    async with opened(None) as memory:
        with pytest.raises(ContractError, match="has no engineering memory yet"):
            await memory.get_relevant_memory("shop", SCOPE)
        await memory.record_candidate("risk_note", "One fact.", "pkg/till.py", "shop")
        found = await memory.get_relevant_memory("shop", SCOPE)
        assert (found.memory_sync.auto, found.memory_sync.reason) == ("skipped", "no_repository")


async def test_a_repository_serves_its_own_project_only(opened: Opened, tree: Path, call: Call) -> None:
    call("save_session", objective="o", project_id="bank")
    async with opened(tree, named=False) as memory:
        with pytest.raises(ContractError, match="Project bank has no engineering memory yet"):
            await memory.get_relevant_memory("bank", SCOPE)


async def test_refresh_when_stale_follows_the_files(
    opened: Opened, tree: Path, setting: Set, commit: Commit
) -> None:
    commit("2026-01-01")
    setting("cards_sync_policy", "refresh_when_stale")
    async with opened(tree, named=False) as memory:
        await memory.get_relevant_memory("shop", SCOPE)
        assert (await memory.get_relevant_memory("shop", SCOPE)).memory_sync.auto == "unchanged"
        (tree / "pkg/till.py").write_text('"""Takes cards only."""\n', encoding="utf-8")
        found = await memory.get_relevant_memory("shop", SCOPE, detail_level="full")
        assert (found.memory_sync.auto, found.memory_sync.reason) == ("refreshed", "report_digest_shift")
        assert any(record.statement == "pkg.till: Takes cards only." for record in found.records or ())
        await memory.refresh_from_run(report(fingerprint=None), "shop")
        skipped = (await memory.get_relevant_memory("shop", ["pkg"])).memory_sync
        assert (skipped.auto, skipped.reason) == ("skipped", "missing_report_digest")


async def test_the_api_has_the_whole_way_of_a_card(opened: Opened) -> None:
    async with opened(None) as memory:
        made = await memory.record_candidate(
            "contract_note", "pay() never raises.", "pkg/till.py", "shop", symbols=["pkg.till.pay"]
        )
        rejected = await memory.record_candidate("risk_note", "Slow.", "pkg/till.py", "shop")
        assert (await memory.approve_card(made.card_id, "ada")).confidence == "verified"
        assert (await memory.reject_card(rejected.card_id, "ada", "measured")).status == "rejected"
        intent = await memory.declare_intent(["pkg"], "shop", "Pay faster")
        page = await memory.get_relevant_memory("shop", intent_id=intent.intent_id, detail_level="full")
        assert [record.id for record in page.records or ()] == [made.card_id]
        done = await memory.finish_intent(
            intent.intent_id,
            ["pkg/till.py"],
            "shop",
            propose=True,
            receipt={"claims": ["Paying is batched."]},
        )
        assert done.proposed is not None
        assert (done.stale_cards, len(done.proposed.drafted)) == ([made.card_id], 2)
        proposal = await memory.propose_from_receipt({"scope": ["pkg/stock.py"], "claims": ["One."]}, "shop")
        assert len(proposal.drafted) == 2
        assert (await memory.approve_card(made.card_id, "ada")).status == "active"
        assert (await memory.archive_card(made.card_id, "ada")).status == "archived"
        assert not (await memory.validate_claims("MCP can approve drafts.")).valid
        assert (await memory.query_engineering_memory("shop", "status")).payload.record_count == 6
        assert (await memory.vacuum_cards("shop")).removed == {}


async def test_a_full_project_raises_capacity_reached(opened: Opened, setting: Set) -> None:
    setting("max_candidates", 1)
    async with opened(None) as memory:
        await memory.record_candidate("risk_note", "One.", "a.py", "shop")
        with pytest.raises(CapacityReached, match="max_candidates_reached: 1/1"):
            await memory.record_candidate("risk_note", "Two.", "a.py", "shop")
