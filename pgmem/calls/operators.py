"""The base of `Admin`, whose methods are those of the verbs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from pgmem.calls.methods import Verbs

P = ParamSpec("P")
T = TypeVar("T")


class Operators:
    """Methods over a memory.

    Args:
        verbs: the memory.
    """

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs


def of(
    method: Callable[Concatenate[Verbs, P], Awaitable[T]],
) -> Callable[Concatenate[Operators, P], Awaitable[T]]:
    """Return a method of the verbs as one of `Operators`, with its signature and docstring."""

    @wraps(method)
    def call(own: Operators, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return method(own._verbs, *args, **kwargs)

    return call
