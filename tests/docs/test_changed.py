"""The tests that `make test-changed` runs, and the line of a run about the tests that it skipped."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures import skipped

ROOT = Path(__file__).parent.parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "test-changed"))
WALLS = list(SCRIPT["ALWAYS"])
USERS = {"importers": ["vault", "tests/security/test_hostile_file.py"]}

CASES: tuple[tuple[list[str], list[str], str], ...] = (
    ([], [], "no tests: nothing has changed"),
    (
        ["pgmem/features/cards/scan.py"],
        ["tests/features/cards", *WALLS],
        f"tests/features/cards, {', '.join(WALLS)}: pgmem/features/cards/scan.py has changed",
    ),
    (
        ["sql/features/cards/71-cards.sql", "sql/made.sql"],
        ["tests/features/cards", *WALLS],
        "71-cards.sql has changed",
    ),
    (
        ["pgmem/features/importers/loader.py"],
        ["tests/features/importers", "tests/features/vault", "tests/security/test_hostile_file.py", *WALLS],
        "loader.py has changed",
    ),
    (
        ["pgmem/features/cards/scan.py", "pgmem/calls/saves.py"],
        ["tests"],
        "all tests: pgmem/calls/saves.py is of the core",
    ),
    (["sql/core/saving/29-save-decision.sql"], ["tests"], "is of the core"),
    (["migrations/versions/0001_first.py"], ["tests"], "is of the core"),
    (["tests/fixtures/verbs.py"], ["tests"], "is of the core"),
    (["tests/conftest.py"], ["tests"], "is of the core"),
    (["pyproject.toml"], ["tests"], "is of the core"),
    (["tests/core/sql/test_saves.py"], ["tests/core/sql/test_saves.py"], "has changed"),
    (["tests/core/mcp/conftest.py"], ["tests/core/mcp"], "has changed"),
    (["README.md", "docs/how-to/serve-agents.md"], ["tests/docs"], "has changed"),
    (["benchmarks/calls.py"], ["tests/benchmarks"], "has changed"),
    (["pgmem/_verbs.py"], [], "nothing has changed"),
)


@pytest.mark.parametrize(("paths", "run", "why"), CASES)
def test_what_has_changed_chooses_the_tests_and_says_why(paths: list[str], run: list[str], why: str) -> None:
    found, line = SCRIPT["chosen"](paths, USERS)
    assert found == run
    assert why in line
    assert "\n" not in line


def test_the_users_of_a_feature_are_tested_with_it() -> None:
    users = SCRIPT["users_of"](["importers", "cards"])
    assert "vault" in users["importers"]
    assert "tests/security/test_hostile_repository.py" in users["cards"]
    assert all((ROOT / path).exists() for path in users["cards"] if "/" in path)


def test_nothing_runs_where_nothing_has_changed() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "test-changed", "--base", "HEAD", "--list"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("since ")
    assert done.stdout.count("\n") == 1


def test_a_run_says_in_three_lines_what_it_skipped_and_what_brings_it() -> None:
    reasons = [
        "no Chromium is installed here: apt-get install chromium",
        "no PL/Proxy: apt install postgresql-15 postgresql-15-plproxy",
        "no PgBouncer: apt install pgbouncer",
        "the tests of mem0 were not found: set PGMEM_UPSTREAM",
        "could not import 'onnx': No module named 'onnx'",
        "only a superuser makes an event trigger",
    ]
    assert [line.partition(": ")[0] for line in skipped.lines(reasons)] == [
        "skipped 1 in a browser",
        "skipped 2 of other servers and programs",
        "skipped 2 of other projects and their libraries",
    ]
    assert skipped.lines(["only a superuser makes an event trigger"]) == []
