"""`pgmem cells move` as a process that dies where it is meant to; and writers of one organisation.

python -m tests.features.cells.moving move FRONT ORG CELL [POINT]     killed when progress begins with POINT
python -m tests.features.cells.moving undo FRONT ORG
python -m tests.features.cells.moving write FRONT ORG NAME COUNT FOLDER [PAUSE]     prints a line of JSON for each save,
    PAUSE seconds apart; a file FOLDER/stop ends it before it has saved so many
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path

from pgmem import Memory
from pgmem.features.cells import mover
from pgmem.features.cells.directory import Directory
from pgmem.settings import Settings


def move(front: str, org: str, cell: str, point: str = "-") -> None:
    def progress(line: str) -> None:
        print(line, flush=True)
        if line.startswith(point):
            os.kill(os.getpid(), signal.SIGKILL)

    with Directory.open(front) as found:
        print(mover.move(found, org, found.cell(cell), progress))


def undo(front: str, org: str) -> None:
    with Directory.open(front) as found:
        print(mover.undo(found, org, print))


async def write(front: str, org: str, name: str, count: str, folder: str, pause: str = "0") -> None:
    numbers = random.Random(name)
    settings = Settings(
        dsn=front,
        data_dir=Path(folder),
        org_id=org,
        user_id="ana",
        embedding_provider="none",
        retry_wait_s=0.1,
    )
    async with Memory.connect(settings) as memory:
        for n in range(int(count)):
            if (Path(folder) / "stop").exists():
                break
            await asyncio.sleep(float(pause))
            text = " ".join(f"{numbers.getrandbits(40):x}" for _ in range(6)) + f" {name} {n}"
            if n % 3 == 0:
                saved = await memory.save_decision(text, "because " + text, "shop")
            else:
                saved = await memory.save_context(text, "shop")
            print(json.dumps([text, saved.status, str(saved.save_id), saved.message]), flush=True)
        while memory.outbox_depth():
            await memory.replay_outbox()
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "write":
        asyncio.run(write(*words))
    elif what == "move":
        move(*words)
    else:
        undo(*words)
