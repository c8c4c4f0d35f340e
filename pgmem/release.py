"""The installed release; imports nothing, because `pgmem --version` and every upgrade ask for it."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["release"]


@cache
def release() -> str:
    """The installed release of pgmem, or `0` when the package is run without being installed."""
    try:
        return version("pgmem-agent")
    except PackageNotFoundError:
        return "0"
