"""A process that saves: `python -m tests.concurrency.writer ACKNOWLEDGED TASK …`.

It says `ready` when connected and waits for a line. Each answer it is given is one line of JSON in
ACKNOWLEDGED, and its status one line of output, before the next save begins.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

import anyio
import anyio.to_thread

from pgmem import Memory
from pgmem.models import SaveResult
from pgmem.outbox import Outbox

PROJECT = "shop"


def title(number: int) -> str:
    """Titles of which no two share half of their words."""
    return f"Choose option{number} for component{number} because reason{number}"


async def same_decisions(memory: Memory, note: Note, first: str, count: str) -> None:
    """Save the decisions 0 to count - 1, beginning at a number of this writer's own."""
    for step in range(int(count)):
        number = (int(first) + step) % int(count)
        note(title(number), await memory.save_decision(title(number), "All writers agree.", PROJECT))


async def own_contexts(memory: Memory, note: Note, name: str, count: str) -> None:
    """Save contexts that no other writer saves."""
    for number in range(int(count)):
        content = f"{name} {number}"
        note(content, await memory.save_context(content, PROJECT))


async def die_after_queueing(memory: Memory, note: Note, content: str) -> None:
    """Save once while the database is away, and die when that is acknowledged."""
    note(content, await memory.save_context(content, PROJECT))
    os.kill(os.getpid(), signal.SIGKILL)


async def die_before_removing(memory: Memory, note: Note) -> None:
    """Replay the outbox, and die when the first save is committed and its file not yet removed."""
    Outbox.remove = lambda self, path: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    await memory.replay_outbox()


async def replay(memory: Memory, note: Note) -> None:
    """Replay the outbox beside others."""
    await memory.replay_outbox()


TASKS = {
    task.__name__: task
    for task in (same_decisions, own_contexts, die_after_queueing, die_before_removing, replay)
}


class Note:
    """The file of answers."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    def __call__(self, what: str, result: SaveResult) -> None:
        """Write down an answer; it is in the file when this returns."""
        self._file.write(json.dumps({"what": what, **asdict(result)}, default=str) + "\n")
        self._file.flush()
        print(result.status, flush=True)


async def main(*given: str) -> None:
    """Connect, wait for the word, work."""
    acknowledged, task, *arguments = given
    async with Memory.connect() as memory:
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        await TASKS[task](memory, Note(Path(acknowledged)), *arguments)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
