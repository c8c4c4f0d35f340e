"""Other projects' own tests, which are kept outside the repository: PGMEM_UPSTREAM names the folder that holds them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["folder"]


def folder(suite: str) -> Path:
    """The folder of a suite. Without it a module is skipped, and CI fails."""
    given = os.environ.get("PGMEM_UPSTREAM")
    found = Path(given) / suite if given else None
    if found is not None and found.is_dir():
        return found
    missing = f"the tests of {suite} were not found: set PGMEM_UPSTREAM"
    if os.environ.get("CI") == "true":
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing, allow_module_level=True)
