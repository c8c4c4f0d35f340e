"""Companions of files, the files that a text is about, why a file is as it is, and the rules of its folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pgmem import ContractError, InvalidArgument, Memory
from pgmem.features.cards import scan
from pgmem.models import MemoryScope
from pgmem.settings import load
from tests.features.cards.conftest import Committed, Git

pytestmark = pytest.mark.anyio


@pytest.fixture
def shop_tree(committed: Committed, tmp_path: Path) -> Path:
    """A repository whose till, its checks and a note of changes are changed together."""
    guide = "# Rules\n\nAny change below `pkg/pay` must be weighed by two people.\n\nYou must never `round()`.\n\nYou must always be kind to others.\n"
    committed(
        {
            "pkg/__init__.py": "",
            "pkg/pay/till.py": '"""Takes money."""\n\n\ndef pay_invoice():\n    return 0\n',
            "pkg/stock.py": '"""Counts goods."""\n\n\ndef count_goods():\n    return 0\n',
            "checks/money.py": "def test_pay():\n    pass\n",
            "AGENTS.md": guide,
            "docs/CONTRIBUTING.md": "Run the tests by:\n\n    tox run -e py\n",
            "pkg/pay/CLAUDE.md": "Amounts must be whole cents.\n",
        },
        "Begin.",
    )
    for day in range(2, 25):
        committed(
            {
                "pkg/pay/till.py": f'"""Takes money."""\n\n\ndef pay_invoice():\n    return {day}\n',
                "checks/money.py": f"def test_pay():\n    return {day}\n",
                f"changelog/{day}.md": "Paid.\n",
            },
            f"Pay invoices {day}",
            day=day,
        )
    return tmp_path / "shop"


@pytest.fixture
async def memory(dsn: str, tmp_path: Path, shop_tree: Path) -> AsyncIterator[Memory]:
    settings = load(dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none", repository=shop_tree)
    async with Memory.connect(settings) as memory:
        await memory.get_relevant_memory("shop", ["pkg/pay/till.py"])
        yield memory


async def test_what_changes_ranks_files_tests_and_what_is_added(memory: Memory) -> None:
    found = await memory.what_changes("shop", ["pkg/pay/till.py"])
    assert found.files[0].path == "checks/money.py"
    assert found.files[0].score > 0.5
    assert [(one.path, one.commits) for one in found.files[0].because] == [("pkg/pay/till.py", 24)]
    assert [(one.folder, one.share) for one in found.added] == [("changelog", 0.96)]
    assert [one.path for one in found.tests] == [
        "checks/money.py"
    ]  # a test by its definitions, not by its name
    both = await memory.what_changes("shop", ["pkg/pay/till.py", "checks/money.py"])
    assert not {"pkg/pay/till.py", "checks/money.py"} & {one.path for one in both.files}
    new = await memory.what_changes("shop", ["pkg/pay/refund.py"])
    assert "checks/money.py" in [one.path for one in new.files]  # as its folder does
    with pytest.raises(InvalidArgument, match="limit is a whole number"):
        await memory.what_changes("shop", ["a.py"], 0)
    with pytest.raises(ContractError, match="file, symbol"):
        await memory.what_changes("shop", [])


async def test_which_files_finds_by_name_by_words_and_by_what_changes_together(memory: Memory) -> None:
    named = await memory.which_files("shop", "`pkg/stock.py` is slow")
    assert (named.files[0].path, named.files[0].signs[0]) == ("pkg/stock.py", "named")
    words = await memory.which_files("shop", "An invoice is paid twice: payInvoice")
    assert words.files[0].path == "pkg/pay/till.py"
    assert {"words", "work"} <= set(words.files[0].signs)
    assert "checks/money.py" in [one.path for one in words.files]
    with pytest.raises(InvalidArgument, match="text must not be empty"):
        await memory.which_files("shop", " ")


async def test_others_see_no_file_of_a_project(dsn: str, shop_tree: Path, tmp_path: Path) -> None:
    """Neither verb shows a tenant the cards of another; without a repository here nothing is read."""
    text, path = "pay_invoice in pkg/pay/till.py", "pkg/pay/till.py"
    async with Memory.connect(load(dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none")) as away:
        ada, mallory = (
            away.acting_as(MemoryScope(org_id=org, user_id=who))
            for org, who in (("a", "ada"), ("b", "mallory"))
        )
        for who in (ada, mallory):
            await who.save_session("Look around", "stall")
        await ada.refresh_from_run(scan(shop_tree), "stall")
        for who, known in ((ada, True), (mallory, False)):
            found = await who.which_files("stall", text), await who.what_changes("stall", [path])
            assert [bool(one.files) for one in found] == [known, known]


async def test_a_rule_is_shown_below_the_folder_that_it_is_in_or_names(memory: Memory) -> None:
    found = await memory.get_relevant_memory("shop", ["pkg/pay/till.py", "pkg/pay/new.py", "pkg/stock.py"])
    assert found.digests is not None
    rules = {
        one.path: {card.statement for card in one.cards if card.kind == "unproven_rule"}
        for one in found.digests
    }
    near = {"Any change below `pkg/pay` must be weighed by two people.", "Amounts must be whole cents."}
    assert rules == {
        "pkg/pay/till.py": near,
        "pkg/pay/new.py": near,
        "pkg/stock.py": {"You must never `round()`."},
    }


async def test_a_file_that_defines_tests_is_one_and_says_how_it_is_run(memory: Memory) -> None:
    found = await memory.get_relevant_memory("shop", ["pkg/pay/till.py"])
    assert found.digests is not None
    (tests,) = [card.statement for card in found.digests[0].cards if card.kind == "tests"]
    assert tests.startswith("Tests: checks/money.py (")
    assert tests.endswith("Tests run by: tox run -e py")


def test_a_message_is_about_the_file_with_the_most_changed_lines(
    shop_tree: Path, committed: Committed
) -> None:
    """A sweep through many files in the same commit hides it no more."""
    many = {f"pkg/part{number}.py": f"x = {number}\n" for number in range(40)}
    till = "\n".join(f"line{number} = {number}" for number in range(50)) + "\n"
    said = "A till keeps each sum in cents, because a sum of floats was off by a cent in May."
    committed({**many, "pkg/pay/till.py": till}, f"Keep cents\n\n{said}\n\nSigned-off-by: Ada", day=25)
    notes = [note for note in scan(shop_tree)["notes"] if note["facet"].startswith("reason:")]
    assert [(note["path"], note["statement"].partition(": ")[2]) for note in notes] == [
        ("pkg/pay/till.py", said)
    ]


@pytest.mark.parametrize("again", ["no", "by number", "reapplied", "in other words", "rewritten"])
def test_a_revert_is_told_only_while_the_code_is_as_it_left_it(
    shop_tree: Path, committed: Committed, git: Git, again: str
) -> None:
    before = (shop_tree / "pkg/stock.py").read_text(encoding="utf-8")
    after = before.replace("return 0", "cache = load_cache()\n    return cache.count_goods()")
    committed({"pkg/stock.py": after}, "Cache goods (#7)", day=25)
    name = git("rev-parse", "HEAD").strip()
    message = (
        f'Revert "Cache goods (#7)" (#8)\n\nThis reverts commit {name}.\n\nThe cache was stale in two shops.'
    )
    if again == "by number":
        message = "fix(stock): revert PR #7 (#8)\n\nThe cache was stale in two shops."
    committed({"pkg/stock.py": before}, message, day=26)
    if again == "reapplied":
        committed({"pkg/stock.py": after}, 'Reapply "Cache goods (#7)"', day=27)
    elif again == "in other words":
        committed({"pkg/stock.py": after}, "Count from memory", day=27)
    elif again == "rewritten":
        committed({"pkg/stock.py": "def everything_else():\n    return 5\n"}, "Write anew", day=27)
    reverts = scan(shop_tree)["facts"]["pkg/stock.py"].get("reverts", [])
    shown = [(one["subject"], one["why"]) for one in reverts]
    assert shown == (
        [("Cache goods", "The cache was stale in two shops.")] if again in ("no", "by number") else []
    )


async def test_a_finished_change_hides_nothing_that_a_scan_knows_and_covers_a_renamed_file(
    memory: Memory, shop_tree: Path, git: Git
) -> None:
    async def known(path: str) -> set[str]:
        found = await memory.get_relevant_memory("shop", [path])
        assert found.digests is not None
        return {card.kind for card in found.digests[0].cards}

    before = await known("pkg/pay/till.py")
    git("mv", "pkg/pay/till.py", "pkg/pay/desk.py")
    git("commit", "-q", "-m", "Desk.", day=25)
    intent = await memory.declare_intent(["pkg/pay"], "shop")
    done = await memory.finish_intent(intent.intent_id, ["pkg/pay/desk.py"], "shop")
    assert done.coverage is not None
    assert done.coverage.record_coverage.coverage_percent == 100
    assert await known("pkg/pay/desk.py") >= before
    listed = await memory.search_memory("Changes with money", 100, "shop", labels=["Card"])
    assert [one.title for one in listed.results if one.title.startswith("pkg/pay/desk.py: Changes with ")]
