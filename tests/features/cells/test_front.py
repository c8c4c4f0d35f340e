"""A front is a DSN like any other: verbs, views, errors, identity and rights, with three cells behind it."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from typer.testing import CliRunner

from pgmem import Memory
from pgmem.cli import app
from pgmem.errors import InvalidArgument, UnsuitableDatabase
from pgmem.features.cells.directory import LOGINS, Directory
from pgmem.settings import Settings
from tests.conftest import caller
from tests.core.schema.test_publication import WITHOUT_KEY
from tests.features.cells.fleet import Fleet, act
from tests.features.cells.running import started


def name() -> str:
    return f"o{uuid4().hex[:10]}"


def settings(fleet: Fleet, folder: Path, org: str) -> Settings:
    return Settings(dsn=fleet.dsn, data_dir=folder, org_id=org, user_id="ana", retry_wait_s=0)


@pytest.mark.anyio
async def test_the_library_saves_and_finds_through_a_front(fleet: Fleet, tmp_path: Path) -> None:
    for number in fleet.numbers:
        org = fleet.org_in(number, f"lib{name()}")
        async with Memory.connect(settings(fleet, tmp_path, org)) as memory:
            await memory.save_session("Open the shop", "shop")
            first = await memory.save_decision("Sell tea in the morning", "People ask for it.", "shop")
            again = await memory.save_decision("Sell tea in the morning", "People ask for it.", "shop")
            assert (first.status, first.dedup_outcome, again.dedup_outcome) == (
                "saved",
                "new",
                "duplicate_skip",
            )
            found = await memory.search_memory("tea")
            assert found.results[0].title == "Sell tea in the morning"
            assert (await memory.retrieve_context("shop")).items
            with pytest.raises(InvalidArgument):
                await memory.search_memory("tea", limit=0)
        assert set(fleet.rows_of(org)) == {number}


def test_every_table_of_a_front_has_a_key_by_which_a_publication_knows_its_rows(fleet: Fleet) -> None:
    with psycopg.connect(fleet.dsn) as connection:
        assert connection.execute(WITHOUT_KEY).fetchall() == []


def test_every_verb_and_view_of_a_cell_has_its_function_at_the_front(fleet: Fleet) -> None:
    heads = (
        "select p.proname as name, pg_get_function_arguments(p.oid) as arguments, pg_get_function_result(p.oid) as result,"
        " obj_description(p.oid, 'pg_proc') as comment from pg_proc p"
        " where p.pronamespace = 'pgmem'::regnamespace and p.proname in (select name from pgmem.verb) order by 1"
    )
    views = "select viewname as name from pg_views where schemaname = 'pgmem' order by 1"
    with fleet.session() as front, fleet.cell(0) as cell:
        assert front.execute(heads).fetchall() == cell.execute(heads).fetchall()
        internal = {"visible_node", "visible_edge"}
        assert {row["name"] for row in front.execute(views)} - {"label", "relation", "setting"} <= {
            row["name"] for row in cell.execute(views)
        } - internal
        assert (
            front.execute("select name, value from pgmem.setting order by 1").fetchall()
            == cell.execute("select name, value from pgmem.setting order by 1").fetchall()
        )


FUNCTIONS = (
    "select p.oid::regprocedure::text as name, p.oid, pg_get_functiondef(p.oid) as text, p.proacl::text as rights from pg_proc p"
    " where p.pronamespace in ('pgmem'::regnamespace, 'relay'::regnamespace, 'front'::regnamespace) order by 1"
)


@pytest.mark.parametrize("command", ["init", "upgrade"])
def test_a_front_that_is_made_twice_is_the_same(fleet: Fleet, command: str) -> None:
    """The functions are those that sessions have found already: one made anew was none that they knew."""
    with fleet.session() as connection:
        before = connection.execute(FUNCTIONS).fetchall()
        done = CliRunner().invoke(app, ["cells", command, "--front", fleet.dsn])
        assert done.exit_code == 0, done.output
        assert connection.execute(FUNCTIONS).fetchall() == before


def test_an_upgrade_brings_a_front_to_what_its_cells_have(fleet: Fleet) -> None:
    """Columns, types, rights and functions that differ, and functions of the front itself."""
    other = (
        "create function pgmem.of_before() returns integer language sql return 1",
        "create type pgmem.answer_of_before as (a integer)",
        "alter type pgmem.save_result add attribute more integer cascade",
        "drop function pgmem.rows_of_decision() cascade",
        "create function pgmem.rows_of_decision() returns table (title text) language sql as $$ select 'x'::text $$",
        "create view pgmem.decision as select * from pgmem.rows_of_decision()",
        "grant execute on function pgmem.sweep to pgmem_reader",
        "create or replace function front.cluster_of(w text[]) returns text language sql return 'of_before'",
    )
    types = "select t.typname from pg_type t where t.typnamespace = 'pgmem'::regnamespace order by 1"
    org = name()
    started(fleet, org)
    with fleet.session(org) as connection:
        there = [connection.execute(query).fetchall() for query in (FUNCTIONS, types)]
        for statement in other:
            connection.execute(statement.encode())
        done = CliRunner().invoke(app, ["cells", "upgrade", "--front", fleet.dsn])
        assert done.exit_code == 0, done.output
        now = [connection.execute(query).fetchall() for query in (FUNCTIONS, types)]
        for row in (*there[0], *now[0]):
            del row["oid"]
        assert now == there
        assert (
            caller(connection)("save_decision", title="After", rationale="r", project_id="shop")["status"]
            == "saved"
        )
        assert connection.execute("select title from pgmem.decision").fetchall() == [{"title": "After"}]


def test_a_session_that_calls_during_an_upgrade_meets_no_error(fleet: Fleet) -> None:
    org = name()
    started(fleet, org)
    said: list[str] = []
    made = threading.Event()

    def call() -> None:
        with fleet.session(org) as connection:
            while not made.is_set():
                said.append(
                    str(
                        caller(connection)("save_context", content="Said meanwhile", project_id="shop")[
                            "status"
                        ]
                    )
                )
                connection.execute("select count(*) from pgmem.context").fetchone()

    with ThreadPoolExecutor() as pool:
        calling = [pool.submit(call) for _ in range(2)]
        try:
            with Directory.open(fleet.dsn) as found:
                for _ in range(3):
                    found.make()
        finally:
            made.set()
        for each in calling:
            each.result()
    assert set(said) <= {"saved", "skipped"}


def test_views_show_the_rows_of_the_caller(fleet: Fleet) -> None:
    one, other = name(), name()
    for org in (one, other):
        started(fleet, org)
        with fleet.session(org) as connection:
            caller(connection)("save_decision", title=f"{org} sells", rationale="so", project_id="shop")
            rows = connection.execute("select title, org_id from pgmem.decision").fetchall()
            assert rows == [{"title": f"{org} sells", "org_id": org}]
            assert connection.execute("select count(*) as n from pgmem.memory").fetchone() is not None


def test_errors_of_a_cell_keep_their_class_and_their_message(fleet: Fleet) -> None:
    org = name()
    started(fleet, org)
    number = fleet.home(org)
    statements = (
        "select * from pgmem.get_node('Decision', 'nothing')",
        "select * from pgmem.save_decision('t', 'r', 'shop', p_scope => 'planet')",
        "select * from pgmem.save_context('c', 'shop', p_save_id => 'no-uuid')",
        "select * from pgmem.search_memory('x', p_limit => 0)",
        "select * from pgmem.issue_token('acme', p_expires_at => '2000-01-01')",
    )
    for statement in statements:
        said = []
        for session in (fleet.session(org), fleet.cell(number)):
            with session as connection:
                act(connection, org)
                with pytest.raises(psycopg.Error) as error:
                    connection.execute(statement.encode())
                said.append((error.value.sqlstate, error.value.diag.message_primary))
        assert said[0] == said[1], statement


def test_a_date_arrives_as_it_was_sent_whatever_the_session_sets(fleet: Fleet) -> None:
    org = name()
    started(fleet, org)
    with fleet.session(org) as connection:
        for n, setting in enumerate(
            (
                "datestyle = 'SQL, DMY'",
                "datestyle = 'German'",
                "intervalstyle = 'sql_standard'",
                "timezone = 'Asia/Kathmandu'",
                "extra_float_digits = -10",
                "search_path = pg_catalog",
            )
        ):
            connection.execute(f"set {setting}".encode())
            caller(connection)(
                "save_decision",
                title=f"Dated {n} {setting}",
                rationale="r",
                project_id="shop",
                date=date(2026, 4, 5),
            )
    with fleet.cell(fleet.home(org)) as cell:
        rows = cell.execute("select props ->> 'date' as date from pgmem.node where org_id = %s and label = 'Decision'", (org,)).fetchall()  # fmt: skip
    assert [row["date"] for row in rows] == ["2026-04-05"] * 6


def test_what_the_callers_transaction_forbids_is_refused(fleet: Fleet) -> None:
    org = name()
    started(fleet, org)
    with fleet.session(org) as connection:
        for begin, state in (("isolation level repeatable read", "PM005"), ("read only", "25006")):
            connection.execute(f"begin {begin}".encode())
            with pytest.raises(psycopg.Error) as error:
                connection.execute("select * from pgmem.save_context('c', 'shop')")
            connection.execute("rollback")
            assert error.value.sqlstate == state
        with connection.transaction():
            connection.execute("set transaction read only")
            assert connection.execute("select * from pgmem.retrieve_context('shop')").fetchone() is not None


def test_a_call_that_names_no_tenant_writes_nothing(fleet: Fleet) -> None:
    with fleet.session() as connection:
        with pytest.raises(psycopg.Error, match="names none"):
            connection.execute("select * from pgmem.save_session(p_objective => 'x', p_project_id => 'p')")
        with pytest.raises(psycopg.Error, match="works in one cell"):
            connection.execute("select * from pgmem.claim_embeddings('m', 3)")


def test_tokens_lead_to_the_cell_of_their_organisation(fleet: Fleet) -> None:
    with fleet.session() as connection:
        call = caller(connection)
        for number in fleet.numbers:
            org = fleet.org_in(number, f"tok{name()}")
            issued = call("issue_token", org_id=org, user_id="ana", name="laptop")
            assert call("verify_token", token=issued["token"])["org_id"] == org
            with fleet.cell(number) as cell:
                row = cell.execute(
                    "select created_by::text as by from pgmem.api_token where org_id = %s", (org,)
                ).fetchone()
            assert row == {"by": "postgres"}
            assert call("revoke_token", token_id=issued["id"])["id"] == issued["id"]
            assert call("verify_token", token=issued["token"]) == {}
        assert call("verify_token", token="pgmem_unknown") == {}
        assert {row["org_id"] for row in connection.execute("select * from pgmem.list_tokens()")} >= {org}


def test_verbs_of_the_store_answer_for_all_cells(fleet: Fleet) -> None:
    for number in fleet.numbers:
        started(fleet, fleet.org_in(number, f"sum{name()}"))
    with fleet.session() as front:
        total = front.execute(
            "select embeddings_waiting, isolation_layers, tier from pgmem.backlog()"
        ).fetchone()
        assert total is not None
        each = []
        for number in fleet.numbers:
            with fleet.cell(number) as cell:
                each.append(cell.execute("select embeddings_waiting as n from pgmem.backlog()").fetchone())
        assert total["embeddings_waiting"] == sum(row["n"] for row in each if row)
        assert (total["isolation_layers"], total["tier"]) == (2, "full")
        front.execute("select * from pgmem.set_setting('focus_limit', '7')")
        for number in fleet.numbers:
            with fleet.cell(number) as cell:
                value = cell.execute("select value from pgmem.setting where name = 'focus_limit'").fetchone()
                assert value == {"value": "7"}


def test_erasing_an_organisation_clears_the_directory(fleet: Fleet) -> None:
    org = name()
    started(fleet, org)
    with fleet.session() as connection, Directory.open(fleet.dsn) as found:
        call = caller(connection)
        token = call("issue_token", org_id=org, name="x")["token"]
        other = next(n for n in fleet.numbers if n != fleet.home(org))
        with fleet.cell(other) as cell:  # as if it had once been there
            cell.execute("select pgmem.set_away(%s, 'gone', 1)", (org,))
        done = call("erase_subject", org_id=org, dry_run=False, by="ana")
        assert done["total"] > 0
        assert call("verify_token", token=token) == {}
        for table in ("place", "token", "move", "login"):
            rows = found.connection.execute(
                f"select * from front.{table} where org_id = %s".encode(), (org,)
            ).fetchall()
            assert rows == []
        with fleet.cell(other) as cell:
            assert cell.execute("select * from pgmem.away where org_id = %s", (org,)).fetchone() is None
    assert fleet.rows_of(org) == {}


def test_a_store_that_holds_memories_does_not_become_a_front(fleet: Fleet) -> None:
    done = CliRunner().invoke(app, ["cells", "init", "--front", fleet.cell_dsn(0)])
    assert (done.exit_code, "holds memories" in done.stderr) == (1, True), done.stderr


def test_a_database_that_is_not_a_front_is_named_so(fleet: Fleet) -> None:
    with pytest.raises(UnsuitableDatabase, match="pgmem cells init"), Directory.open(fleet.cell_dsn(0)):
        pass


def test_a_cell_that_cannot_be_added_says_why(fleet: Fleet) -> None:
    with Directory.open(fleet.dsn) as found:
        with pytest.raises(InvalidArgument, match="a cell 0 already"):
            found.add(fleet.cell_dsn(0))
        with pytest.raises(InvalidArgument, match="password"):
            found.add(fleet.cell_dsn(0) + " password=x")
        with pytest.raises(InvalidArgument, match="reaches cell 1, not cell 0"):
            found.fail_over(found.cell(0), found.cell(1).dsn)
        with pytest.raises(InvalidArgument, match="Unknown cell 9"):
            found.cell(9)
        assert [cell.number for cell in found.cells()] == fleet.numbers


def test_the_command_line_shows_the_cells(fleet: Fleet) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["cells", *words, "--front", fleet.dsn])
        assert done.exit_code == 0, done.output
        return done.output

    assert all(f"cell{number}" in run("list") for number in fleet.numbers)
    assert '"up": true' in run("status", "--json")
    org = fleet.org_in(1, f"cli{name()}")
    assert '"cell": 1' in run("where", org, "--json")


def test_the_guide_names_each_login_of_the_auth_file() -> None:
    """An operator found the names nowhere."""
    page = (Path(__file__).parents[3] / "docs/how-to/run-in-cells.md").read_text(encoding="utf-8")
    assert re.findall(r'^"(\w+)" "PASSWORD"$', page, re.MULTILINE) == list(LOGINS)
