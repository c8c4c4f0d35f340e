"""A Python call as a SQL function call; a verb issues no other SQL."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cache, lru_cache
from itertools import chain, repeat
from math import isfinite
from struct import Struct
from struct import error as StructError
from typing import Any, TypeVar, cast
from uuid import UUID

import psycopg
from pgvector import HalfVector, SparseVector, Vector
from psycopg import AsyncConnection, pq, sql
from psycopg.adapt import Dumper, PyFormat
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter, ValidationError

from pgmem._verbs import VERBS
from pgmem.database.identity import READ_COMMITTED, Opening
from pgmem.database.times import mended, readable
from pgmem.declaration import LISTS, Argument
from pgmem.errors import InvalidArgument

T = TypeVar("T")


class Reals(bytes):
    """A list of numbers of single precision, as `real[]` is sent in binary: one buffer."""


class _RealsDumper(Dumper):
    """Sends the buffer as it is."""

    format = pq.Format.BINARY
    oid = psycopg.adapters.types["float4"].array_oid

    def dump(self, obj: bytes) -> bytes:
        return obj


psycopg.adapters.register_dumper(Reals, _RealsDumper)
_FLOAT4 = psycopg.adapters.types["float4"].oid


@lru_cache(maxsize=16)
def _layout(size: int) -> Struct:
    """How an array of so many numbers is laid out: dimensions, nulls, type, size and first index, then each number."""
    return Struct(f">5i{size * 'if'}")


def reals(name: str, values: Sequence[float]) -> Reals:
    """Return numbers as they are sent; they are checked as they are packed.

    Raises:
        InvalidArgument: one of them is not a number, or is rounded to infinity in single precision.
    """
    size = len(values)
    try:
        pairs = chain.from_iterable(zip(repeat(4), values, strict=False))
        return Reals(_layout(size).pack(1, 0, _FLOAT4, size, 1, *pairs))
    except (StructError, OverflowError, TypeError):
        raise InvalidArgument(f"{name} is not a list of numbers of single precision.") from None


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
        wide, objects = _wide(verb), _objects(verb)
        self._params = {
            name: _as_json(name, value) if name in objects else clean(name, value, wide=name in wide)
            for name, value in params.items()
        }
        self._statement = statement(verb, self._params)

    @property
    def is_repeatable(self) -> bool:
        """Whether the store knows the call again when it is sent once more, and returns its first result.

        A global save is sent in two steps, since one that nobody answered has to be said to be lost or not.
        """
        sent = self._params.get
        return sent("save_id") is not None and sent("governance_token") is None and sent("scope") != "global"

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

    async def at_once(self, connection: AsyncConnection[Any], opening: Opening) -> list[DictRow]:
        """Send an opening and the verb in one round trip, which is one transaction, and return the rows of the verb.

        Args:
            connection: of the pool, with autocommit and outside a transaction.
            opening: the statement that sets the identity and the timeout until the transaction ends.

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
    return _statement(verb, tuple(params), tuple([type(value) is Reals for value in params.values()]))


@cache
def _statement(verb: str, names: tuple[str, ...], vectors: tuple[bool, ...]) -> bytes:
    """Compose a call once for the names of its arguments."""
    arguments = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(
            sql.Identifier(f"p_{name}"),
            sql.Placeholder(name, PyFormat.BINARY) if is_vector else sql.Placeholder(name),
        )
        for name, is_vector in zip(names, vectors, strict=True)
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


@cache
def _objects(verb: str) -> frozenset[str]:
    """The arguments of a verb that are JSON; without declared ones, the names that are JSON in all verbs."""
    found = VERBS.get(verb)
    if found and found.arguments:
        return frozenset(name for name, one in found.arguments.items() if _is_json(one))
    kinds: dict[str, set[bool]] = {}
    for other in VERBS.values():
        for name, one in other.arguments.items():
            kinds.setdefault(name, set()).add(_is_json(one))
    return frozenset(name for name, kind in kinds.items() if kind == {True})


def _is_json(argument: Argument) -> bool:
    return argument.type == "jsonb" or argument.type in LISTS


def _as_json(name: str, value: object) -> object:
    """Return a value as JSON, whose form the verb judges; a text that holds an object or a list is one."""
    if value is None or isinstance(value, Jsonb):
        return value
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            if isinstance(json.loads(value), dict | list):
                return clean(name, value)
    return Jsonb(_clean_json(name, value))


def several(name: str, values: Any) -> Any:
    """Return the items of a list argument; None is not sent.

    Raises:
        InvalidArgument: it is not a list; a text is not one of its letters.
    """
    if values is None:
        return None
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{name} must be a list; send [{values!r:.60}], not {values!r:.60}.")
    return list(values)


def clean(name: str, value: object, *, wide: bool = False) -> Any:
    """Return a value in a form that PostgreSQL accepts.

    NUL becomes U+0001, because PostgreSQL stores no NUL and the verbs treat both alike: they strip control characters
    from texts and refuse them in keys. Mappings and lists with mappings become jsonb; lists with a number that is not
    whole, and vectors of pgvector, become one buffer.

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
    if isinstance(value, UUID):  # the server knows whether the argument is a uuid or a name
        return str(value)
    most = 2**63 if wide else 2**31
    if isinstance(value, int) and not -most <= value < most:
        raise InvalidArgument(f"{name} is out of range; send a whole number below {most}.")
    if isinstance(value, Mapping):
        return Jsonb(_clean_json(name, value))
    if isinstance(value, Vector | HalfVector | SparseVector):
        return reals(name, value.to_list())
    if isinstance(value, list | tuple):
        kinds = set(map(type, value))
        if any(issubclass(kind, float) for kind in kinds):
            return reals(name, value)
        if any(issubclass(kind, Mapping) for kind in kinds):
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
