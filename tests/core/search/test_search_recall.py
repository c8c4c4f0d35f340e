"""A text that a person would expect is found: every text, questions in plain words, other scripts."""

from __future__ import annotations

import pytest

from pgmem import Memory
from pgmem.embeddings.static import StaticProvider
from tests.core.search.conftest import Open

pytestmark = pytest.mark.anyio


async def titles(memory: Memory, query: str, **more: object) -> list[str]:
    return [result.title for result in (await memory.search_memory(query, **more)).results]  # type: ignore[arg-type]


async def test_every_text_of_every_kind_of_memory_is_found(plain: Memory) -> None:
    await plain.save_session(
        "open the walnut shop",
        "shop",
        actions_taken=["painted the sycamore gate"],
        decisions_made=["buy from the larch mill"],
        open_items=["order hazel shelves"],
        next_actions=["call the poplar merchant"],
    )
    await plain.save_decision("Varnish the elm", "Because beech stains.", "shop", owner="Rowan")
    await plain.save_pattern(
        "when cedar arrives", ["weigh the spruce", "stack the alder"], "shop", ["never the yew"]
    )
    await plain.save_context("the maple is dry", "shop", topic="about acacia")
    await plain.upsert_entity("Ginkgo", "grows near the linden", "shop")
    await plain.remember(
        "Concept",
        {
            "name": "grafting",
            "summary": "join a quince",
            "details": "the scion of medlar",
            "description": "on a pear",
            "notes": "in juniper months",
            "tags": ["orchard", "willow"],
        },
        project_id="shop",
    )
    expected = {
        "open the walnut shop": "walnut sycamore larch hazel poplar",
        "Varnish the elm": "elm beech Rowan",
        "when cedar arrives": "cedar spruce alder yew",
        "about acacia": "maple acacia",
        "Ginkgo": "ginkgo linden",
        "grafting": "grafting quince medlar pear juniper orchard willow",
    }
    for title, words in expected.items():
        for word in words.split():
            assert await titles(plain, word) == [title], word
            assert await titles(plain, word, project_id="shop") == [title], word


@pytest.mark.usefixtures("vectors")
async def test_what_is_remembered_without_a_project_is_found_in_no_project_s_search(
    with_provider: Open,
) -> None:
    memory = with_provider(StaticProvider())
    await memory.register_embedder()
    await memory.save_session("begin", "shop")
    await memory.remember("Technology", {"name": "PostgreSQL", "summary": "keeps rows"})
    await memory.embed_waiting()
    (hit,) = (await memory.search_memory("rows", labels=["Technology"])).results
    assert (hit.title, hit.project) == ("PostgreSQL", None)
    assert (hit.vector or 0) > 0
    assert await titles(memory, "rows", project_id="shop", labels=["Technology"]) == []
    assert await titles(memory, "shop", labels=["Project"]) == []


async def test_questions_in_plain_words_find_the_memory_first(with_provider: Open) -> None:
    memory = with_provider(StaticProvider())
    await memory.register_embedder()
    await memory.save_session("Build the service", "shop")
    await memory.save_decision("Caching strategy: cache aside in redis", "Reads outnumber writes.", "shop")
    await memory.save_decision("Deploy with blue-green switches", "A release can be taken back.", "shop")
    await memory.save_pattern("before a release", ["run the tests", "tag the commit"], "shop")
    await memory.upsert_entity("billing gateway", "is owned by Maria", "shop")
    for question, title in {
        "what do we know about caching strategy?": "Caching strategy: cache aside in redis",
        "How do we roll back a deploy?": "Deploy with blue-green switches",
        "Who owns the gateway for billing?": "billing gateway",
        "what do we run before a release": "before a release",
    }.items():
        assert (await titles(memory, question))[0] == title, question


async def test_text_without_blanks_is_found_by_pairs_of_signs(plain: Memory) -> None:
    await plain.save_session("begin", "shop")
    await plain.save_context("我们使用数据库保存记忆", "shop", topic="chinese")
    await plain.save_context("東京で会議があります", "shop", topic="japanese")
    await plain.save_context("데이터베이스를 사용합니다", "shop", topic="korean")
    assert await titles(plain, "数据库") == ["chinese"]
    assert await titles(plain, "会議") == ["japanese"]
    assert await titles(plain, "데이터베이스") == ["korean"]
    assert await titles(plain, "どこで会議がありますか") == ["japanese"]
    assert await titles(plain, "火车") == []


async def test_words_are_stemmed_in_english_and_left_alone_in_simple(plain: Memory) -> None:
    await plain.save_session("begin", "shop")
    await plain.save_context("the migrations were running", "shop", topic="stemmed")
    assert await titles(plain, "migration runs") == ["stemmed"]
    await plain.set_setting("text_config", "simple")
    await plain.save_session("begin", "werk")
    await plain.save_context("die Häuser sind running", "werk", topic="plain")
    assert await titles(plain, "running", project_id="werk") == ["plain"]
    assert await titles(plain, "runs", project_id="werk") == []
    assert await titles(plain, "die", project_id="werk") == ["plain"]  # simple has no stop words
    # The project made before keeps its own configuration.
    assert await titles(plain, "migration runs", project_id="shop") == ["stemmed"]
    with pytest.raises(Exception, match="text_config cannot be 'klingon'"):
        await plain.set_setting("text_config", "klingon")


async def test_other_tenants_words_never_move_a_score(plain: Memory) -> None:
    from pgmem import MemoryScope

    alice = plain.acting_as(MemoryScope(org_id="acme", user_id="alice"))
    bob = plain.acting_as(MemoryScope(org_id="other", user_id="bob"))
    await alice.save_session("begin", "shop")
    await alice.save_context("the zebra crossing", "shop", topic="zebra")
    await alice.save_context("the crossing of the river, a longer text about water", "shop", topic="river")
    await alice.refresh_statistics(everything=True)

    async def scores() -> list[tuple[str, float]]:
        found = await alice.search_memory("zebra crossing")
        return [(result.title, result.score) for result in found.results]

    before = await scores()
    assert len(before) == 2
    await bob.save_session("begin", "zoo")
    for number in range(60):
        await bob.save_context(f"zebra number {number} crossing " + "word " * number, "zoo")
    await bob.refresh_statistics(everything=True)
    assert await scores() == before
    assert len((await bob.search_memory("zebra", 100)).results) == 60
