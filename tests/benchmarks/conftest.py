"""Benchmarks as a person types them; none uses the store that the environment names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from benchmarks.commands import app

Benchmark = Callable[..., Result]


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    """`benchmark("speed", "--quick")`: its result; keywords are variables of its environment."""
    surroundings: dict[str, str | None] = {
        "PGMEM_DSN": None,
        "PGMEM_DATA_DIR": str(tmp_path / "data"),
        "EMBEDDING_PROVIDER": "none",
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }

    def run(*arguments: str, **variables: str | None) -> Result:
        return CliRunner().invoke(app, list(arguments), env={**surroundings, **variables})

    return run
