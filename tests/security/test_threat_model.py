"""The threat model is written from the suite: each threat names the test that tries it."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = (HERE.parent.parent / "docs" / "explanation" / "threat-model.md").read_text("utf-8")
OTHERS = {"test_threat_model.py"}
TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)


def named_in(file: Path) -> set[str]:
    return {f"{file.name}::{name}" for name in TEST.findall(file.read_text("utf-8"))}


def test_every_threat_names_a_test_that_is_there() -> None:
    there = set().union(*(named_in(file) for file in HERE.parent.rglob("test_*.py")))
    rows = [row.split("|") for row in PAGE.splitlines() if row.startswith("| ") and "test_" in row]
    assert len(rows) >= 45
    for _, threat, _, tests, _ in rows:
        named = re.findall(r"`([^`]+)`", tests)
        assert named, threat
        assert set(named) <= there, threat


def test_every_attacker_of_the_suite_is_in_the_page() -> None:
    files = {file.name for file in HERE.glob("test_*.py")} - OTHERS
    assert files <= set(re.findall(r"test_\w+\.py", PAGE))
