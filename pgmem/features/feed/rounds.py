"""The steps of `pgmem worker` that follow the feed: an exchange with another store, and webhooks beside its rounds."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pgmem.errors import DatabaseUnavailable
from pgmem.worker.maintenance import tried

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.settings import Settings

log = logging.getLogger("pgmem")


async def other_store(memory: Memory) -> dict[str, int]:
    """Bring the store of PGMEM_SYNC_WITH in step; count the changes here and there."""
    other = memory.caller.database.settings.sync_with
    if other is None:
        return {}
    from pgmem.features.feed.connecting import exchange

    with tried("the other store is tried again in the next round", DatabaseUnavailable):
        found = await exchange(memory, other.get_secret_value())
        if found.shown:
            log.warning(
                "%s changes of the other store need a person: pgmem review lists what waits", len(found.shown)
            )
        sides = (("here", found.here), ("there", found.there))
        return {
            f"sync_{side}_{name}": count
            for side, counts in sides
            for name, count in counts.items()
            if name != "present"
        }
    return {}


def webhooks(settings: Settings) -> Callable[[Memory, Settings], Awaitable[None]] | None:
    """Return the function that delivers changes to PGMEM_WEBHOOK_URL; None if it is not set."""
    if settings.webhook_url is None:
        return None
    from pgmem.features.feed.webhooks import deliver, require_secret

    require_secret(settings)
    return deliver
