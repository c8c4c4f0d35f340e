"""How the generated modules are written; it imports none of them, so that a stale one can be written again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["WRITTEN", "camel", "formatted"]

WRITTEN = "Written by scripts/generate from the chapters of sql/; do not edit."


def camel(name: str) -> str:
    """Return the Python name of a domain."""
    return "".join(part.capitalize() for part in name.split("_"))


def formatted(code: str) -> str:
    """Return the code as ruff formats it."""
    root = Path(__file__).parent.parent.parent
    for command in (("check", "--fix", "--quiet", "--select=I,F401"), ("format", "--quiet")):
        code = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename=pgmem/calls/methods.py", "-"],
            input=code,
            capture_output=True,
            text=True,
            check=True,
            cwd=root,
        ).stdout
    return code
