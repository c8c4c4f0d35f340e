"""A session of a bound login in psql: its settings, shadows, open transactions and locks."""

from __future__ import annotations

import contextlib
import re

import psycopg
import pytest

from tests.conftest import Call, caller
from tests.fixtures.verbs import Rows
from tests.security.conftest import SECRET, Session, refused, value

STORED = (
    "select title, props, content_hash, title_tokens, tsv::text, scope_key, trust_level, source from pgmem.node"
    " where org_id = 'acme' and label in ('Decision', 'Concept', 'Context') and title not like 'Deploy%' order by title"
)


def use(session: Session) -> None:
    """The calls of a tenant on a day."""
    call = caller(session)
    call("save_decision", title="Two  words, and\ta tab", rationale="r \\d+ \x01 s+", project_id="proj-alice")
    call("remember", label="Concept", properties={"name": "ﬁne  name", "since": "2026-01-02"})
    call("save_context", content="it\\'s 1,5 €", project_id="proj-alice")
    session.execute("select count(*) from pgmem.search_memory('\"two words\" or -tab')")


@pytest.mark.parametrize(
    "settings",
    [
        "set standard_conforming_strings = off; set backslash_quote = on; set escape_string_warning = off",
        "set DateStyle = 'SQL, DMY'; set IntervalStyle = sql_standard; set TimeZone = 'UTC'",
        "set extra_float_digits = -15; set bytea_output = escape; set array_nulls = off; set xmloption = content",
        "set transform_null_equals = on; set quote_all_identifiers = on; set check_function_bodies = off",
        "set default_text_search_config = 'german'; set gin_fuzzy_search_limit = 1; set plpgsql.check_asserts = off",
        "set work_mem = '64kB'; set enable_indexscan = off; set enable_bitmapscan = off; set jit_above_cost = 0",
        "set plan_cache_mode = force_custom_plan; set from_collapse_limit = 1; set geqo_threshold = 2",
    ],
)
def test_what_a_session_sets_changes_nothing_that_is_stored(
    alice: Session, connection: Session, call: Call, settings: str
) -> None:
    """Patterns lost their backslashes where standard_conforming_strings was off."""
    use(alice)
    plain = connection.execute(STORED).fetchall()
    assert len(plain) == 3
    connection.execute(
        "delete from pgmem.node where org_id = 'acme' and label in ('Decision', 'Concept', 'Context') and title not like 'Deploy%'"
    )
    # In a separate session: a function is read once in a session.
    with fresh(alice) as other:
        other.execute(settings.encode())
        use(other)
    assert connection.execute(STORED).fetchall() == plain


def fresh(session: Session) -> Session:
    """Another session of the same login."""
    info = session.info
    return psycopg.connect(
        host=info.host,
        port=info.port,
        dbname=info.dbname,
        user=info.user,
        password=info.password,
        autocommit=True,
        row_factory=psycopg.rows.dict_row,
    )


@pytest.mark.parametrize("printed", ["debug_print_plan", "debug_print_parse", "debug_print_rewritten"])
def test_no_plan_of_the_owner_is_printed_for_a_tenant(
    alice: Session, carol: Session, rows: Rows, printed: str
) -> None:
    """A session got every plan below its call: the values, and the rows that the planner expects of all tenants."""
    ours = (
        "select oid::text as oid from pg_class where relnamespace = 'pgmem'::regnamespace and relkind <> 'v'"
    )
    tables = {row["oid"] for row in rows(ours)}
    messages: list[str] = []
    alice.add_notice_handler(
        lambda notice: messages.append(f"{notice.message_primary} {notice.message_detail}")
    )
    alice.execute("set client_min_messages = debug5")
    alice.execute(f"set {printed} = on".encode())
    for statement in (
        "select * from pgmem.decision",
        "select * from pgmem.search_memory('deploy')",
        "select * from pgmem.save_context('c', 'proj-alice')",
        "select * from pgmem.fulltext_search('deploy')",
    ):
        messages.clear()
        alice.execute(statement.encode())
        # Its own statement, and the checks of its arguments, which run with its rights; no table of ours.
        assert messages
        assert tables.isdisjoint(re.findall(r":relid (\d+)", "".join(messages))), statement


@pytest.mark.parametrize(
    "attack",
    [
        "drop owned by pgmem_writer, pgmem_reader cascade",
        "reassign owned by pgmem_writer to current_user",
        "set role pgmem_writer; drop owned by current_user",
        "set role pgmem_writer; revoke all on all functions in schema pgmem from pgmem_writer",
        "set role pgmem_writer; alter role pgmem_writer set search_path = pg_temp",
        "vacuum full pgmem.node",
        "analyze pgmem.node",
    ],
)
def test_a_member_takes_nothing_from_the_other_members_of_its_roles(
    alice: Session, carol: Session, rows: Rows, attack: str
) -> None:
    """A member of a group may run DROP OWNED BY the group, whose rights are everybody's."""
    rights = (
        "select (select jsonb_agg(proacl::text order by oid) from pg_proc where pronamespace = 'pgmem'::regnamespace),"
        " (select jsonb_agg(relacl::text order by oid) from pg_class where relnamespace = 'pgmem'::regnamespace) as r,"
        " (select nspacl::text from pg_namespace where nspname = 'pgmem') as n"
    )
    before = rows(rights)
    try:
        alice.execute(attack.encode())
    except psycopg.errors.InsufficientPrivilege as error:
        assert error.sqlstate == "42501"
    assert rows(rights) == before
    saved = caller(carol)("save_decision", title="Keep the till", rationale="r", project_id="proj-carol")
    assert saved["status"] == "saved"


def test_a_transaction_that_a_tenant_leaves_open_stops_nobody_else(
    alice: Session, carol: Session, connection: Session, call: Call
) -> None:
    """It kept the worker from counting anybody's words; the limits of time are defaults that a login may change."""
    alice.execute("set idle_in_transaction_session_timeout = 0; set statement_timeout = 0; begin")
    for number in range(150):
        title = f"Keep open {number}"
        caller(alice)("save_decision", title=title, rationale=f"word{number}", project_id="proj-alice")
    for session in (carol, connection):
        session.execute("set statement_timeout = '5s'")
    for number in range(70):
        title = f"Close {number}"
        saved = caller(carol)("save_decision", title=title, rationale=f"w{number}", project_id="proj-carol")
        assert saved["status"] == "saved"
    assert caller(carol)("search_memory", query="deploy")
    call("refresh_dedup", if_worth=True)
    for verb in ("sweep", "index_vectors", "backlog"):
        call(verb)
    call("refresh_statistics", all=True)
    counted = (
        "select sum(s.memories) from pgmem.text_stat s where s.tenant = pgmem.tenant_of('globex', 'carol')"
    )
    assert int(str(value(connection, counted))) >= 70
    assert alice.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    alice.execute("rollback")


@pytest.mark.usefixtures("temporary")
def test_what_a_session_shadows_is_not_found(alice: Session, carol: Session, rows: Rows) -> None:
    """Temporary tables, types, functions and operators named as ours, first in the path."""
    for statement in (
        "set search_path = pg_temp, pgmem, public",
        "create temp table node (like pg_class)",
        "create temp table tenant_role as select session_user as role_name, 'globex' as org_id, 'carol' as user_id",
        "create temp table setting as select 'approval' as name, 'self' as value",
        "create temp table save_attempt (i integer)",
        "create type pg_temp.caller as (org_id text)",
        "create function pg_temp.now() returns timestamptz language sql as 'select null::timestamptz'",
        "create function pg_temp.same(text, text) returns boolean language sql as 'select true'",
        "create operator pg_temp.= (leftarg = text, rightarg = text, function = pg_temp.same)",
        "create domain pg_temp.text as pg_catalog.text check (false)",
    ):
        alice.execute(statement.encode())
    alice.execute("select * from pgmem.save_decision('Buy the mill', 'r', 'proj-alice')")
    (row,) = rows("select org_id, user_id, source from pgmem.node where title = 'Buy the mill'")
    assert row == {"org_id": "acme", "user_id": "alice", "source": "sql"}
    found = alice.execute("select title, rationale from pgmem.decision").fetchall()
    assert {str(row["rationale"]) for row in found} == {"said alice", "r"}
    alice.execute("drop owned by current_user cascade")  # the login is dropped before its session has ended


@pytest.mark.usefixtures("temporary")
def test_no_function_keeps_a_type_that_a_session_made(alice: Session) -> None:
    """A function is read once in a session: one that a client called first kept its types, and a verb ran their checks."""
    for statement in (
        "create function pg_temp.seen(text) returns boolean language plpgsql as"
        " $$ begin raise exception 'run as %', current_user; end $$",
        "create domain pg_temp.text as pg_catalog.text check (value is null or pg_temp.seen(value))",
    ):
        alice.execute(statement.encode())
    with contextlib.suppress(psycopg.errors.RaiseException):
        alice.execute("select pgmem.file_path('/memories/a')")
    alice.execute("select * from pgmem.create_file('/memories/a', 'text', 'proj-alice')")
    alice.execute("drop owned by current_user cascade")


def test_what_a_client_may_call_finds_the_types_of_its_variables_by_itself(rows: Rows) -> None:
    """Clients may call a function that changes nothing: it declares types, or has its own search_path."""
    found = rows(
        "select p.proname, p.prosrc from pg_proc p join pg_language l on l.oid = p.prolang"
        " where p.pronamespace = 'pgmem'::regnamespace and l.lanname = 'plpgsql' and p.provolatile <> 'v'"
        " and 'search_path=pgmem, pg_temp' <> all (coalesce(p.proconfig, '{}'))"
    )
    declared = re.compile(r"^ +(v_\w+) +(?!(?:integer|bigint|boolean|numeric)\b)", re.MULTILINE)
    free = {
        str(row["proname"]): declared.findall(str(row["prosrc"]).partition("begin\n")[0]) for row in found
    }
    assert {name: variables for name, variables in free.items() if variables} == {}


@pytest.mark.parametrize(
    "attack",
    [
        "select * from ts_stat('select tsv from pgmem.node')",
        "select query_to_xmlschema('select * from pgmem.api_token', true, true, '')",
        "explain (generic_plan) select * from pgmem.node where key = $1",
        "cluster pgmem.node",
        "reindex table pgmem.node",
        "create view pg_temp.v as select * from pgmem.node; select * from pg_temp.v",
        "create publication p for table pgmem.node",
        "create subscription s connection 'host=127.0.0.1' publication p",
        "create event trigger e on ddl_command_start execute function pgmem.now()",
        "create extension dblink",
        "create server s foreign data wrapper postgres_fdw",
        "create language plpython3u",
        "do language plpgsql $$ begin perform pg_read_binary_file('PG_VERSION'); end $$",
        "select pg_ls_waldir()",
        "select current_setting('hba_file')",
        "select pg_reload_conf()",
        "select pg_stat_reset()",
        "select pg_switch_wal()",
        "set session_replication_role = replica",
        "set log_statement = 'all'",
        "set log_min_messages = debug5",
        "load '/tmp/x.so'",
        "alter role current_user superuser",
        "alter role pgmem_owner password 'x'",
        "grant pgmem_reader to public",
        "alter function pgmem.caller() reset search_path",
        "alter function pgmem.caller() security invoker",
        "declare c cursor with hold for select * from pgmem.api_token",
        "prepare p as select * from pgmem.save_attempt; execute p",
        "copy (select * from pgmem.node_version) to stdout",
        "create function pg_temp.f() returns bigint language sql as 'select count(*) from pgmem.node'; select pg_temp.f()",
    ],
)
def test_no_back_way_to_a_table_or_to_the_server(alice: Session, carol: Session, attack: str) -> None:
    """XML, statistics, cursors, prepared plans, foreign servers, event triggers, files and settings of the server."""
    # 42P02: PostgreSQL 15 explains no statement with parameters.
    with refused("42501", "0A000", "42704", "42601", "42P02"):
        alice.execute(attack.encode())
    assert SECRET in str(alice.execute("select title from pgmem.decision").fetchall())


@pytest.mark.direct("a cell notifies its own sessions")
def test_notifications_reach_nothing_of_ours(alice: Session, carol: Session, rows: Rows) -> None:
    """A notification says that something changed and nothing else, and is sent while somebody listens; pgmem keeps
    nothing in large objects, which anybody may make.
    """
    functions = r"select proname::text from pg_proc where pronamespace = 'pgmem'::regnamespace and prosrc ~* '(pg_notify|lo_(get|put|creat|from)\w*\s*\()'"
    assert rows(functions) == [{"proname": "notify_change"}]
    alice.execute("listen pgmem_change")
    caller(carol)("save_context", content="c", project_id="proj-carol")
    assert list(alice.notifies(timeout=0)) == []
    alice.execute("select pgmem.listen_changes()")
    caller(carol)("save_context", content="d", project_id="proj-carol")
    assert {(heard.channel, heard.payload) for heard in alice.notifies(timeout=5, stop_after=1)} == {
        ("pgmem_change", "")
    }


def test_the_limits_that_hold_whatever_a_login_sets(alice: Session) -> None:
    """statement_timeout is a default that it may change; the room for sorting and the number of its sessions are not."""
    alice.execute(
        "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set work_mem = '64kB'"
    )
    assert value(alice, "show statement_timeout") == "0"
    with refused("42501"):
        alice.execute("set temp_file_limit = -1")
    with refused("42501"):
        alice.execute("alter role current_user connection limit -1")
