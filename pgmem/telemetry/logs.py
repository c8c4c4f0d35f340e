"""Logs on stderr, as lines or as JSON, without contents.

Messages of pgmem hold names, numbers and the state of servers. Messages of other libraries and of exceptions may quote
contents, so a record keeps only their place in the code and the class of the exception. Level debug keeps everything.
"""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType
from typing import TypeAlias

from pgmem.database.watch import Call, Save
from pgmem.settings import Settings

_OURS = ("pgmem", "psycopg", "uvicorn")
_calls = logging.getLogger("pgmem.calls")

_Raised: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _WithoutContents(logging.Formatter):
    """Formats an exception as its traceback and class, without its message."""

    def formatException(self, ei: _Raised) -> str:
        kind, _, trace = ei
        name = kind.__name__ if kind is not None else "None"
        return "".join([*traceback.format_tb(trace), name])


class _Discreet(logging.Filter):
    """Replaces the message of another library by its place in the code."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] not in _OURS:
            record.msg, record.args = f"{record.name}: {record.module}, line {record.lineno}", ()
        return True


def configure(settings: Settings) -> None:
    """Configure logging by the settings; replaces an earlier configuration."""
    formatter: logging.Formatter = _WithoutContents("pgmem: %(message)s")
    if settings.log_format == "json":
        from pythonjsonlogger.json import JsonFormatter

        class Json(_WithoutContents, JsonFormatter):
            """One JSON object per line."""

        formatter = Json(
            "%(levelname)s %(name)s %(message)s",
            rename_fields={"levelname": "level", "name": "logger"},
            timestamp=True,
        )
    handler = logging.StreamHandler(sys.stderr)
    if settings.log_level != "debug":
        handler.setFormatter(formatter)
        handler.addFilter(_Discreet())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name in ("httpx2", "opentelemetry"):  # they log every request at level info
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))


def log_seen(seen: Call | Save) -> None:
    """Log a call or a save at level info; a watcher."""
    if isinstance(seen, Save):
        _calls.info(
            "%s: %s",
            seen.verb,
            seen.status,
            extra={"verb": seen.verb, "status": seen.status, "dedup_outcome": seen.dedup_outcome},
        )
        return
    ms = round(seen.seconds * 1000, 2)
    where = "replica" if seen.replica else "primary"
    _calls.info(
        "%s: %s in %s ms, %s rows",
        seen.verb,
        seen.outcome,
        ms,
        seen.rows,
        extra={"verb": seen.verb, "outcome": seen.outcome, "ms": ms, "rows": seen.rows, "server": where},
    )
