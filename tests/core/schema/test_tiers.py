"""The tiers: the verbs without AGE, without pgvector, and when one comes later; and a store from its dump."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from pgmem.errors import NotPermitted
from pgmem.install import schema
from tests.conftest import (
    Call,
    as_admin,
    caller,
    is_managed,
    new_database,
    past_the_pooler,
    prepare_vector,
    tier,
    without,
)
from tests.core.schema.conftest import MakeDatabase, Program
from tests.fixtures.amounts import mostly_long
from tests.fixtures.logins import PASSWORD

TIERS = {"template": "full", "template_without_age": "no AGE", "template_text_only": "full text only"}


@pytest.fixture
def store(
    database: MakeDatabase, request: pytest.FixtureRequest
) -> Callable[[str], psycopg.Connection[DictRow]]:
    """`store("template_text_only")`: a connection to a new store of that tier."""

    def store(template: str) -> psycopg.Connection[DictRow]:
        dsn = past_the_pooler(database(template=request.getfixturevalue(template)))
        connection = psycopg.connect(dsn, autocommit=True, row_factory=dict_row)
        request.addfinalizer(connection.close)
        if tier(connection) != TIERS[template]:
            without(f"tier {TIERS[template]}")
        return connection

    return store


def dsn_of(connection: psycopg.Connection[DictRow]) -> str:
    """How to connect to the same store again, in words that an older pg_dump knows too."""
    info = connection.info
    return make_conninfo(
        host=info.host, port=info.port, user=info.user, dbname=info.dbname, password=info.password or None
    )


def fill(call: Call, project: str = "shop") -> None:
    """Memories of every kind, every relation of the core."""
    assert call("save_session", objective="open", project_id=project)["status"] == "saved"
    batch = call(
        "store_session_with_learnings",
        session={"objective": "choose the payment", "scope": "focus"},
        project_id=project,
        focus="checkout",
        decisions=[
            {"title": "take the cards of all banks", "rationale": "r"},
            {"title": "take the cards of most banks", "rationale": "r"},
            {"title": "Refuse cash", "rationale": "r"},
        ],
        patterns=[{"trigger": "a release", "repeatable_steps": ["tag it"]}],
    )
    assert batch["overall"] == "saved"
    call("upsert_entity", entity_name="gateway", fact="on port 443", project_id=project)
    join = {"from_label": "Decision", "rel_type": "CONFLICTS_WITH", "to_label": "Decision"}
    call("relate", from_key="Refuse cash", to_key="take the cards of most banks", project_id=project, **join)


def walk(connection: psycopg.Connection[DictRow], key: str = "Refuse cash") -> list[tuple[str, int]]:
    rows = connection.execute(
        "select title, depth from pgmem.neighbours('Decision', %s, 2)", (key,)
    ).fetchall()
    return [(row["title"], row["depth"]) for row in rows]


@pytest.mark.parametrize("kind", TIERS)
def test_every_tier_saves_finds_reads_and_walks(
    store: Callable[[str], psycopg.Connection[DictRow]], kind: str
) -> None:
    connection = store(kind)
    call = caller(connection)
    fill(call)
    assert call("search_memory", query="gateway port", project_id="shop")["title"] == "gateway"
    bundle = call("retrieve_context", project_id="shop", scope="focus", focus="checkout")
    assert bundle["retrieval_status"] == "conflicted"
    assert len(bundle["items"]) == 6
    assert walk(connection)[:2] == [("choose the payment", 1), ("take the cards of most banks", 1)]
    assert (
        call("save_decision", title="Refuse cash", rationale="r", project_id="shop")["dedup_outcome"]
        == "duplicate_skip"
    )
    assert call("status")["tier"] == TIERS[kind]


@pytest.mark.parametrize("kind", ["template_without_age", "template_text_only"])
@pytest.mark.parametrize("verb", ["run_cypher", "check_graph", "rebuild_graph"])
def test_without_age_what_needs_the_graph_says_how_to_get_it(
    store: Callable[[str], psycopg.Connection[DictRow]], kind: str, verb: str
) -> None:
    call = caller(store(kind))
    with pytest.raises(psycopg.Error, match="no Apache AGE: all but Cypher works") as caught:
        call(verb, **({"query": "match (n) return n"} if verb == "run_cypher" else {}))
    assert caught.value.sqlstate == "PM008"


@pytest.mark.usefixtures("age", "vectors", "superuser")
def test_a_tier_that_comes_later_finds_what_was_saved_before(
    store: Callable[[str], psycopg.Connection[DictRow]],
) -> None:
    connection = store("template_text_only")
    call = caller(connection)
    fill(call)
    dsn = dsn_of(connection)
    assert schema.upgrade(dsn, extensions=("age",)).extensions == ("age",)
    assert connection.execute("select * from pgmem.check_graph()").fetchall() == []
    (found,) = connection.execute(
        "select pgmem.run_cypher('match (s:Session)-[:PRODUCED]->(d:Decision) return count(d) as n')"
    ).fetchall()
    assert found["run_cypher"] == {"n": 3}
    assert call("status")["tier"] == "no pgvector"
    schema.upgrade(dsn)
    assert call("status")["tier"] == "full"
    fill(call, "bank")
    assert connection.execute("select * from pgmem.check_graph()").fetchall() == []


def test_a_schema_of_any_tier_has_the_same_functions(
    store: Callable[[str], psycopg.Connection[DictRow]],
) -> None:
    generated = "^(project_(node|edge)_(insert|update|delete)|label_number)$"
    query = "select oid::regprocedure::text as f from pg_proc where pronamespace = 'pgmem'::regnamespace and proname !~ %s"
    by_tier = [
        {row["f"] for row in store(name).execute(query.encode(), (generated,)).fetchall()} for name in TIERS
    ]
    assert by_tier[0] == by_tier[1] == by_tier[2]


@pytest.mark.parametrize("extension", ["vector", "age"])
def test_no_signature_view_or_type_names_a_type_of_an_extension(
    store: Callable[[str], psycopg.Connection[DictRow]], extension: str
) -> None:
    found = (
        store("template")
        .execute(
            "select d.classid::regclass, d.objid, pg_describe_object(d.classid, d.objid, d.objsubid) as what from pg_depend d"
            " join pg_depend e on e.classid = 'pg_type'::regclass and e.objid = d.refobjid and e.deptype = 'e'"
            " join pg_extension x on x.oid = e.refobjid and x.extname = %s"
            " where d.refclassid = 'pg_type'::regclass and d.classid = 'pg_proc'::regclass"
            " and d.objid in (select oid from pg_proc where pronamespace = 'pgmem'::regnamespace)",
            (extension,),
        )
        .fetchall()
    )
    assert [row["what"] for row in found] == []


@pytest.mark.parametrize("kind", mostly_long(TIERS, ["template"]))
def test_a_store_comes_back_from_its_dump(
    store: Callable[[str], psycopg.Connection[DictRow]],
    database: MakeDatabase,
    program: Program,
    tmp_path: Path,
    kind: str,
) -> None:
    connection = store(kind)
    fill(caller(connection))
    before = connection.execute("select n.* from pgmem.node n order by seq").fetchall()
    file = str(tmp_path / "store.dump")
    program(
        "pg_dump",
        *(["--schema=pgmem"] if is_managed() else []),
        "--format",
        "custom",
        "--file",
        file,
        dsn_of(connection),
    )
    fresh = past_the_pooler(database())
    if (
        is_managed() and kind != "template_text_only"
    ):  # the provider makes extensions, and the dump leaves them out
        with psycopg.connect(as_admin(fresh), autocommit=True) as admin:
            prepare_vector(admin)
    program("pg_restore", "--exit-on-error", "--dbname", fresh, file)
    with psycopg.connect(fresh, autocommit=True, row_factory=dict_row) as restored:
        call = caller(restored)
        if kind == "template":
            assert call("check_graph") != {}
            assert call("rebuild_graph")["vertices"] == len(before)
            assert restored.execute("select * from pgmem.check_graph()").fetchall() == []
        assert restored.execute("select n.* from pgmem.node n order by seq").fetchall() == before
        assert walk(restored) == walk(connection)
        again = call("save_decision", title="Refuse cash", rationale="r", project_id="shop")
        assert again["dedup_outcome"] == "duplicate_skip"
        near = call("save_decision", title="take the cards of some banks", rationale="r", project_id="shop")
        assert near["dedup_outcome"] == "supersede"
        if kind == "template":
            assert restored.execute("select * from pgmem.check_graph()").fetchall() == []
        with psycopg.connect(fresh) as plain:
            schema.check_version(plain)
        assert schema.upgrade(fresh).changed is False


@pytest.mark.long
def test_before_the_graph_is_rebuilt_a_restored_store_says_what_to_do(
    store: Callable[[str], psycopg.Connection[DictRow]],
    database: MakeDatabase,
    program: Program,
    tmp_path: Path,
) -> None:
    connection = store("template")
    fill(caller(connection))
    file = str(tmp_path / "store.dump")
    program("pg_dump", "--format", "custom", "--file", file, dsn_of(connection))
    fresh = database()
    program("pg_restore", "--exit-on-error", "--dbname", fresh, file)
    with psycopg.connect(fresh, autocommit=True, row_factory=dict_row) as restored:
        with pytest.raises(psycopg.Error, match="pgmem graph rebuild") as caught:
            restored.execute("select pgmem.run_cypher('match (n) return count(n) as n')")
        assert caught.value.sqlstate == "PM008"


@pytest.mark.usefixtures("superuser", "age")
def test_an_age_that_the_owner_may_not_use_is_answered_with_the_grants(
    server: str, make_login: Callable[..., str]
) -> None:
    """A superuser made AGE, then init by the owner said "permission denied for schema ag_catalog"."""
    with new_database(server, "template0") as dsn:
        login = make_login()
        with psycopg.connect(past_the_pooler(dsn), autocommit=True) as admin:
            admin.execute("create extension age")
            admin.execute(f"grant all on database {admin.info.dbname} to {login}")
            own = make_conninfo(past_the_pooler(dsn), user=login, password=PASSWORD)
            with pytest.raises(NotPermitted, match="Run as a superuser, then pgmem init again: ") as refused:
                schema.upgrade(own, ())
            admin.execute(str(refused.value).partition("init again: ")[2])
        assert schema.upgrade(own, ()).changed
