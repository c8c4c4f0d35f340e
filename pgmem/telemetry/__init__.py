"""Logs, metrics, spans and health probes for operators: names and numbers, never the contents of memories."""

from __future__ import annotations

import logging

from pgmem.database.database import Database
from pgmem.settings import Settings

__all__ = ["attach"]


def attach(database: Database, settings: Settings) -> None:
    """Register the watchers that the settings enable; without any, nothing is imported.

    Raises:
        InvalidArgument: `PGMEM_OTEL` is set and the extra otel is not installed.
    """
    if logging.getLogger("pgmem.calls").isEnabledFor(logging.INFO):
        from pgmem.telemetry.logs import log_seen

        database.watch(log_seen)
    if settings.otel:
        from pgmem.telemetry.tracing import tracer

        database.watch(tracer())
