"""Real logins: roles of the second layer of isolation, members of them, and connections as those members."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from tests.conftest import Call, caller, past_the_pooler
from tests.sql.conftest import act_as, each, rows, shop

__all__ = ["act_as", "each", "rows", "shop"]

Login = Callable[..., psycopg.Connection[DictRow]]
PASSWORD = "only-for-tests"


@pytest.fixture
def roles(createrole: None, connection: psycopg.Connection[DictRow]) -> list[str]:
    """The store with its roles made and its schema handed to pgmem_owner."""
    row = connection.execute("select pgmem.make_roles() as made").fetchone()
    assert row is not None
    return list(row["made"])


@pytest.fixture
def make_login(server: str) -> Iterator[Callable[..., str]]:
    """`make_login("pgmem_writer")`: the name of a new login that is a member of these roles; dropped in the end."""
    with psycopg.connect(server, autocommit=True) as admin, ExitStack() as stack:

        def make(*memberships: str, attributes: str = "") -> str:
            name = f"pgmem_login_{uuid4().hex[:10]}"
            admin.execute(
                sql.SQL("create role {} login password {} " + attributes).format(
                    sql.Identifier(name), PASSWORD
                )
            )
            stack.callback(
                lambda: admin.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(name)))
            )
            for role in memberships:
                admin.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), sql.Identifier(name)))
            return name

        yield make


@pytest.fixture
def login(make_login: Callable[..., str], dsn: str, roles: list[str]) -> Iterator[Login]:
    """`login("pgmem_reader")`: a connection as a new login that is a member of these roles."""
    with ExitStack() as stack:

        def connect(*memberships: str, name: str | None = None) -> psycopg.Connection[DictRow]:
            who = name or make_login(*memberships)
            return stack.enter_context(
                psycopg.connect(
                    make_conninfo(past_the_pooler(dsn), user=who, password=PASSWORD),
                    autocommit=True,
                    row_factory=dict_row,
                )
            )

        yield connect


def verbs(connection: psycopg.Connection[DictRow]) -> Call:
    """Verbs on a connection, as in tests/conftest.py."""
    return caller(connection)


@pytest.fixture
def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
