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
    """Return a method of the verbs as one of `Operators`, with its signature and docstring.

    The method that is called is that of the memory, where a feature overrides the one of the core.
    """

    @wraps(method)
    def call(own: Operators, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        own_method: Callable[P, Awaitable[T]] = getattr(own._verbs, method.__name__)
        return own_method(*args, **kwargs)

    return call
