"""UpkeepEngine: what the worker does, a round at a time, and how much there is to do."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import psycopg

from pgmem.database.watch import Watcher
from pgmem.engines.dedup import DedupEngine
from pgmem.engines.embedding import EmbeddingEngine
from pgmem.engines.write import WriteEngine
from pgmem.errors import DatabaseUnavailable, PgmemError, summary
from pgmem.models import Backlog, Sweep

__all__ = ["UpkeepEngine"]

log = logging.getLogger("pgmem")


class UpkeepEngine(WriteEngine, DedupEngine, EmbeddingEngine):
    """Any number of workers may tend one store: each task is claimed by one, and the others go on to the next."""

    async def maintain(self, stop: Callable[[], bool] | None = None) -> dict[str, int]:
        """One round: saves of the outbox, vectors, their index, word counts, near-duplicate order, sweeping.

        What fails for now is told in the log and tried in the next round.

        Args:
            stop: asked between batches; when it says true the round ends there.

        Returns:
            How many of each were done. left_to_index is what the next round goes on with.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        steps: dict[str, Callable[[], Awaitable[int]]] = {
            "arrived": self.replay_outbox,
            "embedded": lambda: self.embed_waiting(stop=stop),
            "left_to_index": self.index_vectors,
            "recounted": self.refresh_statistics,
            "reordered": lambda: self.refresh_dedup(if_worth=True),
        }
        done = dict.fromkeys((*steps, "pruned", "archived"), 0)
        for name, step in steps.items():
            if stop is not None and stop():
                return done
            try:
                done[name] = await step()
            except DatabaseUnavailable:
                raise
            except (PgmemError, psycopg.Error) as error:
                log.warning("%s is put off: %s", name, summary(error))
        try:
            left = 1
            while left and not (stop is not None and stop()):
                swept = await self.sweep()
                done["pruned"] += swept.saves_pruned
                done["archived"] += swept.archived
                left = swept.remaining if swept.saves_pruned + swept.archived else 0
        except DatabaseUnavailable:
            raise
        except (PgmemError, psycopg.Error) as error:
            log.warning("sweeping is put off: %s", summary(error))
        return done

    async def sweep(self) -> Sweep:
        """One batch of what is due once an hour: old records of finished saves, memories that have decayed."""
        return await self._database.one("sweep", Sweep, 600)

    async def backlog(self) -> Backlog:
        """What waits, over the whole store, in numbers.

        Raises:
            NotPermitted: the login is neither owner, nor reviewer, nor a member of pgmem_trusted.
        """
        return await self._database.one("backlog", Backlog)

    async def trouble_now(self) -> str | None:
        """Why the database cannot be used now, in words for anybody; None when it can."""
        try:
            async with self._database.transaction(2):
                return None
        except (DatabaseUnavailable, psycopg.Error):
            return "the database does not answer"

    def watch(self, watcher: Watcher) -> None:
        """Tell somebody of every call and every save from now on, by name and number."""
        self._database.watch(watcher)

    def outbox_depth(self) -> int:
        """How many saves wait on this machine for this database."""
        return len(self._database.outbox.pending())

    def replica_behind_s(self) -> float | None:
        """Seconds that reads may be behind at most; None without `PGMEM_READ_DSN`."""
        replica = self._database.replica
        return None if replica is None else replica.behind_s
