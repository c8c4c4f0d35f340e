"""Somebody who may create in the schema of an extension tries to run code as the owner of the store."""

from __future__ import annotations

import re

import psycopg
import pytest

from pgmem.doctor.database import examine_server
from pgmem.errors import UnsuitableDatabase
from pgmem.install import schema
from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Rows
from tests.security.conftest import Session, value

# Operators of extensions must name their schema: unqualified, they are looked for in the path of the session.
UNNAMED = re.compile(r"(?<![.])(<=>|<->|<#>|<\+>)|::\s*(?:halfvec|vector|sparsevec|agtype|graphid)\b")


def test_no_function_has_a_schema_in_its_path_where_others_may_create(rows: Rows, roles: None) -> None:
    """`public` stood in the path of functions that run as the owner."""
    found = rows(
        "select p.proname, s.name, coalesce(r.rolname, 'public') as grantee from pg_proc p"
        " cross join unnest(p.proconfig) as c(setting)"
        " cross join unnest(string_to_array(substr(c.setting, 13), ', ')) as s(name)"
        " join pg_namespace n on quote_ident(n.nspname) = s.name"
        " cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a"
        " left join pg_roles r on r.oid = a.grantee"
        " where p.pronamespace = 'pgmem'::regnamespace and c.setting like 'search_path=%'"
        " and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner"
    )
    assert found == []
    paths = rows(
        "select distinct s.name from pg_proc p cross join unnest(p.proconfig) as c(setting)"
        " cross join unnest(string_to_array(substr(c.setting, 13), ', ')) as s(name)"
        " where p.pronamespace = 'pgmem'::regnamespace and c.setting like 'search_path=%'"
    )
    assert {row["name"] for row in paths} <= {"pgmem", "ag_catalog", "pg_catalog", "pg_temp"}


def test_every_function_that_runs_code_pins_its_path_or_is_bound_when_it_is_made(rows: Rows) -> None:
    """A plpgsql function without a path takes that of its caller."""
    free = rows(
        "select p.proname from pg_proc p where p.pronamespace = 'pgmem'::regnamespace and p.prosqlbody is null"
        " and not exists (select from unnest(p.proconfig) c where c like 'search_path=%') and p.prosecdef"
    )
    assert free == []


def test_operators_of_extensions_are_called_by_name_with_their_schema(rows: Rows) -> None:
    """`1 - (a <=> b)` took the first `-` of the path that fits integer and float8."""
    sources = rows("select proname, prosrc from pg_proc where pronamespace = 'pgmem'::regnamespace")
    graph = {
        "project_node",
        "project_edge",  # pinned to ag_catalog and pgmem, in which nobody else may create
        "search_words",  # writes the sign <-> into a tsquery
    }
    unnamed = [
        row["proname"] for row in sources if UNNAMED.search(row["prosrc"]) and row["proname"] not in graph
    ]
    assert unnamed == []


@pytest.mark.usefixtures("vectors")
def test_an_operator_in_the_schema_of_the_extension_is_not_run(
    connection: Session, alice: Session, carol: Session, call: Call, act_as: ActAs
) -> None:
    """Alice's operator ran as the owner, in her search and in carol's."""
    place = value(
        connection,
        "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'vector'",
    )
    call("register_model", name="test:two", dimensions=2)
    seq = value(connection, "select seq from pgmem.node where label = 'Decision' limit 1")
    connection.execute(
        "insert into pgmem.embedding_queue (node_seq, model_id) values (%s, 1) on conflict do nothing", (seq,)
    )
    for claimed in connection.execute("select * from pgmem.claim_embeddings('test:two')").fetchall():
        item = [{**claimed, "vector": [1, 0]}]
        call("store_vectors", model="test:two", items=item)
    connection.execute(f"grant create on schema {place} to public".encode())
    alice.execute(f"create table {place}.caught (who text)".encode())
    alice.execute(f"grant insert on {place}.caught to public".encode())
    for left, right in (("integer", "double precision"), ("double precision", "double precision")):
        alice.execute(
            f"create function {place}.evil({left}, {right}) returns double precision language plpgsql as"
            f" $$ begin insert into {place}.caught values (current_user); return 0; end $$".encode()
        )
        alice.execute(
            f"create operator {place}.- (leftarg = {left}, rightarg = {right}, function = {place}.evil)".encode()
        )
    for attacker in (alice, carol, connection):
        attacker.execute("select count(*) from pgmem.search_vectors('{1,0}')")
        attacker.execute("select count(*) from pgmem.search_memory('pipeline', p_embedding => '{1,0}')")
    assert value(connection, f"select count(*) from {place}.caught") == 0
    connection.execute(f"drop owned by {alice.info.user} cascade".encode())


@pytest.mark.usefixtures("vectors", "superuser")
def test_init_refuses_and_doctor_reports_an_extension_schema_where_others_may_create(
    connection: Session, store: str
) -> None:
    """On clusters that came from PostgreSQL 14, everybody may create in `public`."""
    place = value(
        connection,
        "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'vector'",
    )
    assert "extension_schema" not in {finding.check for finding in examine_server(store, 5)}
    connection.execute(f"grant create on schema {place} to public".encode())
    with pytest.raises(
        UnsuitableDatabase, match=f'Run: revoke create on schema "?{place}"? from public'
    ) as caught:
        schema.upgrade(store)
    (finding,) = (finding for finding in examine_server(store, 5) if finding.check == "extension_schema")
    assert finding.level == "look"
    assert finding.remedy == str(caught.value).partition("Run: ")[2]
    with psycopg.connect(store) as mended:
        mended.execute(str(finding.remedy).encode())
    schema.upgrade(store)
