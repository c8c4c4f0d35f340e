"""Decisions planted in a history: other messages, the same files."""

from __future__ import annotations

from pathlib import Path

from benchmarks.planted import planted
from pgmem.workspace.git import Git as Repository
from tests.features.cards.conftest import Committed, Git, committed, git

__all__ = ["committed", "git"]


def test_only_the_messages_of_some_commits_change(committed: Committed, git: Git, tmp_path: Path) -> None:
    for day, text in enumerate(("One.", "data 3\n\nTwo.", "Three."), 1):
        committed({"a.py": f"x = {day}\n", "b.bin": "\0" * day}, text, day=day)
    second = git("rev-parse", "HEAD~1").strip()
    planted(tmp_path / "shop", tmp_path / "copy", {second: "Why\n\nBecause.\n"})
    log = list(Repository(tmp_path / "copy").log())
    assert [one.message for one in log] == ["Three.", "Why\n\nBecause.", "One."]
    assert (tmp_path / "copy/a.py").read_text() == "x = 3\n"
    assert git("rev-parse", "HEAD^{tree}") == git("rev-parse", "HEAD^{tree}", cwd=tmp_path / "copy")
