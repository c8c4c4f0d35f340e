"""This tree beside the tree of another commit: its files, and the same tasks timed in both by turns."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def exported(commit: str, folder: Path) -> Path:
    """Write the files of a commit into a new folder, with the vectors of this installation; returns the folder."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=ROOT, check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    vectors = Path("pgmem/embeddings/wordllama")  # an installation makes them; they are in no commit
    if not (folder / vectors).exists():
        (folder / vectors).symlink_to((ROOT / vectors).resolve())
    return folder


def in_turns(workers: Mapping[str, subprocess.Popen[str]], task: str, rounds: int) -> list[dict[str, float]]:
    """Send a task to a worker of each tree, in turn, so that other load affects all alike; what each answers, by round.

    Args:
        workers: processes that read tasks and answer each with a number, by tree.
        task: a line.
        rounds: how many count; one more comes before them, which warms up.
    """
    answers = []
    for turn in range(rounds + 1):
        found = {}
        for tree in sorted(workers, reverse=bool(turn % 2)):
            worker = workers[tree]
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write(f"{task}\n")
            worker.stdin.flush()
            found[tree] = float(worker.stdout.readline())
        answers.append(found)
    return answers[1:]
