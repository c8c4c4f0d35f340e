"""The one retry of a transaction that PostgreSQL rolled back because of others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from psycopg.errors import DeadlockDetected, SerializationFailure

T = TypeVar("T")


async def retry_once(transaction: Callable[[], Awaitable[T]]) -> T:
    """Run a whole transaction, and once more after a deadlock or a serialization failure.

    Args:
        transaction: begins and commits; it must not be part of a caller's transaction, which cannot be repeated here.

    Raises:
        psycopg.errors.DeadlockDetected: the second attempt failed too.
        psycopg.errors.SerializationFailure: the second attempt failed too.
    """
    with suppress(DeadlockDetected, SerializationFailure):
        return await transaction()
    return await transaction()
