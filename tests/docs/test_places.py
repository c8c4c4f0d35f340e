"""The folder in memory of a killed run of the tests is taken away by the next one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.fixtures.places import begun, cleared

HELD = """
import sys
from pathlib import Path
from tests.fixtures.places import begun
with begun(Path(sys.argv[1])) as folder:
    (folder / "postgres").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_only_the_folders_of_runs_that_are_gone_are_removed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HELD, str(tmp_path)]
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        (tmp_path / "of-another-program").mkdir()
        with begun(tmp_path) as own:
            assert cleared(tmp_path) == []
            assert left.is_dir()
            other.kill()
            other.wait(20)
            assert cleared(tmp_path) == [left]
            assert own.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["of-another-program"]
