"""Integrations: each implements the interface of another system over the verbs, and is an extra of the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["extra"]

TOOLSETS = {"server-memory": "server_memory"}


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import the packages of an extra.

    Raises:
        ImportError: one is missing; the message is the line that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{error}: install the extra by pip install 'pgmem-agent[{name}]'", name=error.name
        ) from error
