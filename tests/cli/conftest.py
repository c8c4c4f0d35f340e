"""Commands as a person types them, against the test's own database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pgmem.cli import app

Run = Callable[..., Result]


@pytest.fixture
def surroundings(dsn: str, tmp_path: Path) -> dict[str, str | None]:
    """The environment of a command: this test's database, an empty data directory, a wide terminal."""
    return {
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(tmp_path / "data"),
        "EMBEDDING_PROVIDER": "none",
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }


@pytest.fixture
def run(surroundings: dict[str, str | None]) -> Run:
    """`run("status", "--json")`: its result; keywords are variables, `typed` is what a person types."""

    def run(*arguments: str, typed: str | bytes | None = None, **variables: str | None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=typed, env={**surroundings, **variables})

    return run
