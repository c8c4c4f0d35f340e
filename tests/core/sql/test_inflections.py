"""The irregular forms of English words: a question and its answer seldom use the same one."""

from __future__ import annotations

import re

import pytest

from tests.conftest import Call
from tests.core.sql.test_retrieval import note
from tests.fixtures.verbs import Rows


@pytest.fixture
def groups(rows: Rows) -> list[list[str]]:
    """The groups of forms that the function holds."""
    (row,) = rows("select prosrc from pg_proc where proname = 'inflections'")
    (text,) = re.findall(r"v_forms constant text := '(.*?)';", row["prosrc"], re.DOTALL)
    return [group.split() for group in text.split(";") if group.strip()]


def found(call: Call, query: str, label: str = "Context") -> list[str]:
    return [each["passage"] for each in call("search_answer", query=query, labels=[label])["results"]]


def test_a_form_is_in_one_group(groups: list[list[str]]) -> None:
    forms = [form for group in groups for form in group]
    assert len(forms) > 300
    assert sorted(forms) == sorted(set(forms))


def test_every_form_names_its_group(rows: Rows, groups: list[list[str]]) -> None:
    for group in groups:
        answers = rows("select pgmem.inflections(form) as forms from unnest(%s::text[]) form", group)
        assert [row["forms"] for row in answers] == [group] * len(group)


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("going", "go"),
        ("people", "peopl"),
        ("wives", "wive"),
        ("becomes", "becom"),
        ("flies", "fli"),
        ("mice", "mice"),
    ],
)
def test_a_form_is_what_the_stemmer_leaves(
    rows: Rows, groups: list[list[str]], written: str, form: str
) -> None:
    assert form in {each for group in groups for each in group}
    (row,) = rows("select tsvector_to_array(to_tsvector('english', %s)) as lexemes", written)
    assert row["lexemes"] == [form]


@pytest.mark.parametrize("lexeme", ["postgresql", "en", "o", ";", "g.", "", "*", "go went", "ground"])
def test_any_other_lexeme_is_alone(rows: Rows, lexeme: str) -> None:
    (row,) = rows("select pgmem.inflections(%s) as forms", lexeme)
    assert row["forms"] == [lexeme]


def test_a_question_finds_the_past_tense_of_its_verb(call: Call, shop: str) -> None:
    note(call, "Mara bought the blue tent in May.")
    note(call, "Mara has the green lamp, and it is bright.")
    assert found(call, "Which tent did she buy?")[0] == "Mara bought the blue tent in May."
    assert found(call, "What was it that they buy?") == ["Mara bought the blue tent in May."]
    (result,) = call("search_answer", query="buys", labels=["Context"])["results"]
    assert result["matched"] == ["bought"]


def test_forms_of_one_word_are_as_rare_as_all_of_them(call: Call, shop: str, rows: Rows) -> None:
    for number in range(6):
        note(call, f"In report {number} we went on.")
    note(call, "In report 7 you go on.")
    note(call, "In report 8 they swam on.")
    one, *_ = rows(
        "select w.lexemes, w.weights, w.most from pgmem.search_words("
        "pgmem.query_lexemes('go and swim', 'english'),"
        " row(array[pgmem.tenant_of()], null, null, null, null, null, null, null, null, now())::pgmem.search_filter) w"
    )
    weights = dict(zip(one["lexemes"], one["weights"], strict=True))
    assert set(weights) == {"go", "went", "gone", "swim", "swam", "swum"}
    assert weights["go"] == weights["went"] == weights["gone"] < weights["swim"] == weights["swam"]
    # A text need not hold more than one form to hold the word.
    assert one["most"] == pytest.approx(weights["go"] + weights["swim"])


def test_a_text_configuration_of_another_language_has_no_english_forms(rows: Rows) -> None:
    (row,) = rows(
        "select pgmem.query_lexemes('go', 'simple') as simple, pgmem.query_lexemes('go', 'english') as english"
    )
    assert row["simple"] == ["go"]
    assert sorted(row["english"]) == ["go", "gone", "went"]
