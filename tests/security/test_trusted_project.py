"""A cloned repository names another project of the person, to have its memory in the sessions of the clone."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pgmem.cli import app
from pgmem.workspace.identity import chosen_project, waits_for_trust
from tests.conftest import Call
from tests.features.editor.conftest import Hook, context, data_dir, hook
from tests.features.editor.test_client_session import event, root, transcript

__all__ = ["data_dir", "event", "hook", "root", "transcript"]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose file names the project payroll."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("PGMEM_PROJECT", raising=False)
    folder = tmp_path / "clone"
    (folder / "src").mkdir(parents=True)
    (folder / ".pgmem.toml").write_text("project = 'payroll'\n", "utf-8")
    return folder


def answer(*arguments: str, **given: Any) -> Any:
    return CliRunner().invoke(app, ["trust", *arguments], **given)


def test_a_clone_names_no_project_until_a_person_trusts_it(clone: Path, tmp_path: Path) -> None:
    assert chosen_project(clone / "src") is None
    assert waits_for_trust(clone / "src")
    refused = answer(str(clone), input="n\n")
    assert refused.exit_code == 1
    assert "'payroll'" in refused.output
    assert chosen_project(clone) is None
    assert answer(str(clone), input="y\n").exit_code == 0
    assert chosen_project(clone / "src") == "payroll"
    assert not waits_for_trust(clone)
    listed = tmp_path / "config" / "pgmem" / "trusted"
    assert stat.S_IMODE(os.stat(listed).st_mode) == 0o600
    assert "payroll" not in listed.read_text()
    assert answer(str(clone), "--undo").exit_code == 0
    assert chosen_project(clone) is None


def test_a_file_that_changes_its_project_is_asked_for_again(clone: Path, tmp_path: Path) -> None:
    assert answer(str(clone), "--yes").exit_code == 0
    (clone / ".pgmem.toml").write_text("project = 'salaries'\n", "utf-8")
    assert chosen_project(clone) is None
    other = tmp_path / "other"
    other.mkdir()
    (other / ".pgmem.toml").write_text("project = 'payroll'\n", "utf-8")
    assert chosen_project(other) is None


def test_a_folder_without_a_file_is_refused_in_a_sentence(
    tmp_path: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGMEM_DSN", dsn)
    said = answer(str(tmp_path))
    assert said.exit_code == 1
    assert "names a project" in said.output


def test_a_session_says_that_a_file_waits_and_not_what_it_names(
    hook: Hook, call: Call, event: Callable[..., dict[str, Any]], root: Path
) -> None:
    call("save_session", objective="Pay in cash", project_id="payroll")
    (root / ".pgmem.toml").write_text("project = 'payroll'\n", "utf-8")
    text = context(hook(event("SessionStart", source="startup")), "SessionStart")
    assert "pgmem trust" in text
    assert "payroll" not in text
    assert "cash" not in text
