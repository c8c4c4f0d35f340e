"""Times of rows that Python cannot read: an answer with one has the nearest time that it can, and a line reports it.

The tables hold no such time (the domain pgmem.moment). A row that got one before or past it would end every answer that
it is part of, so that nobody could find it.
"""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from typing import Any

from psycopg import AsyncConnection, AsyncCursor, DataError, adapters, pq
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.rows import DictRow, dict_row
from pydantic import ValidationError

log = logging.getLogger("pgmem")

FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC)
"""The first and the last time that is read in every time zone."""

_OID = adapters.types["timestamptz"].oid
_PLAIN = adapters.get_loader(_OID, pq.Format.TEXT)
_PLAIN_DAY = adapters.get_loader(adapters.types["date"].oid, pq.Format.TEXT)


class _Readable(Loader):
    """Reads a time as ISO 8601, which the transaction has set: psycopg goes by the DateStyle that the session had."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        assert _PLAIN is not None
        self._plain = _PLAIN(oid, context)

    def load(self, data: Buffer) -> Any:
        text = bytes(data).decode(errors="replace")
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass  # of a caller's session, or no time of Python's
        try:
            return self._plain.load(data)
        except (DataError, OverflowError, ValueError):
            return _nearest(text)


class _Day(Loader):
    """Reads a day as ISO 8601, as `_Readable` does a time."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        assert _PLAIN_DAY is not None
        self._plain = _PLAIN_DAY(oid, context)

    def load(self, data: Buffer) -> Any:
        try:
            return date.fromisoformat(bytes(data).decode())
        except ValueError:
            return self._plain.load(data)


def _nearest(text: str) -> datetime:
    """The first or the last time, whichever an unreadable one is nearer to; reports it in the log."""
    shown = FIRST if text.startswith(("-", "0000", "0001")) or text.endswith("BC") else LAST
    log.warning(
        "A time of the store is %s, which is outside the years 1 to 9999: it is shown as %s.",
        text[:40],
        shown.date(),
    )
    return shown


def mended(row: Any, error: ValidationError) -> bool:
    """Put the nearest time into the places of a row, objects in jsonb included, that an error says no time was in.

    Returns:
        whether there was nothing else wrong with the row.
    """
    for wrong in error.errors(include_url=False):
        within, *rest = row, *wrong["loc"]
        kind, _, _ = wrong["type"].partition("_")
        if kind not in ("date", "datetime") or not isinstance(wrong["input"], str) or not rest:
            return False
        try:
            for part in rest[:-1]:
                within = within[part]
            nearest = _nearest(wrong["input"])
            within[rest[-1]] = nearest if kind == "datetime" else nearest.date()
        except (KeyError, IndexError, TypeError):
            return False
    return True


def readable(connection: AsyncConnection[Any]) -> AsyncCursor[DictRow]:
    """Return a cursor of a connection whose rows are dicts, and whose times are those that Python can read."""
    cursor = connection.cursor(row_factory=dict_row)
    if connection.adapters.get_loader(_OID, pq.Format.TEXT) is not _Readable:
        read_times(cursor.adapters)
    return cursor


def read_times(adapters: AdaptersMap) -> None:
    """Have the times read that Python can read: of a cursor, or of a connection of ours."""
    adapters.register_loader(_OID, _Readable)
    adapters.register_loader("date", _Day)
