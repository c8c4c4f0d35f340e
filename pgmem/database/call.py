"""A Python call as a SQL function call; no other SQL is issued for a verb."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from math import isfinite
from typing import Any, TypeVar
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from pgmem.errors import InvalidArgument

__all__ = ["build", "clean", "statement"]

T = TypeVar("T")


def statement(verb: str, params: Mapping[str, object]) -> sql.Composed:
    """`select * from pgmem.verb(p_a => %(a)s, …)`: a Python keyword is the SQL parameter without `p_`."""
    arguments = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(sql.Identifier(f"p_{name}"), sql.Placeholder(name)) for name in params
    )
    return sql.SQL("select * from {}({})").format(sql.Identifier("pgmem", verb), arguments)


def clean(name: str, value: object) -> Any:
    """A value as it can be sent.

    PostgreSQL knows no NUL: it is sent as another control character, so that the verbs decide (stripped from texts,
    refused in keys). Lists of objects and objects go as jsonb.

    Raises:
        InvalidArgument: a text holds a lone surrogate, which no UTF-8 can carry; a number is out of range.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(
                f"{name} holds a lone surrogate at position {error.start}; send well-formed Unicode."
            ) from None
        return value.replace("\x00", "\x01")
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        raise InvalidArgument(f"{name} is out of range; send a whole number below 2147483648.")
    if isinstance(value, Mapping):
        return Jsonb(_clean_json(name, value))
    if isinstance(value, list) and value and isinstance(value[0], float):
        # real[] takes no float8[]; a literal of unknown type is read as what the verb declares.
        return "{" + ",".join(map(repr, value)) + "}"
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


def build(cls: type[T], row: Mapping[str, Any]) -> T:
    """A row as its dataclass; columns a newer schema has added are left out."""
    return cls(**{f.name: row[f.name] for f in fields(cls) if f.name in row})  # type: ignore[arg-type]
