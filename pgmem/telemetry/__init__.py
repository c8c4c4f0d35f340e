"""What an operator sees: logs, metrics, spans, probes. Names and numbers only, never what a memory says."""

from __future__ import annotations

import logging

from pgmem.database.pool import Database
from pgmem.settings import Settings

__all__ = ["attach"]


def attach(database: Database, settings: Settings) -> None:
    """Let those watch a database whom the settings ask for; where they ask for none nothing is imported.

    Raises:
        InvalidArgument: `PGMEM_OTEL` without the packages of the extra otel.
    """
    if logging.getLogger("pgmem.calls").isEnabledFor(logging.INFO):
        from pgmem.telemetry.logs import tell

        database.watch(tell)
    if settings.otel:
        from pgmem.telemetry.tracing import tracer

        database.watch(tracer())
