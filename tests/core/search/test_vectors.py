"""The vector arm: exact in small scopes, by HNSW in large ones, and no filter costs recall."""

from __future__ import annotations

import json
import math
import random
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import InvalidArgument, MemoryScope
from pgmem.database.database import Database
from tests.conftest import Call
from tests.core.search.conftest import Open, Table

pytestmark = pytest.mark.anyio

SIZE, DIMENSIONS = 1500, 16


def cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))


def fill(connection: psycopg.Connection[DictRow]) -> dict[str, list[float]]:
    """Many nodes with vectors: one in a hundred is a Species, one in fifty carries a tag."""
    chance = random.Random(7)
    vectors = {f"n{number}": [chance.gauss(0, 1) for _ in range(DIMENSIONS)] for number in range(SIZE)}
    connection.execute("select pgmem.save_session(p_objective => 'begin', p_project_id => 'forest')")
    connection.execute(
        "select pgmem.remember(case when i %% 100 = 0 then 'Species' else 'Concept' end,"
        " jsonb_build_object('name', 'n' || i, 'summary', 'thing', 'tags',"
        " case when i %% 50 = 1 then '[\"rare\"]'::jsonb else '[\"common\"]'::jsonb end), p_project_id => 'forest')"
        " from generate_series(0, %s) i",
        (SIZE - 1,),
    )
    connection.execute("select pgmem.register_model('test:table', %s)", (DIMENSIONS,))
    ids = {
        row["key"]: str(row["id"])
        for row in connection.execute("select id, key from pgmem.node where key like 'n%'")
    }
    items = json.dumps([{"id": ids[name], "vector": vector} for name, vector in vectors.items()])
    stored = connection.execute(
        "select pgmem.store_node_vectors('test:table', %s::jsonb) as n", (items,)
    ).fetchone()
    assert stored == {"n": SIZE}
    return vectors


def nearest(vectors: dict[str, list[float]], query: list[float], count: int) -> list[str]:
    return sorted(vectors, key=lambda name: -cosine(vectors[name], query))[:count]


@pytest.mark.usefixtures("vectors")
@pytest.mark.direct("an index of vectors is made by the worker, at its cell")
async def test_filters_and_the_index_lose_no_neighbour(
    connection: psycopg.Connection[DictRow], with_provider: Open
) -> None:
    vectors = fill(connection)
    chance = random.Random(8)
    queries = [[chance.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(5)]
    table = Table({f"query{n}": vector for n, vector in enumerate(queries)})
    memory = with_provider(table)
    rare = {
        "labels": (
            {name: v for name, v in vectors.items() if int(name[1:]) % 100 == 0},
            {"labels": ["Species"]},
        ),
        "tags": ({name: v for name, v in vectors.items() if int(name[1:]) % 50 == 1}, {"tags": ["rare"]}),
    }

    async def found(number: int, count: int, **filters: object) -> list[str]:
        results = (await memory.search_memory(f"query{number}", count, "forest", **filters)).results  # type: ignore[arg-type]
        ranked = sorted(results, key=lambda result: -(result.vector or 0))
        assert len({result.id for result in ranked}) == len(ranked), "each memory once"
        return [str(result.key) for result in ranked]

    async def check(least: float) -> None:
        for number, query in enumerate(queries):
            whole = await found(number, 10)
            assert len(set(whole) & set(nearest(vectors, query, 10))) / 10 >= least
            for held, filters in rare.values():
                count = min(10, len(held))
                assert set(await found(number, count, **filters)) == set(nearest(held, query, count))

    await check(1.0)  # compared one by one
    assert [row.index_name for row in await memory.embedding_status()] == [None]
    await memory.set_setting("vector_exact_limit", "500")
    await memory.set_setting("vector_index_limit", "500")
    await memory.refresh_statistics(everything=True)
    assert await memory.index_vectors() == 0
    (status,) = await memory.embedding_status()
    assert (status.vectors, status.not_indexed) == (SIZE, 0)
    assert status.index_name is not None
    await check(0.9)  # by the index; filters that leave few fall back to one by one

    # A new memory is not in the index, and found at once.
    table.vectors["brand new"] = [9.0 * x for x in queries[0]]
    saved = await memory.save_context("brand new", "forest", topic="just saved")
    assert saved.embedded
    (status,) = await memory.embedding_status()
    assert status.not_indexed == 1
    results = (await memory.search_memory("query0", 1, "forest")).results
    assert [result.title for result in results] == ["just saved"]
    assert await memory.index_vectors() == 0
    (status,) = await memory.embedding_status()
    assert status.not_indexed == 0
    results = (await memory.search_memory("query0", 1, "forest")).results
    assert [result.title for result in results] == ["just saved"]

    assert_the_tenth_call_uses_the_index(connection, queries[1])


def assert_the_tenth_call_uses_the_index(
    connection: psycopg.Connection[DictRow], vector: list[float]
) -> None:
    """A plan could have been kept by then."""
    search = (
        "select key from pgmem.search_memory(p_query => 'query1', p_limit => 5, p_project_id => 'forest',"
        " p_embedding => %s::real[], p_embedding_model => 'test:table')"
    )
    scans = "select pg_stat_get_xact_numscans('pgmem.embedding_hnsw_1'::regclass) as n"
    with connection.transaction():
        for _ in range(10):
            connection.execute(search, (vector,)).fetchall()
        assert connection.execute(scans).fetchone() == {"n": 10}


async def test_a_scope_s_filters_and_a_date_hold_for_both_arms(with_provider: Open) -> None:
    memory = with_provider(Table({"stone": [1.0, 0.0], "wood": [0.0, 1.0]}))
    await memory.register_embedder()
    for project in ("north", "south"):
        await memory.save_session("begin", project)
        await memory.save_context(f"stone of the {project}", project, topic=f"{project} stone")
        await memory.save_context(
            "stone in focus", project, topic=f"{project} focus", scope="focus", focus="walls"
        )
    past, now = datetime.now(UTC) - timedelta(days=400), datetime.now(UTC)
    await memory.remember(
        "Concept",
        {"name": "old stone", "summary": "stone"},
        valid_from=past,
        valid_to=past + timedelta(days=100),
        project_id="north",
    )
    await memory.embed_waiting()

    async def found(**filters: object) -> set[str]:
        results = (await memory.search_memory("stone", 50, **filters)).results  # type: ignore[arg-type]
        return {result.title for result in results if result.label != "Session"}

    assert await found() == {"north stone", "north focus", "south stone", "south focus"}
    assert await found(project_id="north") == {"north stone", "north focus"}
    assert await found(project_id="north", scope="project") == {"north stone"}
    assert await found(project_id="north", scope="focus") == {"north focus"}
    assert await found(project_id="north", focus="walls") == {"north focus"}
    assert await found(labels=["Concept"]) == set()
    assert await found(project_id="north", as_of=past + timedelta(days=50)) == {"old stone"}
    assert "old stone" not in await found(as_of=now)
    assert await found(project_id="nowhere") == set()


async def test_another_tenant_s_vectors_are_not_near_anything(with_provider: Open) -> None:
    memory = with_provider(Table({"stone": [1.0, 0.0], "wood": [0.0, 1.0]}))
    await memory.register_embedder()
    alice = memory.acting_as(MemoryScope(org_id="acme", user_id="alice"))
    bob = memory.acting_as(MemoryScope(org_id="acme", user_id="bob"))
    for person in (alice, bob):
        await person.save_session("begin", "shop")
        await person.save_context("a secret of granite, the stone", "shop", topic="secret")
    assert len((await alice.search_memory("stone", labels=["Context"])).results) == 1
    found = await bob.search_memory("stone", labels=["Context"])
    assert len(found.results) == 1


@pytest.mark.usefixtures("vectors")
async def test_a_vector_that_cannot_be_kept_is_refused_with_a_sentence(
    connection: psycopg.Connection[DictRow], with_provider: Open, database: Database
) -> None:
    memory = with_provider(Table({"stone": [1.0, 0.0, 0.0]}))
    await memory.register_embedder()
    with pytest.raises(InvalidArgument, match="test:table has 3 dimensions here, not 2"):
        await database.rows("register_model", name="test:table", dimensions=2)
    await memory.save_session("begin", "shop")
    verb = (
        "select * from pgmem.search_memory(p_query => 'stone', p_embedding => %s,"
        " p_embedding_model => 'test:table')"
    )
    with pytest.raises(
        psycopg.Error, match="test:table has 3 dimensions, this vector has 2; send vectors of that"
    ):
        connection.execute(verb, ("{1,0}",))
    with pytest.raises(InvalidArgument, match="Unknown model 'nobody'"):
        await database.rows("store_node_vectors", model="nobody", items=[{"id": "x", "vector": [1.0]}])


@pytest.mark.usefixtures("vectors")
async def test_the_vectors_of_archived_memories_are_deleted_those_of_superseded_ones_left_out(
    connection: psycopg.Connection[DictRow], with_provider: Open
) -> None:
    memory = with_provider(Table({"stone": [1.0, 0.0], "wood": [0.0, 1.0]}))
    await memory.register_embedder()
    await memory.save_session("begin", "shop")
    first = await memory.save_decision("Build the long wall of grey stone", "It lasts.", "shop")
    second = await memory.save_decision("Build the long wall of grey stone now", "It lasts longer.", "shop")
    assert second.dedup_outcome == "supersede"
    gone = await memory.save_decision("Floors are stone", "They are cold.", "shop")
    assert gone.embedded

    def kept() -> set[str]:
        query = (
            "select n.id from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq"
            " where n.label = 'Decision'"
        )
        return {str(row["id"]) for row in connection.execute(query)}

    assert kept() == {str(first.artifact_id), str(second.artifact_id), str(gone.artifact_id)}
    await memory.forget("Decision", str(gone.artifact_id))
    assert kept() == {str(first.artifact_id), str(second.artifact_id)}
    found = [result.id for result in (await memory.search_memory("stone", labels=["Decision"])).results]
    assert found == [second.artifact_id]
    await memory.forget("Decision", str(second.artifact_id), purge=True)
    assert kept() == {str(first.artifact_id)}


@pytest.mark.usefixtures("superuser", "dsn")
@pytest.mark.parametrize(
    ("version", "alone"), [("0.8.1", True), pytest.param("0.8.2", False, marks=pytest.mark.long)]
)
def test_an_index_is_built_without_workers_where_pgvector_is_not_safe_with_them(
    connection: psycopg.Connection[DictRow], call: Call, version: str, alone: bool
) -> None:
    connection.execute("set allow_system_table_mods = on")
    connection.execute("update pg_extension set extversion = %s where extname = 'vector'", (version,))
    call("enable_vector")
    fill(connection)
    call("set_setting", name="vector_index_limit", value="500")
    (statement,) = call("index_vectors")["wanted"]
    connection.execute("set min_parallel_table_scan_size = 0; set max_parallel_maintenance_workers = 2")
    connection.execute("set client_min_messages = debug1")
    messages: list[str] = []
    connection.add_notice_handler(lambda notice: messages.append(str(notice.message_primary)))
    connection.execute(statement.encode())
    building = [message for message in messages if message.startswith('building index "embedding_hnsw_')]
    assert [message.endswith("serially") for message in building] == [alone]
