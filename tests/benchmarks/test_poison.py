"""The scenarios of another project that poison a memory."""

from __future__ import annotations

from pathlib import Path

from benchmarks.poison import graded


def test_no_scenario_succeeds_and_every_benign_write_is_kept(dsn: str, tmp_path: Path) -> None:
    found = graded(dsn, tmp_path)
    assert (found["attacks"] - found["succeeded"], found["kept"]) == (15, 6), found["runs"]
