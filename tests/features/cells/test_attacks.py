"""Attacks on a front: by a login that is bound to one organisation, by names, by settings, and by an old map."""

from __future__ import annotations

import unicodedata
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from pgmem.errors import InvalidArgument
from pgmem.features.cells import mover
from pgmem.features.cells.directory import Directory
from tests.conftest import caller
from tests.features.cells.fleet import Fleet, act
from tests.features.cells.running import started
from tests.security.test_bound_login import EXHAUSTING

Session = psycopg.Connection[DictRow]


def name() -> str:
    return f"o{uuid4().hex[:10]}"


def keeping(fleet: Fleet, org: str, secret: str) -> None:
    started(fleet, org)
    with fleet.session(org) as connection:
        caller(connection)("save_context", content=secret, project_id="shop")


def as_analyst(dsn: str, **options: str) -> Session:
    return psycopg.connect(dsn, autocommit=True, row_factory=dict_row, **options)  # type: ignore[arg-type]


# A login that is bound to one organisation


SETTINGS = ("org_id", "user_id", "agent_id", "session_id", "source", "made_at", "login", "bound", "role")


def test_a_bound_login_is_its_tenant_whatever_it_sets(fleet: Fleet, analyst: str, org: str) -> None:
    """By set_config, by set, and by the options with which it connects."""
    victim = name()
    keeping(fleet, victim, "The victim's secret")
    asked = " ".join(f"-c pgmem.{setting}={victim}" for setting in SETTINGS)
    with as_analyst(analyst, options=asked) as connection:
        act(connection, victim)
        for setting in SETTINGS:
            value = {"made_at": "2001-01-01", "bound": ""}.get(setting, victim)
            connection.execute("select set_config(%s, %s, false)", (f"pgmem.{setting}", value))
        assert connection.execute("select * from pgmem.search_memory('secret')").fetchall() == []
        assert {row["org_id"] for row in connection.execute("select org_id from pgmem.memory")} == {org}
        saved = caller(connection)("save_context", content="Mine", project_id="shop")
        assert saved["status"] == "saved"
    assert set(fleet.rows_of(org)) == {fleet.home(org)}
    with fleet.cell(fleet.home(org)) as cell:
        query = "select source, user_id, recorded_at > '2020-01-01' as now from pgmem.node where org_id = %s and label = 'Context'"
        assert cell.execute(query.encode(), (org,)).fetchall() == [
            {"source": "sql", "user_id": "ana", "now": True}
        ]


@pytest.mark.parametrize(
    "statement",
    [
        "select * from relay.retrieve_context(array['victim','u','','','sql','','','x','','pgmem_owner','read','caller','victim','x'], 'shop')",
        "select * from relay.rows_of_memory(array['victim','u','','','sql','','','x','','pgmem_owner','read','caller','victim','x'])",
        "select * from relay.forget_away(array['','','','','sql','','','x','','pgmem_owner','remove','every','','x'], 'victim')",
        "select * from relay.ping(0)",
        "select front.who('x', 'read', 'caller', 'victim', 'u')",
        "select * from front.cells_of(array['victim'])",
        "select * from front.home('victim')",
        "select front.raise_again('PM001', 'x')",
        "select front.connect_cells()",
        "select front.make('{}')",
        *(f"select * from front.{table}" for table in ("cell", "slot", "place", "token", "login", "move", "mover")),
        "insert into front.login values (session_user, 'victim', 'u')",
        "update front.place set cell = 0",
        "update pgmem.verb set reach = 'every'",
        "delete from pgmem.schema_version",
        "select srvoptions from pg_foreign_server",
        "select umoptions from pg_user_mapping",
        "alter server pgmem_agent options (set p0 'host=elsewhere')",
        "create user mapping for current_user server pgmem_agent options (user 'pgmem_front_owner')",
        "create function relay.x() returns integer language sql return 1",
        "create function public.x() returns integer language plproxy as $$ cluster 'pgmem_owner'; run on 0; select 1; $$",
        "do language plproxy $$ cluster 'pgmem_owner'; run on 0; select 1; $$",
        "create temporary table place (org_id text)",
        "create schema mine",
        "set role pgmem_owner",
        *EXHAUSTING,
        "set session authorization postgres",
        "select * from pgmem.issue_token('victim')",
        "select * from pgmem.bind_role(session_user, 'victim')",
        "select * from pgmem.list_tenants()",
        "select * from pgmem.list_tokens()",
        "select * from pgmem.erase_subject('victim', '', false, 'me')",
        "select * from pgmem.adopt('victim')",
        "select * from pgmem.backlog()",
        "select * from pgmem.set_setting('focus_limit', '1')",
        "select * from pgmem.verify_token('pgmem_x')",
    ],
)  # fmt: skip
def test_a_bound_login_reaches_nothing_of_others_and_of_the_front(analyst: str, statement: str) -> None:
    with as_analyst(analyst) as connection:
        with pytest.raises(psycopg.Error) as error:
            connection.execute(statement.encode())
        assert error.value.sqlstate in ("42501", "PM004", "0A000"), error.value


def test_what_a_login_may_read_of_the_front_names_no_address(fleet: Fleet, analyst: str) -> None:
    assert fleet.pooler is not None
    looks = (
        "select * from information_schema.foreign_servers",
        "select * from information_schema.foreign_server_options",
        "select * from pg_user_mappings",
        "select prosrc from pg_proc where pronamespace::regnamespace::text in ('pgmem', 'relay', 'front')",
        "select * from pg_stat_activity",
        "select * from pg_settings where name like '%conninfo%'",
    )
    with as_analyst(analyst) as connection:
        for look in looks:
            found = str(connection.execute(look.encode()).fetchall())
            assert str(fleet.pooler.port) not in found, look
            assert f"{fleet.name}_0" not in found, look


def test_a_bound_login_does_not_get_the_work_of_a_worker(fleet: Fleet, analyst: str, org: str) -> None:
    """At the cell it comes by a trusted login, which may embed the texts of all tenants."""
    victim = fleet.org_in(fleet.home(org), f"v{name()}")
    started(fleet, victim)
    with fleet.cell(fleet.home(org)) as cell:
        cell.execute("select pgmem.register_model('test:m', 3)")
        cell.execute("select pgmem.activate_model('test:m')")
        queued = cell.execute("select count(*) as n from pgmem.embedding_queue").fetchone()
        assert queued is not None
        assert queued["n"] > 0
    with as_analyst(analyst) as connection:
        rows = connection.execute("select * from pgmem.claim_embeddings('test:m', 1000)").fetchall()
        assert rows
        with fleet.cell(fleet.home(org)) as cell:
            seqs = [row["node_seq"] for row in rows]
            orgs = cell.execute(
                "select distinct org_id from pgmem.node where seq = any (%s)", (seqs,)
            ).fetchall()
        assert {row["org_id"] for row in orgs} == {org}
        with pytest.raises(psycopg.Error, match="not registered"):
            connection.execute("select * from pgmem.register_model('test:other', 3)")
    with fleet.cell(fleet.home(org)) as cell:
        cell.execute("update pgmem.embedding_model set active = false")
        cell.execute("select pgmem.drop_model('test:m')")


# Names


def twins(org: str) -> list[str]:
    """Names that people take for one."""
    return [
        f"Caf\u00e9 {org}",
        unicodedata.normalize("NFD", f"Caf\u00e9 {org}"),
        f"caf\u00e9 {org}",
        f"CAF\u00c9 {org}",
        f"C\u0430f\u00e9 {org}",  # a Cyrillic letter
        f"Caf\u00e9  {org}",
        f"Caf\u00e9 {org} ",
        f"Caf\u00e9\u200b {org}",
    ]


def test_names_that_look_alike_are_organisations_of_their_own(fleet: Fleet, org: str) -> None:
    for place, twin in enumerate(twins(org)):
        keeping(fleet, twin, f"secret number{place}")
    for place, twin in enumerate(twins(org)):
        with fleet.session(twin) as connection:
            rows = connection.execute(
                "select content from pgmem.context where content like 'secret%'"
            ).fetchall()
        assert rows == [{"content": f"secret number{place}"}]
        assert set(fleet.rows_of(twin)) == {fleet.home(twin)}


CRUEL = [
    "'; drop schema pgmem cascade; --",
    "$proxy$; select 1; $proxy$",
    "$1", "$2", "O$2Reilly", "%s %I %1$L {} {0}", "%(org)s", "\\", "\\'", "{x,y}", '{"a":1}', "NULL", "''", '"',
    "a'b\"c\\d", "\u00dcn\u00efc\u00f6d\u00e9 \u7d44\u7e54", "\U0001f511", "o" * 200,
]  # fmt: skip


@pytest.mark.parametrize("cruel", CRUEL)
def test_an_organisation_of_any_name_saves_in_one_cell_and_moves_with_all_it_has(
    fleet: Fleet, cruel: str
) -> None:
    neighbour = cruel.replace("$2", "'")
    keeping(fleet, cruel, "of the one with the cruel name")
    with fleet.session(cruel) as connection:
        token = caller(connection)("issue_token", org_id=cruel)["token"]
    held = fleet.rows_of(cruel)
    home = fleet.home(cruel)
    assert set(held) == {home}
    if neighbour != cruel:
        keeping(fleet, neighbour, "of the neighbour")
    others = fleet.rows_of(neighbour)
    to = next(number for number in fleet.numbers if number != home)
    with Directory.open(fleet.dsn) as found:
        mover.move(found, cruel, found.cell(to), lambda _line: None)
    assert fleet.rows_of(cruel) == {to: held[home]}
    if neighbour != cruel:
        assert fleet.rows_of(neighbour) == others
    with fleet.session(cruel) as connection:
        call = caller(connection)
        assert call("verify_token", token=token)["org_id"] == cruel
        assert call("search_memory", query="cruel")["title"]
        assert call("erase_subject", org_id=cruel, dry_run=False, by="the test")["total"] > 0
        if neighbour != cruel:
            call("erase_subject", org_id=neighbour, dry_run=False, by="the test")
    assert fleet.rows_of(cruel) == {}


LONG = "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(3000))
"""More than an entry of an index holds."""


@pytest.mark.parametrize(
    "cruel", ["a\x1fb", "\x1f", "\x1fana", "a\nb", "\x01", "\x7f", "o" * 300, LONG], ids=range(8)
)
def test_a_name_that_is_no_name_reaches_one_cell_or_is_refused(fleet: Fleet, cruel: str) -> None:
    with fleet.session(cruel) as connection:
        try:
            saved = caller(connection)("save_session", objective="Open", project_id="shop")
        except psycopg.Error as error:
            assert error.sqlstate in ("PM001", "54000")
            assert fleet.rows_of(cruel) == {}
        else:
            assert saved["status"] == "saved"
            assert set(fleet.rows_of(cruel)) == {fleet.home(cruel)}


def test_a_user_without_an_organisation_is_not_moved_by_the_name_it_is_routed_by(fleet: Fleet) -> None:
    user = name()
    with fleet.session() as connection:
        act(connection, "", user)
        caller(connection)("save_session", objective="Open", project_id="shop")
        with Directory.open(fleet.dsn) as found:
            home = found.where(f"\x1f{user}").cell
            to = found.cell(next(number for number in fleet.numbers if number != home))
            with pytest.raises(InvalidArgument, match="without an organisation stays"):
                mover.move(found, f"\x1f{user}", to, lambda _line: None)
        rows = connection.execute("select id from pgmem.session").fetchall()
        assert len(rows) == 1


# Settings of a session


def test_a_search_path_of_the_caller_changes_nothing(fleet: Fleet, org: str) -> None:
    """Functions and operators before those of pg_catalog, by somebody who may make them."""
    started(fleet, org)
    trap = f"trap_{uuid4().hex[:8]}"
    made = (
        "create schema {0}",
        "create function {0}.md5(text) returns text language sql as $$ select 'ffffffff' $$",
        "create function {0}.current_setting(text, boolean) returns text language sql as $$ select 'victim' $$",
        "create function {0}.set_config(text, text, boolean) returns text language sql as $$ select 'x' $$",
        "create function {0}.same(text, text) returns boolean language sql as $$ select true $$",
        "create operator {0}.= (leftarg = text, rightarg = text, function = {0}.same)",
        "create table {0}.place (org_id text, cell smallint, state text)",
    )
    with fleet.session(org) as connection:
        try:
            for statement in made:
                connection.execute(sql.SQL(statement).format(sql.Identifier(trap)))
            connection.execute(f"set search_path = {trap}, pg_catalog, pgmem".encode())
            saved = caller(connection)("save_context", content="Not caught", project_id="shop")
            assert saved["status"] == "saved"
            assert connection.execute("select * from pgmem.context").fetchall() != []
        finally:
            connection.execute("set search_path = pg_catalog")
            connection.execute(f"drop schema {trap} cascade".encode())
    assert set(fleet.rows_of(org)) == {fleet.home(org)}


@pytest.mark.parametrize(
    "begin", ["isolation level repeatable read", "isolation level serializable", "read only"]
)
def test_a_transaction_that_forbids_a_save_is_refused_it_by_any_way_in(
    fleet: Fleet, org: str, begin: str
) -> None:
    started(fleet, org)
    before = fleet.rows_of(org)
    saves = (
        "select * from pgmem.save_context('c', 'shop')",
        'select * from pgmem.put_items(\'[{"namespace": ["a"], "name": "k", "value": {}}]\')',
        "select * from pgmem.issue_token(current_setting('pgmem.org_id'))",
        "select * from pgmem.erase_subject(current_setting('pgmem.org_id'), '', false, 'me')",
    )
    with fleet.session(org) as connection:
        for save in saves:
            connection.execute(f"begin {begin}".encode())
            with pytest.raises(psycopg.Error) as error:
                connection.execute(save.encode())
            connection.execute("rollback")
            assert error.value.sqlstate in ("PM005", "25006"), (save, error.value)
            connection.execute("set default_transaction_read_only = on")
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                connection.execute(save.encode())
            connection.execute("set default_transaction_read_only = off")
    assert fleet.rows_of(org) == before


def test_an_open_transaction_at_the_front_holds_no_lock_in_a_cell(fleet: Fleet, org: str) -> None:
    """The cell has committed when the verb answers: a client that goes away in its transaction stops nobody."""
    started(fleet, org)
    with fleet.session(org) as first, fleet.session(org) as second:
        first.execute("begin")
        assert (
            caller(first)("save_context", content="In a transaction", project_id="shop")["status"] == "saved"
        )
        second.execute("set statement_timeout = '5s'")
        assert caller(second)("save_context", content="Beside it", project_id="shop")["status"] == "saved"
        rows = second.execute("select content from pgmem.context order by content").fetchall()
        assert [row["content"] for row in rows] == ["Beside it", "In a transaction"]
        first.execute("rollback")


# An old map


def test_a_front_with_an_old_map_neither_reads_nor_writes_where_the_organisation_was(
    fleet: Fleet, org: str
) -> None:
    keeping(fleet, org, "It has moved")
    home = fleet.home(org)
    to = next(number for number in fleet.numbers if number != home)
    with Directory.open(fleet.dsn) as found, fleet.session(org) as connection:
        mover.move(found, org, found.cell(to), lambda _line: None)
        rows = fleet.rows_of(org)
        change = "update front.place set cell = %s where org_id = %s"
        found.connection.execute(change.encode(), (home, org))
        for verb, arguments in (
            ("save_context", {"content": "Astray", "project_id": "shop"}),
            ("search_memory", {"query": "moved"}),
            ("retrieve_context", {"project_id": "shop"}),
        ):
            with pytest.raises(psycopg.errors.CannotConnectNow, match="in another cell"):
                caller(connection)(verb, **arguments)
        with pytest.raises(psycopg.errors.CannotConnectNow, match="in another cell"):
            connection.execute("select * from pgmem.memory")
        assert fleet.rows_of(org) == rows
        found.connection.execute(change.encode(), (to, org))
        assert caller(connection)("search_memory", query="moved")["title"]
