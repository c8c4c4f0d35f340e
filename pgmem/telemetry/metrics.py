"""Prometheus metrics of one process: its calls and saves, and the queues of the store. Label values are fixed sets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import monotonic
from typing import Protocol

import anyio
import psycopg
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from pgmem.database.watch import Call, Save
from pgmem.errors import PgmemError
from pgmem.install.schema import release
from pgmem.models import Backlog

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_PATIENCE_S = 2.0
_FRESH_S = 2.0  # more frequent requests get the same figures


class Subject(Protocol):
    """The process that probes ask: a server or a worker."""

    async def trouble_now(self) -> str | None:
        """Return why it cannot work now, in words that may be public; None if it can."""

    async def backlog(self) -> Backlog:
        """Return the queues of the store."""

    def outbox_depth(self) -> int:
        """Return the number of saves in the outbox."""

    def replica_behind_s(self) -> float | None:
        """Return the seconds that reads may be behind; None without a replica."""


class Metrics:
    """Counts calls, saves and the work of the worker; asks its subject for the rest when the page is read."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        count, self._gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        gauge = self._gauge
        self._calls = Histogram(
            "pgmem_call_seconds",
            "Calls of verbs.",
            ("verb", "outcome", "server"),
            buckets=_BUCKETS,
            registry=registry,
        )
        labels = ("verb", "status", "dedup_outcome")
        self._saves = count("pgmem_saves", "Saves, by the status that they returned.", labels)
        self._done = count(
            "pgmem_worker_done", "Rows that the worker in this process has handled.", ("task",)
        )
        self._up = gauge("pgmem_up", "Whether the database answers and can be used.")
        self._release = gauge("pgmem_release_info", "The release of this process.", ("release",))
        self._release.labels(release()).set(1)
        self._outbox = gauge("pgmem_outbox_saves", "Saves in the outbox of this machine.")
        self._tier = gauge("pgmem_tier_info", "The tier of the database: which extensions it has.", ("tier",))
        layers = "Layers of isolation between tenants: 1 (verbs) or 2 (and row-level security)."
        self._isolation_layers = gauge("pgmem_isolation_layers", layers)
        self._waiting = gauge("pgmem_embeddings_waiting", "Texts without a vector.")
        refused = "Texts without a vector after five attempts or more."
        self._refused = gauge("pgmem_embeddings_refused", refused)
        self._open = gauge("pgmem_saves_open", "Recorded saves that are not complete.", ("status",))
        self._behind: Gauge | None = None  # None without a replica
        self._asked_at = -_FRESH_S
        self._asking = anyio.Lock()

    def record(self, seen: Call | Save) -> None:
        """Count a call or a save; a watcher."""
        if isinstance(seen, Save):
            self._saves.labels(seen.verb, seen.status, seen.dedup_outcome or "").inc()
        else:
            server = "replica" if seen.replica else "primary"
            self._calls.labels(seen.verb, seen.outcome, server).observe(seen.seconds)

    def worked(self, done: Mapping[str, int]) -> None:
        """Count a round of the worker, as numbers by task."""
        for task, count in done.items():
            if task != "left_to_index":
                self._done.labels(task).inc(count)

    async def page(self, subject: Subject) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        async with self._asking:
            if monotonic() - self._asked_at >= _FRESH_S:
                await self._ask(subject)
                self._asked_at = monotonic()
        return generate_latest(self._registry)

    async def _ask(self, subject: Subject) -> None:
        self._outbox.set(subject.outbox_depth())
        behind = subject.replica_behind_s()
        if behind is not None:
            if self._behind is None:
                lag = "Upper bound of the replica lag in seconds; +Inf if unknown."
                self._behind = self._gauge("pgmem_replica_behind_seconds", lag)
            self._behind.set(behind)
        self._up.set(0)
        with anyio.move_on_after(_PATIENCE_S):
            if await subject.trouble_now() is not None:
                return
            self._up.set(1)
            try:
                found = await subject.backlog()
            except (PgmemError, psycopg.Error):
                return  # the login may not count over all tenants
            for gauge in (self._tier, self._open):
                gauge.clear()
            self._tier.labels(found.tier).set(1)
            self._isolation_layers.set(found.isolation_layers)
            self._waiting.set(found.embeddings_waiting)
            self._refused.set(found.embeddings_refused)
            for status, count in found.saves_open.items():
                self._open.labels(status).set(count)
