"""A Python call as a SQL function call; a verb issues no other SQL."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import date
from functools import cache
from math import inf, isfinite
from typing import Any, TypeVar, cast
from uuid import UUID

from pgvector import HalfVector, Vector
from psycopg import AsyncConnection, sql
from psycopg.adapt import PyFormat
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter, ValidationError

from pgmem._verbs import VERBS
from pgmem.database.identity import READ_COMMITTED, Opening
from pgmem.database.times import mended, readable
from pgmem.errors import InvalidArgument

T = TypeVar("T")


_MOST_REAL = 3.4028235677973366e38
"""Greater numbers are rounded to infinity in single precision (IEEE 754)."""


class Request:
    """A call of a verb, checked and composed; it can be sent more than once.

    Args:
        verb: name of the function in schema pgmem.
        params: its arguments, by name without `p_`.

    Raises:
        InvalidArgument: a value cannot be sent; see `clean`.
    """

    def __init__(self, verb: str, params: Mapping[str, object]) -> None:
        self.verb = verb
        self._params = {name: clean(name, value, wide=name in _wide(verb)) for name, value in params.items()}
        self._statement = statement(verb, self._params)

    async def send(self, connection: AsyncConnection[Any], *, commit: bool = False) -> list[DictRow]:
        """Execute it on a connection whose transaction has an identity, and return the rows.

        Args:
            connection: of the pool, of a snapshot or of a caller.
            commit: send COMMIT with the statement, in one round trip.

        Raises:
            psycopg.Error: the server refuses the statement, or the connection is lost.
        """
        cursor = readable(connection)
        if commit:
            async with connection.pipeline():
                await cursor.execute(self._statement, self._params)
                await connection.commit()
        else:
            await cursor.execute(self._statement, self._params)
        return await cursor.fetchall()

    async def read(self, connection: AsyncConnection[Any], opening: Opening) -> list[DictRow]:
        """Send an opening and the verb in one round trip, which is one transaction, and return the rows of the verb.

        Args:
            connection: of the pool, with autocommit and outside a transaction.
            opening: what sets the identity and the timeout until the transaction ends.

        Raises:
            psycopg.Error: the server refuses a statement, or the connection is lost.
        """
        cursor = readable(connection)
        async with connection.pipeline():
            await connection.execute(READ_COMMITTED)
            await connection.execute(*opening)
            await cursor.execute(self._statement, self._params)
        return await cursor.fetchall()


def statement(verb: str, params: Mapping[str, object]) -> bytes:
    """Compose `select * from pgmem.verb(p_a => %(a)s, …)` for arguments that `clean` has returned."""
    return _statement(verb, tuple(params), frozenset(n for n, value in params.items() if _is_vector(value)))


def _is_vector(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, float) for item in value)


@cache
def _statement(verb: str, names: tuple[str, ...], vectors: frozenset[str]) -> bytes:
    """Compose a call once for the names of its arguments; vectors cross in binary, as text they take .4 ms more."""
    arguments = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(
            sql.Identifier(f"p_{name}"),
            sql.SQL("{}::real[]").format(sql.Placeholder(name, PyFormat.BINARY))
            if name in vectors
            else sql.Placeholder(name),
        )
        for name in names
    )
    return sql.SQL("select * from {}({})").format(sql.Identifier("pgmem", verb), arguments).as_bytes(None)


@cache
def _wide(verb: str) -> frozenset[str]:
    """The arguments of a verb that are numbers of rows: those of a cell behind a front begin at 2^40."""
    found = VERBS.get(verb)
    return (
        frozenset(name for name, one in found.arguments.items() if one.type == "bigint")
        if found
        else frozenset()
    )


def clean(name: str, value: object, *, wide: bool = False) -> Any:
    """Return a value in a form that PostgreSQL accepts.

    NUL becomes U+0001, because PostgreSQL stores no NUL and the verbs treat both alike: they strip control characters
    from texts and refuse them in keys. Mappings and lists with mappings become jsonb; vectors of
    pgvector become lists of floats.

    Raises:
        InvalidArgument: a text holds a lone surrogate, which UTF-8 cannot encode, or a number is out of range.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(
                f"{name} holds a lone surrogate at position {error.start}; send well-formed Unicode."
            ) from None
        return value.replace("\x00", "\x01")
    most = 2**63 if wide else 2**31
    if isinstance(value, int) and not -most <= value < most:
        raise InvalidArgument(f"{name} is out of range; send a whole number below {most}.")
    if isinstance(value, Mapping):
        return Jsonb(_clean_json(name, value))
    if isinstance(value, Vector | HalfVector):
        value = value.to_list()
    if isinstance(value, list | tuple) and any(isinstance(item, float) for item in value):
        if not all(isinstance(item, int | float) and not _MOST_REAL < abs(item) < inf for item in value):
            raise InvalidArgument(f"{name} is not a list of numbers of single precision.")
        return list(map(float, value))
    if isinstance(value, list | tuple):
        if any(isinstance(item, Mapping) for item in value):
            return Jsonb(_clean_json(name, value))
        return [clean(name, item) for item in value]
    return value


def _clean_json(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {str(clean(name, str(key))): _clean_json(name, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(name, item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        raise InvalidArgument(f"{name} holds {value}, which no JSON can carry; send a finite number.")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return clean(name, value) if isinstance(value, str) else value


@cache
def _adapter(cls: Any) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


def build(cls: type[T], value: object) -> T:
    """A row as its dataclass, the objects inside jsonb as theirs; columns that a newer schema added are left out."""
    adapter = _adapter(cast(Hashable, cls))
    try:
        built: T = adapter.validate_python(value)
    except ValidationError as error:
        if not mended(value, error):
            raise
        built = adapter.validate_python(value)
    return built
