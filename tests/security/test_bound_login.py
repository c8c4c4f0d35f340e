"""A login bound to a tenant, in psql: it stops others, reads them, or becomes them."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgmem.doctor.database import Finding, examine_server
from pgmem.install import schema
from tests.conftest import Call, caller
from tests.core.tenancy.test_roles import of_installer
from tests.security.conftest import Session, refused, value

__all__ = ["of_installer"]

WORDS = {"rationale": "Because of this.", "project_id": "proj-carol"}


def save(session: Session, title: str) -> object:
    session.execute("set statement_timeout = '5s'")
    return caller(session)("save_decision", title=title, **WORDS)["status"]


# Locks


EXHAUSTING = [
    "select count(pg_try_advisory_lock(i)) from generate_series(1::bigint, 100000) i",
    "select pg_advisory_lock(hashtextextended('pgmem.upgrade', 0))",
    "select pg_advisory_xact_lock_shared(1, 2)",
    "create temp table mine ()",
    "select count(lo_unlink(lo_create(0))) from generate_series(1, 100000)",
    "select lo_from_bytea(0, '')",
]


@pytest.mark.usefixtures("superuser")
@pytest.mark.parametrize("attack", EXHAUSTING)
def test_a_login_fills_no_table_that_all_share(alice: Session, carol: Session, attack: str) -> None:
    """The lock table of the server is full after about 10 000 locks, and then nobody calls a verb or connects."""
    with refused("42501"):
        alice.execute(attack.encode())
    assert save(carol, "Keep the till open") == "saved"


@pytest.mark.usefixtures("superuser")
def test_what_pools_of_drivers_call_stays_allowed(alice: Session) -> None:
    """A driver that resets a session unlocks its locks, and its pool fails where it may not."""
    assert value(alice, "select pg_advisory_unlock_all() is not null") is True
    alice.execute("discard all")


@pytest.mark.usefixtures("superuser")
@pytest.mark.direct("a front is examined by doctor --cells")
def test_the_doctor_shows_what_a_login_may_still_fill_and_the_statements_close_it(
    alice: Session, connection: Session, dsn: str
) -> None:
    """Where the installer may not revoke, as on managed servers, the owner of the server does."""

    def finding() -> Finding:
        return next(each for each in examine_server(dsn, 5) if each.check == "lock_table")

    # Other databases of the server of the tests stay open.
    assert "advisory" not in str(finding().remedy)
    name = value(connection, "select quote_ident(current_database())")
    connection.execute(f"grant temporary on database {name} to public".encode())
    connection.execute("grant execute on function pg_try_advisory_lock(bigint), lo_create(oid) to public")
    found = finding()
    assert found.level == "hint"
    statements = str(found.remedy).partition("run: ")[2].split("; ")
    expected = {
        f"revoke temporary on database {name} from public",
        "revoke execute on function lo_create(oid), pg_try_advisory_lock(bigint) from public",
    }
    assert expected <= set(statements)
    assert any(each.startswith("revoke connect on database ") for each in statements)
    for statement in expected:
        connection.execute(statement.encode())
    with refused("42501"):
        alice.execute(EXHAUSTING[0].encode())
    assert finding().level == "hint"


@pytest.mark.embedded
def test_an_installer_who_may_not_revoke_makes_the_roles_all_the_same(of_installer: str) -> None:
    """It owns the database and not PostgreSQL's functions, as on managed servers."""
    own = make_conninfo(of_installer, user="installer")
    schema.upgrade(own, (), roles=True)
    with psycopg.connect(own, autocommit=True) as connection:
        messages: list[str] = []
        connection.add_notice_handler(lambda notice: messages.append(str(notice.message_primary)))
        connection.execute("select pgmem.make_roles()")
        (left,) = (str(row[0]) for row in connection.execute("select pgmem.open_to_all()"))
    assert left.startswith("revoke execute on function lo_creat(integer), ")
    assert [message for message in messages if "revoke" in message] == []


def test_no_function_takes_an_advisory_lock(connection: Session) -> None:
    """Any login can hold an advisory lock, whatever its key."""
    takers = connection.execute(
        "select proname from pg_proc where pronamespace = 'pgmem'::regnamespace and prokind = 'f'"
        r" and pg_get_functiondef(oid) ~ 'advisory_\w*lock\w*\s*\('"
    ).fetchall()
    assert takers == []


@pytest.mark.direct("the locks of a save are those of a session in the cell")
def test_pg_locks_shows_no_key_of_a_tenant(alice: Session, carol: Session, connection: Session) -> None:
    """Pg_locks showed the scope keys of others, and whoever knew a key could hold it."""
    with carol.transaction():
        assert save(carol, "Keep the till open") == "saved"
        seen = alice.execute(
            "select locktype from pg_locks where pid = %s", (carol.info.backend_pid,)
        ).fetchall()
        assert "relation" in {row["locktype"] for row in seen}
        assert "advisory" not in {row["locktype"] for row in seen}


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
    """Locks are rows and tables to which clients have no rights."""
    with refused("42501"), alice.transaction():
        alice.execute(attack.encode())


def test_a_save_leaves_no_lock_row_of_its_save_id(call: Call, connection: Session, shop: str) -> None:
    """The rows that stand for locks do not grow by one a save."""
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


def test_a_bound_login_has_one_word_on_a_memory_whatever_it_calls_itself(alice: Session) -> None:
    """A memory named as wrong goes down in searches, also in those of others where the memory is shared."""
    caller(alice)("save_session", objective="open", project_id="club", share="org")
    made = caller(alice)("save_context", content="c", project_id="club", share="org")["artifact_id"]
    for number in range(5):
        alice.execute("select set_config('pgmem.agent_id', %s, false)", (f"agent {number}",))
        assert caller(alice)("feedback", id=made, verdict="wrong")["wrong"] == 1


# Who wrote it


def test_a_draft_of_a_login_is_no_persons(alice: Session) -> None:
    verbs = caller(alice)
    verbs("save_session", objective="open", project_id="proj-alice")
    made = verbs(
        "record_candidate",
        project_id="proj-alice",
        record_type="risk_note",
        statement="The till rounds down.",
        subject_path="till.py",
        evidence=[{"kind": "spec", "ref": "RFC 9110", "digest": "d"}],
    )
    found = verbs(
        "query_engineering_memory", project_id="proj-alice", mode="get", record_id=str(made["card_id"])
    )["payload"]["record"]
    assert found["origin"] == "agent"
    assert {one["added_by"] for one in found["evidence"]} == {"agent"}
