"""A session of a client, as its hooks see it: a real repository, a transcript, and `pgmem hook` as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.repositories import git

Hook = Callable[..., Any]
Git = Callable[..., str]


def repository(folder: Path, remote: str | None = None) -> Path:
    """Make a repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "app.py").write_text(f"print('{folder}')\n")
    git(folder, "add", "app.py")
    git(
        folder, "commit", "-qm", f"first of {uuid4()}"
    )  # two commits of one second are one where all else is equal
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The data directory of the hooks."""
    return tmp_path / "data"


@pytest.fixture
def hook(dsn: str, data_dir: Path) -> Hook:
    """`hook({"hook_event_name": …})`: the output of `pgmem hook`, as JSON; None if there is none. It never fails."""

    def hook(event: dict[str, Any] | str, *arguments: str, **environment: str) -> Any:
        sent = event if isinstance(event, str) else json.dumps(event)
        name = () if isinstance(event, str) else (event["hook_event_name"],)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PGMEM_", "DEFAULT_"))}
        done = subprocess.run(
            [sys.executable, "-m", "pgmem", "hook", *name, *arguments],
            input=sent,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=Path(__file__).parents[3],
            env={
                **kept,
                "PGMEM_DSN": dsn,
                "PGMEM_DATA_DIR": str(data_dir),
                "PGMEM_HOOK_PATIENCE": "20",  # other tests run beside this one
                **environment,
            },
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout) if done.stdout.strip() else None

    return hook


def context(answer: Any, event: str) -> str:
    """The text that an answer takes to the model; empty if there is none."""
    if answer is None:
        return ""
    assert set(answer) == {"hookSpecificOutput"}
    assert answer["hookSpecificOutput"]["hookEventName"] == event
    return str(answer["hookSpecificOutput"]["additionalContext"])
