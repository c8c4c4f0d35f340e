"""The stores of PostgreSQL, beyond the behaviour of every store; and the factory."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgmem import AmbiguousName, InvalidArgument, Memory, NotPermitted, RelationNotAllowed
from pgmem.database.database import Database
from pgmem.embeddings import EmbeddingConfigError
from pgmem.features.stores.create import (
    NullGraphStore,
    NullVectorStore,
    PgGraphStore,
    PgStore,
    PgVectorStore,
    create_stores,
)
from pgmem.models import LabelDefinition, MemoryScope, RelationDefinition, SchemaDefinition
from pgmem.settings import load
from tests.conftest import new_database
from tests.features.stores.conftest import DIMENSIONS, MODEL

pytestmark = pytest.mark.anyio


@pytest.mark.usefixtures("vectors")
async def test_a_node_may_come_with_its_vector(store: PgStore) -> None:
    made = await store.merge_node("Concept", "name", "caching", {"summary": "keep answers"}, [1.0, 0.0, 0.0])
    assert [hit["node_id"] for hit in await store.search_vectors([1.0, 0.0, 0.0])] == [made["id"]]


@pytest.mark.usefixtures("vectors")
async def test_a_vector_of_another_length_is_refused_with_both_lengths_and_nothing_is_written(
    store: PgStore,
) -> None:
    with pytest.raises(InvalidArgument, match=r"test:three has 3 dimensions, this vector has 2"):
        await store.merge_node("Concept", "name", "caching", {}, [1.0, 0.0])
    assert await store.get_node("Concept", "name", "caching") is None
    made = await store.merge_node("Concept", "name", "caching", {})
    with pytest.raises(InvalidArgument, match=r"test:three has 3 dimensions, this vector has 4"):
        await store.store_vectors([(made["id"], [1, 0, 0, 0])])
    with pytest.raises(InvalidArgument, match=r"test:three has 3 dimensions, this vector has 2"):
        await store.search_vectors([1.0, 0.0])
    assert await store.count() == 0


@pytest.mark.usefixtures("vectors")
async def test_a_vector_of_zeros_is_refused(store: PgStore) -> None:
    made = await store.merge_node("Concept", "name", "caching", {})
    with pytest.raises(InvalidArgument, match="A vector of zeros is near nothing"):
        await store.store_vectors([(made["id"], [0, 0, 0])])
    assert await store.count() == 0


@pytest.mark.usefixtures("vectors")
async def test_one_bad_vector_of_many_keeps_all_out(store: PgStore) -> None:
    one = await store.merge_node("Concept", "name", "one", {})
    two = await store.merge_node("Concept", "name", "two", {})
    with pytest.raises(InvalidArgument):
        await store.store_vectors([(one["id"], [1, 0, 0]), (two["id"], [1, 0])])
    assert await store.count() == 0


@pytest.mark.usefixtures("vectors")
async def test_an_id_that_is_none_is_an_error_that_names_it(store: PgStore) -> None:
    with pytest.raises(InvalidArgument, match="Invalid node id 'caching'"):
        await store.store_vectors([("caching", [1, 0, 0])])
    with pytest.raises(InvalidArgument, match="Invalid node id 'caching'"):
        await store.delete_vectors(["caching"])


@pytest.mark.usefixtures("vectors")
async def test_archiving_a_node_deletes_its_vector(store: PgStore) -> None:
    await store.merge_node("Concept", "name", "caching", {}, [1.0, 0.0, 0.0])
    assert await store.count() == 1
    await store.delete_node("Concept", "name", "caching")
    assert await store.count() == 0


@pytest.mark.usefixtures("vectors")
async def test_a_revived_node_has_its_vector_again_at_once(store: PgStore) -> None:
    """A soft forget sets the vector aside, and the same transaction that revives the node puts it back."""
    await store.merge_node("Concept", "name", "caching", {"summary": "s"}, [1.0, 0.0, 0.0])
    await store.delete_node("Concept", "name", "caching")
    back = await store.merge_node("Concept", "name", "caching", {})
    assert [(hit["node_id"], hit["score"]) for hit in await store.search_vectors([1.0, 0.0, 0.0])] == [
        (back["id"], 1.0)
    ]
    await store.delete_node("Concept", "name", "caching")
    await store.rows("revert", label="Concept", key="caching", version=1)
    assert await store.count() == 1
    await store.delete_node("Concept", "name", "caching", soft=False)
    assert await store.count() == 0


async def test_merge_node_keeps_the_period_and_returns_the_conflict_of_an_ended_one(store: PgStore) -> None:
    """An unrelated edit erases no end in the future, and the flag of remember is returned."""
    made = await store.merge_node("Technology", "name", "redis", {"valid_to": "2099-01-01"})
    assert made["conflict"] is None
    edited = await store.merge_node("Technology", "name", "redis", {"summary": "a cache"})
    assert edited["valid_to"] == datetime(2099, 1, 1, tzinfo=UTC)
    assert (edited["conflict"]["conflict"], edited["conflict"]["action"]) == ("has_end", "kept")
    await store.merge_node("Technology", "name", "mysql", {"valid_to": "2024-01-01"})
    revived = await store.merge_node("Technology", "name", "mysql", {"summary": "back"})
    assert (revived["valid_to"], revived["conflict"]["action"]) == (None, "cleared")


@pytest.mark.usefixtures("vectors")
async def test_one_does_not_write_the_vectors_of_what_one_only_sees(store: PgStore) -> None:
    shared = await store.merge_node("Concept", "name", "everybody's", {}, [1.0, 0.0, 0.0])
    await store.set_scope(MemoryScope(org_id="acme", user_id="alice"))
    with pytest.raises(NotPermitted):
        await store.store_vectors([(shared["id"], [0, 1, 0])])
    with pytest.raises(NotPermitted):
        await store.delete_vectors([shared["id"]])
    await store.set_scope(MemoryScope(org_id="acme", user_id="bob"))
    hers = await store.merge_node("Concept", "name", "bob's", {}, [0.0, 1.0, 0.0])
    await store.set_scope(MemoryScope(org_id="acme", user_id="alice"))
    assert await store.store_vectors([(hers["id"], [1, 0, 0])]) == 0
    assert await store.count() == 1  # everybody's; bob's is not seen


async def test_a_key_field_that_is_not_the_label_s_is_an_error_that_names_the_right_one(
    store: PgStore,
) -> None:
    with pytest.raises(InvalidArgument, match="A Concept is named by its name, not by title"):
        await store.merge_node("Concept", "title", "caching", {})
    with pytest.raises(InvalidArgument, match="A Concept is named by its name or its id, not by title"):
        await store.get_node("Concept", "title", "caching")
    with pytest.raises(InvalidArgument, match=r"Unknown label 'Nonsense'\. describe_schema lists them"):
        await store.get_node("Nonsense", "name", "caching")


async def test_a_label_with_a_save_verb_is_read_here_and_written_by_its_verb(
    store: PgStore, memory: Memory
) -> None:
    await memory.save_session("open the shop", "shop")
    saved = await memory.save_decision("Use redis", "It is fast.", "shop")
    with pytest.raises(InvalidArgument, match="A Decision is written by save_decision"):
        await store.merge_node("Decision", "title", "Use redis", {})
    by_title = await store.get_node("Decision", "title", "Use redis")
    assert by_title is not None
    assert by_title["id"] == str(saved.artifact_id)
    (hit,) = await store.fulltext_search("redis fast")
    assert (hit["label"], hit["key"]) == ("Decision", str(saved.artifact_id))
    assert await store.delete_node("Decision", "id", str(saved.artifact_id)) is True
    archived = await store.get_node("Decision", "title", "Use redis")
    assert archived is not None
    assert archived["status"] == "archived"


async def test_a_name_that_fits_several_nodes_is_an_error_that_lists_them(
    store: PgStore, memory: Memory
) -> None:
    for project in ("shop", "mill"):
        await memory.save_session("begin", project)
        await memory.upsert_entity("gateway", f"of the {project}", project)
    with pytest.raises(AmbiguousName, match="'gateway' names 2 nodes"):
        await store.get_node("EntityFact", "entity_name", "gateway")


async def test_a_relation_that_verbs_alone_make_is_refused(store: PgStore) -> None:
    await store.merge_node("Concept", "name", "a", {})
    await store.merge_node("Concept", "name", "b", {})
    with pytest.raises(RelationNotAllowed):
        await store.merge_relation("Concept", "name", "a", "SUPERSEDES", "Concept", "name", "b")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (SchemaDefinition(labels=(LabelDefinition(name="recipe"),)), "'recipe' is not a label"),
        (SchemaDefinition(labels=(LabelDefinition(name='R"; drop'),)), "is not a label"),
        (SchemaDefinition(labels=(LabelDefinition(name="USES"),)), "USES is a relation here"),
        (SchemaDefinition(relations=(RelationDefinition(name="needs"),)), "'needs' is not a relation"),
        (SchemaDefinition(relations=(RelationDefinition(name="CTF"),)), "CTF is a label here"),
        (
            SchemaDefinition(relations=(RelationDefinition(name="NEEDS", to_labels=("Nonsense",)),)),
            "Unknown label 'Nonsense'",
        ),
    ],
)
async def test_a_schema_that_cannot_be_is_refused_whole(
    store: PgStore, schema: SchemaDefinition, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        await store.init_schema(schema)
    with pytest.raises(InvalidArgument, match="Unknown label"):
        await store.merge_node("Recipe", "name", "bread", {})


async def test_an_existing_label_is_not_redefined(store: PgStore) -> None:
    await store.init_schema(
        SchemaDefinition(labels=(LabelDefinition(name="Recipe", text_fields=("steps",)),))
    )
    other = SchemaDefinition(labels=(LabelDefinition(name="Recipe", text_fields=("taste",)),))
    with pytest.raises(
        InvalidArgument, match="Label Recipe exists already, named by name and searched by steps"
    ):
        await store.init_schema(other)


@pytest.mark.usefixtures("age")
async def test_two_sessions_may_make_the_same_schema_at_once(dsn: str, tmp_path: Path) -> None:
    import anyio

    schema = SchemaDefinition(
        labels=(LabelDefinition(name="Recipe"),), relations=(RelationDefinition(name="NEEDS"),)
    )
    stores = [PgGraphStore(Database(load(dsn=dsn, data_dir=tmp_path))) for _ in range(4)]
    async with anyio.create_task_group() as tasks:
        for store in stores:
            tasks.start_soon(store.init_schema, schema)
    await stores[0].merge_node("Recipe", "name", "bread", {})
    assert await stores[1].run_cypher("MATCH (r:Recipe) RETURN r.key AS key") == [{"key": "bread"}]
    for store in stores:
        await store.aclose()


async def test_a_database_that_does_not_answer_is_reported_and_not_raised(tmp_path: Path) -> None:
    nowhere = f"host={tmp_path} dbname=nothing"
    store = PgGraphStore(Database(load(dsn=nowhere, data_dir=tmp_path, connect_timeout_s=0.5)))
    health = await store.health_check()
    assert (health["status"], health["backend"]) == ("unavailable", "postgres")
    assert health["reason"]


async def test_a_server_without_age_knows_no_cypher(
    server: str, template_without_age: str, tmp_path: Path
) -> None:
    with new_database(server, template_without_age) as dsn:
        store = PgGraphStore(Database(load(dsn=dsn, data_dir=tmp_path)))
        await store.merge_node("Concept", "name", "caching", {})
        with pytest.raises(NotImplementedError, match="Apache AGE"):
            await store.run_cypher("MATCH (n) RETURN n")
        await store.init_schema(SchemaDefinition(labels=(LabelDefinition(name="Recipe"),)))
        assert (await store.merge_node("Recipe", "name", "bread", {}))["created"] is True
        await store.aclose()


async def test_a_server_without_pgvector_keeps_no_vectors_and_reports_it(
    server: str, template_text_only: str, tmp_path: Path
) -> None:
    with new_database(server, template_text_only) as dsn:
        store = PgStore(Database(load(dsn=dsn, data_dir=tmp_path)), MODEL, DIMENSIONS)
        made = await store.merge_node("Concept", "name", "caching", {})
        assert await store.count() == 0
        assert await store.search_vectors([1.0, 0.0, 0.0]) == []
        assert await store.delete_vectors([made["id"]]) == 0
        with pytest.raises(Exception, match="This server has no pgvector"):
            await store.store_vectors([(made["id"], [1, 0, 0])])
        await store.aclose()


def test_both_stores_in_postgresql_are_one_object(dsn: str) -> None:
    graph, vector = create_stores({"PGMEM_DSN": dsn})
    assert isinstance(graph, PgStore)
    assert id(graph) == id(vector)
    assert (graph.model, graph.dimensions) == ("static:l2_supercat_256", 256)


@pytest.mark.parametrize(
    ("config", "graph", "vector"),
    [
        ({"GRAPH_BACKEND": "postgres", "VECTOR_BACKEND": "pgvector"}, PgStore, PgStore),
        ({"VECTOR_BACKEND": "none"}, PgGraphStore, NullVectorStore),
        ({"EMBEDDING_PROVIDER": "none"}, PgGraphStore, NullVectorStore),
        ({"GRAPH_BACKEND": "none"}, NullGraphStore, PgVectorStore),
        ({"GRAPH_BACKEND": "none", "EMBEDDING_PROVIDER": "none"}, NullGraphStore, NullVectorStore),
        ({"GRAPH_BACKEND": "None", "VECTOR_BACKEND": " none "}, NullGraphStore, NullVectorStore),
    ],
)
def test_the_environment_names_the_stores(
    dsn: str, config: dict[str, str], graph: type, vector: type
) -> None:
    made = create_stores({"PGMEM_DSN": dsn, **config})
    assert (type(made[0]), type(made[1])) == (graph, vector)


@pytest.mark.parametrize("name", ["neo4j", "kuzu", "networkx", "sqlite"])
def test_an_unknown_graph_backend_is_an_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(
        InvalidArgument, match=rf"Unknown backend GRAPH_BACKEND='{name}'\. Known: postgres, none"
    ):
        create_stores({"GRAPH_BACKEND": name})


@pytest.mark.parametrize("name", ["chroma", "neo4j", "faiss"])
def test_an_unknown_vector_backend_is_an_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(
        InvalidArgument, match=rf"Unknown backend VECTOR_BACKEND='{name}'\. Known: pgvector, none"
    ):
        create_stores({"VECTOR_BACKEND": name})


def test_a_wrong_embedding_setting_is_named(dsn: str) -> None:
    with pytest.raises(EmbeddingConfigError, match="EMBEDDING_PROVIDER"):
        create_stores({"PGMEM_DSN": dsn, "EMBEDDING_PROVIDER": "oracle"})


@pytest.mark.usefixtures("vectors")
async def test_a_store_from_the_environment_works_from_its_first_call(dsn: str, tmp_path: Path) -> None:
    graph, vector = create_stores({"PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(tmp_path)})
    made = await graph.merge_node("Concept", "name", "caching", {})
    assert await vector.store_vectors([(made["id"], [1.0] + [0.0] * 255)]) == 1
    assert await vector.count() == 1
    await graph.aclose()
