"""The share of each tenant in a common resource: a number of slots, and a queue for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from pgmem.errors import Busy


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
