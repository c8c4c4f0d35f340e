"""The report of a search: whether it answers, which passage, how much is left out; the same in every interface."""

from __future__ import annotations

from dataclasses import asdict

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.database.database import Database
from pgmem.embeddings.static import StaticProvider
from pgmem.models import MemoryScope
from tests.conftest import Call
from tests.core.search.conftest import Open, Table

pytestmark = pytest.mark.anyio

AXES = {"redis": [1.0, 0.0, 0.0], "oak": [0.0, 1.0, 0.0]}


async def test_nonsense_is_not_answered(with_provider: Open) -> None:
    """The nearest vector of a search is near nothing when the query means nothing."""
    memory = with_provider(StaticProvider())
    await memory.register_embedder()
    await memory.save_session("Build the service", "shop")
    await memory.save_decision("Keep the orders in PostgreSQL", "One server less to run.", "shop")
    await memory.save_context("The build takes four minutes on the small machine.", "shop")
    nonsense = await memory.search_memory("qwertyuiop zxcvbnm", project_id="shop")
    assert nonsense.answered == "no"
    assert nonsense.next_step == "Nothing here clearly answers this. These are the nearest."
    assert all((result.relevance or 0) < 0.18 for result in nonsense.results)
    few = await memory.search_memory(
        "penguins on the glacier take orders", project_id="shop", answers_only=True
    )
    assert (few.results, few.left_out > 0) == ([], True)
    assert few.next_step == "Nothing here clearly answers this. min_relevance 0 shows 3 more."
    clear = await memory.search_memory("where do we keep the orders", project_id="shop")
    assert (clear.answered, clear.next_step) == ("yes", None)
    assert clear.results[0].title == "Keep the orders in PostgreSQL"
    assert (clear.results[0].relevance or 0) > 0.5
    assert set(clear.results[0].matched) == {"keep", "order"}
    few = await memory.search_memory("where do we keep the orders", project_id="shop", min_relevance=0.4)
    assert [result.title for result in few.results] == ["Keep the orders in PostgreSQL"]


@pytest.mark.usefixtures("vectors")
async def test_an_agent_is_shown_the_nearest_with_a_mark_where_nothing_answers(database: Database) -> None:
    """A threshold says whether a search is answered, and hides nothing."""
    memory = Memory(database, StaticProvider())
    agent = memory.acting_as(MemoryScope(), source="mcp")
    await memory.register_embedder()
    await memory.save_session("Run the shop", "shop")
    texts = ("Customers may return goods within 40 days", "Rooms 4 and 7 have no window", "The shelf is oak")
    for text in (*texts, "Gloves are sold by the pair", "The radio plays jazz", "Lena paints the fence"):
        await memory.save_context(text, "shop")
    for query, first in (
        ("what is our refund period", "Customers may return goods within 40 days"),
        ("which rooms are without daylight", "Rooms 4 and 7 have no window"),
        ("qwertyuiop zxcvbnm", None),
    ):
        whole = (await memory.search_memory(query, project_id="shop")).results
        found = await agent.search_memory(query, project_id="shop")
        least = (whole[0].relevance or 0) / 2
        first_five = 5 if found.answered == "no" else 0
        assert [r.id for r in found.results] == [
            r.id for place, r in enumerate(whole) if (r.relevance or 0) >= least or place < first_five
        ]
        assert found.left_out == len(whole) - len(found.results)
        assert first in (None, found.results[0].title)
        assert found.answered in ("yes", "unclear", "no")
    assert (found.answered, len(found.results) >= 5) == ("no", True)
    assert found.next_step is not None
    assert found.next_step.startswith("Nothing here clearly answers this. These are the nearest.")
    whole = (await agent.search_memory("qwertyuiop zxcvbnm", project_id="shop", min_relevance=0)).results
    assert len(whole) == 7


@pytest.mark.usefixtures("vectors")
async def test_an_agent_finds_by_its_words_what_has_no_vector_yet(
    database: Database, connection: psycopg.Connection[DictRow]
) -> None:
    """A note that psql saved waits for no worker, whoever asks."""
    memory = Memory(database, StaticProvider())
    await memory.register_embedder()
    await memory.save_session("Run the smithy", "smithy")
    for text in ("The bellows leak at the seam.", "Coal comes on Mondays, two tons.", "The tongs hang left."):
        await memory.save_context(text, "smithy")
    connection.execute(
        "select pgmem.save_context(p_content => 'The smithy anvil weighs ninety kilos', p_project_id => 'smithy')"
    )
    agent = memory.acting_as(MemoryScope(), source="mcp")
    for asking in (memory, agent):
        found = await asking.search_memory("how heavy is the anvil", project_id="smithy")
        assert found.results[0].title == "The smithy anvil weighs ninety kilos"
        assert found.search_mode.reason == "without a vector yet: 1 of the memories compared"


@pytest.mark.usefixtures("vectors")
async def test_an_empty_answer_says_how_it_was_searched(with_provider: Open) -> None:
    """Without rows too, a model that does not fit is named."""
    memory = with_provider(Table(AXES))
    await memory.register_embedder()
    await memory.save_session("open the shop", "shop")
    other = with_provider(Table(AXES, model="test:other"))
    found = await other.search_memory("submarine")
    assert found.results == []
    mode = found.search_mode
    assert (mode.mode, mode.degraded) == ("fulltext_only", True)
    assert mode.reason == "the vectors here are of test:table, the query's of test:other"
    assert (await memory.search_memory("x", project_id="nowhere")).search_mode.mode == "hybrid"


@pytest.mark.usefixtures("vectors")
async def test_a_memory_without_a_vector_is_scored_by_its_words(
    with_provider: Open, connection: psycopg.Connection[DictRow]
) -> None:
    """A text that no provider has seen yet does not rank below one that is merely near."""
    memory = with_provider(Table({"shop": [1.0, 0.1, 0.0], "order": [1.0, 0.0, 0.0]}))
    await memory.register_embedder()
    await memory.save_session("Set up the shop", "shop")
    connection.execute(
        "select pgmem.save_decision(p_title => 'Keep the orders in PostgreSQL 17', p_rationale => 'r', p_project_id => 'shop')"
    )
    found = await memory.search_memory("orders")
    assert [result.title for result in found.results] == [
        "Keep the orders in PostgreSQL 17",
        "Set up the shop",
    ]
    mode = found.search_mode
    assert (mode.mode, mode.degraded) == ("hybrid", True)
    assert mode.reason == "without a vector yet: 1 of the memories compared"


@pytest.mark.usefixtures("vectors")
async def test_turns_which_get_no_vectors_do_not_make_an_answer_degraded(with_provider: Open) -> None:
    memory = with_provider(Table({"order": [1.0, 0.0, 0.0]}))
    await memory.register_embedder()
    await memory.save_session("orders", "shop")
    await memory.save_context("The orders are kept for a year.", "shop")
    turns = [{"id": "1", "role": "user", "content": "How long are the orders kept?"}]
    await memory.capture_turns("chat", "one", turns, "shop")
    found = await memory.search_memory("orders", project_id="shop", labels=["Turn", "Context"])
    assert {result.label for result in found.results} == {"Turn", "Context"}
    assert (found.search_mode.mode, found.search_mode.degraded) == ("hybrid", False)


@pytest.mark.usefixtures("vectors")
async def test_what_was_saved_before_any_model_is_embedded(
    with_provider: Open, connection: psycopg.Connection[DictRow]
) -> None:
    """A save in psql before the first model waits in no queue; making a model active queues it."""
    connection.execute("select pgmem.save_session(p_objective => 'begin', p_project_id => 'shop')")
    connection.execute("select pgmem.save_context(p_content => 'a house of oak', p_project_id => 'shop')")
    memory = with_provider(Table(AXES))
    await memory.register_embedder()
    assert await memory.embed_waiting() == 2
    other = with_provider(Table(AXES, model="test:other"))
    await other.register_embedder()
    assert await other.embed_waiting() == 0
    await memory.activate_model("test:other")
    assert await other.embed_waiting() == 2


async def test_a_word_that_nobody_counted_is_found_in_a_large_scope(
    plain: Memory, connection: psycopg.Connection[DictRow]
) -> None:
    """The newest word of a large project needs no worker to be found."""
    await plain.save_session("begin", "shop")
    connection.execute(
        "select pgmem.save_context(p_content => 'note number ' || i || ' about the shop', p_project_id => 'shop')"
        " from generate_series(1, 1500) i"
    )
    counted = connection.execute("select sum(memories)::int as n from pgmem.text_stat").fetchone()
    assert counted is not None
    assert 500 < counted["n"] <= 1501  # saves count the words themselves
    await plain.save_decision("Adopt the flibbertigrid", "It holds.", "shop")
    found = await plain.search_memory("which flibbertigrid of the shop", project_id="shop")
    assert found.results[0].title == "Adopt the flibbertigrid"
    assert found.answered == "yes"


@pytest.mark.usefixtures("vectors")
async def test_every_interface_ranks_alike_with_the_same_vector(
    with_provider: Open, connection: psycopg.Connection[DictRow]
) -> None:
    """Names are found inside the verb, with an embedder and without."""
    memory = with_provider(Table({"train": [1.0, 0.0, 0.0], "boat": [0.9, 0.1, 0.0]}))
    await memory.register_embedder()
    session = await memory.save_session("a trip", "trip")
    for agent, text in (
        ("Ann", "I came by train"),
        ("Bob", "I came by train too"),
        ("Ann", "the boat was late"),
    ):
        acting = memory.acting_as(MemoryScope(session_id=str(session.artifact_id), agent_id=agent))
        await acting.save_context(text, "trip")
    query = "did Bob come by train"
    by_python = await memory.search_memory(query, project_id="trip", explain=True)
    rows = connection.execute(
        "select title, score from pgmem.search_memory(p_query => %s, p_project_id => 'trip',"
        " p_embedding => '{1,0,0}', p_embedding_model => 'test:table')",
        (query,),
    ).fetchall()
    assert [(r.title, pytest.approx(r.score)) for r in by_python.results] == [
        (row["title"], row["score"]) for row in rows
    ]
    assert {r.title: (r.explanation or {})["source"] for r in by_python.results}["I came by train too"] == 1
    words = connection.execute(
        "select title, explanation ->> 'source' as source from pgmem.search_memory(p_query => %s,"
        " p_project_id => 'trip', p_explain => true)",
        (query,),
    ).fetchall()
    assert {row["title"]: row["source"] for row in words}["I came by train too"] == "1.0"


async def test_a_long_text_answers_with_the_passage_that_holds_the_words(plain: Memory) -> None:
    """Not the first 160 characters."""
    filler = "The meeting went on about many other things that nobody wrote down. " * 400
    text = f"{filler}\nIn the end we chose the walnut veneer for the counter. {filler}"
    assert len(text) > 50_000
    await plain.save_session("begin", "shop")
    await plain.save_context(text * 3, "shop", topic="minutes")
    (result, *_) = (await plain.search_memory("which veneer for the counter", project_id="shop")).results
    assert result.passage is not None
    assert "we chose the walnut veneer for the counter" in result.passage
    assert len(result.passage) < 900
    assert set(result.matched) == {"veneer", "counter"}


async def test_a_budget_skips_what_does_not_fit_and_shows_copies_once(plain: Memory) -> None:
    """Max_tokens holds for the whole answer; results left out are counted."""
    await plain.save_session("begin", "shop")
    for number in range(4):
        await plain.save_context(
            f"the veneer of counter {number} " + "is dark and smooth as it should be " * 20, "shop"
        )
    await plain.save_context("veneer: walnut", "shop")
    for _ in range(3):
        await plain.save_context("the same veneer was ordered from the mill in the valley again", "shop")
    found = await plain.search_memory("veneer", project_id="shop", max_tokens=400)
    shown = [result.passage or "" for result in found.results]
    assert sum(len(text) for text in shown) / 4 < 400
    assert "veneer: walnut" in shown
    assert sum("the same veneer" in text for text in shown) == 1
    assert len(shown) + found.left_out == 6  # three copies are one result


@pytest.mark.usefixtures("vectors")
async def test_equal_texts_are_one_result_with_their_count(with_provider: Open) -> None:
    """A note that an agent saves in each session pushes no other out of the first results."""
    memory = with_provider(StaticProvider())
    await memory.register_embedder()
    for project in ("shop", "quay"):
        await memory.save_session("begin", project)
        for _ in range(12):
            await memory.save_context("The key of the till hangs behind the clock.", project, topic="till")
    await memory.save_context("The key of the till was lost in May.", "shop")
    await memory.save_context("The key of the till hangs behind the clock!", "shop", topic="till")
    found = (await memory.search_memory("where is the key of the till", 10, "shop")).results
    assert sorted(
        (result.passage, result.copies) for result in found if "till" in (result.passage or "")
    ) == [
        ("The key of the till was lost in May.", 1),
        ("till The key of the till hangs behind the clock!", 1),
        ("till The key of the till hangs behind the clock.", 12),
    ]
    everywhere = (await memory.search_memory("where is the key of the till", 10)).results
    assert sorted(result.copies for result in everywhere)[-2:] == [12, 12]


async def test_the_passage_of_a_long_note_holds_the_name_that_is_asked_for(plain: Memory) -> None:
    """A name with a number in it, in snake_case or camelCase, deep in a long text."""
    await plain.save_session("begin", "shop")
    filler = "We spoke about the table of ledgerEntries, ledger_2018 and the drop in sales of 2019. " * 150
    for line, query in (
        ("Before the freeze somebody ran drop table ledger_2019 by mistake.", "drop table ledger_2019"),
        ("The class PalletCacheHandler2 keeps the old rows.", "pallet cache handler2"),
        ("We gave the QuayZebraHolder another name.", "the zebra"),
        ("Set http.max-body-17 to zero in front of it.", "http.max-body-17"),
    ):
        await plain.save_context(f"{filler}\n{line} {filler}", "shop", topic=query[:4])
        (result, *_) = (await plain.search_memory(query, project_id="shop")).results
        assert line in (result.passage or ""), (query, result.passage)


async def test_cards_come_only_where_they_are_asked_for(
    plain: Memory, connection: psycopg.Connection[DictRow]
) -> None:
    """Three thousand scanned files do not bury a decision."""
    await plain.save_session("begin", "shop")
    await plain.save_decision("Wrap rich text by cells", "Wide characters take two.", "shop")
    connection.execute(
        "insert into pgmem.node (label, title, props, scope, project, project_seq, source, trust_level, scope_key, tsv,"
        " text_length, created_at, updated_at, recorded_at)"
        " select 'Card', 'rich text ' || i, jsonb_build_object('statement', 'rich text ' || i), 'project', p.key, p.seq,"
        " 'sdk', 1, pgmem.scope_key(p.tenant, p.seq::text, 'Card'), to_tsvector('english', 'rich text ' || i)"
        " || array_to_tsvector(pgmem.scope_lexemes(p.tenant, p.seq)), 3, now(), now(), now()"
        " from pgmem.node p, generate_series(1, 40) i where p.label = 'Project'"
    )
    await plain.refresh_statistics(everything=True)
    assert [r.label for r in (await plain.search_memory("rich text", project_id="shop")).results] == [
        "Decision"
    ]
    cards = (await plain.search_memory("rich text", project_id="shop", labels=["Card"])).results
    assert {r.label for r in cards} == {"Card"}
    assert len(cards) == 10


@pytest.mark.parametrize("query", ["alpha beta gamma delta", "alpha", " ".join(f"w{n}" for n in range(200))])
async def test_common_words_cost_no_more_than_a_bounded_number_of_memories(
    plain: Memory, connection: psycopg.Connection[DictRow], query: str
) -> None:
    """Every word in half of the memories, one word, 200 words: bounded, and an answer."""
    await plain.save_session("begin", "shop")
    connection.execute(
        "select pgmem.save_context(p_content => concat_ws(' ', 'note', i, case when i % 2 = 0 then 'alpha' end,"
        " case when i / 2 % 2 = 0 then 'beta' end, case when i / 4 % 2 = 0 then 'gamma' end,"
        " case when i / 8 % 2 = 0 then 'delta' end, 'w' || i % 200), p_project_id => 'shop') from generate_series(1, 800) i".replace(
            "%", "%%"
        ),
        (),
    )
    await plain.set_setting("text_match_limit", "100")
    await plain.set_setting("text_candidate_limit", "20")
    await plain.refresh_statistics(everything=True)
    found = await plain.search_memory(query, project_id="shop")
    assert len(found.results) == 10
    assert all(result.matched for result in found.results)
    (matched,) = connection.execute(
        "select count(*) as n from pgmem.node n, pgmem.search_words(pgmem.query_lexemes(%s, 'english'),"
        " row(array[e'\\x1f'], (select seq from pgmem.node where label = 'Project'), null, null, null, null, null, null, null, now())"
        "::pgmem.search_filter) w where n.tsv @@ w.matching",
        (query,),
    ).fetchall()
    assert matched["n"] <= 420


async def test_a_context_stays_within_its_tokens(database: Database) -> None:
    """Ten notes of 95 kB do not fit into a context."""
    memory = Memory(database)
    await memory.save_session("begin", "shop")
    for number in range(10):
        await memory.save_context(f"note {number} " + "word " * 19_000, "shop")
    whole = await memory.retrieve_context("shop", "project")
    assert whole.left_out == 0
    assert sum(len(str(item)) for item in whole.items) > 900_000
    few = await memory.retrieve_context("shop", "project", max_tokens=1000)
    assert (
        sum(len(str({k: v for k, v in asdict(item).items() if v is not None})) for item in few.items) / 4
        < 1100
    )
    assert few.items
    assert len(few.items) + few.left_out == len(whole.items)
    agent = await memory.acting_as(MemoryScope(), source="mcp").retrieve_context("shop", "project")
    assert (
        sum(
            len(str({k: v for k, v in asdict(item).items() if v is not None and k not in ("label", "scope")}))
            for item in agent.items
        )
        / 4
        < 2600  # ids, keys, times and the usual label and scope, which an agent is not shown, are not counted
    )
    assert agent.items[0].title.startswith("note 9")


async def test_a_long_memory_shows_the_passage_that_holds_the_rarest_words(plain: Memory) -> None:
    """However long the memory and the query are."""
    await plain.save_session("begin", "shop")
    filler = "the counter and the shelf and the window of the shop were painted in the spring "
    text = filler * 800 + "The zinc veneer came from Ostrava. " + filler * 800
    await plain.save_context(text, "shop")
    found = await plain.search_memory(f"who sent the zinc veneer {filler * 8}", project_id="shop")
    assert "zinc veneer came from Ostrava" in (found.results[0].passage or "")
    assert len(found.results[0].passage or "") < 900


def test_a_search_that_runs_out_of_time_answers_without_passages(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    call("save_session", objective="begin", project_id="shop")
    call("save_context", content="the veneer of the counter", project_id="shop")
    connection.execute("set statement_timeout = '1h'")
    assert call("search_memory", query="veneer", project_id="shop")["passage"] == "the veneer of the counter"
    connection.execute(
        "create or replace function pgmem.passages_until() returns timestamptz language sql as 'select now() - interval ''1s'''"
    )
    late = call("search_memory", query="veneer", project_id="shop")
    assert (late["title"], late["passage"]) == ("the veneer of the counter", None)
