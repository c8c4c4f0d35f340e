"""Vectors as arguments: lists of numbers, and the types of pgvector."""

from __future__ import annotations

import psycopg
import pytest
from pgvector import HalfVector, Vector
from psycopg.rows import DictRow

from pgmem.database.call import Reals, clean
from pgmem.embeddings.text import text_hash
from pgmem.errors import InvalidArgument
from tests.conftest import Call


@pytest.mark.parametrize("kind", [list, tuple, Vector, HalfVector])
def test_a_vector_is_stored_whatever_its_type(
    call: Call, connection: psycopg.Connection[DictRow], vectors: None, kind: type
) -> None:
    call("save_session", objective="begin", project_id="shop")
    call("register_model", name="three", dimensions=3)
    saved = call(
        "save_context",
        content="The tills are in the cellar",
        project_id="shop",
        embedding=kind([0.5, 0.25, 0.0]),
        embedding_model="three",
        embedding_text_hash=text_hash("Context: The tills are in the cellar"),
    )
    assert saved["embedded"]
    row = connection.execute("select vector::real[] as stored from pgmem.embedding").fetchone()
    assert row == {"stored": [0.5, 0.25, 0.0]}


@pytest.mark.parametrize("sent", [[0.5, "x"], [0.5, 1e39], [0.5, None]])
def test_what_is_no_vector_is_refused(call: Call, sent: list[object]) -> None:
    with pytest.raises(InvalidArgument, match="embedding is not a list of numbers of single precision"):
        call("save_context", content="x", project_id="shop", embedding=sent)


def test_a_vector_crosses_as_one_buffer_in_the_binary_form_of_an_array(
    connection: psycopg.Connection[DictRow],
) -> None:
    sent = clean("embedding", [0.5, -1.25, 3, 1e-40])
    assert isinstance(sent, Reals)
    row = connection.execute("select %b as got, pg_typeof(%b)::text as type", (sent, sent)).fetchone()
    assert row is not None
    assert row["type"] == "real[]"
    assert row["got"] == pytest.approx([0.5, -1.25, 3.0, 1e-40], rel=1e-3)
