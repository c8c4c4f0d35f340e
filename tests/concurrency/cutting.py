"""A program that is cancelled at one of its awaits, and its open connections."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

import anyio

from tests.fixtures.connections import still_open

__all__ = ["WAYS", "Counted", "Left", "Program", "cut"]

Program = Callable[[], Coroutine[Any, Any, object]]


class Counted:
    """A coroutine that calls a function at its n-th suspension."""

    def __init__(
        self, coroutine: Coroutine[Any, Any, object], at: int, reached: Callable[[], object]
    ) -> None:
        self._coroutine, self._at, self._reached = coroutine, at, reached

    def __await__(self) -> Generator[Any, Any, object]:
        suspended, thrown = 0, None
        while True:
            try:
                waits_for = self._coroutine.send(None) if thrown is None else self._coroutine.throw(thrown)
            except StopIteration as done:
                return done.value
            finally:
                thrown = None  # its traceback holds this frame
            suspended += 1
            if suspended == self._at:
                self._reached()
            try:
                yield waits_for
            except BaseException as error:
                thrown = error


async def _once(program: Program, at: int) -> bool:
    """As asyncio cancels a task: the await raises, and the clean-up is not disturbed."""
    reached = []

    def cancel() -> None:
        reached.append(at)
        own = asyncio.current_task()
        assert own is not None
        own.cancel()

    async def run() -> None:
        await Counted(program(), at, cancel)

    task = asyncio.ensure_future(run())
    await asyncio.wait({task})
    if not task.cancelled() and not reached:
        await task
    return bool(reached)


async def _again_and_again(program: Program, at: int) -> bool:
    """As anyio cancels a scope: every await raises until the scope is left."""
    with anyio.CancelScope() as scope:
        try:
            await Counted(program(), at, scope.cancel)
        except Exception:
            if not scope.cancel_called:
                raise
    return scope.cancel_called


_PATIENCE_S = 20.0

WAYS = {"once": _once, "again and again": _again_and_again}


class Left:
    """Objects open now, beside those open when this was made."""

    def __init__(self) -> None:
        self._connections = {id(each) for each, _ in still_open()}
        self._tasks = asyncio.all_tasks()
        self._files = _files()

    def now(self) -> list[str]:
        """Every connection, task, file and socket that was not there."""
        connections = [each for each in still_open() if id(each[0]) not in self._connections]
        return [
            *(f"{each!r}\n{''.join(opened.stack.format())}" for each, opened in connections),
            *(repr(task) for task in asyncio.all_tasks() - self._tasks),
            *(f"{number} -> {target}" for number, target in (_files() - self._files)),
        ]


def _files() -> set[tuple[str, str]]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
        except FileNotFoundError:
            continue  # the folder itself, which was read
    return found


async def cut(program: Program, way: Callable[[Program, int], Awaitable[bool]]) -> dict[int, list[str]]:
    """Run a program again and again, cancelled at its first await, its second and so on; the rest of each run."""
    await program()
    found: dict[int, list[str]] = {}
    at, reached = 0, True
    while reached:
        at += 1
        left = Left()
        with anyio.fail_after(_PATIENCE_S):  # one that is cancelled has to end
            reached = await way(program, at)
        if now := left.now():
            found[at] = now
    return found
