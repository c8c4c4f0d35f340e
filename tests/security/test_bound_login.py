"""A login bound to a tenant, in psql: it stops others, reads them, or becomes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pgmem.database import schema
from tests.conftest import Call, caller
from tests.security.conftest import Session, refused, value

WORDS = {"rationale": "Because of this.", "project_id": "proj-carol"}


def save(session: Session, title: str) -> object:
    session.execute("set statement_timeout = '5s'")
    return caller(session)("save_decision", title=title, **WORDS)["status"]


# S3: locks


@pytest.mark.parametrize("key", ["pgmem.token_order", "pgmem.upgrade", "pgmem.init_schema"])
def test_an_advisory_lock_stops_no_save_and_no_upgrade(
    alice: Session, carol: Session, connection: Session, dsn: str, key: str
) -> None:
    """S3: one advisory lock stopped everybody's saves, another the upgrade."""
    alice.execute("select pg_advisory_lock(hashtextextended(%s, 0))", (key,))
    assert save(carol, "Keep the till open") == "saved"
    connection.execute("update pgmem.schema_version set digest = 'old'")
    with ThreadPoolExecutor(1) as other:
        assert other.submit(schema.upgrade, dsn).result(timeout=120).changed


def test_no_function_takes_an_advisory_lock(connection: Session) -> None:
    """S3: any login can hold an advisory lock, whatever its key."""
    takers = connection.execute(
        "select proname from pg_proc where pronamespace = 'pgmem'::regnamespace and prokind = 'f'"
        " and pg_get_functiondef(oid) ~ 'advisory'"
    ).fetchall()
    assert takers == []


def test_pg_locks_shows_no_key_of_a_tenant(alice: Session, carol: Session, connection: Session) -> None:
    """S3: pg_locks showed the scope keys of others, and whoever knew a key could hold it."""
    with carol.transaction():
        assert save(carol, "Keep the till open") == "saved"
        seen = alice.execute(
            "select locktype from pg_locks where pid = %s", (carol.info.backend_pid,)
        ).fetchall()
        assert "relation" in {row["locktype"] for row in seen}
        assert "advisory" not in {row["locktype"] for row in seen}
    keys = connection.execute("select key from pgmem.held_lock").fetchall()
    for row in keys:
        alice.execute("select pg_advisory_lock(%s)", (row["key"],))
    assert save(carol, "Bill in euros") == "saved"


@pytest.mark.parametrize(
    "attack",
    [
        "lock table pgmem.token_frequency in share mode",
        "lock table pgmem.token_frequency in access share mode",
        "lock table pgmem.schema_version in share mode",
        "lock table pgmem.held_lock in access share mode",
        "lock table pgmem.label in row exclusive mode",
        "select from pgmem.held_lock for update",
        "select from pgmem.schema_version for update",
        "select from pgmem.verb for share",
        "delete from pgmem.held_lock",
        "select pgmem.hold_lock(1)",
        "select pgmem.lock_scope(1)",
        "select pgmem.lock_scopes('{1,2}')",
        "select pgmem.hold_save('', gen_random_uuid())",
    ],
)
def test_a_client_cannot_take_a_lock_of_ours(alice: Session, attack: str) -> None:
    """S3: locks are rows and tables to which clients have no rights."""
    with refused("42501"), alice.transaction():
        alice.execute(attack.encode())


def test_a_save_leaves_no_lock_row_of_its_save_id(call: Call, connection: Session, shop: str) -> None:
    """S3: the rows that stand for locks do not grow by one a save."""
    for number in range(20):
        call(
            "save_context",
            content=f"note {number}",
            project_id=shop,
            save_id=f"00000000-0000-4000-8000-{number:012}",
        )
    call("save_context", content="note", project_id="nowhere", save_id="00000000-0000-4000-9000-000000000000")
    # The one of the project's name, which save_session took.
    assert value(connection, "select count(*) from pgmem.held_lock") == 1
