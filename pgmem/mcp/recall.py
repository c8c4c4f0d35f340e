"""Memories that tools brought are recorded after their answers are out, so that a read stays a read.

An answer that nobody can record (the database is away or read-only, the queue is full) is not recorded; the agent does
not notice.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any

import anyio
import psycopg

from pgmem import registry
from pgmem.errors import PgmemError, summary
from pgmem.memory import Memory

log = logging.getLogger("pgmem")

_LISTS: Mapping[str, Sequence[str]] = {
    "memory_surface": ("matches",),
    "retrieve_context": ("standing", "items"),
    "search_memory": ("results",),
}
"""The lists of memories in answers of tools of the core."""

_MOST = 1_000


@cache
def _lists() -> Mapping[str, Sequence[str]]:
    return {**_LISTS, **registry.merged("RECALLED")}


class Recorder:
    """The answers that wait to be recorded, and the task that records them."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Memory, dict[str, Any]]] = deque(maxlen=_MOST)
        self._more = anyio.Event()
        self._writing = anyio.Lock()
        self._said = False

    def add(self, memory: Memory, arguments: dict[str, Any]) -> None:
        """Record an answer soon."""
        self._waiting.append((memory, arguments))
        self._more.set()

    async def work(self) -> None:
        """Record waiting answers, and then later ones."""
        while True:
            await self._more.wait()
            self._more = anyio.Event()
            await self.write()

    async def write(self) -> None:
        """Record waiting answers; when it returns, those of another task are recorded too."""
        async with self._writing:
            while self._waiting:
                memory, arguments = self._waiting.popleft()
                try:
                    await memory.record_recall(**arguments)
                except (PgmemError, psycopg.Error) as error:
                    log.log(
                        logging.DEBUG if self._said else logging.WARNING,
                        "an answer was not recorded: %s",
                        summary(error),
                    )
                    self._said = True


async def note(
    recorder: Recorder,
    opened: Callable[[], Awaitable[Memory]],
    tool: str,
    arguments: Mapping[str, Any],
    found: Mapping[str, Any],
    shown: str,
) -> None:
    """Have it recorded which memories an answer brought.

    Args:
        recorder: of the server.
        opened: gives the memory of the request.
        tool: the tool that answered.
        arguments: those of the call.
        found: its answer with ids.
        shown: the text that the agent gets.
    """
    lists = _lists().get(tool)
    if lists is not None and (ids := _ids(found, lists)):
        sent = {
            "by": tool,
            "memory_ids": ids,
            "tokens": len(shown) // 4,
            "project_id": arguments.get("project_id"),
        }
        recorder.add(await opened(), sent)


def _ids(answer: Mapping[str, Any], lists: Sequence[str]) -> list[str]:
    found = [item for name in lists for item in answer.get(name) or ()]
    cards = [card for item in found for card in item.get("cards") or ()]
    return [str(item["id"]) for item in (*found, *cards) if item.get("id")]
