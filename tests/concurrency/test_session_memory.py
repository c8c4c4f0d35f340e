"""A session of a pool serves for months: its memory is known after some calls, and then stays as it is."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call

WARM, ROUNDS = 50, 150
KEPT = "select sum(total_bytes) as bytes from pg_backend_memory_contexts where name not in ('ExprContext', 'MessageContext')"
WORDS = (
    "harbour",
    "lantern",
    "meadow",
    "orchard",
    "pebble",
    "quarry",
    "ribbon",
    "saddle",
    "timber",
    "willow",
)


@pytest.mark.usefixtures("superuser", "dsn")
def test_a_session_keeps_no_more_after_fifty_rounds(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    kept = []
    for tenant in ("shop", "yard"):
        call("save_session", objective="open", project_id=tenant)
    for number in range(WARM + ROUNDS):
        of = ("shop", "yard")[number % 2]
        text = f"{WORDS[number % 10]} {number} {WORDS[number // 10 % 10]} {number * 7919}"
        call("save_context", content=text, project_id=of)
        call("save_decision", title=text, rationale="because of it", project_id=of)
        call("search_memory", query=text, project_id=of)
        call("retrieve_context", project_id=of)
        if number in (WARM, WARM + ROUNDS - 1):
            found = connection.execute(KEPT).fetchone()
            assert found is not None
            kept.append(int(found["bytes"]))
    before, after = kept
    assert before > 2_000_000  # the plans and the catalog that it has read
    assert after < before * 1.05
