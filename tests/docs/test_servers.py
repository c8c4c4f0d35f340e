"""The table of servers is made of the results of their runs."""

from __future__ import annotations

from pathlib import Path

from tests.servers.__main__ import table

RESULT = '<testsuites><testsuite tests="9" failures="1" errors="0" skipped="2" time="60">{}</testsuite></testsuites>'
SKIPPED = '<testcase><skipped message="this server has no {}"/></testcase>'
OLD = "| `postgresql-15`: old | 15.1 |\n| `postgresql-18`: stays | 18.1 |\n"


def test_a_server_that_was_not_run_again_keeps_its_row(tmp_path: Path) -> None:
    skipped = SKIPPED.format("Apache AGE") + SKIPPED.format("Apache AGE")
    (tmp_path / "postgresql-15.xml").write_text(RESULT.format(skipped))
    (tmp_path / "postgresql-15.versions").write_text("15.18|||whole suite")
    _, _, new, kept = table(tmp_path, OLD).splitlines()
    assert new.endswith("| 15.18 | none | none | whole suite | 6 | 1 | 2: no Apache AGE | 1.0 |")
    assert kept == "| `postgresql-18`: stays | 18.1 |"
