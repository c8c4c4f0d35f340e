"""The records of git: renames, companions, owners, reverts, reasons; on real git, with no other reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgmem import Memory
from pgmem.features.cards import Reading, scan
from pgmem.settings import load
from tests.conftest import Call
from tests.features.cards.conftest import Committed, Git, Set


def body(number: int) -> str:
    return f'"""Takes money."""\n\n\ndef pay():\n    return {number}\n\n\ndef refund():\n    return -1\n'


@pytest.fixture
def shop_tree(committed: Committed, tmp_path: Path) -> Path:
    """A repository whose till and test change together, with a rename, a revert, a fix and a reason."""
    committed(
        {"pkg/__init__.py": "", "pkg/old.py": body(0), "tests/test_money.py": "import pkg.old\n"}, "Begin."
    )
    for day in range(2, 7):
        committed(
            {"pkg/old.py": body(day), "tests/test_money.py": f"import pkg.old\n# {day}\n"}, "Pay.", day=day
        )
    committed({"pkg/old.py": None, "pkg/till.py": body(6)}, "Call it till.", day=8)
    committed(
        {"pkg/till.py": body(9), "tests/test_money.py": "import pkg.till\n# 9\n"},
        "Fix paying twice\n\nThe till must never round, because tax is due on the exact sum.\n\n"
        "Co-authored-by: Bea <bea@example.com>",
        day=9,
        who="Cyd",
    )
    committed({"pkg/till.py": body(6)}, 'Revert "Fix paying twice"', day=10)
    return tmp_path / "shop"


def test_a_file_keeps_its_history_through_a_rename(shop_tree: Path) -> None:
    """Walking back, a rename says under which name of today everything older counts."""
    made = scan(shop_tree)
    fact = made["facts"]["pkg/till.py"]
    assert made["renames"] == {"pkg/old.py": "pkg/till.py"}
    assert fact["commits"] == 9
    assert [(one["path"], one["commits"]) for one in fact["companions"]][:1] == [("tests/test_money.py", 7)]
    assert [one["name"] for one in fact["owners"]] == ["Ada"]
    assert [(one["subject"], one["why"]) for one in fact["reverts"]] == [("Fix paying twice", "")]
    assert fact["tests"][0]["path"] == "tests/test_money.py"
    assert "changed with it in 7 of 9 commits" in fact["tests"][0]["why"]


def test_a_message_that_explains_is_told_with_its_commit(
    committed: Committed, shop_tree: Path, git: Git
) -> None:
    assert scan(shop_tree)["notes"] == []  # a reverted commit explains nothing
    committed(
        {"pkg/till.py": body(9)},
        "Pay twice\n\nThe till must never round, because tax is due on the exact sum.",
        day=12,
        who="Cyd",
    )
    (note,) = [note for note in scan(shop_tree)["notes"] if note["type"] == "change_rationale"]
    commit = git("log", "-1", "--format=%H").strip()
    assert (note["path"], note["status"]) == ("pkg/till.py", "active")
    assert note["statement"] == (
        f"Pay twice ({commit[:9]}, 2026-01): The till must never round, because tax is due on the exact sum."
    )
    assert note["evidence"] == [{"kind": "git_commit", "ref": commit}]


def test_sweeps_and_formatting_say_nothing_about_what_belongs_together(
    committed: Committed, tmp_path: Path
) -> None:
    for day in range(1, 6):
        committed({f"pkg/{name}.py": f"x = {day}\n" for name in range(40)}, "Move everything.", day=day)
        committed({"pkg/a.py": f"{day}\n", "pkg/b.py": f"{day}\n"}, "style: run black", day=day)
    assert all("companions" not in fact for fact in scan(tmp_path / "shop")["facts"].values())


def test_only_what_changed_is_report_the_second_time(
    shop_tree: Path, committed: Committed, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    committed({f"pkg/part{number}.py": f"x = {number}\n" for number in range(120)}, "Many.", day=11)
    first = Reading(shop_tree, cache)
    assert first.report()["complete"]
    (shop_tree / "pkg/till.py").write_text(body(6) + "# more\n", encoding="utf-8")
    second = Reading(shop_tree, cache)
    report = second.report(first.fingerprint)
    assert (report["complete"], report["removed"], list(report["files"])) == (False, [], ["pkg/till.py"])
    (shop_tree / "pkg/till.py").unlink()
    third = Reading(shop_tree, cache).report(second.fingerprint)
    assert third["removed"] == ["pkg/till.py"]
    (shop_tree / "pkg/till.py").write_text(f'"""Gives change."""\n{body(6)}', encoding="utf-8")
    fresh = scan(shop_tree)
    assert Reading(shop_tree, cache).report() == fresh
    for part in ("parsed", "recent"):  # a part of the cache is lost
        next(cache.rglob(f"{part}.json")).unlink(missing_ok=True)
    assert Reading(shop_tree, cache).report() == fresh


def test_a_shallow_clone_a_link_and_a_submodule_are_reported(
    shop_tree: Path, git: Git, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    git("clone", "-q", "--depth", "2", f"file://{shop_tree}", str(copy))
    (copy / "link.py").symlink_to("pkg/till.py")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(shop_tree), "vendor", cwd=copy)
    git("add", "-A", cwd=copy)
    skipped = "\n".join(scan(copy)["skipped"])
    assert "the clone is shallow" in skipped
    assert "link.py: a symbolic link" in skipped
    assert "vendor: a submodule" in skipped


def test_names_of_today_are_not_said_to_be_renamed(committed: Committed, tmp_path: Path) -> None:
    committed({"a.py": body(1)}, "One.")
    committed({"a.py": None, "b.py": body(1)}, "Two.", day=2)
    committed({"a.py": "fresh = 1\n"}, "Three.", day=3)
    made = scan(tmp_path / "shop")
    assert made["renames"] == {}
    assert made["facts"]["b.py"]["commits"] == 2


@pytest.mark.anyio
async def test_knowledge_survives_work(
    dsn: str, tmp_path: Path, shop_tree: Path, git: Git, call: Call, setting: Set
) -> None:
    """A card about pay() outlives comments and a rename, is marked when pay() changes or goes, and comes back."""
    settings = load(dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none", repository=shop_tree)

    async with Memory.connect(settings) as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])  # An empty store begins with this
        made = await memory.record_candidate("contract_note", "`pay()` never raises.", "pkg/till.py", "shop")
        await memory.approve_card(made.card_id, "ada")

        async def approved(path: str = "pkg/till.py") -> list[str | None]:
            found = await memory.get_relevant_memory("shop", [path])
            assert found.digests is not None
            return [card.stale for card in found.digests[0].cards if card.kind == "approved"]

        till = shop_tree / "pkg/till.py"
        text = till.read_text(encoding="utf-8")
        till.write_text(f"# a comment\n{text.replace('return -1', 'return -2')}", encoding="utf-8")
        assert await approved() == [None]  # another function changed
        till.write_text(text.replace("return 6", "return 7"), encoding="utf-8")
        assert await approved() == ["subject_fingerprint_drift"]
        till.write_text("x = 1\n", encoding="utf-8")
        assert await approved() == ["symbol_gone"]
        till.write_text(text, encoding="utf-8")
        assert await approved() == [None]

        git("mv", "pkg/till.py", "pkg/legacy.py")
        assert await approved("pkg/legacy.py") == [None]
        git("commit", "-q", "-m", "Legacy.", day=11)
        assert await approved("pkg/legacy.py") == [None]
        card = (
            await memory.query_engineering_memory("shop", "get", record_id=str(made.card_id)[:8])
        ).payload.record
        assert card is not None
        assert card.path == "pkg/legacy.py"

        git("checkout", "-q", "-b", "side", day=12)
        (shop_tree / "pkg/legacy.py").write_text("x = 1\n", encoding="utf-8")
        git("commit", "-q", "-a", "-m", "Side.", day=12)
        assert await approved("pkg/legacy.py") == ["symbol_gone"]
        git("checkout", "-q", "main")
        assert await approved("pkg/legacy.py") == [None]


@pytest.mark.anyio
async def test_a_full_project_gives_up_a_scan_s_card_for_an_agent_s(
    dsn: str, tmp_path: Path, shop_tree: Path, call: Call, setting: Set
) -> None:
    """At capacity the least valuable card of a scan goes first."""
    call("save_session", objective="o", project_id="shop")
    setting("max_records", 4)
    settings = load(dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none", repository=shop_tree)
    async with Memory.connect(settings) as memory:
        await memory.get_relevant_memory("shop", ["pkg/till.py"])
        status = (await memory.query_engineering_memory("shop", "status")).payload
        assert status.record_count == 4
        await memory.record_candidate("risk_note", "Rounding loses a cent.", "pkg/till.py", "shop")
        status = (await memory.query_engineering_memory("shop", "status")).payload
        assert status.record_count == 4
        assert status.records_by_type is not None
        assert status.records_by_type["test_anchor"] >= 1  # the most valuable of a scan stay


def test_a_mailmap_says_which_names_are_one_person_also_for_commits_that_are_known(
    committed: Committed, git: Git, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_text("Eve <who@example.com> Ada <ada@example.com>\n", encoding="utf-8")
    git("config", "mailmap.file", str(other))  # the configuration of a repository names files of this machine
    for day in range(1, 9):
        committed({"a.py": f"x = {day}\n"}, "Pay.", day=day, who="Ada" if day % 2 else "A. Lovelace")
    for day in range(1, 4):
        committed({"b.py": f"x = {day}\n"}, "Count.", day=day, who="Bea")

    def owners() -> list[tuple[str, int]]:
        report = Reading(tmp_path / "shop", tmp_path / "cache").report()
        return [(one["name"], one["commits"]) for one in report["facts"]["a.py"]["owners"]]

    address = git("log", "--author=A. Lovelace", "-1", "--format=%ae").strip()
    assert sorted(owners()) == [("A. Lovelace", 4), ("Ada", 4)]
    committed({".mailmap": f"Ada <ada@example.com> A. Lovelace <{address}>\n"}, "Name people.", day=10)
    assert owners() == [("Ada", 8)]
