"""Following the feed: its pages and its changes as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from pgmem.calls.methods import Verbs
from pgmem.errors import DatabaseUnavailable
from pgmem.models import Change, ChangePage

_IDLE_S = 60.0
_RETRY_S = 1.0


async def follow(
    memory: Verbs, after: str | None = "now", *, project_id: str | None = None, content: bool = False
) -> AsyncGenerator[Change, None]:
    """Yield each committed change as it comes, in the order of commits, for as long as the caller iterates.

    While the database is away it waits; then it goes on where it was. A program that remembers the `cursor` of the last
    change misses nothing and sees nothing twice when it starts again.

    Args:
        memory: of the store.
        after: the cursor of the last change that was seen; now: only later changes; None: from the oldest
            that is kept.
        project_id: only changes of this project.
        content: with the changed record, as it is now.

    Raises:
        CursorLost: the cursor cannot be used; start anew from an export.
    """
    async with aclosing(follow_pages(memory, after, project_id=project_id, content=content)) as pages:
        async for page in pages:
            for change in page.changes:
                yield change


async def follow_pages(
    memory: Verbs,
    after: str | None = "now",
    *,
    project_id: str | None = None,
    content: bool = False,
    at_least_every_s: float = _IDLE_S,
) -> AsyncGenerator[ChangePage, None]:
    """Yield the pages of the feed as they come: one at once, and one at least so often, which may be empty."""
    database = memory.caller.database
    async with database.wakes.following(database.scope) as follower:
        while True:
            follower.awake.clear()
            key = (database.scope.org_id, database.scope.user_id, after, project_id, content)
            try:
                read = partial(memory.changes, after, project_id=project_id, content=content)
                page = await database.wakes.page(key, read)
            except DatabaseUnavailable:
                await asyncio.sleep(_RETRY_S)
                continue
            after = page.cursor
            yield page
            if not page.more:
                await follower.wait(min(at_least_every_s, _IDLE_S))
