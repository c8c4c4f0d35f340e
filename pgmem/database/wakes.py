"""One connection of a process that listens to the feed, and wakes those who follow it.

A notification says only that something changed. The connection asks for whom, so that of two hundred tenants who follow
only those read whose memories changed; and those of one tenant who are at the same place share the page.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from pgmem.database.closing import Tasks
from pgmem.database.connection import Connection, opened
from pgmem.database.dsn import with_limits
from pgmem.errors import DatabaseUnavailable
from pgmem.models import ChangePage, MemoryScope

_AGAIN_S = 60.0  # listen_changes holds for 180 s
_POLL_S = 5.0  # behind a pooler of transactions no notification arrives
_FRONT_S = 1.0  # nor at a front, which each question makes ask all its cells
_MAY_NOT = ("42501", "PM004")
_HELD_S = 0.03
_APART_S = 0.01  # two questions: any login may send notifications, as many as it likes
_RETRY_S = 1.0


@dataclass(eq=False)
class Follower:
    """One who follows: the tenants whose changes it sees, and the event that wakes it.

    Attributes:
        early: whether it reads committed rows, and not the feed, which a transaction that began before holds
            back.
    """

    tenants: frozenset[str]
    early: bool = False
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, at_most_s: float) -> None:
        """Wait until something has changed, or for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await self.awake.wait()
        self.awake.clear()


class Wakes:
    """The listening connection of a process; it is open while somebody follows.

    Args:
        dsn: gives the DSN of the primary.
        timeout_s: to connect.
    """

    def __init__(self, dsn: Callable[[], str], timeout_s: float) -> None:
        self._dsn, self._timeout_s = dsn, timeout_s
        self._followers: set[Follower] = set()
        self._pages: dict[Hashable, asyncio.Task[ChangePage]] = {}
        self._tasks = Tasks()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def following(self, scope: MemoryScope, *, early: bool = False) -> AsyncIterator[Follower]:
        """Wake a follower of this scope for the time of the block.

        Args:
            scope: whose changes it sees.
            early: wake it for each change while the feed is held back, of whichever tenant: a transaction of any
                database of the server holds it.
        """
        org, user = scope.org_id or "", scope.user_id or ""
        follower = Follower(frozenset({f"{org}\x1f{user}", f"{org}\x1f", "\x1f"}), early)
        self._followers.add(follower)
        if self._task is None or self._task.done():
            self._task = self._tasks.begin(self._listen())
        try:
            yield follower
        finally:
            self._followers.discard(follower)
            if not self._followers:
                await self.close()

    async def page(self, key: Hashable, read: Callable[[], Coroutine[Any, Any, ChangePage]]) -> ChangePage:
        """Return the page that others of the same key are reading, or have read since the last wake."""
        task = self._pages.get(key)
        if task is None:
            task = self._pages[key] = self._tasks.begin(read())
            task.add_done_callback(lambda done: self._forget(key, done))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if task.cancelled() and own is not None and not own.cancelling():
                raise DatabaseUnavailable("The database was closed meanwhile.") from None
            raise

    def _forget(self, key: Hashable, done: asyncio.Task[ChangePage]) -> None:
        # A page with changes stays for those who are at its beginning; they go on to its end.
        if (done.cancelled() or done.exception() or not done.result().changes) and self._pages.get(
            key
        ) is done:
            del self._pages[key]

    def wake(self, tenants: set[str] | None = None) -> None:
        """Wake the followers of these tenants; None: all."""
        self._pages.clear()
        for follower in self._followers:
            if tenants is None or tenants & follower.tenants:
                follower.awake.set()

    async def close(self) -> None:
        """Stop listening, and reading the pages that nobody waits for any more."""
        self._task = None
        self._pages.clear()
        await self._tasks.end()

    async def _listen(self) -> None:
        while True:
            with suppress(psycopg.Error, OSError):
                dsn = with_limits(self._dsn(), self._timeout_s)
                async with opened(dsn, autocommit=True, prepare_threshold=None) as connection:
                    await self._heed(connection)
            self.wake()
            await asyncio.sleep(_RETRY_S)

    async def _heed(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        said = float("-inf")
        hears = True
        cursor: object = "now"
        first = True
        notified = False
        while True:
            if loop.time() - said > _AGAIN_S:
                listening = await connection.execute("select pgmem.listen_changes() as until")
                hears = await listening.fetchone() != {"until": None}
                said = loop.time()
            asked = loop.time()
            try:
                found = await connection.execute(
                    "select * from pgmem.changed_tenants(%s)", (cursor,), prepare=False
                )
                row = await found.fetchone()
                assert row is not None
                cursor = row["cursor"]
                pause = _FRONT_S if not hears else _HELD_S if row["held"] else _POLL_S
                if row["tenants"] or first:
                    # Nobody was notified of commits before this connection listened.
                    self.wake(None if first else set(row["tenants"]))
                elif row["held"] and notified:
                    for follower in self._followers:
                        if follower.early:
                            follower.awake.set()
                first = notified = False
            except psycopg.Error as error:
                if connection.closed:
                    raise
                # A login of one tenant may not ask for whom; or a cell of the front does not answer.
                cursor = "now"
                pause = _FRONT_S if not hears and error.sqlstate in _MAY_NOT else _POLL_S
                self.wake()
            async for _ in connection.notifies(timeout=pause, stop_after=1):
                notified = True
            await asyncio.sleep(max(0.0, asked + _APART_S - loop.time()))
