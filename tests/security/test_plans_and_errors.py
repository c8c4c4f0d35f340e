"""A reader, in psql: it asks plans, errors and its own functions for memories of others."""

from __future__ import annotations

import pytest

from tests.fixtures.verbs import Rows
from tests.security.conftest import SECRET, Session, in_the_store, refused, value

CAROLS = "pgmem.tenant_of('globex', 'carol')"


@pytest.mark.parametrize(
    "question",
    [
        f"select from pgmem.node where tenant = {CAROLS} and key = 'proj-carol'",
        "select from pgmem.node where scope_key = 1",
        "select from pgmem.node where id = '00000000-0000-4000-8000-000000000000'",
        "select from pgmem.node where content_hash = 'x'",
        "select from pgmem.edge where src = 1",
        "select from pgmem.node_version where node_seq = 1",
        "select from pgmem.save_attempt where save_id = '00000000-0000-4000-8000-000000000000'",
        "select from pgmem.governance_token",
        "select preview from pgmem.governance_token",
        "select from pgmem.card_subject",
        "select from pgmem.card_run",
        "select from pgmem.tombstone",
        "select from pgmem.dedup_token",
        "select from pgmem.visible_node",
        "select secret from pgmem.store_secret",
        f"select pgmem.scope_key({CAROLS}, null, 'Project')",
        f"select pgmem.save_key({CAROLS}, gen_random_uuid())",
        f"select pgmem.same_content(1, {CAROLS}, 'x')",
        f"select pgmem.near_duplicate(1, {CAROLS}, '{SECRET}')",
        "select pgmem.find_repeat(null)",
        "select last_value from pgmem.node_seq_seq",
    ],
)
def test_a_plan_of_a_table_is_refused(alice: Session, carol: Session, question: str) -> None:
    """EXPLAIN ANALYZE said "Rows Removed by Filter: 1" of a row that another tenant has."""
    # A plan alone does not call a function.
    for how in ("", "explain (analyze, buffers) ", *(() if "select pgmem." in question else ("explain ",))):
        with refused("42501"):
            alice.execute(f"{how}{question}".encode())


def plan(session: Session, query: str) -> str:
    """A plan without times and without reads of the catalog."""
    found = session.execute(
        f"explain (analyze, timing off, summary off, buffers off, costs on) {query}".encode()
    ).fetchall()
    return "\n".join(str(row["QUERY PLAN"]) for row in found)


@pytest.mark.parametrize(
    "view", ["decision", "project", "graph_edge", "session", "save", "conflict", "lineage", "card"]
)
def test_the_plan_of_a_view_is_the_same_whether_others_hold_a_row_or_not(
    alice: Session, carol: Session, connection: Session, rows: Rows, view: str
) -> None:
    """Conditions on columns were evaluated before the policy of the table."""
    columns = {
        "project": "name",
        "graph_edge": "from_title",
        "session": "objective",
        "save": "verb",
        "lineage": "newest_title",
    }
    column = columns.get(view, "title" if view != "card" else "statement")
    for condition in (f"{column} = '{SECRET}'", f"{column} = 'proj-carol'", f"{column} like 'proj%'", "true"):
        query = f"select * from pgmem.{view} where {condition}"
        before = plan(alice, query)
        assert "Index" not in before
        assert "Seq Scan" not in before
        connection.execute(
            "select set_config('pgmem.org_id', 'globex', false), set_config('pgmem.user_id', 'carol', false)"
        )
        connection.execute("select pgmem.save_session('more of it', 'proj-' || gen_random_uuid())")
        connection.execute(
            "select set_config('pgmem.org_id', '', false), set_config('pgmem.user_id', '', false)"
        )
        assert plan(alice, query) == before


@pytest.mark.usefixtures("temporary")
def test_a_function_that_leaks_sees_no_row_of_others(
    alice: Session, carol: Session, connection: Session
) -> None:
    """Tried and held: a cheap function in a temporary schema, or its own operator, in a condition on a view."""
    own = in_the_store(alice)
    own.execute("create table pg_temp.caught (what text)")
    own.execute(
        "create function pg_temp.leak(what text) returns boolean language plpgsql cost 0.0000001 as"
        " $$ begin insert into pg_temp.caught values (what); return true; end $$"
    )
    for query in (
        "select * from pgmem.decision where pg_temp.leak(rationale)",
        "select * from pgmem.graph_edge where pg_temp.leak(from_title)",
        "select * from pgmem.project where pg_temp.leak(name)",
        "select * from pgmem.search_memory('pipeline') where pg_temp.leak(title)",
    ):
        own.execute(query.encode())
    assert value(own, "select count(*) from pg_temp.caught where what like '%carol%'") == 0
    assert value(own, "select count(*) from pg_temp.caught where what like '%alice%'") != 0
    own.execute("discard temp")  # so that the login can be dropped


def test_errors_and_answers_are_the_same_whether_others_hold_a_name_or_not(
    alice: Session, carol: Session
) -> None:
    """Nothing is confirmed by an error or by an outcome."""
    known, unknown = (
        [
            value(alice, "select scope_state from pgmem.get_scope_state(%s)", name),
            value(alice, "select dedup_outcome from pgmem.check_duplicate(%s, 'r', %s)", SECRET, name),
            value(alice, "select status from pgmem.save_decision(%s, 'r', %s)", SECRET, name),
            value(alice, "select count(*) from pgmem.search_memory(%s)", "carol"),
        ]
        for name in ("proj-carol", "proj-nobody")
    )
    assert known == unknown
