"""The AGE graph beside the tables: always in step, readable by Cypher, made again on demand."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from tests.conftest import Call, past_the_pooler
from tests.fixtures.verbs import ActAs, Each, Picture, Rows

LOGS = {"save_attempt", "change"}  # a refused save is on record, and the feed has its review
EVERYTHING = "match (n) return count(n) as vertices"


@pytest.fixture
def cypher(age: None, each: Each) -> Any:
    """`cypher("match …", name=value)`: its rows."""

    def cypher(query: str | None, **params: object) -> list[Any]:
        return [row["run_cypher"] for row in each("run_cypher", query=query, params=params)]

    return cypher


@pytest.fixture
def kept(call: Call, shop: str) -> str:
    """A project with one memory of each kind, a focus, and every relation the core makes."""
    batch = call(
        "store_session_with_learnings",
        session={"objective": "choose", "scope": "focus"},
        project_id=shop,
        focus="checkout",
        decisions=[
            {"title": t, "rationale": "r"}
            for t in ("Take the cards of all banks", "Take the cards of most banks", "Refuse cash")
        ],
        patterns=[{"trigger": "a release", "repeatable_steps": ["tag it"]}],
    )
    assert batch["overall"] == "saved"
    call("save_context", content="c", project_id=shop, relevance_score=0.25)
    call("upsert_entity", entity_name="api", fact="on port 80", project_id=shop)
    call("upsert_entity", entity_name="api", fact="on port 443", project_id=shop)
    token = call("request_global_write_approval", content_preview="all")["token"]
    call("save_context", content="all", project_id=shop, scope="global", governance_token=token)
    call(
        "relate",
        from_label="Decision",
        from_key="Refuse cash",
        rel_type="CONFLICTS_WITH",
        to_label="Decision",
        to_key="Take the cards of most banks",
    )
    return shop


def test_after_every_kind_of_write_graph_and_tables_agree(
    each: Each, cypher: Any, rows: Rows, kept: str
) -> None:
    assert each("check_graph") == []
    count = rows("select count(*) from pgmem.node")[0]["count"]
    assert cypher(EVERYTHING) == [{"vertices": count}]


@pytest.mark.usefixtures("age")
def test_a_refused_save_leaves_the_graph_alone(call: Call, each: Each, picture: Picture, kept: str) -> None:
    before = picture(without=LOGS)
    assert (
        call("save_decision", title="Refuse all cash", rationale="r", project_id=kept)["dedup_outcome"]
        == "manual_review"
    )
    assert picture(without=LOGS) == before
    assert each("check_graph") == []


@pytest.mark.usefixtures("age")
@pytest.mark.direct("a front cannot take back a save: its cell has committed it")
def test_a_rolled_back_save_leaves_the_graph_alone(
    connection: psycopg.Connection[DictRow], call: Call, each: Each, picture: Picture, kept: str
) -> None:
    before = picture()
    with connection.transaction(force_rollback=True):
        call("save_context", content="never", project_id=kept)
    assert picture() == before
    assert each("check_graph") == []


def test_rows_written_in_bulk_reach_the_graph(
    connection: psycopg.Connection[DictRow], each: Each, cypher: Any, kept: str
) -> None:
    connection.execute("update pgmem.node set title = title || '!' where label = 'Decision'")
    assert each("check_graph") == []
    assert [r["n_title"][-1] for r in cypher("match (n:Decision) return n.title")] == ["!", "!", "!"]
    connection.execute("delete from pgmem.node where label in ('Decision', 'Context')")
    assert each("check_graph") == []
    assert cypher("match (n:Decision) return n") == []


def test_a_session_is_walked_to_what_it_produced(cypher: Any, kept: str) -> None:
    found = cypher(
        "match (s:Session)-[:PRODUCED]->(d:Decision) return s.title as session, d.title as decision order by d.title"
    )
    assert found == [
        {"session": "choose", "decision": title}
        for title in ("Refuse cash", "Take the cards of all banks", "Take the cards of most banks")
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("match (n:Decision) where n.status = 'superseded' return n.title as title", [{"title": "Take the cards of all banks"}]),
        ("match (a)-[:SUPERSEDES]->(b) return a.title as new, b.status as old", [{"new": "Take the cards of most banks", "old": "superseded"}]),
        ("match (c:Context)-[:BELONGS_TO]->(p:Project) return p.key as project", [{"project": "shop"}]),
        ("match (c:Context)-[:BELONGS_TO]->(g:GlobalScope) return c.content as content", [{"content": "all"}]),
        ("match (s:Session)-[:HAS_FOCUS]->(f:FocusArea) return f.key as focus", [{"focus": "checkout"}]),
        ("match (e:EntityFact) return e.fact as fact", [{"fact": "on port 443"}]),
        ("match (n:Decision) return count(n)", [{"count_n": 3}]),
        ("match (n:Context) where n.relevance_score < 0.5 return n.relevance_score as score", [{"score": 0.25}]),
        ("return 1 as one, 2.5 as two, true as yes, null as nothing, 'é' as text", [{"one": 1, "two": 2.5, "yes": True, "nothing": None, "text": "é"}]),
        ("return [1, 'a', null] as list, {a: 1} as map", [{"list": [1, "a", None], "map": {"a": 1}}]),
        ("match (n:Decision) with distinct n.project as p return p order by p limit 1", [{"p": "shop"}]),
        ("match (n:Nonsense) return n", []),
        ("return 'create a table; match (n) return n' as text;", [{"text": "create a table; match (n) return n"}]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_cypher_reads_the_graph(
    cypher: Any, kept: str, query: str, expected: list[dict[str, object]]
) -> None:
    assert cypher(query) == expected


def test_a_vertex_an_edge_and_a_path_come_as_objects(cypher: Any, kept: str) -> None:
    (found,) = cypher("match p = (a:Decision)-[r:SUPERSEDES]->(b:Decision) return a, r, p")
    assert found["a"]["properties"]["title"] == "Take the cards of most banks"
    assert found["r"]["label"] == "SUPERSEDES"
    assert len(found["p"]) == 3


@pytest.mark.usefixtures("superuser")
@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
def test_the_driver_of_age_reads_the_same_graph(store: str, cypher: Any, kept: str) -> None:
    age = pytest.importorskip("age", reason="needs pip install 'pgmem-agent[age]'")
    question = "match p = (a)-[r]->(b) return a, r, b, p"
    graph = age.connect(graph="pgmem_graph", dsn=store)
    try:
        read = graph.execCypher(question, cols=["a", "r", "b", "p"]).fetchall()
    finally:
        graph.close()

    def plain(thing: Any) -> dict[str, Any]:
        between = {"start_id": thing.start_id, "end_id": thing.end_id} if thing.gtype == age.TP_EDGE else {}
        return {"id": thing.id, "label": thing.label, "properties": thing.properties, **between}

    ours = cypher(question)
    assert len(ours) == len(read) > 10
    assert {row["r"]["id"]: row for row in ours} == {
        r.id: {"a": plain(a), "r": plain(r), "b": plain(b), "p": [plain(part) for part in p]}
        for a, r, b, p in read
    }


AGTYPES = (
    "null", "true", "0", "-9223372036854775808", "9223372036854775807", "1.5", "-0.25", "1e15", "1.25::numeric",
    '""', '"it\'s"', '"a \\"quoted\\" \\\\ word"', '"two\\nlines\\tand a tab"', '"größe 🌵"', '"\\u00e9"', '"x::vertex"',
    '"{\\"a\\": 1}::edge"', "[]", '[1, [2.5, "::path", null], {}]', '{"a": {"b": [true, false, null]}, "c::numeric": "d"}',
    '{"id": 1, "label": "Decision", "properties": {"title": "it is a ::vertex"}}',
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
def test_the_reader_of_age_and_that_of_the_verb_read_the_same_values(
    connection: psycopg.Connection[DictRow], age: None
) -> None:
    builder = pytest.importorskip("age.builder", reason="needs pip install 'pgmem-agent[age]'")
    for text in AGTYPES:
        row = connection.execute(
            "select ag_catalog.agtype_out(%s::ag_catalog.agtype)::text as given,"
            " pgmem.json_of_agtype(ag_catalog.agtype_out(%s::ag_catalog.agtype)::text) as read",
            [text, text],
        ).fetchone()
        assert row is not None
        theirs = builder.parseAgeValue(row["given"])
        if isinstance(theirs, str) and "\\" in theirs:  # it leaves the escapes of a text as they are written
            theirs = json.loads(f'"{theirs}"')
        assert row["read"] == (float(theirs) if isinstance(theirs, Decimal) else theirs), text


def test_cypher_takes_parameters(cypher: Any, kept: str) -> None:
    query = "match (n:Decision) where n.title = $title return n.status as status"
    assert cypher(query, title="Refuse cash") == [{"status": "active"}]
    assert cypher(query, title="' or true or '") == []


def test_long_texts_stay_in_the_record(call: Call, cypher: Any, kept: str) -> None:
    call("save_context", content="x" * 500, topic="long", project_id=kept)
    (found,) = cypher("match (n:Context) where n.topic = 'long' return n as node")
    assert "content" not in found["node"]["properties"]


@pytest.mark.parametrize(
    "query",
    [
        "create (n:Decision {title: 'x'}) return n",
        "match (n:Decision) set n.title = 'x' return n",
        "match (n:Decision) delete n return 1",
        "match (n:Decision) detach delete n return 1",
        "merge (n:Decision {title: 'x'}) return n",
        "match (n:Decision) remove n.title return n",
        "MATCH (n:Decision) SET n.title = 'x' RETURN n",
        "match (n:Decision)/**/set/**/n.title = 'x' return n",
        "load csv from 'file' as row return row",
        "call pg_sleep(1) return 1",
    ],
)
def test_cypher_that_writes_is_refused(cypher: Any, picture: Picture, kept: str, query: str) -> None:
    before = picture()
    with pytest.raises(psycopg.Error, match="read only") as caught:
        cypher(query)
    assert caught.value.sqlstate == "PM004"
    assert picture() == before


@pytest.mark.parametrize(
    "query",
    [
        "return 'it''s' as text set",
        "return `set` as a",
        "match (n) return n.`set` as a limit 1",
        "match (n:Decision) where n.title = 'set' return n",
        "// set\nmatch (n:Decision) return n.title",
        "match (n:Decision) return n.title $q$) as (a agtype); drop schema pgmem cascade; select $q$",
        "match (n:Decision) return n.title $c$) as t; select set_config('pgmem.org_id', 'x', false) $c$",
        "$$ return 1",
        "return \\ as a",
        "return ''' as a",
        "return \x00 as a",
    ],
)
def test_whatever_a_query_holds_nothing_is_written(
    cypher: Any, picture: Picture, kept: str, query: str
) -> None:
    before = picture()
    try:
        cypher(query)
    except psycopg.Error as error:
        assert error.sqlstate in ("PM001", "PM004")
    assert picture() == before


@pytest.mark.parametrize(
    "query", [None, "", "  ", "match (n)", "match (n return n", "return 1 +", "nonsense"]
)
def test_a_query_that_cannot_be_run_is_an_error_that_says_why(
    cypher: Any, kept: str, query: str | None
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        cypher(query)
    assert caught.value.sqlstate == "PM001"
    assert caught.value.diag.message_primary


@pytest.mark.parametrize("params", [[1], "text", 5, True])
@pytest.mark.usefixtures("age")
def test_parameters_are_an_object(connection: psycopg.Connection[DictRow], kept: str, params: object) -> None:
    with pytest.raises(psycopg.Error, match="params must be an object"):
        connection.execute("select pgmem.run_cypher('return 1 as a', %s)", (Jsonb(params),))


@pytest.mark.parametrize("number", ["99999999999999999999", "1e400", "-9223372036854775809"])
@pytest.mark.usefixtures("age")
def test_a_parameter_that_no_graph_holds_is_an_error(
    connection: psycopg.Connection[DictRow], kept: str, number: str
) -> None:
    with pytest.raises(psycopg.Error, match="This query cannot be run") as caught:
        connection.execute("select pgmem.run_cypher('return $n as n', %s)", (f'{{"n": {number}}}',))
    assert caught.value.sqlstate == "PM001"


@pytest.mark.parametrize(
    "number",
    [
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "1e308",
        "1e400",
        "-1e400",
        "1e-400",
        "123456789.123456789123456789",
    ],
)
def test_a_number_that_no_graph_holds_does_not_stop_a_write(
    connection: psycopg.Connection[DictRow], each: Each, cypher: Any, kept: str, number: str
) -> None:
    connection.execute(
        "update pgmem.node set props = props || jsonb_build_object('n', %s::numeric) where label = 'Pattern'",
        (number,),
    )
    assert each("check_graph") == []
    (found,) = cypher("match (p:Pattern) return p.n as n")
    assert float(found["n"]) == pytest.approx(float(number))


def test_cypher_is_refused_while_a_tenant_is_set(cypher: Any, act_as: ActAs, kept: str) -> None:
    act_as("acme")
    with pytest.raises(psycopg.Error, match="not filtered by tenant") as caught:
        cypher(EVERYTHING)
    assert caught.value.sqlstate == "PM004"


def test_damage_to_the_graph_is_found_and_mended(
    connection: psycopg.Connection[DictRow], call: Call, each: Each, cypher: Any, kept: str
) -> None:
    before = cypher(EVERYTHING)
    connection.execute('delete from pgmem_graph."Pattern"')
    connection.execute('update pgmem_graph."Session" set properties = \'{"title": "other"}\'')
    connection.execute('delete from pgmem_graph."SUPERSEDES"')
    connection.execute(
        'insert into pgmem_graph."Context" (id, properties) select id, properties from pgmem_graph."EntityFact"'
    )
    found = {row["label"]: (row["missing"], row["extra"], row["different"]) for row in each("check_graph")}
    assert found == {
        "Pattern": (1, 0, 0),
        "Session": (0, 0, 2),
        "SUPERSEDES": (1, 0, 0),
        "Context": (0, 1, 0),
    }
    rebuilt = call("rebuild_graph")
    assert rebuilt["vertices"] == before[0]["vertices"]
    assert each("check_graph") == []
    assert cypher(EVERYTHING) == before


def test_a_graph_that_was_dropped_is_noticed_and_made_again(
    dsn: str, call: Call, each: Each, cypher: Any, kept: str
) -> None:
    before = cypher("match (a)-[r]->(b) return count(r) as edges")
    with psycopg.connect(dsn, autocommit=True) as other:  # before AGE 1.7 it breaks the session that did it
        other.execute("set search_path = ag_catalog, public")
        other.execute("select ag_catalog.drop_graph('pgmem_graph', true)")
    assert [(row["label"], row["missing"] > 0) for row in each("check_graph")] == [("pgmem_graph", True)]
    with pytest.raises(psycopg.Error, match="run pgmem graph rebuild") as caught:
        cypher(EVERYTHING)
    assert caught.value.sqlstate == "PM008"
    call("rebuild_graph")
    assert each("check_graph") == []
    assert cypher("match (a)-[r]->(b) return count(r) as edges") == before


def test_writes_after_a_rebuild_reach_the_graph(call: Call, each: Each, cypher: Any, kept: str) -> None:
    call("rebuild_graph")
    call("save_pattern", trigger="after", repeatable_steps=["s"], project_id=kept)
    assert each("check_graph") == []
    assert cypher("match (p:Pattern) where p.trigger = 'after' return count(p) as n") == [{"n": 1}]


HAS_CACHE = "select to_regprocedure('ag_catalog.age_invalidate_graph_cache()') is not null as has_cache"
RENEWS = """
select c.relname as label from pg_trigger t join pg_class c on c.oid = t.tgrelid
where t.tgname = '_age_cache_invalidate' and c.relnamespace = 'pgmem_graph'::regnamespace order by 1
"""


def forget_cache_triggers(connection: psycopg.Connection[DictRow]) -> None:
    """The tables of the graph as a dump of AGE 1.7 brings them."""
    for row in connection.execute(RENEWS).fetchall():
        drop = sql.SQL("drop trigger _age_cache_invalidate on pgmem_graph.{}")
        connection.execute(drop.format(sql.Identifier(row["label"])))


@pytest.fixture
def cache(age: None, superuser: None, connection: psycopg.Connection[DictRow], kept: str) -> None:
    """A cache of paths that no label renews; before AGE 1.8, which has one, a function of the same name."""
    if connection.execute(HAS_CACHE).fetchone() == {"has_cache": False}:
        connection.execute(
            "create function ag_catalog.age_invalidate_graph_cache() returns trigger language plpgsql"
            " as 'begin return null; end'"
        )
    forget_cache_triggers(connection)


@pytest.mark.usefixtures("cache")
def test_labels_that_do_not_renew_the_cache_of_paths_are_found_and_mended(
    call: Call, each: Each, rows: Rows
) -> None:
    known = rows("select name from pgmem.label union all select name from pgmem.relation")
    assert {row["label"] for row in each("check_graph")} == {row["name"] for row in known}
    assert {
        (row["missing"], row["extra"], row["different"], row["stale_paths"]) for row in each("check_graph")
    } == {(0, 0, 0, True)}
    assert call("enable_graph") == {"enable_graph": True}
    assert each("check_graph") == []
    call("init_schema", labels=[{"name": "Supplier"}])
    assert {"label": "Supplier"} in rows(RENEWS)


@pytest.mark.usefixtures("cache")
def test_a_rebuild_makes_the_triggers_that_renew_the_cache_of_paths(call: Call, each: Each) -> None:
    call("rebuild_graph")
    assert each("check_graph") == []


@pytest.mark.usefixtures("age")
def test_a_session_that_walked_sees_what_another_saved(
    dsn: str, connection: psycopg.Connection[DictRow], call: Call, kept: str
) -> None:
    forget_cache_triggers(connection)
    call("enable_graph")
    walk = "select pgmem.run_cypher('match (a)-[*1..2]->(b) return count(*) as paths') -> 'paths' as paths"
    with psycopg.connect(past_the_pooler(dsn), autocommit=True, row_factory=dict_row) as reader:
        before = reader.execute(walk).fetchone()
        for n in range(3):
            call("save_pattern", trigger=f"after {n}", repeatable_steps=["s"], project_id=kept)
            with psycopg.connect(past_the_pooler(dsn), row_factory=dict_row) as fresh:
                truth = fresh.execute(walk).fetchone()
            assert reader.execute(walk).fetchone() == truth
            assert truth != before
            before = truth


@pytest.mark.usefixtures("age")
def test_a_rebuild_twice_gives_the_same_graph(call: Call, kept: str) -> None:
    assert call("rebuild_graph") == call("rebuild_graph")
