"""A run of pgmem that kills itself: `python -m tests.features.vault.killed STEP ARGUMENTS…`.

The steps are those that others can see: a file is written, a file takes its name, a call is sent, its answer
is there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from pgmem.cli import app
from pgmem.database.database import Database


def main() -> None:
    left = int(sys.argv.pop(1))
    replace, send = os.replace, Database.send

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def replaced(*given: Any) -> None:
        step()
        replace(*given)
        step()

    async def sent(self: Database, *given: Any, **named: Any) -> Any:
        step()
        found = await send(self, *given, **named)
        step()
        return found

    patched: list[tuple[Any, str, Callable[..., Any]]] = [(os, "replace", replaced), (Database, "send", sent)]
    for owner, name, function in patched:
        setattr(owner, name, function)
    app()


if __name__ == "__main__":
    main()
