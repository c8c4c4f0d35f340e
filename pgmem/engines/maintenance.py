"""Maintenance: the rounds of the worker, and what probes and metrics read."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import psycopg

from pgmem.database.watch import Watcher
from pgmem.engines.embedding import Embedding
from pgmem.errors import DatabaseUnavailable, PgmemError, SchemaOutdated, summary

if TYPE_CHECKING:
    from pgmem.database.examine import Finding

log = logging.getLogger("pgmem")


class Maintenance(Embedding):
    """Any number of workers may run on one store: each task is claimed by one of them."""

    async def maintain(self, stop: Callable[[], bool] | None = None) -> dict[str, int]:
        """Run one round: what an upgrade left, saves of the outbox, vectors, indexes, word counts, titles, sweeping.

        A step that fails is logged, and the next round tries it again.

        Args:
            stop: called between batches; if it returns True, the round ends.

        Returns:
            How many items each step did: renewed, arrived, embedded, recounted, reordered, pruned, archived.
            left_to_index is the number of vectors that the next round adds to the indexes.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        steps: dict[str, Callable[[], Awaitable[int]]] = {
            "renewed": lambda: self._renew_all(stop),
            "arrived": self.replay_outbox,
            "embedded": lambda: self.embed_waiting(stop=stop),
            "left_to_index": lambda: self.index_vectors(stop=stop),
            "recounted": self.refresh_statistics,
            "reordered": lambda: self.refresh_dedup(if_worth=True),
        }
        done = dict.fromkeys((*steps, "pruned", "archived"), 0)
        for name, step in steps.items():
            if stop is not None and stop():
                return done
            try:
                done[name] = await step()
            except (DatabaseUnavailable, SchemaOutdated):
                raise
            except (PgmemError, psycopg.Error) as error:
                log.warning("%s is put off: %s", name, summary(error))
        try:
            left = 1
            while left and not (stop is not None and stop()):
                swept = await self.sweep()
                done["pruned"] += swept.saves_pruned + swept.turns_expired
                done["archived"] += swept.archived
                left = swept.remaining if swept.saves_pruned + swept.turns_expired + swept.archived else 0
        except (DatabaseUnavailable, SchemaOutdated):
            raise
        except (PgmemError, psycopg.Error) as error:
            log.warning("sweeping is put off: %s", summary(error))
        return done

    async def _renew_all(self, stop: Callable[[], bool] | None) -> int:
        """Renew what an upgrade left, batch by batch; how many rows were written."""
        total = 0
        while not (stop is not None and stop()):
            batch = await self.renew()
            if batch.step is None:
                break
            total += batch.changed
        return total

    async def trouble_now(self) -> str | None:
        """Return why the database cannot be used now, without details that only an operator may see; None if it can."""
        if self._database.is_short:
            return "the database has no memory or disk space left"
        return None if await self._database.answers(2) else "the database does not answer"

    async def examine(self) -> list[Finding]:
        """Return what `pgmem doctor` says of server, store, replica and outbox, each with its remedy."""
        from pgmem.engines.examination import examine

        return await examine(self, self._database)

    def watch(self, watcher: Watcher) -> None:
        """Register a watcher for all later calls and saves; it gets their names and figures."""
        self._database.watch(watcher)

    def outbox_depth(self) -> int:
        """Return how many saves for this database are queued on this machine."""
        return len(self._database.outbox.pending())

    def replica_behind_s(self) -> float | None:
        """Return by how many seconds reads may be behind at most; None without `PGMEM_READ_DSN`."""
        replica = self._database.replica
        return None if replica is None else replica.behind_s
