"""The behaviour of every graph store and every vector store, whatever it is made of.

A store that keeps nothing answers as an empty one; each test describes it.
"""

from __future__ import annotations

import inspect
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.features.stores.create import GraphStore, PgVectorStore, VectorStore
from pgmem.models import LabelDefinition, MemoryScope, RelationDefinition, SchemaDefinition
from tests.conftest import GRAPH_TIERS, tier
from tests.features.stores.conftest import DIMENSIONS, MODEL, Stores

pytestmark = pytest.mark.anyio

GRAPH = {
    "merge_node",
    "get_node",
    "delete_node",
    "merge_relation",
    "get_neighbours",
    "fulltext_search",
    "run_cypher",
    "init_schema",
    "health_check",
    "get_node_history",
    "decay_scores",
    "set_scope",
}
VECTOR = {"store_vectors", "search_vectors", "delete_vectors", "count"}


def methods(protocol: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(protocol, inspect.isfunction) if not name.startswith("_")}


def test_the_protocols_have_exactly_the_methods_they_are_known_by() -> None:
    assert methods(GraphStore) == GRAPH
    assert methods(VectorStore) == VECTOR
    assert set(VectorStore.__annotations__) == {"dimensions"}


async def test_an_implementation_is_one_of_its_protocol_and_takes_its_arguments(stores: Stores) -> None:
    assert isinstance(stores.graph, GraphStore)
    assert isinstance(stores.vector, VectorStore)
    for store, protocol in ((stores.graph, GraphStore), (stores.vector, VectorStore)):
        for name in methods(protocol):
            asked = list(inspect.signature(getattr(protocol, name)).parameters)[1:]
            given = inspect.signature(getattr(store, name)).parameters
            assert list(given) == asked, name


async def test_a_node_is_created_once_and_updated_by_its_name(stores: Stores) -> None:
    made = await stores.graph.merge_node("Technology", "name", "PostgreSQL", {"summary": "a database"})
    again = await stores.graph.merge_node("Technology", "name", "PostgreSQL", {"notes": "version 18"})
    assert made["label"] == again["label"] == "Technology"
    assert made["key"] == again["key"] == "PostgreSQL"
    assert made["id"] == again["id"]
    found = await stores.graph.get_node("Technology", "name", "PostgreSQL")
    if not stores.keep:
        assert found is None
        return
    assert (made["created"], again["created"]) == (True, False)
    assert found is not None
    assert found["id"] == made["id"]
    assert found["properties"] == {"name": "PostgreSQL", "summary": "a database", "notes": "version 18"}
    assert await stores.graph.get_node("Technology", "id", made["id"]) == found


async def test_an_unknown_node_is_none(stores: Stores) -> None:
    assert await stores.graph.get_node("Technology", "name", "nothing of this name") is None
    assert await stores.graph.get_node("Technology", "id", str(uuid4())) is None


async def test_a_node_that_is_deleted_softly_is_hidden_and_keeps_its_history(stores: Stores) -> None:
    """It is read with its status and archived_at."""
    await stores.graph.merge_node("Tool", "name", "hammer", {"summary": "for nails"})
    assert await stores.graph.delete_node("Tool", "name", "hammer") is stores.keep
    node = await stores.graph.get_node("Tool", "name", "hammer")
    assert (node and node["status"]) == ("archived" if stores.keep else None)
    assert node is None or node["archived_at"] > node["created_at"]
    assert await stores.graph.fulltext_search("nails") == []
    history = await stores.graph.get_node_history("Tool", "name", "hammer")
    assert [state["status"] for state in history] == (["active", "archived"] if stores.keep else [])
    assert await stores.graph.delete_node("Tool", "name", "hammer") is False


async def test_a_node_that_is_deleted_for_good_has_no_history(stores: Stores) -> None:
    await stores.graph.merge_node("Tool", "name", "hammer", {"summary": "for nails"})
    assert await stores.graph.delete_node("Tool", "name", "hammer", soft=False) is stores.keep
    assert await stores.graph.get_node("Tool", "name", "hammer") is None
    assert await stores.graph.get_node_history("Tool", "name", "hammer") == []
    assert await stores.graph.delete_node("Tool", "name", "hammer", soft=False) is False


async def test_a_relation_is_made_once_and_walked_both_ways(stores: Stores) -> None:
    await stores.graph.merge_node("Concept", "name", "caching", {})
    await stores.graph.merge_node("Technology", "name", "redis", {})
    ends = ("Concept", "name", "caching", "USES", "Technology", "name", "redis")
    first = await stores.graph.merge_relation(*ends)
    second = await stores.graph.merge_relation(*ends)
    assert first["rel_type"] == second["rel_type"] == "USES"
    assert (first["created"], second["created"]) == (stores.keep, False)
    forward = await stores.graph.get_neighbours("Concept", "name", "caching")
    backward = await stores.graph.get_neighbours("Technology", "name", "redis")
    names = [[node["key"] for node in found] for found in (forward, backward)]
    assert names == ([["redis"], ["caching"]] if stores.keep else [[], []])


async def test_neighbours_come_nearest_first_within_the_hops_and_the_limit(stores: Stores) -> None:
    for name in ("a", "b", "c", "d"):
        await stores.graph.merge_node("Concept", "name", name, {})
    for left, right in (("a", "b"), ("b", "c"), ("c", "d")):
        await stores.graph.merge_relation("Concept", "name", left, "RELATED_TO", "Concept", "name", right)

    async def around(hops: int, limit: int = 50) -> list[tuple[str, int]]:
        found = await stores.graph.get_neighbours("Concept", "name", "a", hops=hops, limit=limit)
        return [(node["key"], node["depth"]) for node in found]

    keeps = stores.keep
    assert await around(1) == ([("b", 1)] if keeps else [])
    assert await around(3) == ([("b", 1), ("c", 2), ("d", 3)] if keeps else [])
    assert await around(3, limit=2) == ([("b", 1), ("c", 2)] if keeps else [])
    assert await stores.graph.get_neighbours("Concept", "name", "not here") == []


async def test_full_text_finds_a_node_by_any_of_its_texts_best_first(stores: Stores) -> None:
    await stores.graph.merge_node("Concept", "name", "indexing", {"description": "a btree serves ranges"})
    await stores.graph.merge_node("Concept", "name", "btree", {"details": "a btree is a tree of pages"})
    found = await stores.graph.fulltext_search("What is a btree?")
    if not stores.keep:
        assert found == []
        return
    assert [(hit["label"], hit["key"]) for hit in found] == [("Concept", "btree"), ("Concept", "indexing")]
    assert found[0]["score"] > found[1]["score"] > 0
    node = await stores.graph.get_node("Concept", "name", "btree")
    assert node is not None
    assert found[0]["node"]["id"] == node["id"]
    assert len(await stores.graph.fulltext_search("btree", limit=1)) == 1
    assert await stores.graph.fulltext_search("zebra") == []


@pytest.mark.usefixtures("age")
async def test_cypher_reads_the_same_graph_or_is_not_implemented(stores: Stores) -> None:
    await stores.graph.merge_node("Species", "name", "oak", {})
    query = "MATCH (s:Species {key: $key}) RETURN s.title AS title"
    if stores.keep:
        assert await stores.graph.run_cypher(query, {"key": "oak"}) == [{"title": "oak"}]
    else:
        with pytest.raises(NotImplementedError):
            await stores.graph.run_cypher(query, {"key": "oak"})


async def test_a_schema_of_the_caller_is_registered_and_may_be_repeated(
    stores: Stores, connection: psycopg.Connection[DictRow]
) -> None:
    schema = SchemaDefinition(
        labels=(LabelDefinition(name="Recipe", key_field="title", text_fields=("steps", "tags")),),
        relations=(RelationDefinition(name="NEEDS", from_labels=("Recipe",), to_labels=("Gear",)),),
    )
    await stores.graph.init_schema(schema)
    await stores.graph.init_schema(schema)
    await stores.graph.init_schema(SchemaDefinition())
    made = await stores.graph.merge_node("Recipe", "title", "bread", {"steps": ["knead the dough", "bake"]})
    assert made["key"] == "bread"
    await stores.graph.merge_node("Gear", "name", "oven", {})
    joined = await stores.graph.merge_relation("Recipe", "title", "bread", "NEEDS", "Gear", "name", "oven")
    assert joined["created"] is stores.keep
    found = await stores.graph.fulltext_search("dough")
    assert [hit["key"] for hit in found] == (["bread"] if stores.keep else [])
    if stores.keep and tier(connection) in GRAPH_TIERS:
        query = "MATCH (r:Recipe)-[:NEEDS]->(g:Gear) RETURN r.title AS recipe, g.title AS gear"
        assert await stores.graph.run_cypher(query) == [{"recipe": "bread", "gear": "oven"}]


async def test_a_healthy_store_reports_ok(stores: Stores) -> None:
    health = await stores.graph.health_check()
    assert health["status"] == "ok"
    assert health["backend"] == ("postgres" if stores.keep else "none")
    assert ("server_version" in health) is stores.keep


async def test_the_history_of_a_node_holds_every_state_oldest_first(stores: Stores) -> None:
    for summary in ("first", "second", "third"):
        await stores.graph.merge_node("Concept", "name", "change", {"summary": summary})
    history = await stores.graph.get_node_history("Concept", "name", "change")
    assert [state["properties"]["summary"] for state in history] == (
        ["first", "second", "third"] if stores.keep else []
    )
    assert all({"properties", "valid_from", "valid_to", "ingested_at"} <= state.keys() for state in history)
    assert await stores.graph.get_node_history("Concept", "name", "not here") == []


async def test_nothing_young_decays(stores: Stores) -> None:
    await stores.graph.merge_node("Concept", "name", "fresh", {})
    assert await stores.graph.decay_scores(max_age_days=90, decay_rate=0.01) == 0


async def test_every_call_after_set_scope_is_about_that_tenant(stores: Stores) -> None:
    await stores.graph.set_scope(MemoryScope(org_id="acme", user_id="alice"))
    await stores.graph.merge_node("Concept", "name", "secret plan", {"summary": "buy the mill"})
    if stores.keep:
        assert await stores.graph.get_node("Concept", "name", "secret plan") is not None
        assert len(await stores.graph.fulltext_search("mill")) == 1
    await stores.graph.set_scope(MemoryScope(org_id="acme", user_id="bob"))
    assert await stores.graph.get_node("Concept", "name", "secret plan") is None
    assert await stores.graph.fulltext_search("mill") == []
    assert await stores.graph.get_neighbours("Concept", "name", "secret plan") == []
    assert await stores.graph.get_node_history("Concept", "name", "secret plan") == []


async def ids_of(stores: Stores, *names: str) -> list[str]:
    """The ids of nodes of these names: of the store's own, or of none."""
    if stores.keep:
        made = [await stores.graph.merge_node("Concept", "name", name, {}) for name in names]
        return [str(node["id"]) for node in made]
    return [str(uuid4()) for _ in names]


@pytest.mark.usefixtures("vectors")
async def test_the_nearest_vectors_come_first_with_their_cosine(stores: Stores) -> None:
    east, north, between = await ids_of(stores, "east", "north", "between")
    stored = await stores.vector.store_vectors([(east, [1, 0, 0]), (north, [0, 1, 0]), (between, [3, 4, 0])])
    found = await stores.vector.search_vectors([1, 0, 0], limit=2)
    if not stores.keep:
        assert (stored, found, await stores.vector.count()) == (0, [], 0)
        return
    assert (stored, await stores.vector.count()) == (3, 3)
    assert [hit["node_id"] for hit in found] == [east, between]
    assert [hit["score"] for hit in found] == [pytest.approx(1, abs=1e-6), pytest.approx(0.6, abs=1e-6)]
    assert [(hit["label"], hit["key"]) for hit in found] == [("Concept", "east"), ("Concept", "between")]


@pytest.mark.usefixtures("vectors")
async def test_a_vector_that_comes_again_takes_the_place_of_the_first(stores: Stores) -> None:
    (node,) = await ids_of(stores, "node")
    await stores.vector.store_vectors([(node, [1, 0, 0])])
    await stores.vector.store_vectors([(node, [0, 1, 0])])
    keeps = stores.keep
    assert await stores.vector.count() == (1 if keeps else 0)
    scores = [hit["score"] for hit in await stores.vector.search_vectors([0, 1, 0])]
    assert scores == ([pytest.approx(1, abs=1e-6)] if keeps else [])


@pytest.mark.usefixtures("vectors")
async def test_vectors_are_deleted_by_node_and_counted(stores: Stores) -> None:
    one, two = await ids_of(stores, "one", "two")
    await stores.vector.store_vectors([(one, [1, 0, 0]), (two, [0, 1, 0])])
    keeps = stores.keep
    assert await stores.vector.delete_vectors([one, str(uuid4())]) == (1 if keeps else 0)
    assert await stores.vector.count() == (1 if keeps else 0)
    assert await stores.vector.delete_vectors([]) == 0
    assert await stores.vector.store_vectors([]) == 0


async def test_the_dimensions_are_known_before_anything_is_stored(stores: Stores) -> None:
    assert stores.vector.dimensions == (DIMENSIONS if stores.keep else 0)


@pytest.mark.usefixtures("vectors")
async def test_a_search_for_another_scope_leaves_the_store_s_own(stores: Stores) -> None:
    (node,) = await ids_of(stores, "everybody's")
    await stores.vector.store_vectors([(node, [1, 0, 0])])
    before = await stores.vector.search_vectors([1, 0, 0])
    if stores.keep:
        assert [hit["node_id"] for hit in before] == [node]
        assert isinstance(stores.vector, PgVectorStore)
        assert stores.vector.model == MODEL
    alone = MemoryScope(org_id="acme", user_id="alice")
    # A memory without an owner is everybody's.
    assert await stores.vector.search_vectors([1, 0, 0], scope=alone) == before
    assert await stores.vector.search_vectors([1, 0, 0]) == before
