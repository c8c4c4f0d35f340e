"""Commands as a person types them, against the test's own database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pgmem.cli import app

Run = Callable[..., Result]


NOBODY_ANSWERS = "host=127.0.0.1 port=1"


def environment(dsn: str, folder: Path) -> dict[str, str | None]:
    return {
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(folder / "data"),
        "EMBEDDING_PROVIDER": "none",
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }


@pytest.fixture
def surroundings(dsn: str, tmp_path: Path) -> dict[str, str | None]:
    """The environment of a command: this test's database, an empty data directory, a wide terminal."""
    return environment(dsn, tmp_path)


@pytest.fixture
def run(surroundings: dict[str, str | None]) -> Run:
    """`run("status", "--json")`: its result; keywords are variables, `typed` is what a person types."""
    return runner(surroundings)


@pytest.fixture
def alone(tmp_path: Path) -> Run:
    """`alone("--help")`: the same for commands without a database, as none answers."""
    return runner(environment(NOBODY_ANSWERS, tmp_path))


def runner(surroundings: dict[str, str | None]) -> Run:
    def run(*arguments: str, typed: str | bytes | None = None, **variables: str | None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=typed, env={**surroundings, **variables})

    return run
