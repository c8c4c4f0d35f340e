"""Both layers of isolation, through real logins: the rights of each role, and the memories that it sees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from pgmem.doctor.database import examine_server
from pgmem.errors import NotPermitted
from pgmem.install import schema
from pgmem.server.embedded import EmbeddedServer
from tests.conftest import Call, GraphDifferences, caller
from tests.fixtures.clusters import CopyTo
from tests.fixtures.logins import PASSWORD, Login
from tests.fixtures.places import roomy_place
from tests.fixtures.verbs import ActAs, Rows


def sqlstate(connection: psycopg.Connection[DictRow], query: str) -> str | None:
    try:
        connection.execute(query.encode())
    except psycopg.Error as error:
        return error.sqlstate
    return None


def values(connection: psycopg.Connection[DictRow], query: str) -> list[object]:
    return [next(iter(row.values())) for row in connection.execute(query.encode()).fetchall()]


DENIED = "42501"


@pytest.fixture
def three(call: Call, act_as: ActAs) -> None:
    """Alice and Bob of acme and Carol of globex, each with a project and a secret; acme shares one too."""
    for org, user in (("acme", "alice"), ("acme", "bob"), ("globex", "carol")):
        act_as(org, user)
        call("save_session", objective=f"{user} opens", project_id="shop")
        call("save_decision", title=f"Secret of {user}", rationale=f"known to {user}", project_id="shop")
    act_as("acme", "alice")
    call("save_session", objective="acme opens", project_id="common", share="org")
    call("save_decision", title="Acme shares this", rationale="all", project_id="common", share="org")
    act_as()


def test_the_roles_are_made_once_and_own_everything(rows: Rows, roles: None) -> None:
    assert rows("select pgmem.make_roles() as made") == [{"made": []}]
    owners = rows(
        "select distinct relowner::regrole::text as owner from pg_class where relnamespace in "
        "(select oid from pg_namespace where nspname in ('pgmem', 'pgmem_graph')) and relkind in ('r', 'v', 'S') "
        "union select distinct proowner::regrole::text from pg_proc where pronamespace = 'pgmem'::regnamespace"
    )
    assert owners == [{"owner": "pgmem_owner"}]
    assert rows("select isolation_layers from pgmem.status()") == [{"isolation_layers": 2}]


@pytest.mark.usefixtures("age")
def test_an_upgrade_after_the_roles_leaves_all_to_their_owner(
    store: str, call: Call, rows: Rows, roles: None
) -> None:
    rows("update pgmem.schema_version set digest = 'old' returning one")
    assert schema.upgrade(store).changed
    query = "select count(*) as n from pg_proc where pronamespace = 'pgmem'::regnamespace and proowner <> 'pgmem_owner'::regrole"
    assert rows(query) == [{"n": 0}]
    call("rebuild_graph")
    assert call("save_session", objective="goes on", project_id="shop")["status"] == "saved"
    assert call("check_graph") == {}


@pytest.mark.usefixtures("age")
def test_a_label_that_a_member_of_the_owner_makes_in_the_graph_is_the_owners(
    login: Login, call: Call, rows: Rows
) -> None:
    rows(
        "insert into pgmem.label (name, key_field, title_field, vocabulary) values ('Ship', 'name', 'name', 'own') returning name"
    )
    caller(login("pgmem_owner"))("enable_graph")
    call("save_session", objective="Sail", project_id="shop")
    saved = call("remember", label="Ship", properties={"name": "Argo"}, project_id="shop")
    assert (saved["label"], saved["status"]) == ("Ship", "active")


@pytest.fixture
def of_installer(cluster: CopyTo) -> Iterator[str]:
    """The superuser's DSN of a database that the role installer owns, on a server of the test's own."""
    # Not tmp_path: under root the server is another user, and each pytest that starts closes those folders to others.
    with TemporaryDirectory(dir=roomy_place(), ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        cluster(Path(folder))
        dsn = stack.enter_context(EmbeddedServer(Path(folder))).start()
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute("create role installer login createrole")
            admin.execute("create database store owner installer")
        yield make_conninfo(dsn, dbname="store")


@pytest.mark.embedded
def test_an_installer_with_createrole_who_is_not_a_superuser_makes_the_roles(of_installer: str) -> None:
    own = make_conninfo(of_installer, user="installer")
    schema.upgrade(own, (), roles=True)
    schema.upgrade(own, ())
    with psycopg.connect(own, autocommit=True, row_factory=dict_row) as connection:
        assert values(connection, "select isolation_layers from pgmem.status()") == [2]
        assert caller(connection)("save_session", objective="o", project_id="shop")["status"] == "saved"
        assert values(
            connection, "select nspowner::regrole::text from pg_namespace where nspname = 'pgmem'"
        ) == ["pgmem_owner"]


@pytest.mark.embedded
def test_the_owner_may_use_an_extension_in_a_separate_schema(of_installer: str) -> None:
    """Supabase keeps pgvector in `extensions`; every save with a vector failed there, and doctor found nothing."""
    store = of_installer
    with psycopg.connect(store, autocommit=True, row_factory=dict_row) as admin_there:
        admin_there.execute("create schema extensions; create extension vector schema extensions")
        admin_there.execute("grant usage on schema extensions to installer")
        with pytest.raises(NotPermitted, match="run: grant usage on schema extensions to pgmem_owner$"):
            schema.upgrade(make_conninfo(store, user="installer"), (), roles=True)
        schema.upgrade(store, (), roles=True)
        call = caller(admin_there)
        call("register_model", name="test:two", dimensions=2)
        call("save_session", objective="o", project_id="shop")
        saved = call("save_context", content="with a vector", project_id="shop", embedding=[1.0, 0.0])
        assert saved["status"] == "saved"
        assert "extension_schema" not in {found.check for found in examine_server(store, 5)}
        admin_there.execute("revoke usage on schema extensions from pgmem_owner")
        (finding,) = (found for found in examine_server(store, 5) if found.check == "extension_schema")
        assert finding.remedy == 'grant usage on schema "extensions" to pgmem_owner'


def test_without_createrole_there_is_one_wall_and_a_sentence(
    server: str, make_login: Callable[..., str]
) -> None:
    from tests.conftest import new_database

    name = make_login()
    with psycopg.connect(server, autocommit=True) as admin, new_database(server, "template0") as dsn:
        database = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
        admin.execute(f"alter database {database} owner to {name}")
        own = make_conninfo(dsn, user=name, password=PASSWORD)
        schema.upgrade(own, ())
        with pytest.raises(NotPermitted, match="one layer of isolation|may not become"):
            schema.upgrade(own, (), roles=True)
        with psycopg.connect(own, autocommit=True, row_factory=dict_row) as connection:
            assert values(connection, "select isolation_layers from pgmem.status()") == [1]
            assert caller(connection)("save_session", objective="o", project_id="shop")["status"] == "saved"
        admin.execute(f"alter database {database} owner to current_user")


def test_a_writer_runs_verbs_and_touches_no_table(login: Login, rows: Rows) -> None:
    writer = login("pgmem_writer")
    assert caller(writer)("save_session", objective="o", project_id="shop")["status"] == "saved"
    assert caller(writer)("search_memory", query="o") is not None
    for table in (
        "node",
        "edge",
        "node_version",
        "save_attempt",
        "setting",
        "api_token",
        "tenant_role",
        "decision",
        "visible_node",
    ):
        assert sqlstate(writer, f"select from pgmem.{table}") == DENIED
    assert sqlstate(writer, "insert into pgmem.tenant_role values ('x', 'acme', '')") == DENIED
    assert sqlstate(writer, "select pgmem.set_setting('test_clock', 'true')") == DENIED
    assert sqlstate(writer, "select pgmem.insert_edge(1, 'USES', 2)") == DENIED
    for verb in (
        "erase_subject('acme')",
        "issue_token('acme')",
        "decay_scores()",
        "list_tenants()",
        "resolve_review(gen_random_uuid(), 'drop', 'me')",
    ):
        assert sqlstate(writer, f"select pgmem.{verb}") == DENIED


def test_a_reader_sees_views_and_writes_nothing(login: Login, call: Call) -> None:
    call("save_session", objective="o", project_id="shop")
    reader = login("pgmem_reader")
    assert values(reader, "select objective from pgmem.session") == ["o"]
    assert values(reader, "select title from pgmem.search_memory('o')") is not None
    for view in (
        "decision",
        "pattern",
        "context",
        "entity_fact",
        "project",
        "conflict",
        "lineage",
        "graph_edge",
        "save",
        "approval",
    ):
        assert sqlstate(reader, f"select * from pgmem.{view}") is None, view
    assert sqlstate(reader, "select * from pgmem.save_session('o', 'shop')") == DENIED
    assert sqlstate(reader, "update pgmem.node set title = 'x'") == DENIED
    assert sqlstate(reader, "select secret_hash from pgmem.governance_token") == DENIED


def test_a_reviewer_does_both_and_what_is_a_persons(login: Login) -> None:
    reviewer = login("pgmem_reviewer")
    assert caller(reviewer)("save_session", objective="o", project_id="shop")["status"] == "saved"
    assert values(reviewer, "select objective from pgmem.session") == ["o"]
    assert sqlstate(reviewer, "select * from pgmem.decay_scores()") is None
    assert sqlstate(reviewer, "select * from pgmem.erase_subject('acme')") is None
    assert sqlstate(reviewer, "select pgmem.set_setting('test_clock', 'true')") == DENIED


def test_a_stranger_with_a_login_gets_nothing(login: Login) -> None:
    stranger = login()
    assert sqlstate(stranger, "select * from pgmem.status()") == DENIED
    assert sqlstate(stranger, "select from pgmem.node") == DENIED


def test_settings_count_for_the_trusted_only(login: Login, three: None) -> None:
    identity = "select set_config('pgmem.org_id', 'acme', false), set_config('pgmem.user_id', 'alice', false)"
    trusted, writer, reader = login("pgmem_trusted"), login("pgmem_writer"), login("pgmem_reader")
    for connection in (trusted, writer, reader):
        connection.execute(identity)
    found = "select title from pgmem.search_memory('secret')"
    assert values(trusted, found) == ["Secret of alice"]
    assert values(writer, found) == []
    assert values(reader, found) == []
    assert values(reader, "select title from pgmem.decision") == []


def test_a_bound_login_is_its_tenant_whatever_it_sets(
    login: Login, make_login: Callable[..., str], rows: Rows, three: None
) -> None:
    name = make_login("pgmem_trusted", "pgmem_reader")
    rows("select * from pgmem.bind_role(%s, 'acme', 'bob')", name)
    bob = login(name=name)
    everything = {"Secret of bob", "Acme shares this"}
    for org, user in (("acme", "bob"), ("acme", "alice"), ("globex", "carol"), ("", "")):
        bob.execute(
            "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false)",
            (org, user),
        )
        assert set(values(bob, "select title from pgmem.decision")) == everything
        assert values(bob, "select title from pgmem.search_memory('secret')") == ["Secret of bob"]
    assert sqlstate(bob, "select * from pgmem.verify_token('x')") == "PM004"


def test_the_owner_asks_the_graph_of_a_store_with_tenants_and_nobody_else_does(
    login: Login, make_login: Callable[..., str], rows: Rows, three: None, age: None
) -> None:
    bound, reviewer = make_login("pgmem_reader"), make_login("pgmem_reviewer")
    rows("select * from pgmem.bind_role(%s, 'acme', 'bob')", bound)
    query = "select * from pgmem.run_cypher('MATCH (n) RETURN count(n) AS n')"
    assert rows(query)[0]["run_cypher"]["n"] > 0
    assert sqlstate(login(name=bound), query) in ("PM004", "42501")
    assert sqlstate(login(name=reviewer), query) in ("PM004", "42501")


def test_set_role_changes_nobodys_identity(
    connection: psycopg.Connection[DictRow],
    login: Login,
    make_login: Callable[..., str],
    rows: Rows,
    three: None,
) -> None:
    alice, bob = make_login("pgmem_reader"), make_login("pgmem_reader")
    rows("select * from pgmem.bind_role(%s, 'acme', 'alice')", alice)
    rows("select * from pgmem.bind_role(%s, 'acme', 'bob')", bob)
    connection.execute(f"grant {alice} to {bob}".encode())
    as_bob = login(name=bob)
    as_bob.execute(f"set role {alice}".encode())
    assert values(as_bob, "select title from pgmem.decision where title like 'Secret%'") == ["Secret of bob"]
    as_bob.close()


@pytest.mark.parametrize(
    "view",
    [
        "node",
        "edge",
        "node_version",
        "save_attempt",
        "decision",
        "session",
        "graph_edge",
        "project",
        "save",
        "lineage",
    ],
)
def test_row_level_security_holds_on_every_table_and_view_a_reader_has(
    login: Login, make_login: Callable[..., str], rows: Rows, three: None, view: str
) -> None:
    name = make_login("pgmem_reader")
    rows("select * from pgmem.bind_role(%s, 'globex', 'carol')", name)
    if view in ("node", "edge", "node_version", "save_attempt"):
        assert sqlstate(login(name=name), f"select from pgmem.{view}") == DENIED
        rows(f"select 1; grant select on pgmem.{view}, pgmem.node to pgmem_reader")
    seen = str(values(login(name=name), f"select to_jsonb(t)::text from pgmem.{view} t"))
    assert not re.search("alice|bob|acme", seen)


def test_a_binding_ends_and_the_owner_cannot_be_bound(
    login: Login, make_login: Callable[..., str], rows: Rows, three: None
) -> None:
    name = make_login("pgmem_reader")
    rows("select * from pgmem.bind_role(%s, 'acme', 'bob')", name)
    assert rows("select roles from pgmem.list_tenants() where user_id = 'bob'") == [{"roles": [name]}]
    rows("select * from pgmem.bind_role(%s)", name)
    assert values(login(name=name), "select title from pgmem.decision") == []
    with pytest.raises(psycopg.Error, match="owns this store"):
        rows("select * from pgmem.bind_role(current_user::text, 'acme')")
    with pytest.raises(psycopg.Error, match="No database role"):
        rows("select * from pgmem.bind_role('nobody_at_all', 'acme')")


def test_where_identity_is_required_nobody_reads_and_writes_nothing(
    call: Call, rows: Rows, shop: str
) -> None:
    rows("update pgmem.setting set value = 'true' where name = 'require_identity' returning name")
    assert call("get_scope_state", project_id=shop)["scope_state"] == "uncertain"
    assert call("retrieve_context", project_id=shop, scope="project")["items"] == []
    for verb, arguments in (
        ("save_session", {"objective": "o", "project_id": "shop"}),
        ("remember", {"label": "Concept", "properties": {"name": "c"}}),
        ("forget", {"label": "Concept", "key": "c"}),
        ("request_global_write_approval", {"content_preview": "x"}),
    ):
        with pytest.raises(psycopg.Error) as caught:
            call(verb, **arguments)
        assert caught.value.sqlstate == "PM006"


def test_what_one_only_sees_one_does_not_change(call: Call, act_as: ActAs) -> None:
    call("remember", label="Concept", properties={"name": "public"})
    act_as("acme", "alice")
    call("remember", label="Concept", properties={"name": "shared"}, share="org")
    for verb, extra in (("forget", {}), ("forget", {"purge": True}), ("revert", {"version": 1})):
        with pytest.raises(psycopg.Error) as caught:
            call(verb, label="Concept", key="public", **extra)
        assert caught.value.sqlstate == "PM004"
    act_as("globex", "carol")
    with pytest.raises(psycopg.Error) as caught:
        call("forget", label="Concept", key="shared")
    assert caught.value.sqlstate == "PM002"
    act_as("acme", "bob")
    assert call("forget", label="Concept", key="shared")["status"] == "archived"


def test_adopting_gives_what_was_nobodys_to_a_tenant_whole(
    graph_differences: GraphDifferences, call: Call, rows: Rows, act_as: ActAs, shop: str
) -> None:
    words = {"title": "Use PostgreSQL for storage", "rationale": "One.", "project_id": shop}
    kept = call("save_decision", **words)["artifact_id"]
    call("upsert_entity", entity_name="Redis", fact="one", project_id=shop)
    call("upsert_entity", entity_name="Redis", fact="two", project_id=shop)
    counted = call("adopt", org_id="acme", user_id="alice", dry_run=True)
    done = call("adopt", org_id="acme", user_id="alice")
    assert done["nodes"] == counted["nodes"] == 4
    act_as("acme", "bob")
    assert call("get_scope_state", project_id=shop)["scope_state"] == "uncertain"
    act_as("acme", "alice")
    assert call("save_decision", **words)["candidate_id"] == kept
    near = call("check_duplicate", title="Use PostgreSQL for any storage", rationale="x", project_id=shop)
    assert near["candidate_id"] == kept
    assert call("search_memory", query="postgresql", project_id=shop)["id"] == kept
    assert [
        r["version"] for r in rows("select version from pgmem.memory_history('EntityFact', 'Redis')")
    ] == [1, 2]
    assert graph_differences() == []


def test_adopting_is_refused_while_the_tenant_holds_the_same_names(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("save_session", objective="mine", project_id="shop")
    act_as()
    call("save_session", objective="nobody's", project_id="shop")
    assert call("adopt", org_id="acme", user_id="alice", dry_run=True)["collisions"] == [
        {"label": "Project", "name": "shop", "project": None}
    ]
    with pytest.raises(psycopg.Error, match="already holds 1"):
        call("adopt", org_id="acme", user_id="alice")


@pytest.mark.usefixtures("age")
def test_cypher_is_refused_while_a_tenant_is_set(call: Call, act_as: ActAs, shop: str) -> None:
    act_as("acme", "alice")
    with pytest.raises(psycopg.Error, match="not filtered by tenant") as caught:
        call("run_cypher", query="MATCH (n) RETURN n.title AS title")
    assert caught.value.sqlstate == "PM004"


def test_maintenance_without_identity_means_all_tenants_and_with_one_its_own(
    call: Call, act_as: ActAs, three: None
) -> None:
    assert call("forget_by_ttl", days=0, dry_run=True)["remaining"] == 8
    act_as("globex", "carol")
    assert call("forget_by_ttl", days=0, dry_run=True)["remaining"] == 2


def test_an_edge_needs_an_end_of_the_caller(call: Call, act_as: ActAs) -> None:
    for name in ("public", "other"):
        call("remember", label="Concept", properties={"name": name})
    act_as("acme", "alice")
    call("remember", label="Concept", properties={"name": "hers"})
    ends = {"from_label": "Concept", "rel_type": "RELATED_TO", "to_label": "Concept", "to_key": "public"}
    assert call("relate", from_key="hers", **ends)["created"]
    with pytest.raises(psycopg.Error) as caught:
        call("relate", from_key="other", **ends)
    assert caught.value.sqlstate == "PM004"
