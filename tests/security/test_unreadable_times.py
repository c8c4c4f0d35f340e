"""A memory with a time that Python cannot read ended every answer that it was part of, for all of its tenant."""

from __future__ import annotations

from pathlib import Path

import httpx2
import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from tests.conftest import Call
from tests.core.cli.conftest import Run, run, surroundings
from tests.features.ui.serving import serving

__all__ = ["run", "surroundings"]

PAGES = ("", "/memories", "/time", "/graph", "/conversations", "/decide", "/activity", "/health")


@pytest.fixture
def broken(connection: psycopg.Connection[DictRow], call: Call, dsn: str) -> str:
    """A store whose owner let times into it that the tables refuse."""
    call("save_session", objective="Open the shop", project_id="shop")
    for number, wrong in enumerate(("infinity", "-infinity", "0044-03-15 BC", "12000-01-01")):
        call("save_context", topic=f"Tea {number}", content="It is sold.", project_id="shop")
        call("capture_turns", client="codex", session_id="s", project_id="shop",
             turns=[{"id": f"t{number}", "role": "user", "content": f"Tea {number}"}])  # fmt: skip
        connection.execute("alter domain pgmem.moment drop constraint if exists time_in_range")
        connection.execute(
            "update pgmem.node set created_at = %(wrong)s, updated_at = %(wrong)s, valid_from = null"
            " where title = %(title)s or props ->> 'content' = %(title)s",
            {"wrong": wrong, "title": f"Tea {number}"},
        )
    assert connection.execute("select from pgmem.node where created_at = 'infinity'").fetchall()
    return dsn


@pytest.mark.anyio
@pytest.mark.usefixtures("broken")
async def test_the_library_answers_with_the_nearest_time_and_says_so(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    found = await memory.search_memory("tea", limit=20)
    assert {"Tea 0", "Tea 1", "Tea 2", "Tea 3"} <= {one.title for one in found.results}
    assert {one.created_at.year for one in found.results if one.created_at} >= {1, 9999}
    assert (await memory.retrieve_context("shop")).items
    assert len(await memory.list_memories("shop")) >= 5
    said = [line for line in caplog.messages if "outside the years 1 to 9999" in line]
    assert any("-infinity" in line and "0001-01-02" in line for line in said)


@pytest.mark.usefixtures("broken")
def test_the_command_line_lists_and_finds(run: Run) -> None:
    for words in (("list",), ("search", "tea"), ("retrieve", "shop")):
        done = run(*words)
        assert (done.exit_code, "Tea 1" in done.stdout) == (0, True), (words, done.output)


def test_the_pages_open(broken: str, tmp_path: Path) -> None:
    with serving(broken, tmp_path) as (address, link), httpx2.Client(follow_redirects=True) as client:
        assert client.get(link()).status_code == 200
        for page in PAGES:
            answer = client.get(f"{address}/ui{page}")
            assert answer.status_code == 200, (page, answer.text[-300:])
        assert "Tea 1" in client.get(f"{address}/ui/memories").text
