"""The thread in which a memory without await runs."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from pgmem.errors import MemoryNotOpen
from pgmem.memory import Memory, Opening

P = ParamSpec("P")
T = TypeVar("T")


class Thread:
    """An event loop in a separate thread, and the memory that is open in it. It ends with the program."""

    def __init__(self) -> None:
        self._stack: ExitStack | None = None
        self._portal: BlockingPortal | None = None
        self._memory: Memory | None = None
        self._was_open = False

    def open(self, opening: Callable[[], Opening]) -> None:
        """Start the thread and open the memory in it; nothing happens if it is open."""
        if self._memory is not None:
            return
        with ExitStack() as stack:
            self._portal = self._start(stack)
            self._memory = stack.enter_context(self._portal.wrap_async_context_manager(opening()))
            stack.callback(self._forget)
            self._stack = stack.pop_all()
        self._was_open = True
        atexit.register(self.close)

    def close(self) -> None:
        """Close the memory and end the thread; nothing happens if it is not open."""
        atexit.unregister(self.close)
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()

    @property
    def memory(self) -> Memory:
        """The memory of the thread.

        Raises:
            MemoryNotOpen: it is not open yet, or is closed.
        """
        if self._memory is None:
            said = "is closed" if self._was_open else "is not open"
            raise MemoryNotOpen(
                f"This memory {said}: make the call inside `with Memory.connect(…) as memory:`, "
                "or call memory.open() before it and memory.close() in the end."
            )
        return self._memory

    @property
    def portal(self) -> BlockingPortal:
        """The way into the thread.

        Raises:
            MemoryNotOpen: the memory is not open yet, or is closed.
        """
        assert self.memory is not None
        assert self._portal is not None
        return self._portal

    def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in the thread and wait for its answer."""
        return self.portal.call(partial(function, *args, **kwargs))

    def _forget(self) -> None:
        self._memory = None

    def _start(self, stack: ExitStack) -> BlockingPortal:
        """Start the thread, which ends with the stack; a daemon, so that a program that forgets it can end."""
        ready: Future[BlockingPortal] = Future()

        async def run() -> None:
            async with BlockingPortal() as portal:
                ready.set_result(portal)
                await portal.sleep_until_stopped()

        thread = threading.Thread(target=anyio.run, args=(run,), name="pgmem", daemon=True)
        thread.start()
        portal = ready.result()
        stack.callback(thread.join)
        # Nobody waits for what still runs by then: a call, or an opening, whose caller was interrupted by Ctrl-C.
        stack.callback(lambda: portal.call(portal.stop, True))
        return portal


class Portal:
    """Calls of a memory from code without await.

    Args:
        thread: where the memory runs.
        made: how the memory for this caller is made of that of the thread; None takes it as it is.
    """

    def __init__(self, thread: Thread, made: Callable[[Memory], Memory] | None = None) -> None:
        self.thread = thread
        self._made = made
        self._opening: Callable[[], Opening] = _unopened

    @property
    def opened(self) -> Memory:
        """The memory with the methods to await.

        Raises:
            MemoryNotOpen: it is not open yet, or is closed.
        """
        memory = self.thread.memory
        return memory if self._made is None else self._made(memory)

    def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in the thread of the memory and wait for its answer."""
        return self.thread.call(function, *args, **kwargs)


def _unopened() -> Opening:
    raise MemoryNotOpen("Make the memory by Memory.connect(…).")


def waiting(method: Callable[Concatenate[Memory, P], Awaitable[T]]) -> Callable[Concatenate[Portal, P], T]:
    """Return a method to await as one of a portal that waits for the answer, with its signature and docstring."""

    @wraps(method)
    def call(portal: Portal, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return portal.call(method, portal.opened, *args, **kwargs)

    return call


class Operations(Portal):
    """Operations that are not verbs."""

    export_lines = waiting(Memory.export_lines)
    import_lines = waiting(Memory.import_lines)
    embed_waiting = waiting(Memory.embed_waiting)
    replay_outbox = waiting(Memory.replay_outbox)
    maintain = waiting(Memory.maintain)
