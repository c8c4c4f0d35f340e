"""Repositories of tests: git without the settings of this machine, by a person and on a day that the test names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

DAY = "2026-01-01T12:00:00Z"


def git(
    folder: Path, *arguments: str, who: str = "Ada", at: str = DAY, given: str = "", check: bool = True
) -> str:
    """Run git in a folder; its output, without the last line end.

    Args:
        folder: where it runs.
        arguments: of git.
        who: the author and committer.
        at: when they commit, as ISO 8601.
        given: its stdin.
        check: whether it must succeed.
    """
    named = {"NAME": who, "EMAIL": f"{who.lower()}@example.com", "DATE": at}
    people = {
        f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in named.items()
    }
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **alone, **people},
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=check,
    )
    return done.stdout.removesuffix("\n")
