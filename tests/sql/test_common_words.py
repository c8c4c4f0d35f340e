"""A word that nearly all memories of a scope hold says nothing beside another."""

from __future__ import annotations

import pytest

from tests.conftest import Call
from tests.sql.conftest import Rows


@pytest.fixture
def shop(call: Call, rows: Rows) -> str:
    """A project of 300 notes: all hold *report*, nine in ten *lid*, half *lamp*, one *tent*."""
    call("save_session", objective="begin", project_id="shop")
    rows(
        "select pgmem.save_context(concat('report ', i, case when i % 2 = 0 then ' lamp' end, case when i % 10 > 0 then"
        " ' lid' end, case when i = 77 then ' tent' end), p_project_id => 'shop') from generate_series(1, 300) i"
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
