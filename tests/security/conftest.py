"""Fixtures of the attacks. Each file is one attacker, and each test an attack that must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.logins import Login
from tests.fixtures.verbs import ActAs

Session = psycopg.Connection[DictRow]


@pytest.fixture(autouse=True)
def no_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors play no part here."""
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")


# The attackers of the database: logins bound to tenants, one bound to none, and the memories of their
# victims.

SECRET = "Deploy production releases only through the signed pipeline"


@pytest.fixture
def bound(
    connection: Session, login: Login, make_login: Callable[..., str], act_as: ActAs, call: Call
) -> Callable[[str, str], Session]:
    """`bound("acme", "alice")`: psql as a login bound to a tenant, which has a project named after its user."""

    def bind(org_id: str, user_id: str) -> Session:
        name = make_login("pgmem_writer", "pgmem_reader")
        connection.execute("select * from pgmem.bind_role(%s, %s, %s)", (name, org_id, user_id))
        act_as(org_id, user_id)
        call("save_session", objective=f"{user_id} opens", project_id=f"proj-{user_id}")
        call("save_decision", title=SECRET, rationale=f"said {user_id}", project_id=f"proj-{user_id}")
        act_as()
        return login(name=name)

    return bind


@pytest.fixture
def alice(bound: Callable[[str, str], Session]) -> Session:
    """A tenant that attacks: a login of the organisation acme."""
    return bound("acme", "alice")


@pytest.fixture
def carol(bound: Callable[[str, str], Session]) -> Session:
    """Another tenant, of the organisation globex."""
    return bound("globex", "carol")


@pytest.fixture
def nobody(alice: Session, carol: Session, login: Login, make_login: Callable[..., str]) -> Session:
    """A writer and reader that is bound to no tenant, in a store that has tenants."""
    return login(name=make_login("pgmem_writer", "pgmem_reader"))


@contextmanager
def refused(*states: str) -> Iterator[None]:
    """The statement fails with one of these SQLSTATEs."""
    with pytest.raises(psycopg.Error) as caught:
        yield
    assert caught.value.sqlstate in states, caught.value


def in_the_store(session: Session) -> Session:
    """The session itself, or through a front the one in its cell, where the rows are that a plan reads."""
    cells: list[Session] = getattr(session, "cells", [])
    return cells[0] if cells else session


def value(session: Session, query: str, *parameters: object) -> object:
    """The first column of the first row."""
    row = session.execute(query.encode(), parameters or None).fetchone()
    return None if row is None else next(iter(row.values()))


@pytest.fixture
def temporary(connection: Session, roles: None) -> None:
    """A store whose logins may make temporary tables, as where the installer could not revoke it."""
    name = value(connection, "select quote_ident(current_database())")
    connection.execute(f"grant temporary on database {name} to public".encode())
