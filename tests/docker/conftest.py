"""Images of this tree, built once a run; their figures are printed at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker.stack import STAGES, Stack, build, clone, make_base, missing, size, stack

FIGURES: list[str] = []


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone of this tree would hold, with the images built of it; skipped where no container can run."""
    if reason := missing():
        # CI says so in words; who asks for these tests by hand wants to know.
        pytest.skip(reason)
    folder = clone(tmp_path_factory.mktemp("clone"))
    make_base()
    for stage, image in STAGES.items():
        seconds = build(folder, stage, f"{image}:{tag()}")
        FIGURES.append(f"{image}: {size(f'{image}:{tag()}'):.0f} MB, built in {seconds:.0f} s")
    return folder


def tag() -> str:
    """The tag of the images of this run."""
    return os.environ.get("PGMEM_TEST_TAG", "test")


def images() -> dict[str, str]:
    """The variables of the compose file that choose the images of this run."""
    return {
        "PGMEM_IMAGE": f"pgmem:{tag()}",
        "PGMEM_POSTGRES_IMAGE": f"pgmem-postgres:{tag()}",
        "PGMEM_POOLER_IMAGE": f"pgmem-pooler:{tag()}",
        "PGMEM_METRICS_IMAGE": f"pgmem-metrics:{tag()}",
    }


@pytest.fixture(scope="module")
def services(tree: Path) -> Iterator[Stack]:
    """The services, running, for the tests of one file."""
    with stack(tree, **images()) as running:
        yield running


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in FIGURES:
        terminalreporter.write_line(line)
