"""Bad arguments through Python: `InvalidArgument` that says what to send, and nothing written or queued."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from pgmem import Memory
from pgmem.errors import InvalidArgument, MemoryNotFound
from pgmem.settings import Settings
from tests.conftest import Call, new_database, past_the_pooler

pytestmark = pytest.mark.anyio

Ask = Callable[[Memory], Awaitable[object]]
HUGE = "x" * 1_000_000
NOBODY = UUID("00000000-0000-4000-8000-000000000009")

REFUSED: dict[str, tuple[Ask, str]] = {
    "empty title": (lambda m: m.save_decision("", "r", "shop"), "title must not be empty"),
    "title of NUL bytes": (lambda m: m.save_decision("\x00", "r", "shop"), "title must not be empty"),
    "title of 1 MB": (
        lambda m: m.save_decision(HUGE, "r", "shop"),
        "title has 1000000 characters; send at most 500",
    ),
    "rationale of 1 MB": (lambda m: m.save_decision("t", HUGE, "shop"), "send at most 100000"),
    "surrogate in title": (
        lambda m: m.save_decision("\ud800", "r", "shop"),
        "title holds a lone surrogate at position 0",
    ),
    "surrogate in project": (
        lambda m: m.save_session("o", "a\udfff"),
        "project_id holds a lone surrogate at position 1",
    ),
    "surrogate in a list": (
        lambda m: m.save_pattern("t", ["\ud800"], "shop"),
        "repeatable_steps holds a lone surrogate",
    ),
    "surrogate in a batch": (
        lambda m: m.store_session_with_learnings(
            {"objective": "o"}, "shop", [{"title": "\ud800", "rationale": "r"}]
        ),
        "decisions holds a lone surrogate",
    ),
    "control character in project": (
        lambda m: m.save_session("o", "a\x07"),
        "project_id holds a control character",
    ),
    "NUL in entity name": (
        lambda m: m.upsert_entity("a\x00b", "f", "shop"),
        "entity_name holds a control character",
    ),
    "confidence NaN": (
        lambda m: m.save_decision("t", "r", "shop", confidence=float("nan")),
        "confidence must be a number",
    ),
    "confidence 2": (
        lambda m: m.save_decision("t", "r", "shop", confidence=2),
        "confidence must be a number from 0 to 1",
    ),
    "confidence -1": (
        lambda m: m.save_decision("t", "r", "shop", confidence=-1),
        "confidence must be a number from 0 to 1",
    ),
    "confidence beyond any float": (
        lambda m: m.save_decision("t", "r", "shop", confidence=10**400),
        "confidence is out of range",
    ),
    "NaN in a batch": (
        lambda m: m.store_session_with_learnings(
            {"objective": "o"}, "shop", [{"title": "t", "rationale": "r", "confidence": float("nan")}]
        ),
        "decisions holds nan, which no JSON can carry",
    ),
    "date that is none": (
        lambda m: m.save_decision("t", "r", "shop", date="2026-02-30"),
        r"date is not a valid date: '2026-02-30'; send",
    ),
    "time that is none": (
        lambda m: m.save_pattern("t", ["s"], "shop", last_validated_at=cast("Any", "soon")),
        "A value cannot be read: .*soon",
    ),
    "scope galaxy": (
        lambda m: m.save_context("c", "shop", scope=cast("Any", "galaxy")),
        "scope is global, project or focus",
    ),
    "share everybody": (
        lambda m: m.save_context("c", "shop", share=cast("Any", "everybody")),
        "share is private or org",
    ),
    "focus without name": (lambda m: m.save_context("c", "shop", scope="focus"), "scope focus needs focus"),
    "no steps": (lambda m: m.save_pattern("t", [], "shop"), "repeatable_steps must not be empty"),
    "save_id that is none": (lambda m: m.save_context("c", "shop", save_id=cast("Any", "x")), "uuid"),
    "unknown category": (
        lambda m: m.retrieve_context("shop", "project", categories=["X"]),
        r"Unknown label 'X'\. Known: ",
    ),
    "unknown scope to read": (
        lambda m: m.retrieve_context("shop", cast("Any", "galaxy")),
        "scope is global, project or focus",
    ),
    "empty query": (lambda m: m.search_memory(" "), "query must not be empty"),
    "limit 0": (lambda m: m.search_memory("q", limit=0), "limit is a whole number from 1 to 1000"),
    "limit -1": (lambda m: m.search_memory("q", limit=-1), "limit is a whole number from 1 to 1000"),
    "limit beyond any integer": (lambda m: m.search_memory("q", limit=10**30), "limit is out of range"),
    "unknown label to search": (lambda m: m.search_memory("q", labels=["X"]), "Unknown label 'X'"),
    "hops 6": (lambda m: m.neighbours("Decision", "x", hops=6), "hops is a whole number from 1 to 5"),
    "unknown relation": (
        lambda m: m.relate("Decision", "Take cards", "NONSENSE", "Decision", "Refuse cash"),
        r"Unknown relation 'NONSENSE'\. Known: ",
    ),
    "reviews -1": (lambda m: m.list_reviews(limit=-1), "limit is a whole number from 1 to 1000"),
    "outcome maybe": (
        lambda m: m.resolve_review(NOBODY, cast("Any", "maybe"), "ana"),
        "outcome is new, supersede or drop",
    ),
    "nothing to approve": (
        lambda m: m.request_global_write_approval(""),
        "content_preview must not be empty",
    ),
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def refused(server: str, template: str) -> Iterator[str]:
    """The database of all tests here, as each must leave it as it was."""
    with new_database(server, template) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the outbox would be."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
async def filled(refused: str, folder: Path) -> AsyncIterator[Memory]:
    """A memory with a project and two decisions, that must be the same after the test."""
    async with Memory.connect(Settings(dsn=refused, data_dir=folder, prepare=True, retry_wait_s=0)) as memory:
        await memory.save_session("open", "shop")
        for title in ("Take cards", "Refuse cash"):
            await memory.save_decision(title, "r", "shop")
        yield memory


@pytest.fixture(scope="module")
def connection(refused: str) -> Iterator[psycopg.Connection[DictRow]]:
    with psycopg.connect(past_the_pooler(refused), autocommit=True, row_factory=dict_row) as connection:
        yield connection


def counts(connection: psycopg.Connection[Any]) -> dict[str, int]:
    tables = connection.execute("select tablename from pg_tables where schemaname = 'pgmem'").fetchall()
    return {
        str(row["tablename"]): connection.execute(
            f"select count(*) as n from pgmem.{row['tablename']}".encode()
        ).fetchone()["n"]  # type: ignore[index]
        for row in tables
    }


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_read_is_an_error_that_says_what_to_send(
    filled: Memory, connection: psycopg.Connection[Any], folder: Path, case: str
) -> None:
    ask, message = REFUSED[case]
    before = counts(connection)
    with pytest.raises(InvalidArgument, match=message) as caught:
        await ask(filled)
    assert len(str(caught.value)) < 2000
    assert counts(connection) == before
    assert list(folder.rglob("*.json")) == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.retry_save(NOBODY),
        lambda m: m.resolve_review(NOBODY, "new", "ana"),
        lambda m: m.get_session(str(NOBODY)),
        lambda m: m.get_session("'; drop schema pgmem cascade; --"),
        lambda m: m.neighbours("Decision", "'; drop schema pgmem cascade; --"),
        lambda m: m.neighbours("Decision", "Take cards", project_id="nope"),
        lambda m: m.relate("Decision", "Take cards", "CONFLICTS_WITH", "Decision", "nobody"),
    ],
)
async def test_what_is_not_there_is_not_found_and_nothing_is_written(
    filled: Memory, connection: psycopg.Connection[Any], ask: Ask
) -> None:
    before = counts(connection)
    with pytest.raises(MemoryNotFound):
        await ask(filled)
    assert counts(connection) == before


@pytest.mark.parametrize(
    ("ask", "status"),
    [
        (lambda m: m.save_decision("t", "r", "nope"), "blocked_scope"),
        (lambda m: m.save_context("c", ""), "blocked_scope"),
        (lambda m: m.save_context("c", "shop", scope="global"), "failed"),
        (lambda m: m.save_context("d", "shop", scope="global", governance_token=HUGE), "failed"),
        (lambda m: m.save_context("e", "shop", scope="global", governance_token="\x00"), "failed"),
        (
            lambda m: m.upsert_entity(
                "e", "f", "shop", [{"entity_name": "nobody", "relationship_type": "CONFLICTS_WITH"}]
            ),
            "failed",
        ),
    ],
)
async def test_what_is_refused_is_a_status_and_leaves_only_its_attempt(
    filled: Memory, connection: psycopg.Connection[Any], ask: Callable[[Memory], Awaitable[Any]], status: str
) -> None:
    before = counts(connection)
    result = await ask(filled)
    assert (result.status, result.artifact_id) == (status, None)
    assert result.message
    assert result.next_step
    assert counts(connection) == {**before, "save_attempt": before["save_attempt"] + 1}


@pytest.mark.parametrize("project_id", [None, "", " "])
async def test_a_save_without_a_project_answers_the_same_in_every_interface(
    filled: Memory, call: Call, project_id: str
) -> None:
    """None in Python was a function that does not exist."""
    found = await filled.save_decision("T", "r", project_id)
    verb = call("save_decision", title="T", rationale="r", project_id=project_id)
    assert (found.status, found.message, found.next_step) == (
        verb["status"],
        verb["message"],
        verb["next_step"],
    )
    assert (found.status, found.next_step) == ("blocked_scope", "Send project_id, the name of the project.")
