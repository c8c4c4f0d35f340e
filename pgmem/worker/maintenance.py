"""Maintenance: the rounds of the worker, and the values that probes and metrics read."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import psycopg

from pgmem import registry
from pgmem.calls.methods import Verbs
from pgmem.calls.replay import replay_outbox
from pgmem.database.watch import Watcher
from pgmem.errors import DatabaseUnavailable, PgmemError, SchemaOutdated, summary
from pgmem.worker.embedding import embed_waiting, index_vectors, refresh_statistics

if TYPE_CHECKING:
    from pgmem.doctor.database import Finding

log = logging.getLogger("pgmem")


async def maintain(memory: Verbs, stop: Callable[[], bool] | None = None) -> dict[str, int]:
    """Run one round: rows of an upgrade, the outbox, vectors, indexes, word counts, titles, sweeping.

    Where a repository is set, files that memories rest on are compared with it.

    A step that fails is logged, and the next round tries it again. At a front only the outbox is sent: each cell has
    a worker.

    Any number of workers may run on one store: each task is claimed by one of them.

    Args:
        memory: of the store.
        stop: called between batches; if it returns True, the round ends.

    Returns:
        How many items each step did: renewed, arrived, embedded, recounted, reordered, compared, pruned, archived.
        left_to_index is the number of vectors that the next round adds to the indexes.

    Raises:
        DatabaseUnavailable: the database does not answer.
    """
    if memory.caller.database.is_front:
        return {"arrived": await replay_outbox(memory.caller)}
    steps: dict[str, Callable[[], Awaitable[int]]] = {
        "renewed": lambda: _renew_all(memory, stop),
        "arrived": lambda: replay_outbox(memory.caller),
        "embedded": lambda: embed_waiting(memory, stop=stop),
        "left_to_index": lambda: index_vectors(memory, stop=stop),
        "recounted": lambda: refresh_statistics(memory),
        "reordered": lambda: _reorder(memory, stop),
    }
    for name, place in registry.merged("STEPS").items():
        steps[name] = partial(registry.imported(place), memory.caller)
    done = dict.fromkeys((*steps, "pruned", "archived"), 0)
    for name, step in steps.items():
        if stop is not None and stop():
            return done
        with tried(f"{name} failed, will retry"):
            done[name] = await step()
    with tried("sweeping failed, will retry"):
        left = 1
        while left and not (stop is not None and stop()):
            swept = await memory.sweep()
            pruned = swept.saves_pruned + swept.turns_expired + swept.rows_pruned
            done["pruned"] += pruned
            done["archived"] += swept.archived
            left = swept.remaining if pruned + swept.archived + swept.compared else 0
    return done


@contextmanager
def tried(failed: str, *besides: type[PgmemError]) -> Iterator[None]:
    """Log that a step of a round failed, which the next round tries again; others are raised.

    Args:
        failed: the logged sentence.
        besides: errors that stop a round, but not where this step has them.
    """
    try:
        yield
    except (PgmemError, psycopg.Error) as error:
        if isinstance(error, DatabaseUnavailable | SchemaOutdated) and not isinstance(error, besides):
            raise
        log.warning("%s: %s", failed, summary(error))


async def _reorder(memory: Verbs, stop: Callable[[], bool] | None) -> int:
    """Order the title words of the scopes that are due, one after another; how many entries were written."""
    total = 0
    while not (stop is not None and stop()) and (entries := await memory.refresh_dedup(if_worth=True)):
        total += entries
    return total


async def _renew_all(memory: Verbs, stop: Callable[[], bool] | None) -> int:
    """Renew rows that an upgrade left, batch by batch; how many rows were written."""
    total = 0
    while not (stop is not None and stop()):
        batch = await memory.renew()
        if batch.step is None:
            break
        total += batch.changed
    return total


async def trouble_now(memory: Verbs) -> str | None:
    """Return why the database cannot be used now, without details that only an operator may see; None if it can."""
    if memory.caller.database.is_short:
        return "the database has no memory or disk space left"
    return None if await memory.caller.database.answers(2) else "the database does not answer"


async def examine(memory: Verbs) -> list[Finding]:
    """Return the checks of `pgmem doctor` about server, store, replica and outbox, each with its remedy."""
    from pgmem.doctor.examination import examine

    return await examine(memory, memory.caller.database)


def watch(memory: Verbs, watcher: Watcher) -> None:
    """Register a watcher for all later calls and saves; it gets their names and figures."""
    memory.caller.database.watch(watcher)


def outbox_depth(memory: Verbs) -> int:
    """Return how many saves for this database are queued on this machine."""
    return len(memory.caller.database.outbox.pending())


def replica_behind_s(memory: Verbs) -> float | None:
    """Return by how many seconds reads may be behind at most; None without `PGMEM_READ_DSN`."""
    replica = memory.caller.database.replica
    return None if replica is None else replica.behind_s
