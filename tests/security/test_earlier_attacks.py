"""Attacks that were tried on release 0.1.0 and held; they must go on failing."""

from __future__ import annotations

import pytest

from tests.conftest import Call, caller
from tests.fixtures.verbs import Rows
from tests.security.conftest import SECRET, Session, refused, value

SEES = "select string_agg(rationale, ',') from pgmem.decision"


@pytest.mark.parametrize(
    "attack",
    [
        "select set_config('pgmem.org_id', 'globex', false), set_config('pgmem.user_id', 'carol', false)",
        "set row_security = off",
        "begin; select set_config('pgmem.user_id', 'carol', true); commit",
        "select set_config('pgmem.source', 'cli', false)",
        "select set_config('search_path', 'pg_temp, public', false)",
        "select set_config('role', 'none', false)",
    ],
)
def test_a_setting_makes_nobody_somebody_else(alice: Session, carol: Session, attack: str) -> None:
    """Tried and held: identity by set_config, row_security off, identity after COMMIT, and a better source."""
    alice.execute(attack.encode())
    assert value(alice, SEES) == "said alice"
    saved = caller(alice)("save_context", content="c", project_id="proj-alice")
    assert saved["status"] == "saved"
    source = "select source || trust_level from pgmem.context"
    assert value(alice, source) == "sql0.5"


@pytest.mark.parametrize(
    "attack",
    [
        "set role pgmem_owner",
        "set role pgmem_reviewer",
        "set role pgmem_trusted",
        "set session authorization pgmem_owner",
        "set role postgres",
        "create table pgmem.mine (i integer)",
        "create function pgmem.mine() returns integer language sql as 'select 1'",
        "create or replace function pgmem.now() returns timestamptz language sql as 'select now()'",
        "alter function pgmem.now() owner to current_user",
        "grant pgmem_owner to current_user",
        "copy pgmem.node to stdout",
        "copy (select 1) to '/tmp/pgmem-attack'",
        "copy (select 1) to program 'id'",
        "select pg_read_file('/etc/passwd')",
        "select lo_import('/etc/passwd')",
        "select pg_terminate_backend(pid) from pg_stat_activity where usename <> session_user",
        "alter system set log_statement = 'all'",
        "select nextval('pgmem.node_seq_seq')",
        "select setval('pgmem.node_seq_seq', 1)",
        "select last_value from pgmem.edge_seq_seq",
        "insert into pgmem.tenant_role values (session_user, 'globex', 'carol')",
        "update pgmem.setting set value = 'true' where name = 'test_clock'",
        "delete from pgmem.tombstone",
        "select secret_hash from pgmem.api_token",
        "select pgmem.issue_token('globex', 'carol')",
        "select pgmem.bind_role(session_user::text, 'globex', 'carol')",
        "select pgmem.make_roles()",
        "select pgmem.insert_edge(1, 'USES', 2)",
        "select pgmem.run_cypher('MATCH (n) RETURN n.title AS t')",
        "create trigger t after insert on pgmem.node execute function pgmem.record_version()",
        "create rule r as on insert to pgmem.decision do instead nothing",
        "create policy p on pgmem.node using (true)",
        "alter table pgmem.node disable row level security",
        "security label on table pgmem.node is 'x'",
        "comment on table pgmem.node is 'x'",
    ],
)
def test_a_bound_login_gets_no_right_of_the_owner(alice: Session, carol: Session, attack: str) -> None:
    """Tried and held: roles, base tables, sequences, files, COPY, large objects, functions of the schema."""
    with refused("42501", "0LP01", "22023", "55000", "0A000"):
        alice.execute(attack.encode())


def test_statistics_and_activity_show_nothing_of_others(
    alice: Session, carol: Session, connection: Session
) -> None:
    """Tried and held: pg_stats and pg_stat_activity; only tables that no tenant writes to show statistics."""
    caller(carol)("save_decision", title="Sell the mill", rationale="canary", project_id="proj-carol")
    connection.execute("analyze")
    shown = value(
        alice,
        """select array_agg(distinct s.tablename::text)
           from pg_stats s join pg_class c on c.relname = s.tablename and c.relnamespace = s.schemaname::regnamespace
           where s.schemaname in ('pgmem', 'pgmem_graph') and (c.relrowsecurity or exists (
             select from pg_attribute a where a.attrelid = c.oid and a.attname in ('tenant', 'org_id', 'user_id')))""",
    )
    assert shown is None
    assert "canary" not in str(
        value(
            alice, "select array_agg(s::text) from pg_stats s where s.schemaname in ('pgmem', 'pgmem_graph')"
        )
    )
    seen = value(alice, "select string_agg(query, ' ') from pg_stat_activity where usename <> session_user")
    assert "carol" not in str(seen)


def test_the_ids_of_others_open_nothing(alice: Session, carol: Session, connection: Session) -> None:
    """Tried and held: calls across tenants with real ids, projects and save_ids of others."""
    theirs = caller(carol)(
        "save_decision", title="Sell the mill", rationale="canary", project_id="proj-carol"
    )
    failed = caller(carol)("save_decision", title="x", rationale="canary", project_id="nowhere")["save_id"]
    key, save_id = str(theirs["artifact_id"]), str(failed)
    for query in (
        "select * from pgmem.get_node('Decision', %s)",
        "select * from pgmem.memory_history('Decision', %s)",
        "select * from pgmem.forget('Decision', %s)",
        "select * from pgmem.forget('Decision', %s, true)",
        "select * from pgmem.revert('Decision', %s, 1)",
        "select * from pgmem.neighbours('Decision', %s)",
        "select * from pgmem.relate('Decision', %s, 'CONFLICTS_WITH', 'Decision', %s)",
    ):
        with refused("PM002"):
            alice.execute(query.encode(), (key,) * query.count("%s"))
    with refused("PM002"):
        alice.execute("select * from pgmem.retry_save(%s)", (save_id,))
    assert (
        value(alice, "select status from pgmem.get_save_status('proj-carol', p_save_id => %s)", save_id)
        == "not_started"
    )
    assert value(alice, "select count(*) from pgmem.list_reviews()") == 0
    for verb in ("search_memory('canary')", "fulltext_search('canary')", "memory_surface('mill')"):
        assert "canary" not in str(alice.execute(f"select * from pgmem.{verb}".encode()).fetchall())
    assert value(connection, "select status from pgmem.node where id = %s", key) == "active"


@pytest.mark.parametrize(
    "label", ["Insight", "Card", "Decision", "GovernanceToken", "Project", "GlobalScope", "Session"]
)
def test_remember_makes_nothing_that_another_verb_makes(alice: Session, label: str) -> None:
    """Tried and held: remember of Insight, Card, Decision, GovernanceToken."""
    with refused("PM001"):
        caller(alice)("remember", label=label, properties={"name": "n", "title": "t", "status": "approved"})


def test_provenance_is_not_an_argument(alice: Session, rows: Rows) -> None:
    """Tried and held: source, trust and tenant sent as properties."""
    sent = {"name": "n", "source": "cli", "trust_level": 1, "org_id": "globex", "user_id": "carol", "_x": 1}
    caller(alice)("remember", label="Concept", properties=sent)
    (row,) = rows("select source, trust_level, org_id, user_id, props from pgmem.node where key = 'n'")
    assert row == {
        "source": "sql",
        "trust_level": 0.5,
        "org_id": "acme",
        "user_id": "alice",
        "props": {"name": "n"},
    }


def test_no_verb_of_a_client_changes_anything_for_one_who_owns_nothing(
    connection: Session, nobody: Session, rows: Rows
) -> None:
    """Every verb granted to readers and writers, called with nothing, by a login without a tenant."""
    tables = [
        row["name"]
        for row in rows(
            "select format('%I.%I', schemaname, tablename) as name from pg_tables"
            " where schemaname = 'pgmem' and tablename <> 'listener'"  # a session that listens is on record
        )
    ]

    def picture() -> list[object]:
        return [
            value(connection, f"select md5(string_agg(t::text, '' order by t::text)) from {name} t")
            for name in tables
        ]

    before = picture()
    verbs = rows(
        "select p.oid::regprocedure::text as name, p.proname, pronargs - pronargdefaults as needed,"
        " proargtypes::regtype[]::text[] as types from pgmem.verb v join pg_proc p on p.proname = v.name"
        " and p.pronamespace = 'pgmem'::regnamespace where v.rights in ('reader', 'writer') order by 1"
    )
    assert len(verbs) > 40
    for verb in verbs:
        types = list(verb["types"])[: verb["needed"]] if isinstance(verb["types"], list) else []
        for filler in ("null", "'x'", "'[]'", "'{}'"):
            given = ", ".join(f"{filler}::{kind}" for kind in types)
            try:
                nobody.execute(f"select * from pgmem.{verb['proname']}({given})".encode())
            except Exception:  # refused, for whatever reason
                continue
    assert picture() == before


def test_the_words_of_the_administrator_are_still_there(alice: Session, carol: Session, call: Call) -> None:
    """The aim of the attacks above: each tenant reads its own and nothing else."""
    assert value(alice, SEES) == "said alice"
    assert value(carol, SEES) == "said carol"
    assert SECRET in str(alice.execute("select title from pgmem.decision").fetchall())
