"""The base of the answers of verbs: frozen dataclasses whose methods are written once.

`dataclass(frozen=True)` compiles six methods for each class, which for all answers takes longer than a short command
does.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from typing_extensions import dataclass_transform


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
