"""What the server holds while it runs: the memory, opened beside `initialize` and never before its answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from pgmem.database.pool import Database
from pgmem.errors import DatabaseUnavailable, PgmemError
from pgmem.memory import Memory
from pgmem.settings import Settings

__all__ = ["App", "lifespan"]

log = logging.getLogger("pgmem")


class App:
    """The memory behind the tools, and whether its database is open yet."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._database = Database(settings, source="mcp")
        self._memory = Memory(self._database)
        self._opening = anyio.Lock()
        self._open = False

    async def memory(self) -> Memory:
        """The memory, with its database open if it can be opened.

        A save works without: it waits in the outbox. Everything else answers that the database is away.

        Raises:
            PgmemError: the database answers but cannot be used (no schema, another schema, no server wheel).
        """
        async with self._opening:
            if not self._open:
                try:
                    await self._database.open()
                    self._open = True
                    await self._memory.replay_outbox()
                except DatabaseUnavailable as error:
                    log.warning("%s", error)
        return self._memory

    async def close(self) -> None:
        """Let go of the database."""
        await self._database.close()

    async def prepare(self) -> None:
        """Open the database in the background, so that the first call need not wait for it."""
        try:
            await self.memory()
        except PgmemError as error:
            log.warning("%s", error)


@asynccontextmanager
async def lifespan(app: App) -> AsyncIterator[App]:
    """Runs the opening beside the server; `initialize` is answered meanwhile."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app.prepare)
        try:
            yield app
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await app.close()
