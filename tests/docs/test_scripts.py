"""The programs of scripts/ describe themselves when they are asked, and do nothing then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
PROGRAMS = sorted(path for path in SCRIPTS.iterdir() if path.is_file() and os.access(path, os.X_OK))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_help_says_what_a_program_does_and_ends_well(program: Path, tmp_path: Path) -> None:
    python = "python" in program.read_text(encoding="utf-8").partition("\n")[0]
    done = subprocess.run(
        [sys.executable if python else "bash", program, "--help"],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(("usage: ", f"scripts/{program.name}: "))
