"""A store that is a cell: the numbers of its rows, and the gate of an organisation that moves to another cell."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow
from typer.testing import CliRunner

from pgmem import Memory
from pgmem.cli import app
from pgmem.install import schema
from pgmem.settings import Settings
from tests.conftest import Call, caller

ANYWHERE = {
    "set_setting": "of the store, which has no rows of an organisation",
    "bind_role": "the front keeps the logins",
    "init_schema": "labels are of the store",
    "enable_graph": "of the store",
    "enable_vector": "of the store",
    "rebuild_graph": "the graph follows from the rows",
    "make_roles": "of the store",
    "make_report_login": "logins are of the server",
    "register_model": "models are of the store",
    "activate_model": "models are of the store",
    "drop_model": "models are of the store",
    "index_vectors": "an index follows from the rows",
    "queue_embeddings": "the queue moves with the memories, which are embedded again where they arrive",
    "claim_embeddings": "as queue_embeddings",
    "store_vectors": "as queue_embeddings",
    "refresh_dedup": "the order of titles does not change what is found",
    "refresh_statistics": "word counts are made again where they arrive",
    "renew": "an upgrade",
    "get_relevant_memory": "it reads; a key of a project that it makes is made again",
    "listen_changes": "the row of a listener, which is of no organisation",
    "sweep": "what it removes is removed where the rows arrive too",
    "sweep_items": "what it removes is removed where the rows arrive too",
}
"""Verbs that write and pass no gate, and why that loses nothing."""


def gate(connection: psycopg.Connection[DictRow], org: str, state: str | None, version: int = 1) -> None:
    connection.execute("select pgmem.set_away(%s, %s, %s)", (org, state, version))


def act(connection: psycopg.Connection[DictRow], org: str, user: str = "ana") -> Call:
    connection.execute(
        "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false)", (org, user)
    )
    return caller(connection)


def test_rows_of_a_cell_carry_its_number_and_those_from_before_keep_theirs(
    connection: psycopg.Connection[DictRow], dsn: str, call: Call
) -> None:
    call("save_session", objective="Before", project_id="shop")
    before = {row["seq"] for row in connection.execute("select seq from pgmem.node")}
    done = CliRunner().invoke(app, ["init", "--cell", "7", "--dsn", dsn])
    assert (done.exit_code, "cell 7" in done.output) == (0, True), done.output
    act(connection, "acme")("save_session", objective="After", project_id="shop")
    rows = {row["seq"] for row in connection.execute("select seq from pgmem.node")}
    assert before < rows
    assert {seq % 256 for seq in rows - before} == {7}
    assert min(rows - before) > 2**40 > max(before)
    numbered = connection.execute(
        "select n.table_name::text, s.seqincrement, s.seqstart % 256 as number"
        " from pgmem.numbered_columns() n join pg_sequence s on s.seqrelid = n.sequence"
    ).fetchall()
    names = {row["table_name"].removeprefix("pgmem.") for row in numbered}
    assert names >= {"node", "edge", "card_revision"}
    assert {(row["seqincrement"], row["number"]) for row in numbered} == {(256, 7)}


def test_a_cell_keeps_its_number_through_an_upgrade_and_takes_no_other(
    connection: psycopg.Connection[DictRow], dsn: str
) -> None:
    schema.upgrade(dsn, cell=3)
    schema.upgrade(dsn)
    assert connection.execute("select cell from pgmem.schema_version").fetchone() == {"cell": 3}
    done = CliRunner().invoke(app, ["init", "--cell", "4", "--dsn", dsn])
    assert (done.exit_code, "This store is cell 3" in done.stderr) == (1, True), done.stderr


def test_a_table_that_an_upgrade_brings_is_numbered_too(
    connection: psycopg.Connection[DictRow], dsn: str
) -> None:
    schema.upgrade(dsn, cell=3)
    connection.execute("create table pgmem.later (seq bigint generated always as identity, x integer)")
    schema.upgrade(dsn)
    row = connection.execute(
        "insert into pgmem.later (x) values (1) returning seq % 256 as number"
    ).fetchone()
    assert row == {"number": 3}


@pytest.mark.parametrize(
    ("state", "reads", "writes"),
    [("leaving", True, False), ("gone", False, False), ("arriving", False, False)],
)
def test_a_gate_is_for_one_organisation(
    connection: psycopg.Connection[DictRow], state: str, reads: bool, writes: bool
) -> None:
    for org in ("acme", "globex"):
        act(connection, org)("save_session", objective="Open", project_id="shop")
    gate(connection, "acme", state)
    call = act(connection, "acme")
    for allowed, verb, arguments in (
        (reads, "retrieve_context", {"project_id": "shop"}),
        (writes, "save_context", {"content": "Closed on Monday", "project_id": "shop"}),
    ):
        if allowed:
            assert call(verb, **arguments)
        else:
            with pytest.raises(psycopg.errors.CannotConnectNow, match="cell"):
                call(verb, **arguments)
    other = act(connection, "globex")
    assert other("save_context", content="Closed on Monday", project_id="shop")["status"] == "saved"
    gate(connection, "acme", None, 2)
    saved = act(connection, "acme")("save_context", content="Closed on Monday", project_id="shop")
    assert saved["status"] == "saved"


def test_a_gate_of_a_later_move_is_not_changed_by_an_earlier_one(
    connection: psycopg.Connection[DictRow],
) -> None:
    gate(connection, "acme", "leaving", 5)
    with pytest.raises(psycopg.Error, match="later move"):
        gate(connection, "acme", None, 4)


def test_tokens_and_erasure_of_an_organisation_wait_for_its_move(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    issued = call("issue_token", org_id="acme", user_id="ana")
    gate(connection, "acme", "leaving")
    for verb, arguments in {
        "issue_token": {"org_id": "acme"},
        "revoke_token": {"token_id": issued["id"]},
        "erase_subject": {"org_id": "acme", "dry_run": False, "by": "ana"},
        "adopt": {"org_id": "acme"},
        "forget_by_ttl": {"days": 1},
    }.items():
        with pytest.raises(psycopg.errors.CannotConnectNow):
            call(verb, **arguments)
    assert call("verify_token", token=issued["token"])["org_id"] == "acme"
    gate(connection, "acme", "arriving", 2)
    assert call("verify_token", token=issued["token"]) == {}


def test_every_verb_that_writes_passes_a_gate(connection: psycopg.Connection[DictRow]) -> None:
    """By the names that its function and the functions of ours below it mention."""
    bodies = {
        row["name"]: row["body"]
        for row in connection.execute(
            "select p.proname as name, string_agg(pg_get_functiondef(p.oid), '') as body from pg_proc p"
            " where p.pronamespace = 'pgmem'::regnamespace and p.prokind = 'f' group by 1"
        )
    }
    gates = {"require_writer", "require_org_here"}
    owner = bodies["require_keeper"]
    assert "require_here" in owner
    gates.add("require_keeper")

    def mentions(name: str) -> set[str]:
        return set(re.findall(r"pgmem\.(\w+)\(", bodies[name])) & bodies.keys() - {name}

    def reaches(name: str) -> bool:
        seen, new = set(), {name}
        while new:
            if new & gates:
                return True
            seen |= new
            new = set().union(*map(mentions, new)) - seen
        return False

    writing = connection.execute(
        "select name from pgmem.verb where effect not in ('read', 'look')"
    ).fetchall()
    open_verbs = {row["name"] for row in writing if not reaches(row["name"])}
    assert open_verbs <= ANYWHERE.keys(), open_verbs - ANYWHERE.keys()


def test_a_verb_says_which_cells_a_front_asks(connection: psycopg.Connection[DictRow]) -> None:
    row = connection.execute("select pgmem.signatures() -> 'verbs' as verbs").fetchone()
    assert row is not None
    assert len(row["verbs"]) > 140
    for verb in row["verbs"]:
        gives, takes = ({each["name"] for each in verb[part]} for part in ("gives", "takes"))
        assert set(verb["least"]) <= gives, verb["name"]
        assert not verb["least"] or verb["reach"] == "sum"
        assert verb["reach"] != "argument" or {"p_org_id", "p_user_id"} <= takes
    with pytest.raises(psycopg.Error, match="needs p_reach"):
        connection.execute("select pgmem.declare_verb('login', p_rights => 'reviewer', p_effect => 'look')")


@pytest.mark.anyio
async def test_a_save_waits_in_the_outbox_while_its_organisation_moves(
    dsn: str, connection: psycopg.Connection[DictRow], tmp_path: Path
) -> None:
    settings = Settings(dsn=dsn, data_dir=tmp_path, org_id="acme", user_id="ana", retry_wait_s=0)
    async with Memory.connect(settings) as memory:
        await memory.save_session("Open", "shop")
        gate(connection, "acme", "leaving")
        waiting = await memory.save_context("The key is under the mat", "shop")
        assert waiting.status == "pending_retry"
        gate(connection, "acme", None, 2)
        await memory.replay_outbox()
        assert memory.outbox_depth() == 0
    kept = connection.execute(
        "select count(*) as n from pgmem.node where org_id = 'acme' and label = 'Context'"
    ).fetchone()
    assert kept == {"n": 1}


def test_the_login_at_the_front_is_recorded(connection: psycopg.Connection[DictRow], call: Call) -> None:
    connection.execute("select set_config('pgmem.login', 'carol', false)")
    call("issue_token", org_id="acme")
    assert connection.execute("select created_by::text as by from pgmem.api_token").fetchone() == {
        "by": "carol"
    }
