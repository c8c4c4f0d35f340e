"""The share of each tenant in a common resource: a number of slots and a queue for them, and how much it may send."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import anyio

from pgmem.errors import Busy

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED = 10_000
"""Callers that are counted, and tokens that are known."""


class Recent(OrderedDict[K, V]):
    """The last kept value, by its key.

    Args:
        most: how many keys are kept; the one that was set least recently is forgotten first.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        """Keep a value as the newest."""
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


@dataclass(slots=True)
class _Share:
    """The places of one tenant and how many hold or await one."""

    free: anyio.Semaphore
    users: int = 0


class Shares:
    """Limits each tenant to a number of slots, first come, first served; no tenant waits for another.

    Args:
        places: slots that a tenant may hold at once.
        queue: requests of a tenant that may wait; None: any number.
        patience_s: seconds that a request waits at most.
    """

    def __init__(self, places: int, queue: int | None, patience_s: float) -> None:
        self.places = places
        self._most = None if queue is None else places + queue
        self._patience_s = patience_s
        self._of: dict[Hashable, _Share] = {}

    @asynccontextmanager
    async def place(self, tenant: Hashable) -> AsyncIterator[None]:
        """Hold a place of the tenant for the time of the block.

        Raises:
            Busy: too many of its requests wait, or no place became free in time.
        """
        share = self._of.setdefault(tenant, _Share(anyio.Semaphore(self.places, fast_acquire=True)))
        if self._most is not None and share.users >= self._most:
            raise Busy(f"This tenant has {share.users} requests in progress; send it again in a moment.")
        share.users += 1
        try:
            try:
                with anyio.fail_after(self._patience_s):
                    await share.free.acquire()
            except TimeoutError:
                raise Busy(
                    f"Other requests of this tenant held all of its {self.places} slots for "
                    f"{self._patience_s:g} seconds; send it again in a moment."
                ) from None
            try:
                yield
            finally:
                share.free.release()
        finally:
            share.users -= 1
            if not share.users:
                self._of.pop(tenant, None)


class Streams:
    """Counts the streams that owners have open.

    Args:
        of_owner: that an owner may have at once.
        of_all: that all owners together may have.
        refusal: the message for one more.
    """

    def __init__(self, of_owner: int, of_all: float, refusal: str) -> None:
        self._of_owner, self._of_all, self._refusal = of_owner, of_all, refusal
        self._open: Counter[Hashable] = Counter()

    @contextmanager
    def place(self, owner: Hashable) -> Iterator[None]:
        """Count a stream of an owner for the time of the block.

        Raises:
            Busy: the owner, or all together, have as many as they may.
        """
        if self._open[owner] >= self._of_owner or self._open.total() >= self._of_all:
            raise Busy(self._refusal)
        self._open[owner] += 1
        try:
            yield
        finally:
            self._open[owner] -= 1
            if not self._open[owner]:
                del self._open[owner]


class Rates:
    """Counts the requests of callers, each with an allowance that fills again with time.

    Args:
        most: the allowance when it is full.
        per_s: the refill in a second.
    """

    def __init__(self, most: float, per_s: float) -> None:
        self._most, self._per_s = most, per_s
        self._left = Recent[Hashable, tuple[float, float]]()

    @classmethod
    def a_minute(cls, most: int) -> Rates:
        """Allow so many a minute, all of them at once too."""
        return cls(most, most / 60)

    def wait(self, caller: Hashable, amount: float = 1) -> float:
        """Return the seconds until the caller may send so much; 0 means now."""
        return max(0.0, amount - self._allowance(caller)) / self._per_s

    def count(self, caller: Hashable, amount: float = 1) -> None:
        """Count a request of the caller."""
        self._left[caller] = (self._allowance(caller) - amount, time.monotonic())

    def _allowance(self, caller: Hashable) -> float:
        now = time.monotonic()
        left, then = self._left.get(caller, (self._most, now))
        return min(self._most, left + (now - then) * self._per_s)
