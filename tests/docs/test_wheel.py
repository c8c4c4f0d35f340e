"""The wheel alone, installed into an empty environment, does the main job."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.long
def test_the_wheel_does_the_main_job_in_an_empty_environment() -> None:
    done = subprocess.run(
        ["bash", ROOT / "scripts" / "try-wheel"], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all" in done.stdout
    assert "sql/ and migrations/ among them" in done.stdout
    assert "pgmem demo in an empty environment" in done.stdout
