"""A word that nearly all memories of a scope hold says nothing beside another."""

from __future__ import annotations

import pytest

from tests.conftest import Call
from tests.fixtures.verbs import Rows


@pytest.fixture
def shop(call: Call, rows: Rows) -> str:
    """A project of 330 notes: all hold *report*, nine in ten *lid*, half *lamp*, one *tent*."""
    call("save_session", objective="begin", project_id="shop")
    rows(
        "select pgmem.save_context(concat('report ', i, case when i % 2 = 0 then ' lamp' end, case when i % 10 > 0 then"
        " ' lid' end, case when i = 77 then ' tent' end), p_project_id => 'shop') from generate_series(1, 330) i"
    )
    call("refresh_statistics", all=True)
    return "shop"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("the report of a tent", ["tent"]),
        ("a report of a lamp", ["lamp"]),
        ("the lid of a tent", ["tent", "lid"]),
        ("the report", ["report"]),
        ("the report of a zyzzyva", ["zyzzyva", "report"]),
    ],
)
def test_a_word_of_all_memories_counts_where_no_other_is_known(
    rows: Rows, shop: str, query: str, words: list[str]
) -> None:
    (row,) = rows(
        "select w.lexemes from pgmem.search_words(pgmem.query_lexemes(%s, 'english'), row(array[pgmem.tenant_of()],"
        " null, null, null, null, null, null, null, null, now())::pgmem.search_filter) w",
        query,
    )
    assert row["lexemes"] == words


def test_a_word_of_all_memories_finds_some_where_the_rare_one_is_filtered_out(call: Call, rows: Rows) -> None:
    """In a small scope a common word brings candidates, too."""
    call("save_session", objective="begin", project_id="shop")
    rows(
        "select pgmem.save_context(concat('report ', i, case when i = 17 then ' tent' end), p_project_id => 'shop')"
        " from generate_series(1, 60) i"
    )
    call("refresh_statistics", all=True)
    assert len(rows("select * from pgmem.search_memory('the report of a tent', 10, 'shop')")) == 10
    rows("update pgmem.node set status = 'archived' where title like 'report 17 %' returning seq")
    assert len(rows("select * from pgmem.search_memory('the report of a tent', 10, 'shop')")) == 10


def test_overlapping_forms_of_a_word_are_not_words_of_all_memories(call: Call, rows: Rows) -> None:
    call("save_session", objective="begin", project_id="shop")
    rows(
        "select pgmem.save_context(concat('note ', i, case when i % 5 in (0, 1) then ' go' end, case when i % 5 in (1, 2)"
        " then ' went' end, case when i % 5 in (0, 2) then ' gone' end, case when i = 7 then ' tent' end),"
        " p_project_id => 'shop') from generate_series(1, 330) i"
    )
    call("refresh_statistics", all=True)
    assert len(rows("select * from pgmem.fulltext_search('who went to the tent', 50, 'shop')")) == 50
