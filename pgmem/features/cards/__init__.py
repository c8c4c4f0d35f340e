"""Reports of a repository: files, modules and imports, tests, documents, git history. Read-only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgmem.features.cards.scan import SCHEMA, Reading, scan, settled, standing

__all__ = ["SCHEMA", "Reading", "scan", "settled", "standing"]

COMMANDS = {"cards": ("Code base", "commands:app", None)}
AROUND = "around"
SHAPES = "shapes:SHAPES"
RECALLED = {"get_relevant_memory": ("digests", "cards")}
STEPS = {"compared": "around:compared"}


def __getattr__(name: str) -> object:
    """Import the scanner on first use, so that `pgmem hook`, for which a session waits, starts fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module("pgmem.features.cards.scan")
    # The import has put the module under the name of its function.
    globals().update({each: getattr(module, each) for each in __all__})
    return globals()[name]
