"""Waiting for something to be so: bounded polls, whose pause is the server's. No test sleeps."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import psycopg

__all__ = ["TIMEOUT", "until", "until_the_server_says"]

TIMEOUT = 180.0


def until(condition: Callable[[], bool], connection: psycopg.Connection[Any], what: str) -> None:
    """Poll until a condition holds; `what` is said when it never does."""
    deadline = monotonic() + TIMEOUT
    while not condition():
        assert monotonic() < deadline, what
        connection.execute("select pg_sleep(0.005)")


def until_the_server_says(condition: str, dsn: str, parameters: dict[str, object], what: str) -> None:
    """Poll until an SQL condition holds on the server, over one connection more."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        until(
            lambda: connection.execute(f"select {condition}".encode(), parameters).fetchone() == (True,),
            connection,
            what,
        )
