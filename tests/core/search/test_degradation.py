"""A missing part of the system disables its arm only; the answer names the arm and the reason."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pgmem import Memory
from pgmem.database.database import Database
from pgmem.embeddings.none import NullProvider
from pgmem.errors import InvalidArgument
from pgmem.features.stores.create import NullGraphStore, NullVectorStore, PgGraphStore, PgStore, PgVectorStore
from pgmem.features.stores.fusion import HybridConfig, HybridSearchEngine
from pgmem.settings import load
from tests.conftest import new_database
from tests.core.embeddings.server import EmbeddingServer
from tests.core.search.conftest import Open, Table

pytestmark = pytest.mark.anyio

AXES = {"redis": [1.0, 0.0, 0.0], "oak": [0.0, 1.0, 0.0]}


async def keep(memory: Memory) -> None:
    await memory.register_embedder()
    await memory.save_session("open the shop", "shop")
    await memory.save_decision("Cache pages in redis", "It is fast.", "shop")
    await memory.save_decision("Build the counter of oak", "It lasts.", "shop")


async def test_without_a_provider_alpha_is_zero_and_search_is_by_full_text(plain: Memory) -> None:
    await keep(plain)
    found = await plain.search_memory("redis", explain=True)
    assert [result.title for result in found.results] == ["Cache pages in redis"]
    assert found.results[0].explanation is not None
    assert (found.results[0].explanation["alpha"], found.results[0].vector) == (0, 0)
    mode = found.search_mode
    assert (mode.mode, mode.degraded, mode.reason) == ("fulltext_only", False, "no embedding provider")


async def test_on_a_server_without_pgvector_search_is_by_full_text_and_reports_it(
    server: str, template_text_only: str, tmp_path: Path
) -> None:
    with new_database(server, template_text_only) as dsn:
        database = Database(load(dsn=dsn, data_dir=tmp_path))
        await database.open()
        memory = Memory(database, Table(AXES))
        await keep(memory)
        found = await memory.search_memory("redis")
        assert [result.title for result in found.results] == ["Cache pages in redis"]
        mode = found.search_mode
        assert (mode.mode, mode.degraded, mode.reason) == (
            "fulltext_only",
            True,
            "this store keeps no vectors",
        )
        assert await memory.embed_waiting() == 0
        await memory.maintain()
        await database.close()


async def test_with_a_provider_that_is_down_search_falls_back_to_full_text_and_names_the_error(
    with_provider: Open, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(AXES)
    memory = with_provider(table)
    await keep(memory)
    table.down = True
    with caplog.at_level(logging.WARNING, "pgmem"):
        found = await memory.search_memory("redis")
    assert [result.title for result in found.results] == ["Cache pages in redis"]
    mode = found.search_mode
    assert (mode.mode, mode.degraded) == ("fulltext_only", True)
    assert mode.reason == "EmbeddingError: nobody answers"
    saved = await memory.save_decision("Keep sessions in redis", "They are short.", "shop")
    assert (saved.status, saved.embedded) == ("saved", False)
    assert "saved without a vector" in caplog.text


@pytest.mark.usefixtures("vectors")
async def test_a_provider_that_is_down_is_logged_once_and_again_after_it_answered(
    with_provider: Open, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(AXES)
    memory = with_provider(table)
    await keep(memory)
    logged = []
    for down, title in ((True, "One"), (True, "Two"), (False, "Three"), (True, "Four")):
        table.down = down
        caplog.clear()
        with caplog.at_level(logging.WARNING, "pgmem"):
            await memory.acting_as().save_context(f"{title} of four.", title, "shop")
        logged.append("saved without a vector" in caplog.text)
    assert logged == [True, False, False, True]


@pytest.mark.usefixtures("vectors")
async def test_with_ollama_not_running_search_falls_back_to_full_text(
    dsn: str, tmp_path: Path, provider_server: EmbeddingServer
) -> None:
    provider_server.models.append("test-model")
    settings = load(
        dsn=dsn,
        data_dir=tmp_path,
        embedding_provider="ollama",
        ollama_url=provider_server.url,
        embedding_model="test-model",
        embedding_dimensions=8,
        embedding_patience_s=3.0,
    )
    async with Memory.connect(settings) as memory:
        await keep(memory)
        assert (await memory.search_memory("redis")).search_mode.mode == "hybrid"
        provider_server.stop()
        found = await memory.search_memory("redis")
        assert [result.title for result in found.results] == ["Cache pages in redis"]
        assert found.search_mode.degraded
        assert (found.search_mode.reason or "").startswith(("EmbeddingError", "_Unreachable", "TimeoutError"))


@pytest.mark.usefixtures("vectors")
async def test_a_memory_without_a_vector_is_found_by_its_words_only(with_provider: Open) -> None:
    table = Table(AXES)
    memory = with_provider(table)
    await keep(memory)
    table.down = True
    await memory.save_context("redis in the cellar", "shop", topic="without a vector")
    table.down = False
    found = await memory.search_memory("redis")
    parts = {result.title: (result.vector, result.fulltext) for result in found.results}
    assert parts["without a vector"][0] == 0
    assert (parts["without a vector"][1] or 0) > 0
    assert (parts["Cache pages in redis"][0] or 0) == 1
    assert found.search_mode.mode == "hybrid"
    # By meaning alone it is not found until it is embedded.
    table.vectors["cupboard"] = [1.0, 0.0, 0.0]
    by_meaning = [result.title for result in (await memory.search_memory("cupboard")).results]
    assert "Cache pages in redis" in by_meaning
    assert "without a vector" not in by_meaning
    assert await memory.embed_waiting() > 0
    by_meaning = [result.title for result in (await memory.search_memory("cupboard")).results]
    assert "without a vector" in by_meaning


@pytest.mark.usefixtures("vectors")
async def test_a_query_without_a_word_that_counts_is_by_vector_only(with_provider: Open) -> None:
    memory = with_provider(Table({**AXES, "what is it about": [0.0, 1.0, 0.0]}))
    await keep(memory)
    found = await memory.search_memory("what is it about", 1, explain=True)
    assert [result.title for result in found.results] == ["Build the counter of oak"]
    assert found.results[0].explanation is not None
    assert found.results[0].explanation["alpha"] == 1
    mode = found.search_mode
    assert (mode.mode, mode.degraded, mode.reason) == (
        "vector_only",
        False,
        "the query holds no word that counts",
    )


@pytest.mark.usefixtures("vectors")
async def test_vectors_of_another_model_are_not_compared_and_the_reason_names_both(
    with_provider: Open,
) -> None:
    await keep(with_provider(Table(AXES)))
    other = with_provider(Table(AXES, model="test:other"))
    await other.register_embedder()
    found = await other.search_memory("redis")
    assert [result.title for result in found.results] == ["Cache pages in redis"]
    mode = found.search_mode
    assert (mode.mode, mode.degraded) == ("fulltext_only", True)
    assert mode.reason == "the vectors here are of test:table, the query's of test:other"


class NoFullText(NullGraphStore):
    """A graph store that has no full-text index."""

    async def fulltext_search(self, query: str, limit: int = 10) -> list[dict[str, object]]:
        raise NotImplementedError("no full-text index here")


@pytest.mark.usefixtures("vectors")
async def test_the_engine_answers_with_whatever_arms_its_stores_have(database: Database) -> None:
    table = Table(AXES)
    await keep(Memory(database, table))
    graph = PgGraphStore(database)
    vector = PgVectorStore(database, "test:table", 3)

    async def ask(engine: HybridSearchEngine) -> tuple[list[str], str, bool, str | None]:
        ranked = await engine.search("redis", limit=1)
        mode = ranked.search_mode
        return [hit.title for hit in ranked], mode.mode, mode.degraded, mode.reason

    hit, config = ["Cache pages in redis"], HybridConfig()
    both = PgStore(database, "test:table", 3)
    assert await ask(HybridSearchEngine(both, both, table)) == (hit, "hybrid", False, None)
    assert await ask(HybridSearchEngine(graph, vector, table)) == (hit, "hybrid", False, None)
    assert await ask(HybridSearchEngine(graph, vector, table, config)) == (hit, "hybrid", False, None)
    assert await ask(HybridSearchEngine(graph, NullVectorStore(), table, config)) == (
        hit,
        "fulltext_only",
        False,
        "this store keeps no vectors",
    )
    assert await ask(HybridSearchEngine(graph, vector, NullProvider(), config)) == (
        hit,
        "fulltext_only",
        False,
        "no embedding provider",
    )
    assert await ask(HybridSearchEngine(NoFullText(), vector, table, config)) == (
        hit,
        "vector_only",
        True,
        "no full-text index here",
    )
    assert await ask(HybridSearchEngine(NullGraphStore(), vector, table, config)) == (
        hit,
        "hybrid",
        False,
        None,
    )
    assert await ask(HybridSearchEngine(NoFullText(), NullVectorStore(), table, config)) == (
        [],
        "none",
        True,
        "no full-text index here",
    )
    table.down = True
    assert await ask(HybridSearchEngine(graph, vector, table, config)) == (
        hit,
        "fulltext_only",
        True,
        "EmbeddingError: nobody answers",
    )
    assert (await ask(HybridSearchEngine(both, both, table)))[1:3] == ("fulltext_only", True)


async def test_a_store_of_vectors_that_is_turned_off_is_the_reason(dsn: str, tmp_path: Path) -> None:
    settings = load(dsn=dsn, data_dir=tmp_path, vector_backend="none", embedding_provider="static")
    async with Memory.connect(settings) as memory:
        mode = (await memory.search_memory("redis")).search_mode
    assert (mode.mode, mode.reason) == ("fulltext_only", "VECTOR_BACKEND is none: no vectors are used")


class Broken:
    """A foreign store or provider: every call raises."""

    dimensions = 3
    model = "broken"

    def __getattr__(self, name: str) -> object:
        async def call(*_arguments: object, **_options: object) -> object:
            raise RuntimeError("the plug is out")

        return call


async def test_a_foreign_part_that_raises_costs_its_arm_alone() -> None:
    """No exception of a foreign embedder or store escapes a search."""
    broken = Broken()
    by_text = await HybridSearchEngine(NullGraphStore(), NullVectorStore(), broken).search("redis")  # type: ignore[arg-type]
    assert list(by_text) == []
    without_vectors = await HybridSearchEngine(NullGraphStore(), broken, Table(AXES)).search("redis")  # type: ignore[arg-type]
    assert without_vectors.search_mode.mode == "fulltext_only"
    nothing = await HybridSearchEngine(broken, broken, broken).search("redis")  # type: ignore[arg-type]
    assert (list(nothing), nothing.search_mode.mode) == ([], "none")


@pytest.mark.parametrize(
    "weights", [{"alpha": 2}, {"graph_beta": -1}, {"fusion": "x"}, {"vector_k": 0}, {"rrf_k": -1}]
)
def test_a_config_that_no_ranking_can_have_is_refused(weights: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(weights))):
        HybridConfig(**weights)  # type: ignore[arg-type]
