"""Images of this tree, built once a run; their figures are printed at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.docker.stack import (
    STAGES,
    Stack,
    build,
    clone,
    compose,
    has_buildkit,
    make_base,
    missing,
    run,
    size,
    stack,
)

FIGURES: list[str] = []


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of a clone of this tree, with the images built of it; skipped where no container can run."""
    if reason := missing():
        # CI sets the variable; for a run by hand the reason is printed.
        pytest.skip(reason)
    folder = clone(tmp_path_factory.mktemp("clone"))
    builder = "BuildKit" if has_buildkit() else "the builder without BuildKit"
    FIGURES.append(f"{builder}, Compose {run(*compose(), 'version', '--short').strip()}")
    FIGURES.append(f"the base was there or made in {make_base():.0f} s")
    # Without BuildKit every stage before the one that is asked for is built too, so the last one comes first.
    options = ["--no-cache"] if os.environ.get("PGMEM_TEST_NO_CACHE") else []
    begun = monotonic()
    for stage, image in reversed(STAGES.items()):
        seconds = build(folder, stage, f"{image}:{tag()}", *options)
        FIGURES.append(f"{image}: {size(f'{image}:{tag()}'):.0f} MB, built in {seconds:.0f} s")
        options = options if has_buildkit() else []
    cache = "without cache" if os.environ.get("PGMEM_TEST_NO_CACHE") else "with what the cache held"
    FIGURES.append(f"all images {cache}: {monotonic() - begun:.0f} s")
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
