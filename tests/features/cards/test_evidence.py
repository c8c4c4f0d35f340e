"""Evidence beside the code: coverage files, chains of decision records, why a card is stale, a review."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pgmem.cli import app
from pgmem.features.cards import scan
from tests.conftest import Call
from tests.features.cards.conftest import Committed, Git

Run = Callable[..., Result]


@pytest.fixture
def run(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("init")`: a command of `pgmem cards` in the repository shop; it succeeds."""
    monkeypatch.setenv("PGMEM_DSN", dsn)
    monkeypatch.setenv("PGMEM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Result:
        given = ["cards", *map(str, arguments), "--root", str(tmp_path / "shop"), "--project", "shop"]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output
        return result

    return run


MODULES = {
    "pkg/__init__.py": "",
    "pkg/till.py": '"""Takes money."""\n\n\ndef pay():\n    return 1\n',
    "pkg/stock.py": '"""Counts goods."""\n\n\ndef count():\n    return 1\n',
    "tests/test_whole.py": "import subprocess\n",
    "tests/test_part.py": "import subprocess\n",
}


def ranked(root: Path, path: str) -> list[dict[str, Any]]:
    found = scan(root)["facts"].get(path, {}).get("tests", [])
    assert isinstance(found, list)
    return found


def bits(*lines: int) -> bytes:
    """Line numbers as coverage.py holds them."""
    made = bytearray(max(lines) // 8 + 1)
    for line in lines:
        made[line // 8] |= 1 << line % 8
    return bytes(made)


def test_a_coverage_file_with_contexts_shows_which_tests_run_a_file(
    committed: Committed, tmp_path: Path
) -> None:
    """Neither test names or imports the module: only the measured coverage relates them."""
    committed({**MODULES, ".gitignore": ".coverage\n"}, "Begin.")
    root = tmp_path / "shop"
    assert ranked(root, "pkg/till.py") == []
    with sqlite3.connect(root / ".coverage") as database:
        database.executescript(
            "create table file (id integer primary key, path text);"
            "create table context (id integer primary key, context text);"
            "create table line_bits (file_id integer, context_id integer, numbits blob);"
        )
        database.execute("insert into file values (1, ?)", [str(root / "pkg/till.py")])
        database.executemany(
            "insert into context values (?, ?)",
            [(1, ""), (2, "tests/test_whole.py::test_all|run"), (3, "tests/test_part.py::test_one|run")],
        )
        database.executemany(
            "insert into line_bits values (1, ?, ?)", [(1, bits(1)), (2, bits(1, 4, 5)), (3, bits(4))]
        )
    database.close()
    found = ranked(root, "pkg/till.py")
    assert [one["path"] for one in found] == ["tests/test_whole.py", "tests/test_part.py"]
    assert "runs 100 % of its lines" in found[0]["why"]
    assert ranked(root, "pkg/stock.py") == []


def test_an_lcov_file_shows_it_where_nothing_else_does(committed: Committed, tmp_path: Path) -> None:
    committed({**MODULES, ".gitignore": "lcov.info\n"}, "Begin.")
    root = tmp_path / "shop"
    records = "TN:tests/test_part.py\nSF:pkg/stock.py\nDA:4,1\nDA:5,0\nend_of_record\n"
    (root / "lcov.info").write_text(records, encoding="utf-8")
    assert [one["path"] for one in ranked(root, "pkg/stock.py")] == ["tests/test_part.py"]
    (root / "lcov.info").write_text(records.replace("DA:4,1", "DA:4,0"), encoding="utf-8")
    assert ranked(root, "pkg/stock.py") == []


def adr(title: str, status: str) -> str:
    return f"# {title}\n\n## Status\n\n{status}\n\n## Decision\n\nThe till {title.casefold()}.\n"


def test_decision_records_that_replace_each_other_are_a_chain(
    committed: Committed, run: Run, call: Call
) -> None:
    committed(
        {
            "docs/adr/0001-rounds.md": adr("Rounds up", "Superseded by [2](0002-rounds-down.md)"),
            "docs/adr/0002-rounds-down.md": adr("Rounds down", "Superseded by ADR-0003"),
            "docs/adr/0003-exact.md": adr("Never rounds", "Accepted"),
        },
        "Decide.",
    )
    run("init")

    def found(path: str) -> dict[str, Any]:
        answer = call(
            "query_engineering_memory",
            project_id="shop",
            mode="for_path",
            path=path,
            filters={"statuses": ["active", "superseded"], "types": ["architecture_decision"]},
            detail_level="full",
        )
        (card,) = answer["payload"]["records"]
        return dict(card)

    first, second, third = (
        found(f"docs/adr/{name}.md") for name in ("0001-rounds", "0002-rounds-down", "0003-exact")
    )
    assert [one["status"] for one in (first, second, third)] == ["superseded", "superseded", "active"]
    assert first["relations"]["superseded_by"] == [second["id"]]
    assert second["relations"]["superseded_by"] == [third["id"]]
    assert "relations" not in third


def approved_card(call: Call, statement: str, path: str) -> str:
    made = call(
        "record_candidate",
        record_type="contract_note",
        statement=statement,
        subject_path=path,
        project_id="shop",
    )
    call("approve_card", card_id=made["card_id"], by="ada", reason="I wrote it")
    return str(made["card_id"])


def test_why_shows_the_evidence_of_a_card_and_what_made_it_stale(
    committed: Committed, run: Run, call: Call
) -> None:
    committed(MODULES, "Begin.", day=2)
    run("init")
    card_id = approved_card(call, "`pay()` returns one coin.", "pkg/till.py")
    committed({"pkg/till.py": MODULES["pkg/till.py"].replace("return 1", "return 2")}, "Two coins.", day=3)
    run("refresh")
    shown = run("why", card_id[:8]).stdout
    assert "`pay()` returns one coin." in shown
    assert "May be outdated: its subject has changed since it was written or approved." in shown
    assert "approve by ada: I wrote it" in shown
    assert "-    return 1" in shown
    assert "+    return 2" in shown
    read = json.loads(run("why", card_id, "--json").stdout)
    assert read["record"]["stale_reason"] == "subject_fingerprint_drift"
    assert [one["action"] for one in read["revisions"]] == ["recorded", "approve", "stale"]
    committed({"pkg/till.py": MODULES["pkg/till.py"]}, "One coin again.", day=4)
    run("refresh")
    assert "May be outdated" not in run("why", card_id).stdout


def test_a_review_comment_lists_what_is_known_what_is_stale_and_what_was_not_changed(
    committed: Committed, git: Git, run: Run, call: Call
) -> None:
    committed(MODULES, "Begin.", day=1)
    for day in range(2, 8):
        committed(
            {
                "pkg/till.py": MODULES["pkg/till.py"] + f"# {day}\n",
                "pkg/stock.py": MODULES["pkg/stock.py"] + f"# {day}\n",
            },
            "Count.",
            day=day,
        )
    run("init")
    card_id = approved_card(call, "`pay()` returns one coin.", "pkg/till.py")
    git("switch", "-q", "-c", "coins")
    committed({"pkg/till.py": MODULES["pkg/till.py"].replace("return 1", "return 2")}, "Coins.", day=9)
    shown = run("pr", "main..coins", "--format", "markdown").stdout
    alone, known = (
        shown.index(one)
        for one in ("**Usually changed together, but not in this change**", "**`pkg/till.py`**")
    )
    assert shown.startswith("**Cards about this change** (1 file)")
    assert alone < known
    assert "- `pkg/stock.py`: with `pkg/till.py` in 7 of 7 commits" in shown[alone:known]
    assert f"Approved: `pay()` returns one coin. [{card_id[:8]}]" in shown[known:]
    plain = run("pr", "main..coins", "--format", "text").stdout
    assert "**" not in plain
    assert "pkg/stock.py: with pkg/till.py" in plain
    committed({"pkg/stock.py": MODULES["pkg/stock.py"]}, "Stock too.", day=10)
    assert "Usually changed together" not in run("pr", "main..coins").stdout
