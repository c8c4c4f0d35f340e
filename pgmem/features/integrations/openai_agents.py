"""A session of the OpenAI Agents SDK over the memory: its items are memories, in the order in which they came."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from pgmem import foreign
from pgmem.features.integrations import extra
from pgmem.features.integrations.reach import Reach
from pgmem.memory import Memory
from pgmem.sync import Memory as SyncMemory

with extra("openai-agents"):
    from agents.items import TResponseInputItem
    from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

_logger = logging.getLogger("pgmem")


class PgmemSession:
    """A conversation that is kept: the session that `Runner.run(…, session=…)` takes.

    Items are added all or none; concurrent calls do not interleave, and no item is popped twice.
    A popped or cleared item is hidden, and `revert` brings it back.

    ```python
    async with pgmem.Memory.connect() as memory:
        result = await Runner.run(agent, "Hello", session=PgmemSession("ada", memory))
    ```

    Args:
        session_id: the name of the conversation.
        memory: an open `pgmem.Memory`, in whose event loop the session is made, or a `pgmem.sync.Memory`; with the
            latter the session can be used from any thread and loop, and by `Runner.run_sync`.
        session_settings: the settings of the SDK, such as a limit; None: all items are read.
        project_id: the project that the items belong to; None: none.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: Memory | SyncMemory,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        project_id: str | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._project_id = project_id
        self._reach = Reach(memory)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest items, oldest first.

        Args:
            limit: how many; None takes the limit of the settings, else all.
        """
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        rows = await self._reach.awaited(
            self._reach.memory.list_messages, self.session_id, most, project_id=self._project_id
        )
        return [cast(TResponseInputItem, row.value) for row in rows]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the end.

        A character that PostgreSQL cannot store, such as the NUL in the output of a tool, would end a run: it is taken
        out, or U+FFFD is in its place, with a warning in the log.

        Raises:
            InvalidArgument: an item cannot be stored; none is then.
        """
        if items:
            await self._reach.awaited(
                self._reach.memory.add_messages,
                self.session_id,
                [self._storable(cast(Mapping[str, Any], item)) for item in items],
                project_id=self._project_id,
            )

    def _storable(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        if (why := foreign.unfit(item)) is None:
            return item
        _logger.warning("an item of session %r is changed: %s", self.session_id[:80], why)
        return cast(Mapping[str, Any], foreign.cleaned(item))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it; None if there is none."""
        row = await self._reach.awaited(
            self._reach.memory.pop_message, self.session_id, project_id=self._project_id
        )
        return None if row is None else cast(TResponseInputItem, row.value)

    async def clear_session(self) -> None:
        """Take all items out."""
        await self._reach.awaited(
            self._reach.memory.clear_messages, self.session_id, project_id=self._project_id
        )
