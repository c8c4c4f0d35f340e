"""A client sends one value that is too large for others, or very many at once."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.verbs import Rows
from tests.security.conftest import Session, value


def test_a_vector_that_no_search_holds_is_refused(call: Call, connection: Session) -> None:
    """One item with a vector of 1e38 made every vector search of its namespace an error, and a text is any number."""
    item = {"namespace": ["n"], "name": "a", "value": {"t": "x"}}
    for number in (1e38, "1e38", "NaN", "-Infinity", None, True, [1.0]):
        with pytest.raises(psycopg.Error, match="from -65504 to 65504"), connection.transaction():
            call("put_items", items=[{**item, "vectors": [[number, 1.0]]}])
    call("put_items", items=[{**item, "vectors": [[65504, 1.0]]}])


def test_a_vector_without_a_length_is_no_nearer_than_others(call: Call, rows: Rows) -> None:
    """The cosine with a vector of zeros is NaN, which sorts above all numbers."""
    for name, vector in (("empty", [0, 0]), ("near", [1, 0])):
        call("put_items", items=[{"namespace": ["n"], "name": name, "value": {}, "vectors": [vector]}])
    assert rows("select name, score from pgmem.search_items('{n}', p_vector => '{1,0}')") == [
        {"name": "near", "score": 1.0},
        {"name": "empty", "score": 0.0},
    ]


def test_very_many_texts_in_arguments_are_read_in_time(connection: Session) -> None:
    """jsonb_path_query was quadratic: a million texts took 20 seconds."""
    connection.execute("set statement_timeout = '4s'")
    for name in ("approved_texts", "inner_texts"):
        query = f"select pgmem.{name}(jsonb_build_object('a', array_agg('t' || i))) is not null from generate_series(1, 200000) i"
        assert value(connection, query)
