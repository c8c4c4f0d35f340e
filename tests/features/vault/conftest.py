"""A vault and a store: the folder, and `sync()`, which is `pgmem vault sync`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.core.cli.conftest import Run, run, surroundings
from tests.core.sql.conftest import Rows, rows

__all__ = ["Rows", "Run", "rows", "run", "surroundings"]

Sync = Callable[..., dict[str, Any]]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "Notes"
    folder.mkdir()
    return folder


@pytest.fixture
def sync(run: Run, vault: Path) -> Sync:
    """`sync()`: the counts and problems of a run."""

    def sync(*options: str, **variables: str | None) -> dict[str, Any]:
        done = run("vault", "sync", str(vault), "--by", "ada", "--json", *options, **variables)
        assert done.exit_code == 0, done.stderr or done.exception
        return dict(json.loads(done.stdout))

    return sync
