"""A client sends one value that is too large for others, or very many at once."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Call
from tests.security.conftest import Session, value


def test_a_vector_that_no_search_holds_is_refused(call: Call) -> None:
    """One item with a vector of 1e38 made every vector search of its namespace an error."""
    item = {"namespace": ["n"], "name": "a", "value": {"t": "x"}}
    with pytest.raises(psycopg.Error, match="-65504 to 65504"):
        call("put_items", items=[{**item, "vectors": [[1e38, 1.0]]}])
    call("put_items", items=[{**item, "vectors": [[65504, 1.0]]}])


def test_very_many_texts_in_arguments_are_read_in_time(connection: Session) -> None:
    """jsonb_path_query was quadratic: a million texts took 20 seconds."""
    connection.execute("set statement_timeout = '4s'")
    for name in ("approved_texts", "inner_texts"):
        query = f"select pgmem.{name}(jsonb_build_object('a', array_agg('t' || i))) is not null from generate_series(1, 200000) i"
        assert value(connection, query)
