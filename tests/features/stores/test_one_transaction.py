"""A node and its vector are one transaction, and labels that a store writes besides those of remember."""

from __future__ import annotations

import pytest

from pgmem import Memory
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.errors import InvalidArgument, PgmemError
from pgmem.features.stores.create import PgStore
from pgmem.settings import load
from tests.conftest import Call

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("vector", [[0.0, 0.0, 0.0], [float("nan"), 1.0, 0.0], [float("inf"), 1.0, 0.0]])
async def test_a_vector_that_cannot_be_kept_leaves_no_node(
    store: PgStore, vectors: None, vector: list[float]
) -> None:
    """The node existed, because it took two calls."""
    with pytest.raises(PgmemError):
        await store.merge_node("Concept", "name", "radio", {}, embedding=vector)
    assert await store.get_node("Concept", "name", "radio") is None


async def test_a_project_that_a_store_makes_is_the_project_of_the_verbs(
    store: PgStore, memory: Memory, call: Call
) -> None:
    """Merge_node of a project was refused."""
    made = await store.merge_node("Project", "name", "shop", {"description": "sells tea"})
    assert made["created"] is True
    assert (await memory.save_context("c", "shop")).status == "saved"
    again = await store.merge_node("Project", "name", "Shop", {"description": "sells coffee"})
    assert (again["id"], again["created"], again["properties"]["description"]) == (
        made["id"],
        False,
        "sells coffee",
    )
    with pytest.raises(PgmemError, match="holds memories together"):
        await store.delete_node("Project", "name", "shop")


async def test_an_empty_project_is_forgotten_and_comes_back(store: PgStore, memory: Memory) -> None:
    made = await store.merge_node("Project", "name", "shop", {})
    assert await store.delete_node("Project", "name", "shop")
    assert (await memory.get_scope_state("shop")).scope_state == "uncertain"
    assert (await memory.save_session("open", "shop")).status == "saved"
    found = await store.get_node("Project", "name", "shop")
    assert found is not None
    assert (found["id"], found["status"]) == (made["id"], "active")


async def test_a_store_says_that_a_closed_node_was_revived(store: PgStore, call: Call) -> None:
    """The flag of the conflict was not returned."""
    call("remember", label="Concept", properties={"name": "radio"}, valid_to="2020-01-01T00:00:00Z")
    node = await store.merge_node("Concept", "name", "radio", {"notes": "n"})
    assert node["conflict"]["conflict"] == "revived"


@pytest.mark.parametrize(
    ("name", "value"), [("GRAPH_BACKEND", "neo4j"), ("GRAPH_BACKEND", "none"), ("VECTOR_BACKEND", "bogus")]
)
def test_a_backend_that_is_not_honoured_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """The setting was passed over, and the program ended with 0."""
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidArgument, match=name):
        load()


def test_a_store_without_vectors_embeds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """VECTOR_BACKEND=none searched by vectors all the same."""
    monkeypatch.setenv("VECTOR_BACKEND", " None ")
    assert load().embedding_provider == "none"


class Gone:
    """A provider that does not answer."""

    model, dimensions = "gone:model", 3

    async def embed(self, text: str) -> list[float]:
        raise EmbeddingError(f"nobody embeds {text}")

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        raise EmbeddingError(f"nobody embeds {len(texts)} texts")

    async def health_check(self) -> bool:
        return False

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_a_provider_that_cannot_be_reached_registers_nothing(
    memory: Memory, vectors: None, call: Call
) -> None:
    """Texts waited for a model that nobody has."""
    lonely = Memory(memory.caller.database, Gone())
    before = await memory.embedding_status()
    assert await lonely.register_embedder() is False
    await lonely.save_session("open", "shop")
    assert [model.model for model in await memory.embedding_status()] == [model.model for model in before]
