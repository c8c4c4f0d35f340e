"""Calls of a memory from any event loop, and from code without one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from pgmem.errors import InvalidArgument
from pgmem.memory import Memory
from pgmem.sync import Memory as SyncMemory

P = ParamSpec("P")
T = TypeVar("T")


class Reach:
    """A memory that code of another system calls, wherever that runs.

    Args:
        memory: an open `pgmem.Memory`, in whose event loop this is made, or a `pgmem.sync.Memory`.

    Raises:
        InvalidArgument: a `pgmem.Memory` is given, and no event loop of asyncio runs here.
    """

    def __init__(self, memory: Memory | SyncMemory) -> None:
        self._memory = memory
        self._loop: asyncio.AbstractEventLoop | None = None
        if isinstance(memory, Memory):
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                raise InvalidArgument(
                    "No event loop runs here: make it inside `async with pgmem.Memory.connect()`, "
                    "or give it a pgmem.sync.Memory."
                ) from None

    @property
    def memory(self) -> Memory:
        """The memory with the methods to await.

        Raises:
            MemoryNotOpen: a `pgmem.sync.Memory` is not open.
        """
        return self._memory.opened if isinstance(self._memory, SyncMemory) else self._memory

    def start(
        self, function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Start a call in the event loop of the memory."""
        if isinstance(self._memory, SyncMemory):
            portal = self._memory.thread.portal
            return portal.start_task_soon(lambda: function(*args, **kwargs))
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(function(*args, **kwargs), self._loop)

    def called(self, function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call and wait for its answer.

        Raises:
            asyncio.InvalidStateError: the event loop of the memory waits for this very call.
        """
        if self._loop is not None and _running() is self._loop:
            raise asyncio.InvalidStateError(
                "This call would wait for its own event loop: await the method that begins with a, "
                "or give the store a pgmem.sync.Memory."
            )
        return self.start(function, *args, **kwargs).result()

    async def awaited(
        self, function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a call and await its answer."""
        if self._loop is not None and _running() is self._loop:
            return await function(*args, **kwargs)
        return await asyncio.wrap_future(self.start(function, *args, **kwargs))


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
