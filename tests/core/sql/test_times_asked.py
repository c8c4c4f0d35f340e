"""A question that asks when prefers memories that name a time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conftest import Call
from tests.core.sql.test_retrieval import note
from tests.fixtures.verbs import Rows


def results(call: Call, query: str, **given: object) -> list[dict[str, Any]]:
    answer = call("search_answer", query=query, labels=["Context"], explain=True, **given)
    return list(answer["results"])


@pytest.mark.parametrize(
    "query",
    [
        "When did Ada paint the shed?",
        "when is the next review",
        "Do you know when's the party?",
        "When and where did we meet?",
        "On what date was it released?",
        "Which month do they close?",
        "What time does the train leave?",
    ],
)
def test_a_question_that_asks_for_a_time_is_known(rows: Rows, query: str) -> None:
    (row,) = rows("select pgmem.times_asked(%s, 'english') @@ 'x'::tsvector is not null as asks", query)
    assert row["asks"], query


@pytest.mark.parametrize(
    "query",
    [
        "When I travel, which seat do I like?",
        "What happens when a save fails?",
        "What kind of shed is it?",
        "Whenever is fine",
        "How many times?",
        "",
    ],
)
def test_another_question_asks_for_none(rows: Rows, query: str) -> None:
    (row,) = rows("select pgmem.times_asked(%s, 'english') as words", query)
    assert row["words"] is None


def test_only_english_words_are_known(rows: Rows) -> None:
    (row,) = rows("select pgmem.times_asked('When did she go?', 'simple') as words")
    assert row["words"] is None


def test_every_word_is_what_the_stemmer_leaves(rows: Rows) -> None:
    (row,) = rows("select pgmem.times_asked('When did she go?', 'english')::text as words")
    words = re.findall(r"'(\w+)'", row["words"])
    assert len(words) > 40
    written = {"juli": "July", "januari": "January", "februari": "February", "septemb": "September"}
    written |= {"octob": "October", "novemb": "November", "decemb": "December", "morn": "morning"}
    for word in words:
        (row,) = rows("select to_tsvector('english', %s)::text as lexemes", written.get(word, word))
        assert row["lexemes"] == f"'{word}':1", word


def test_of_two_memories_the_one_with_the_time_answers_when(call: Call) -> None:
    call("save_session", objective="Painting", project_id="shop")
    note(call, "Ada painted the shed green, and the fence as well.")
    note(call, "Ada painted the shed last Tuesday, and the fence as well.")
    note(call, "Ada painted the shed green, and the house as well.")
    asked = "When did Ada paint the shed and the fence?"
    parts = results(call, asked)
    assert "Tuesday" in parts[0]["passage"]
    assert parts[0]["explanation"]["time"] > 0
    assert [each["explanation"]["time"] for each in parts[1:]] == [0, 0]
    for given in (
        {"query": asked, "without": ["time"]},
        {"query": "What did Ada paint, the shed and the fence?"},
    ):
        assert {each["explanation"]["time"] for each in results(call, **given)} == {0}
