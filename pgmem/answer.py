"""The base of the answers of verbs: frozen dataclasses whose methods are written once.

`dataclass(frozen=True)` compiles six methods for each class, which for all answers takes longer than a short command
does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema
from typing_extensions import dataclass_transform

from pgmem.escaping import shortened


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Answer:
    """A frozen dataclass, made with the values of its fields by name; two of one class with equal values are equal."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)

    def __init__(self, **given: Any) -> None:
        values = {}
        for name, part in self.__dataclass_fields__.items():
            if name in given:
                values[name] = given.pop(name)
            elif part.default is not MISSING:
                values[name] = part.default
            elif part.default_factory is not MISSING:
                values[name] = part.default_factory()
            else:
                raise TypeError(f"{type(self).__name__} needs {name}.")
        if given:
            raise TypeError(f"{type(self).__name__} has no {', '.join(given)}.")
        self.__dict__.update(values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self.__dataclass_fields__))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")


class Gathering:
    """An answer whose field `properties` gathers the columns of a row that are none of its fields."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[Answer], handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(partial(_gathered, source), handler(source))


def _gathered(cls: type[Answer], row: Any) -> Any:
    if not isinstance(row, Mapping):
        return row
    known = cls.__dataclass_fields__
    rest = {name: value for name, value in row.items() if name not in known}
    return {**{name: value for name, value in row.items() if name in known}, "properties": rest}


class Excerpted:
    """An answer with a passage of a text."""

    if TYPE_CHECKING:
        passage: str | None

    @property
    def summary(self) -> str | None:
        """The beginning of the passage, on one line of at most 160 characters."""
        return None if self.passage is None else shortened(" ".join(self.passage.split()), 160)
