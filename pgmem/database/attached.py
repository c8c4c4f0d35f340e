"""The verbs on a connection of the caller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow

from pgmem._verbs import VERBS
from pgmem.database.call import Request
from pgmem.database.database import Database
from pgmem.database.identity import SET_FOR_TRANSACTION
from pgmem.database.pool import Pool
from pgmem.database.watch import observed
from pgmem.errors import UnsuitableDatabase, translate
from pgmem.models import DescribedLabel, MemoryScope
from pgmem.settings import load

_LABELS: WeakKeyDictionary[AsyncConnection[Any], dict[str, DescribedLabel]] = WeakKeyDictionary()
"""The registry of labels read on a connection, kept because programs attach to a connection once per request."""


_FRONTS: WeakKeyDictionary[AsyncConnection[Any], bool] = WeakKeyDictionary()
"""Whether a connection is to a front."""


class Attached(Database):
    """A connection of the caller: verbs run in its transaction, and nothing is committed or retried here.

    The identity stays set until that transaction ends. Outside a transaction, on a connection with autocommit, each
    verb is a separate transaction. The outbox is not used, because only the caller commits.

    Args:
        connection: of the caller, which also closes it.
        scope: the caller; None is nobody.
        source: the way in that is stamped on writes.
    """

    def __init__(
        self, connection: AsyncConnection[Any], scope: MemoryScope | None = None, source: str = "sdk"
    ) -> None:
        super().__init__(load(), scope or MemoryScope(), source)
        self._connection = connection
        self._shared.labels = _LABELS.setdefault(connection, {})

    def acting_as(
        self, scope: MemoryScope, *, source: str | None = None, made_at: datetime | None = None
    ) -> Attached:
        """Return a database over the same connection, with the same watchers, for another scope."""
        other = Attached(self._connection, scope, source or self.source)
        other._shared, other._made_at = self._shared, made_at
        return other

    @asynccontextmanager
    async def transaction(
        self,
        timeout_s: float | None = None,  # noqa: ARG002
        *,
        pool: Pool | None = None,  # noqa: ARG002
    ) -> AsyncIterator[AsyncConnection[Any]]:
        """Set the identity in the caller's transaction, which the caller ends; its own statement timeout holds."""
        connection = self._connection
        # With autocommit the identity would end with its own statement, and the verb would run without one.
        if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
            async with connection.transaction():
                await connection.execute(SET_FOR_TRANSACTION, self._identity)
                yield connection
        else:
            await connection.execute(SET_FOR_TRANSACTION, self._identity)
            yield connection

    async def _require_one_commit(self) -> None:
        """Refuse a write in the caller's transaction at a front, whose cell commits by itself."""
        connection = self._connection
        if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
            return
        if connection not in _FRONTS:
            cursor = await connection.execute("select to_regclass('front.cell') is not null as front")
            row = await cursor.fetchone()
            _FRONTS[connection] = bool(row and next(iter(row.values() if isinstance(row, dict) else row)))
        if _FRONTS[connection]:
            raise UnsuitableDatabase(
                "At a front a save is committed by its cell, not by your transaction: connect to the cell of the"
                " organisation (pgmem cells where ORG shows it), or save outside of a transaction."
            )

    async def send(self, request: Request, timeout_s: float | None = None) -> list[DictRow]:
        """Send the call of a verb in the caller's transaction and return its rows.

        Raises:
            UnsuitableDatabase: the connection is to a front, and the caller's transaction is open.
            PgmemError: the verb refuses the call; the class depends on the SQLSTATE.
            psycopg.Error: any other error of the statement or the connection.
        """
        with observed(request.verb, self.notice) as seen, translate():
            if VERBS[request.verb].effect not in ("read", "look"):
                await self._require_one_commit()
            async with self.transaction(timeout_s) as connection:
                found = await request.send(connection)
            seen.rows = len(found)
            return found
