"""Words of a search: names in parts and whole, the title as a field, adjacent words; to the digit."""

from __future__ import annotations

import math
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.embeddings.text import TITLE_END, vectors_of
from tests.core.search.conftest import Open, Table
from tests.fixtures.verbs import Rows

pytestmark = pytest.mark.anyio

NAMES = {
    "bin/relay/tide_gauge.rb": ("tide_gauge", "tide gauge", "tideGauge", "tide_gauge.rb", "relay gauge"),
    "harbourMasterDesk": ("harbour master", "harbour_master_desk", "harbourmasterdesk", "master desk"),
    "mast03.north.example.net": ("mast03", "mast03.north", "north example"),
    "docs/ferry/moorings.adoc": ("ferry/moorings", "ferry moorings", "moorings"),
    "dock.crane.limit": ("crane.limit", "crane limit", "dock.crane.limit"),
    "v7.21.4-rc.2": ("v7.21.4", "7.21.4", "7.21.4-rc.2"),
    "--skip-low-tide": ("skip-low-tide", "skip low tide", "--skip-low-tide", "skipLowTide"),
    "Queue<BuoyState>": ("buoy state", "BuoyState", "buoystate"),
    "PILOT_LOG_DIR": ("pilot log", "pilotLogDir", "pilot_log_dir"),
    "parseHTTPBody": ("http body", "parse_http_body", "parsehttpbody"),
}


def test_the_nth_word_is_counted_as_the_index_has_it(rows: Rows) -> None:
    """Not inside a word, but where a name in camelCase is cut; its place is that of the text as it is written."""
    text = "Apart, an art_deco chart: ART of partArt, 2art HTTPArt"
    for number, expected in enumerate(("art_deco", "ART of", "Art,", "Art"), 1):
        (row,) = rows("select pgmem.nth_word(%s, 'art', %s) as at", text, number)
        assert text[row["at"] - 1 :].startswith(expected), number
    (row,) = rows(
        "select pgmem.nth_word(%s, 'art', 5) as more, pgmem.nth_word('art', 'art', 1) as all, pgmem.nth_word('', 'a', 1) as none,"
        " pgmem.nth_word('a', '', 1) as empty, pgmem.nth_word('ab→→', '→', 2) as sign",
        text,
    )
    assert row == {"more": None, "all": 1, "none": None, "empty": None, "sign": 4}


@pytest.fixture
async def quay(plain: Memory) -> Memory:
    """A project of forty notes, of which ten name something in several parts."""
    await plain.save_session("begin", "quay")
    for number, name in enumerate(NAMES):
        await plain.save_context(f"On day {number} the pilot looked at {name} and wrote it down.", "quay")
    for number in range(30):
        await plain.save_context(
            f"On day {number + 10} the pilot looked at the tide and wrote it down.", "quay"
        )
    return plain


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_is_found_by_its_parts_and_in_other_spellings(quay: Memory, name: str) -> None:
    for query in (name, *NAMES[name]):
        found = await quay.search_memory(query, 3, "quay")
        assert name in (found.results[0].passage or ""), query
        assert found.answered == "yes", query
        assert not [word for word in found.results[0].matched if word.startswith("=")], query


async def test_a_name_as_it_is_written_comes_before_its_words_apart(plain: Memory) -> None:
    await plain.save_session("begin", "quay")
    for text in (
        "The gauge of the tide rusts in the shed, the tide is low.",
        "See tide_gauge for the figures.",
        "A gauge by another tide, a tide by another gauge.",
    ):
        await plain.save_context(text, "quay")
    found = await plain.search_memory("tide_gauge", 3, "quay")
    assert "tide_gauge" in (found.results[0].passage or "")


async def test_a_word_of_the_title_counts_more_than_one_of_the_text(plain: Memory) -> None:
    await plain.save_session("begin", "quay")
    filler = "Boats come and go all day and night in every season. " * 3
    await plain.save_context(f"{filler} Ropes were mentioned.", "quay", topic="Deliveries by lorry")
    await plain.save_context(f"{filler} Lorries were mentioned.", "quay", topic="Ropes of the yard")
    for query, title in (("rope", "Ropes of the yard"), ("lorry", "Deliveries by lorry")):
        assert (await plain.search_memory(query, 2, "quay")).results[0].title == title


OTHERS = {
    "Die Leitern liegen im Keller und werden im Mai geprüft.": "wo ist die Leiter",
    "Все ключи лежат в подвале, их проверяют в мае.": "где лежит ключ",
    "Alla stegar ligger i källaren och ska ses över i maj.": "var är en stege",
    "Gli strumenti sono conservati in cantina e controllati in maggio.": "dove è lo strumento",
}


@pytest.mark.parametrize("text", OTHERS)
async def test_a_note_in_another_language_is_found_by_another_form_of_its_words(
    plain: Memory, text: str
) -> None:
    """In a project whose configuration is that of English."""
    await plain.save_session("begin", "quay")
    for number in range(6):
        await plain.save_context(f"The ladders of shed {number} were checked in May.", "quay")
    await plain.save_context(text, "quay")
    found = await plain.search_memory(OTHERS[text], 1, "quay")
    assert [result.passage for result in found.results] == [text]


async def test_a_name_beside_chinese_is_one_name(plain: Memory) -> None:
    await plain.save_session("begin", "quay")
    for text in ("请先调用tide_gauge再关闭水泵。", "潮汐 tide 和 gauge 都在这里。"):
        await plain.save_context(text, "quay")
    for query in ("tide_gauge", "调用tide_gauge"):
        found = await plain.search_memory(query, 1, "quay")
        assert "tide_gauge" in (found.results[0].passage or "")
        assert not [word for word in found.results[0].matched if word.startswith("=")]


def test_english_and_what_no_words_tell_has_no_other_stems(connection: psycopg.Connection[DictRow]) -> None:
    for text in ("The die was cast in the hall", "Die, car, pump", "Run make test", "de facto standard", "x"):
        row = connection.execute("select pgmem.own_stems(%s, 'english') as stems", (text,)).fetchone()
        assert row == {"stems": []}, text


async def test_words_that_stand_together_come_before_words_apart(plain: Memory) -> None:
    await plain.save_session("begin", "quay")
    apart = "Mooring is forbidden on Sunday where a red flag hangs beside the old ring."
    together = "The old mooring ring rusts on Sunday where a red flag is forbidden beside it."
    await plain.save_context(together, "quay")
    await plain.save_context(apart, "quay")
    found = await plain.search_memory("mooring ring", 2, "quay")
    assert [result.passage for result in found.results] == [together, apart]


def test_the_words_of_a_text_are_scored_by_the_formula_that_the_chapter_states(
    connection: psycopg.Connection[DictRow],
) -> None:
    connection.execute("select * from pgmem.save_session('begin', 'quay')")
    texts = [
        ("Tide tables", "The tide tables hang in the hall, beside the tide clock."),
        ("Keys", "Tables and chairs; the tide comes in by tide_tables.csv at night."),
        ("Lamps", "No such thing here."),
    ]
    for title, text in texts:
        connection.execute("select * from pgmem.save_context(%s, 'quay', %s)", (text, title))
    words = connection.execute(
        "select f as filter, (w).* from pgmem.caller() c, pgmem.resolve_scope(c, 'quay', null) s"
        " cross join lateral (select row(c.tenants, s.project_seq, null, null, null, null, null, null, null, now())"
        "::pgmem.search_filter as f) f, pgmem.words_of_query('tide tables', 'english', f) w"
    ).fetchone()
    assert words is not None
    weight = dict(zip(words["lexemes"], words["weights"], strict=True))
    assert words["most"] == pytest.approx(sum(weight.values()))
    rows = connection.execute(
        "select n.title, n.text_length, t.score from pgmem.caller() c, pgmem.resolve_scope(c, 'quay', null) s"
        " cross join lateral (select row(c.tenants, s.project_seq, null, null, null, null, null, null, null, now())"
        "::pgmem.search_filter as f) f, pgmem.words_of_query('tide tables', 'english', f) w"
        " cross join lateral pgmem.text_candidates(w, f, 10) t join pgmem.node n on n.seq = t.seq"
    ).fetchall()
    found = {row["title"]: (row["score"], row["text_length"]) for row in rows}
    k1, b = 1.2, 0.9

    def bm25(word: str, times: int, length: int) -> float:
        norm = k1 * (1 - b + b * max(length, 30) / max(float(words["mean_length"]), 30))
        return float(weight[word]) * times / (times + norm)

    counts = {"Tide tables": {"tide": 3, "tabl": 2}, "Keys": {"tide": 2, "tabl": 2}}
    assert set(found) == set(counts)
    for title, times in counts.items():
        score, length = found[title]
        wanted = sum(bm25(word, n, length) for word, n in times.items())
        wanted += 0.4 * words["most"]  # the pair is in both
        if title == "Tide tables":
            wanted += 0.4 * sum(weight.values())
        assert score == pytest.approx(wanted), title


def test_a_long_note_that_opens_with_never_is_no_standing_instruction_of_weight(
    connection: psycopg.Connection[DictRow],
) -> None:
    connection.execute("select * from pgmem.save_session('begin', 'quay')")
    rest = " ".join(f"Boat {n} came at noon and left at night." for n in range(40))
    connection.execute("select * from pgmem.save_context('Never moor at the red ring.', 'quay')")
    connection.execute("select * from pgmem.save_context(%s, 'quay')", (f"Never sail at night. {rest}",))
    rows = connection.execute(
        "select title, explanation ->> 'instruction' as weight from pgmem.search_memory('boat ring night', p_project_id => 'quay',"
        " p_explain => true)"
    ).fetchall()
    weights = {row["title"][:10]: float(row["weight"]) for row in rows}
    assert weights["Never moor"] > 5 * weights["Never sail"] > 0


async def test_the_vector_of_a_titled_memory_lies_between_title_and_text() -> None:
    table = Table({"harbour": [1.0, 0.0], "fish": [0.0, 1.0]})
    (one, other) = await vectors_of(table, [f"Context: fish{TITLE_END}harbour", "Context: the harbour"])
    assert one == [pytest.approx(math.sqrt(0.5)), pytest.approx(math.sqrt(0.5))]
    assert other == [1.0, 0.0]
    assert table.asked == ["Context: fish harbour", "Context: the harbour", "fish"]


TITLED: dict[str, Any] = {
    "a note with a topic": ("save_context('the moon pulls', 'quay', 'Tides')", True),
    "a note without one": ("save_context('the moon pulls', 'quay')", False),
    "a long note without one": (f"save_context('{'the moon pulls ' * 30}', 'quay')", False),
    "a decision": ("save_decision('Dredge in May', 'The water is low.', 'quay')", True),
    "a fact": ("upsert_entity('Lighthouse', 'is white', 'quay')", True),
    "a pattern": ("save_pattern('when fog comes', '{ring the bell}', 'quay')", True),
    "a session": ("save_session('Count the boats', 'quay')", False),
}


@pytest.mark.parametrize("kind", TITLED)
def test_a_title_of_its_own_is_marked(connection: psycopg.Connection[DictRow], kind: str) -> None:
    call, titled = TITLED[kind]
    connection.execute("select * from pgmem.save_session('begin', 'quay')")
    connection.execute(f"select * from pgmem.{call}".encode())
    row = connection.execute(
        "select titled, tsv, pgmem.embedding_text(label, title, props) as text from pgmem.node order by seq desc limit 1"
    ).fetchone()
    assert row is not None
    assert (row["titled"], "A" in row["tsv"], TITLE_END in row["text"]) == (titled,) * 3


@pytest.fixture
def bent(with_provider: Open) -> Memory:
    """A memory whose vectors a table decides."""
    return with_provider(Table({"harbour": [1.0, 0.0], "fish": [0.0, 1.0]}))


@pytest.mark.usefixtures("vectors")
async def test_saves_and_workers_make_the_same_vector_of_a_title(bent: Memory) -> None:
    await bent.register_embedder()
    await bent.save_session("begin", "quay")
    kept = await bent.save_context("in the harbour", "quay", topic="fish")
    assert kept.embedded
    at_save = (await bent.search_memory("harbour", 1, "quay")).results[0].vector
    await bent.queue_embeddings(everything=True)
    assert await bent.embed_waiting() >= 0
    assert (await bent.search_memory("harbour", 1, "quay")).results[0].vector == at_save
