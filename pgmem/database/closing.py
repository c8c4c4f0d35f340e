"""Closing connections and files, though the caller is cancelled meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Run something to its end, however often the caller is cancelled meanwhile; then the cancellation is raised.

    A shielded scope keeps off the scopes of anyio around it, but not the cancellation of the task itself, which
    asyncio raises in whatever the task waits for. So the work runs in a separate task.

    Args:
        work: the closing or giving back of something.

    Raises:
        CancelledError: the caller was cancelled meanwhile.
    """
    task = _begun(work)
    if not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                while not task.done():
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # one that nobody asks for is logged
            raise
    return task.result()


def _begun(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task that has taken its first step, where Python can do that: most work ends with it."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=asyncio.get_running_loop(), eager_start=True)
    return asyncio.ensure_future(work)


class Tasks:
    """Tasks that run beside the calls which began them, and end with their owner."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something until it ends or is cancelled.

        Args:
            work: the coroutine that runs.
        """
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def end(self, *tasks: asyncio.Task[Any]) -> None:
        """Cancel these tasks, or all, and return when the last one has closed its connections."""
        left = [task for task in tasks or self._running if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await to_its_end(_settled(left))


async def _settled(tasks: list[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
