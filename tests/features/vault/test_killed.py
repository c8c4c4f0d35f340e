"""A vault and a store that both change while the run between them is killed: equal in the end, and no byte of a person lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.features.vault import obsidian
from tests.features.vault.conftest import Rows, Sync
from tests.features.vault.test_sync import counts

OF_PGMEM = (*obsidian.OWN, b"checked")
NOTES = "select id, version, props from pgmem.node where label in ('Concept', 'Technology') order by id"


def added(mine: bytes, after: bytes) -> list[bytes]:
    """The lines of a note that are not a person's; an error where a byte of theirs is missing."""
    rest = iter(after.splitlines(keepends=True))
    found = []
    for line in mine.splitlines(keepends=True):
        for other in rest:
            if other == line:
                break
            found.append(other)
        else:
            raise AssertionError((line, after))
    return [*found, *rest]


class Person:
    """Edits notes, and knows the own text of each."""

    def __init__(self, vault: Path, notes: dict[str, bytes], dice: random.Random) -> None:
        self.vault, self.mine, self._dice = vault, notes, dice

    def edit(self, number: int) -> None:
        """Add a line at the end of a note, or move the note."""
        place = self._dice.choice(sorted(self.mine))
        path = self.vault / place
        if number % 10 == 0:
            to = f"Moved/{number}/{path.name}"
            (self.vault / to).parent.mkdir(parents=True)
            path.rename(self.vault / to)
            self.mine[to] = self.mine.pop(place)
            return
        line = f"\n\nLine {number} of a person ü\n".encode()
        path.write_bytes(path.read_bytes() + line)
        self.mine[place] += line


def play(sync: Sync, vault: Path, rows: Rows, environment: dict[str, str], notes: int, edits: int) -> None:
    dice = random.Random(notes)
    person = Person(vault, obsidian.write(vault, notes), dice)
    killed: Counter[bool] = Counter()

    def killed_at(step: int) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "tests.features.vault.killed", str(step), "vault", "sync", str(vault), "--by", "ada"],
            env={**os.environ, **environment}, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed[done.returncode != 0] += 1

    for step in (7, 20 + notes // 2):
        killed_at(step)
    sync()
    for number in range(edits):
        person.edit(number)
        row = dice.choice(rows(NOTES))
        rows(
            "select pgmem.edit_memory(%s, %s, jsonb_build_object('checked', %s::integer), 'bob')",
            row["id"], row["version"], number,
        )  # fmt: skip
        if number % 20 == 19:
            killed_at(dice.randint(2, 60))
    sync()
    for copy in vault.rglob(
        "* (Conflicted copy pgmem *).md"
    ):  # a person's line that was already taken is kept
        copy.unlink()
    sync()
    sync()
    assert killed[True] > edits // 20
    assert counts(sync()) == {}
    shutil.rmtree(vault / ".pgmem")
    assert counts(sync()) == {}, "every field of every note is as in the store"
    assert len(rows(NOTES)) == notes, "no note was saved twice"
    there = {path.relative_to(vault).as_posix() for path in vault.rglob("*.md")}
    assert there == set(person.mine), "the notes, and none of the project"
    for place, mine in person.mine.items():
        bom = b"\xef\xbb\xbf"
        after = (vault / place).read_bytes()
        assert after.startswith(bom) == mine.startswith(bom)
        for line in added(mine.removeprefix(bom), after.removeprefix(bom)):
            assert line.split(b":")[0].strip() in OF_PGMEM, (place, line)
    left = [path for path in vault.rglob(".*") if path.name not in (".obsidian", ".pgmem", ".gitignore")]
    assert left == [], "no half of a file is left"
    sys.stdout.write(f"{notes} notes, {edits} edits on each side, {killed[True]} runs killed\n")


@pytest.fixture
def environment(surroundings: dict[str, str | None]) -> dict[str, str]:
    given = {name: value for name, value in surroundings.items() if value is not None}
    return {**given, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_killed_runs_lose_nothing_and_the_next_one_ends_equal(
    sync: Sync, vault: Path, rows: Rows, environment: dict[str, str]
) -> None:
    play(sync, vault, rows, environment, 40, 40)


@pytest.mark.long
def test_a_thousand_notes_and_two_hundred_edits_on_each_side(
    sync: Sync, vault: Path, rows: Rows, environment: dict[str, str]
) -> None:
    play(sync, vault, rows, environment, 1000, 200)
