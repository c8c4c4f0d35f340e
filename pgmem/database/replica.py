"""Reads on a streaming replica: which verbs may read there, and when it is fresh enough.

A probe notes the time and reads the WAL position of the primary, then the position that the replica has replayed. If
the replica has passed the position that the primary had at some time, it holds everything that was committed before
that time. This depends neither on clocks nor on traffic on the primary. A read may use the replica while that time is
at most `read_max_lag_s` ago and later than the last write of the same tenant by this process, so that a tenant sees
its own writes.
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

from pgmem._verbs import VERBS
from pgmem.errors import PgmemError, summary

READS = frozenset(verb.name for verb in VERBS.values() if verb.effect == "read")
"""Verbs that write nothing and may answer from some seconds ago."""

ON_PRIMARY = frozenset(verb.name for verb in VERBS.values() if verb.effect == "look")
"""Verbs that write nothing and answer for this moment: a revoked token, a save on its way, a setting just set."""

NOT_READ_BACK = frozenset({"record_recall"})
"""Verbs with writes that no read on the replica waits for."""

_PATIENCE_S = 1.0  # a read waits this long for a probe, then uses the primary
_SOON_S = 0.1  # least time between two probes that reads after a write ask for
_REST_S = 5.0  # a replica that failed is not probed for this long
_TRIES = 5  # a replica is some milliseconds behind a busy primary
_CALLERS = 10_000  # tenants whose last write is remembered

log = logging.getLogger("pgmem")


class Position(NamedTuple):
    """A row of pgmem.wal_position.

    Attributes:
        system: identifier of the cluster; a replica has that of its primary.
        database: name of the database.
        recovering: whether the server is a replica.
        log_bytes: WAL position, written or replayed, as a number of bytes; None if it is not known.
    """

    system: str
    database: str
    recovering: bool
    log_bytes: int | None

    def reached(self, primary: Position) -> bool:
        """Whether this replica has replayed everything that the primary had written at its position."""
        return None not in (self.log_bytes, primary.log_bytes) and (self.log_bytes or 0) >= (
            primary.log_bytes or 0
        )


class Replica:
    """The freshness of the replica.

    Args:
        max_lag_s: seconds that a read may be behind.
        ask_primary: returns the WAL position that the primary has written.
        ask_replica: returns the WAL position that the replica has replayed.
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
        self._positions: deque[tuple[float, int]] = deque(maxlen=64)
        self._fresh_at = -inf
        self._next_probe = -inf
        self._probed_at = -inf
        self._probe: asyncio.Task[None] | None = None
        self._wrote: dict[tuple[str, str], float] = {}
        self._all_wrote = -inf
        self.trouble: str | None = None
        """Why reads use the primary; None while they may use the replica."""

    @property
    def behind_s(self) -> float:
        """Upper bound of the lag in seconds; infinite if it is not known."""
        return monotonic() - self._fresh_at

    async def may_serve(self, tenant: tuple[str, str]) -> bool:
        """Whether a read of this tenant may use the replica now; waits up to a second for a probe that is due."""
        now, own = monotonic(), self._wrote.get(tenant, self._all_wrote)
        fresh = self._fresh_at >= now - self._max_lag_s
        # After its own write a tenant reads the primary until the replica catches up, without waiting for the probe.
        wanted = own > self._fresh_at and self.trouble is None and now >= self._probed_at + _SOON_S
        if now >= self._next_probe or wanted:
            probe = self._start()
            if not fresh and self.trouble is None:
                await asyncio.wait({probe}, timeout=_PATIENCE_S)
        return self._fresh_at >= max(monotonic() - self._max_lag_s, own)

    def wrote(self, tenant: tuple[str, str]) -> None:
        """Note that a write of this tenant has ended: its reads use the primary until the replica has the write."""
        if len(self._wrote) >= _CALLERS:
            self._wrote.clear()
            self._all_wrote = monotonic()
        self._wrote[tenant] = monotonic()

    def failed(self, error: BaseException) -> None:
        """Note that a read on the replica has failed: it is not used for a while."""
        self._fresh_at = -inf
        self._next_probe = monotonic() + _REST_S
        self._report(summary(error))

    async def close(self) -> None:
        """Cancel a running probe."""
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
            return  # the last probe stays valid until it is too old
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
            self._report(wrong or "the servers do not report their WAL positions")
            return
        self._positions.append((began, primary.log_bytes))
        passed = [at for at, position in self._positions if position <= replica.log_bytes]
        self._fresh_at = max(passed, default=-inf)
        if self._fresh_at >= monotonic() - self._max_lag_s:
            self._report(None)
        else:
            self._report(f"it is {primary.log_bytes - replica.log_bytes} bytes behind")

    def _report(self, trouble: str | None) -> None:
        if trouble is not None:
            self._fresh_at = -inf
            if self.trouble is None:
                log.warning("reads go to the primary, not to PGMEM_READ_DSN: %s", trouble)
        elif self.trouble is not None:
            log.warning("reads go to PGMEM_READ_DSN again")
        self.trouble = trouble


def _wrong(primary: Position, replica: Position) -> str | None:
    """Return why the servers are not a primary and its replica; None if they are."""
    if (primary.system, primary.database) != (replica.system, replica.database):
        return "it is another database; name a streaming replica of PGMEM_DSN"
    if not replica.recovering:
        return "it is not a replica; name a streaming replica of PGMEM_DSN"
    return "PGMEM_DSN is a replica itself" if primary.recovering else None
