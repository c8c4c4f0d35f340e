"""Cards of a branch are seen on it, and are shared when git says that it is merged."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pgmem import ContractError, Memory
from pgmem.features.cards import Reading, standing
from pgmem.settings import load
from tests.conftest import Call
from tests.features.cards.conftest import Committed, Git, Opened

pytestmark = pytest.mark.anyio

FACT = "The till rounds down."
FILES = {"pkg/till.py": '"""Takes money."""\n'}


@pytest.fixture
def branched(git: Git, committed: Committed) -> None:
    """A work tree on the branch rounding, without a commit on it yet."""
    committed(FILES, "Begin.", day=1)
    git("switch", "-q", "-c", "rounding")


@pytest.fixture
def rounded(branched: None, committed: Committed) -> None:
    """A work tree on the branch rounding, with one commit on it."""
    committed({"pkg/till.py": '"""Rounds down."""\n'}, "Round.", day=2)


async def seen(memory: Memory, **more: Any) -> dict[str, str | None]:
    """The cards of the till that a caller sees and no scan wrote: statements and their branches, in each way to look."""
    page = await memory.get_relevant_memory("shop", ["pkg/till.py"], detail_level="full", **more)
    found = {card.statement: card.branch for card in page.records or () if card.type == "risk_note"}
    digest = await memory.get_relevant_memory("shop", ["pkg/till.py"], **more)
    named = {
        card.statement
        for one in digest.digests or ()
        for card in one.cards
        if card.kind in ("risk", "unproven")
    }
    assert named <= set(found)  # a digest names two drafts
    assert len(named) == min(len(found), 2)
    for mode, given in (
        ("for_path", {"path": "pkg/till.py"}),
        ("search", {"query": "till rounds", "include_drafts": True}),
        ("drafts", {}),
    ):
        answer = await memory.query_engineering_memory("shop", mode, **given, **more)
        asked = {card.statement for card in answer.payload.records or () if card.type == "risk_note"}
        assert asked == set(found), mode
    return found


async def record(memory: Memory, statement: str = FACT) -> None:
    await memory.record_candidate("risk_note", statement, "pkg/till.py", "shop")


@pytest.mark.usefixtures("rounded")
async def test_a_card_of_a_branch_is_everybodys_when_its_commit_is_merged(opened: Opened, git: Git) -> None:
    async with opened() as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        await record(memory)
        assert await seen(memory) == {FACT: "rounding"}
        git("switch", "-q", "main")
        assert await seen(memory) == {}
        git("switch", "-q", "-c", "other")
        assert await seen(memory) == {}
        assert await seen(memory, branch="*") == {FACT: "rounding"}
        git("switch", "-q", "main")
        git("merge", "-q", "--no-ff", "-m", "Merge.", "rounding", day=3)
        git("branch", "-q", "-d", "rounding")
        assert await seen(memory) == {FACT: None}
        git("switch", "-q", "other")
        assert await seen(memory) == {FACT: None}
    async with opened(None) as memory:
        assert await seen(memory) == {FACT: None}


@pytest.mark.usefixtures("branched")
async def test_a_card_that_is_older_than_the_first_commit_of_its_branch_waits_for_that(
    opened: Opened, git: Git, committed: Committed
) -> None:
    async with opened() as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        await record(memory)
        git("switch", "-q", "main")
        assert await seen(memory) == {}
        git("switch", "-q", "rounding")
        committed({"pkg/till.py": '"""Rounds down."""\n'}, "Round.", day=2)
        assert await seen(memory) == {FACT: "rounding"}
        git("switch", "-q", "main")
        assert await seen(memory) == {}
        git("merge", "-q", "rounding", day=3)
        git("branch", "-q", "-d", "rounding")
        assert await seen(memory) == {FACT: None}


async def test_a_work_tree_sees_the_cards_of_its_branch_and_of_what_is_merged(
    opened: Opened, git: Git, committed: Committed, tmp_path: Path
) -> None:
    committed(FILES, "Begin.", day=1)
    beside = tmp_path / "beside"
    git("worktree", "add", "-q", "-b", "rounding", str(beside))
    (beside / "pkg/till.py").write_text('"""Rounds down."""\n', encoding="utf-8")
    git("commit", "-q", "-a", "-m", "Round.", day=2, cwd=beside)
    async with opened() as here, opened(beside) as there:
        await here.get_relevant_memory("shop", ["pkg/till.py"])
        await record(there)
        assert (await seen(here), await seen(there)) == ({}, {FACT: "rounding"})
        git("merge", "-q", "rounding", day=3)
        assert (await seen(here), await seen(there)) == ({FACT: None}, {FACT: None})


@pytest.mark.parametrize("way", ["rebase", "squash"])
@pytest.mark.usefixtures("rounded")
async def test_a_rewritten_branch_of_one_commit_is_known_by_its_change(
    opened: Opened, git: Git, committed: Committed, way: str
) -> None:
    async with opened() as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        await record(memory)
        git("switch", "-q", "main")
        committed({"README": "x"}, "Describe.", day=3)
        if way == "rebase":
            git("rebase", "-q", "main", "rounding", day=4)
            git("switch", "-q", "main")
            assert await seen(memory) == {}
            git("merge", "-q", "rounding")
        else:
            git("merge", "-q", "--squash", "rounding")
            git("commit", "-q", "-m", "Round, all of it.", day=4)
            git("branch", "-q", "-D", "rounding")
        assert await seen(memory) == {FACT: None}


@pytest.mark.usefixtures("branched")
async def test_a_squash_of_several_commits_and_a_deleted_branch_wait_for_a_person(
    opened: Opened, git: Git, committed: Committed
) -> None:
    committed({"pkg/till.py": '"""Rounds."""\n'}, "Round.", day=2)
    committed({"pkg/till.py": '"""Rounds down."""\n'}, "Round down.", day=3)
    async with opened() as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        await record(memory)
        git("switch", "-q", "main")
        git("merge", "-q", "--squash", "rounding")
        git("commit", "-q", "-m", "Round.", day=4)
        git("branch", "-q", "-D", "rounding")
        assert await seen(memory) == {}
        assert await seen(memory, branch="*") == {FACT: "rounding"}
        assert (await memory.settle_branches("shop", [{"branch": "rounding"}])).shared == 1
        assert await seen(memory) == {FACT: None}


@pytest.mark.usefixtures("rounded")
async def test_a_detached_head_and_no_repository_are_as_the_default_branch(opened: Opened, git: Git) -> None:
    async with opened() as memory, opened(None) as elsewhere:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        await record(memory)
        git("switch", "-q", "--detach")
        assert await seen(memory) == {}
        await record(memory, "The till is slow to round.")
        await record(elsewhere, "The till rounds twice.")
        everybodys = {"The till is slow to round.": None, "The till rounds twice.": None}
        assert await seen(memory) == await seen(elsewhere) == everybodys
        git("switch", "-q", "rounding")
        assert await seen(memory) == {FACT: "rounding", **everybodys}


@pytest.mark.usefixtures("branched")
async def test_what_is_recorded_on_two_branches_is_of_neither(opened: Opened, git: Git) -> None:
    async with opened() as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        await record(memory)
        with pytest.raises(ContractError, match="Candidate already exists"):
            await record(memory)
        git("switch", "-q", "main")
        made = await memory.record_candidate("risk_note", FACT, "pkg/till.py", "shop")
        assert made.message == "The card of another branch says the same; it is shared now."
        assert made.warnings == []
        assert await seen(memory) == {FACT: None}


@pytest.mark.usefixtures("rounded")
async def test_an_approved_card_stays_on_its_branch_and_is_not_judged_by_another(
    opened: Opened, git: Git
) -> None:
    async with opened() as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        made = await memory.record_candidate("contract_note", FACT, "pkg/till.py", "shop")
        await memory.approve_card(made.card_id, "ada")
        git("switch", "-q", "main")
        page = await memory.get_relevant_memory("shop", ["pkg/till.py"], detail_level="full")
        assert made.card_id not in [card.id for card in page.records or ()]
        intent = await memory.declare_intent(["pkg/till.py"], "shop")
        finished = await memory.finish_intent(intent.intent_id, ["pkg/till.py"], "shop")
        assert made.card_id not in finished.stale_cards
        card = (
            await memory.query_engineering_memory("shop", "get", record_id=str(made.card_id))
        ).payload.record
        assert card is not None
        assert (card.status, card.branch, card.approved) == ("active", "rounding", True)
        git("merge", "-q", "rounding", day=3)
        page = await memory.get_relevant_memory("shop", ["pkg/till.py"], detail_level="full")
        (card,) = (card for card in page.records or () if card.id == made.card_id)
        assert (card.status, card.branch) == ("active", None)


@pytest.mark.usefixtures("branched")
async def test_a_receipt_and_an_agent_draft_on_the_branch(opened: Opened, git: Git) -> None:
    async with opened() as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        intent = await memory.declare_intent(["pkg/till.py"], "shop")
        await memory.finish_intent(
            intent.intent_id, ["pkg/till.py"], "shop", propose=True, receipt={"claims": ["One."]}
        )
        await memory.propose_from_receipt({"scope": ["pkg/till.py"], "claims": ["Two."]}, "shop")
        await memory.manage_engineering_memory(
            "shop",
            "record_candidate",
            record_type="risk_note",
            statement="Three.",
            subject_path="pkg/till.py",
        )
        found = (await memory.query_engineering_memory("shop", "drafts")).payload.records or []
        assert {card.branch for card in found} == {"rounding"}
        assert {"One.", "Two.", "Three."} <= {card.statement for card in found}
        git("switch", "-q", "main")
        assert (await memory.query_engineering_memory("shop", "drafts")).status == "not_found"


@pytest.mark.parametrize(
    ("branch", "commit"), [("a", None), (None, "abcdef0"), ("*", "abcdef0"), ("a", "HEAD"), ("a", "^")]
)
def test_a_branch_without_a_commit_is_refused(
    call: Call, shop: str, branch: str | None, commit: str | None
) -> None:
    with pytest.raises(Exception, match="branch and branch_commit belong together"):
        call(
            "record_candidate",
            record_type="risk_note",
            statement=FACT,
            subject_path="a.py",
            project_id=shop,
            branch=branch,
            branch_commit=commit,
        )


async def test_counts_and_coverage_are_of_the_cards_that_are_visible_on_the_branch(
    opened: Opened, git: Git, committed: Committed
) -> None:
    committed({"README": "A shop.\n"}, "Begin.", day=1)
    git("switch", "-q", "-c", "rounding")
    async with opened() as memory:
        await memory.refresh_from_run({"modules": []}, "shop")
        made = await memory.record_candidate("risk_note", FACT, "pkg/till.py", "shop")
        await memory.approve_card(made.card_id, "ada")

        async def counted() -> tuple[int | None, int | None, float | None]:
            status = (await memory.query_engineering_memory("shop", "status")).payload
            covered = await memory.query_engineering_memory("shop", "coverage", scope=["pkg/till.py"])
            share = covered.payload.record_coverage
            assert share is not None
            return status.record_count, status.records_elsewhere, share.coverage_percent

        assert await counted() == (1, 0, 100)
        git("switch", "-q", "main")
        assert await counted() == (0, 1, 0)


@pytest.mark.usefixtures("branched")
async def test_an_export_holds_the_cards_of_all_branches_with_their_branch(
    opened: Opened, git: Git, store: str, tmp_path: Path
) -> None:
    """A copy is whole, whatever is checked out where it is made."""
    async with opened() as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        await record(memory)
        git("switch", "-q", "main")
        written: list[str] = []
        async with Memory.connect(load(dsn=store, data_dir=tmp_path, embedding_provider="none")) as own:
            await own.export_lines(written.append)
        lines = map(json.loads, "".join(written).splitlines())
        (card,) = [one for one in lines if one.get("props", {}).get("statement") == FACT]
        assert card["props"]["branch"] == "rounding"


async def test_the_branch_costs_one_more_question_to_git_and_two_on_another_than_the_default(
    git: Git, committed: Committed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes some milliseconds of every retrieval."""
    committed(FILES, "Begin.", day=1)
    asked: list[str] = []
    start = subprocess.Popen

    def counted(command: list[str], **more: Any) -> Any:
        asked.append(next(part for part in command[1:] if part[0] != "-" and "=" not in part))
        return start(command, **more)

    def costs() -> list[str]:
        asked.clear()
        reading = Reading(tmp_path / "shop")
        assert reading.fingerprint
        before = len(asked)
        standing(reading)
        return asked[before:]

    monkeypatch.setattr(subprocess, "Popen", counted)
    assert costs() == ["for-each-ref"]
    git("switch", "-q", "-c", "rounding")
    committed({"pkg/till.py": '"""Rounds."""\n'}, "Round.", day=2)
    assert costs() == ["for-each-ref", "rev-list"]
