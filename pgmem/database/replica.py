"""Reads on a copy: which verbs may go to a streaming replica, and when it is fresh enough for them.

A probe notes the time, asks the primary how far its log has come, then the replica how far it has replayed. Where the
replica has passed what the primary had said at a time, it holds everything committed before that time, whatever
clocks say and however idle the primary is. A read may go there while that time is at most `read_max_lag_s` ago and
later than the last write of the same tenant through this process: nobody misses what he has just saved.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from math import inf
from time import monotonic
from typing import NamedTuple

import psycopg

from pgmem.errors import PgmemError, summary

__all__ = ["ON_PRIMARY", "READS", "Position", "Replica"]

READS = frozenset(
    {
        *("retrieve_context", "search_memory", "search_terms", "get_scope_state", "get_session", "get_node"),
        *("memory_history", "neighbours", "memory_freshness", "memory_health", "memory_surface", "status"),
        *("describe_schema", "surface_insights", "route_analysis", "fulltext_search", "search_vectors"),
        *("count_vectors", "get_relevant_memory", "query_engineering_memory", "validate_claims"),
    }
)
"""Verbs that write nothing and may be some seconds behind."""

ON_PRIMARY = frozenset(
    {
        *("verify_token", "get_save_status", "check_duplicate", "list_reviews", "list_settings"),
        *("list_tokens", "list_tenants", "embedding_status", "backlog", "dedup_due", "wal_position"),
    }
)
"""Verbs that write nothing and answer for this moment: a revoked token, a save on its way, a setting just set."""

_PATIENCE_S = 1.0  # how long a read waits for a probe before it goes to the primary
_SOON_S = 0.1
_REST_S = 5.0  # how long a replica that failed is left alone
_TRIES = 5  # a replica is some milliseconds behind a busy primary
_CALLERS = 10_000

log = logging.getLogger("pgmem")


class Position(NamedTuple):
    """A row of pgmem.wal_position."""

    system: str
    database: str
    recovering: bool
    log_bytes: int | None

    def reached(self, primary: Position) -> bool:
        """Whether everything that the primary had written then is here."""
        return None not in (self.log_bytes, primary.log_bytes) and (self.log_bytes or 0) >= (
            primary.log_bytes or 0
        )


class Replica:
    """Whether reads may go to the replica now.

    Args:
        max_lag_s: the most that a read may be behind.
        ask_primary: how far the log of the primary has come.
        ask_replica: how far the replica has replayed it.
    """

    def __init__(
        self,
        max_lag_s: float,
        ask_primary: Callable[[], Awaitable[Position]],
        ask_replica: Callable[[], Awaitable[Position]],
    ) -> None:
        self._max_lag_s = max_lag_s
        self._ask_primary = ask_primary
        self._ask_replica = ask_replica
        self._pause_s = min(max_lag_s / 4, 1.0)
        self._said: deque[tuple[float, int]] = deque(maxlen=64)
        self._fresh_at = -inf
        self._next_probe = -inf
        self._probed_at = -inf
        self._probe: asyncio.Task[None] | None = None
        self._wrote: dict[tuple[str, str], float] = {}
        self._all_wrote = -inf
        self.trouble: str | None = None
        """Why reads go to the primary; None while they may go to the replica."""

    @property
    def behind_s(self) -> float:
        """Seconds that the replica may be behind at most; infinite when that is not known."""
        return monotonic() - self._fresh_at

    async def may_serve(self, tenant: tuple[str, str]) -> bool:
        """Whether a read of this tenant may go to the replica now; waits a moment for a probe where one is due."""
        now, own = monotonic(), self._wrote.get(tenant, self._all_wrote)
        fresh = self._fresh_at >= now - self._max_lag_s
        # After a write of his own he waits for nothing, but soon reads there again.
        wanted = own > self._fresh_at and self.trouble is None and now >= self._probed_at + _SOON_S
        if now >= self._next_probe or wanted:
            probe = self._start()
            if not fresh and self.trouble is None:
                await asyncio.wait({probe}, timeout=_PATIENCE_S)
        return self._fresh_at >= max(monotonic() - self._max_lag_s, own)

    def wrote(self, tenant: tuple[str, str]) -> None:
        """A write of this tenant has ended: his reads wait for a replica that has it."""
        if len(self._wrote) >= _CALLERS:
            self._wrote.clear()
            self._all_wrote = monotonic()
        self._wrote[tenant] = monotonic()

    def failed(self, error: BaseException) -> None:
        """A read has failed there: leave it alone for a while."""
        self._fresh_at = -inf
        self._next_probe = monotonic() + _REST_S
        self._told(summary(error))

    async def close(self) -> None:
        """End the probe that is under way."""
        if self._probe is not None and not self._probe.done():
            self._probe.cancel()
            await asyncio.wait({self._probe})

    def _start(self) -> asyncio.Task[None]:
        self._probed_at = monotonic()
        self._next_probe = self._probed_at + self._pause_s
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._look(), name="pgmem-replica")
        return self._probe

    async def _look(self) -> None:
        began = monotonic()
        try:
            primary = await self._ask_primary()
        except (PgmemError, psycopg.Error):
            return  # what is known of the replica holds until it is too old
        try:
            for attempt in range(_TRIES):
                replica = await self._ask_replica()
                if replica.reached(primary) or attempt == _TRIES - 1:
                    break
                await asyncio.sleep(0.02)
        except (PgmemError, psycopg.Error) as error:
            self.failed(error)
            return
        wrong = _wrong(primary, replica)
        if wrong is not None or primary.log_bytes is None or replica.log_bytes is None:
            self._next_probe = monotonic() + _REST_S
            self._told(wrong or "the servers do not tell how far their logs have come")
            return
        self._said.append((began, primary.log_bytes))
        passed = [at for at, position in self._said if position <= replica.log_bytes]
        self._fresh_at = max(passed, default=-inf)
        if self._fresh_at >= monotonic() - self._max_lag_s:
            self._told(None)
        else:
            self._told(f"it is {primary.log_bytes - replica.log_bytes} bytes behind")

    def _told(self, trouble: str | None) -> None:
        if trouble is not None:
            self._fresh_at = -inf
            if self.trouble is None:
                log.warning("reads go to the primary, not to PGMEM_READ_DSN: %s", trouble)
        elif self.trouble is not None:
            log.warning("reads go to PGMEM_READ_DSN again")
        self.trouble = trouble


def _wrong(primary: Position, replica: Position) -> str | None:
    """Why a server can be no replica of the primary."""
    if (primary.system, primary.database) != (replica.system, replica.database):
        return "it is another database; name a streaming replica of PGMEM_DSN"
    if not replica.recovering:
        return "it is no replica (any more); name a streaming replica of PGMEM_DSN"
    return "PGMEM_DSN is a replica itself" if primary.recovering else None
