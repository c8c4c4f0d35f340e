"""The same question by every way: SQL, Python, MCP, the command line and the page rank alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx2
import psycopg
import pytest
from mcp.client.client import Client
from psycopg.rows import dict_row

from pgmem.embeddings.static import StaticProvider
from pgmem.mcp.server import create_server
from pgmem.memory import Memory
from pgmem.settings import load
from tests.core.cli.conftest import environment, runner
from tests.features.ui.serving import serving

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("vectors")]

PROJECT = "clinic"


async def test_two_hundred_calls_by_five_ways_rank_alike(dsn: str, tmp_path: Path) -> None:
    """Forty questions; an agent's list is that of the others, cut at half the relevance of the best, or the first five."""
    (given, *_) = json.loads(files("benchmarks").joinpath("shown.json").read_text(encoding="utf-8"))
    questions = [note["question"] for note in given["notes"]]
    settings = load(dsn=dsn, data_dir=tmp_path / "data", embedding_provider="static")
    by_agent: list[dict[str, Any]] = []
    async with Memory.connect(settings, source="sdk") as memory:
        await memory.register_embedder()
        await memory.save_session("Notes", PROJECT)
        for note in given["notes"]:
            await memory.save_context(note["text"], PROJECT, topic=note.get("title"))
        by_python = [(await memory.search_memory(text, 10, PROJECT)).results for text in questions]
        async with Client(create_server(settings)) as client:
            for question in questions:
                answer = await client.call_tool("search_memory", {"query": question, "project_id": PROJECT})
                assert answer.structured_content is not None
                by_agent.append(answer.structured_content)
        vectors = [await StaticProvider().embed(question) for question in questions]
    ranked = [[str(result.id) for result in results] for results in by_python]
    assert {len(row) for row in ranked} == {10}
    assert _by_sql(dsn, questions, vectors) == ranked
    assert await anyio.to_thread.run_sync(_by_command, dsn, tmp_path, questions) == ranked
    assert await anyio.to_thread.run_sync(_by_page, dsn, tmp_path, questions) == ranked
    for results, shown in zip(by_python, by_agent, strict=True):
        relevant = [(str(result.id), result.relevance or 0.0) for result in results]
        least = max(relevance for _, relevance in relevant) / 2
        first_five = 5 if shown["answered"] == "no" else 0
        assert [row["id"] for row in shown["results"]] == [
            id for place, (id, figure) in enumerate(relevant) if figure >= least or place < first_five
        ]


def _by_sql(dsn: str, questions: Sequence[str], vectors: Sequence[list[float]]) -> list[list[str]]:
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        return [
            [
                str(row["id"])
                for row in connection.execute(
                    "select id from pgmem.search_memory(%s, p_project_id => %s, p_embedding => %s::real[],"
                    " p_embedding_model => %s)",
                    (question, PROJECT, vector, StaticProvider().model),
                )
            ]
            for question, vector in zip(questions, vectors, strict=True)
        ]


def _by_command(dsn: str, folder: Path, questions: Sequence[str]) -> list[list[str]]:
    run = runner(environment(dsn, folder))
    found = []
    for question in questions:
        done = run("search", question, "--project", PROJECT, "--json", EMBEDDING_PROVIDER="static")
        assert done.exit_code == 0, done.output
        found.append([row["id"] for row in json.loads(done.stdout)["results"]])
    return found


def _by_page(dsn: str, folder: Path, questions: Sequence[str]) -> list[list[str]]:
    with (
        serving(dsn, folder / "pages", embedding_provider="static") as (_, link),
        httpx2.Client(follow_redirects=True) as browser,
    ):
        entered = browser.get(link())
        found = []
        for question in questions:
            url = entered.url.join(f"/ui/ask.json?project={PROJECT}")
            answer = browser.get(url.copy_merge_params({"q": question, "limit": "10"}))
            found.append([row["id"] for row in answer.json()["results"]])
    return found
