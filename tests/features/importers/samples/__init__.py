"""Small histories, made by hand after the public form of each client, with the turns that must come out of them.

`CLIENT-RELEASE.ENDING` is a history; beside it `….turns` has a line a turn: role, time, sub-agent or -, text as JSON.
A time `file` is that of the file. Run as a program this prints what each history gives:

    python -m tests.features.importers.samples
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from pgmem.features.importers import transcripts
from pgmem.foreign import Account

FOLDER = Path(__file__).parent


class Turn(NamedTuple):
    """A turn as a sample expects it, or as it was kept."""

    role: str
    at: str
    agent: str
    text: str


class Sample(NamedTuple):
    """A history, the client and the release that it is of."""

    file: Path
    client: str
    release: str

    @property
    def expected(self) -> list[Turn]:
        """Return the turns that must come out."""
        lines = self.file.with_name(f"{self.file.name}.turns").read_text("utf-8").splitlines()
        found = [line.split("\t", 3) for line in lines]
        return [Turn(role, at, agent, json.loads(text)) for role, at, agent, text in found]


def all_samples() -> list[Sample]:
    """Return every sample, in order of its name."""
    clients = sorted(transcripts.CLIENTS, key=len, reverse=True)
    files = sorted(file for file in FOLDER.iterdir() if file.suffix in (".json", ".jsonl", ".txt"))
    found = []
    for file in files:
        client = next(name for name in clients if file.name.startswith(f"{name}-"))
        release = re.sub(r"\.(json|jsonl|txt)$", "", file.name.removeprefix(f"{client}-"))
        found.append(Sample(file, client, release))
    return found


def kept(client: str, file: Path) -> tuple[list[Turn], Account]:
    """Return the turns that an import takes from a history, and the account of the rest."""
    account = Account()
    found = []
    for conversation in transcripts.read(client, file, account):
        for turn in conversation.turns:
            is_guess = "of its file" in turn.get("created_told", "")
            at = "file" if is_guess else turn.get("at", "-")
            found.append(Turn(turn["role"], at, turn.get("agent", "-"), turn["content"]))
    return found, account
