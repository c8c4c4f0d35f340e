"""Real file systems that are full or read-only: one sentence, nothing half written, and the next run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.features.vault.conftest import Run

pytestmark = [pytest.mark.long, pytest.mark.embedded]


@pytest.mark.parametrize("command", ["vault sync", "sync"])
def test_a_full_and_a_read_only_file_system_are_one_sentence_and_the_next_run_goes_on(
    run: Run, surroundings: dict[str, str | None], tmp_path: Path, command: str
) -> None:
    # A mount that only the processes below see.
    apart = ["unshare", "--mount" if os.geteuid() == 0 else "-rm"]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("no process can have its own mounts here")
    assert run("save", "session", "Set up", "-p", "shop").exit_code == 0
    for number in range(20):
        text = f"text={number} " + "word " * 16000
        assert run("remember", "Concept", f"Idea {number}", "--set", text, "-p", "shop").exit_code == 0
    folder = tmp_path / "mounted"
    folder.mkdir()
    given = {name: value for name, value in surroundings.items() if value is not None}
    done = subprocess.run(
        [*apart, "sh", "-c", """
          sync() { "$PYTHON" -m pgmem $COMMAND . ; echo "exit $?"; find . -name '.*.part' -o -name '.*.md.*' ; }
          mount -t tmpfs -o size=1m tmpfs "$FOLDER" && cd "$FOLDER" || exit 9
          sync; mount -o remount,size=16m . ; echo more; sync; sync; mount -o remount,ro . ; echo read-only
          "$PYTHON" -m pgmem remember Concept Later -p shop >&2 ; sync
        """],
        env={**os.environ, **given, "PYTHON": sys.executable, "COMMAND": command, "FOLDER": str(folder),
             "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    full, _, rest = done.stdout.partition("more\n")
    more, _, last = rest.partition("read-only\n")
    assert full == "exit 1\n", "nothing half written is left"
    assert more.count("exit 0") == 2
    assert last == "exit 1\n"
    said = [line for line in done.stderr.splitlines() if line.startswith("pgmem: ")]
    assert ["full" in said[0] or "No space left" in said[0], "read-only" in said[1].lower()] == [
        True,
        True,
    ], said
    assert "Traceback" not in done.stderr
