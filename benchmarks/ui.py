"""The pages of `pgmem ui` on a large store: the server time and the size of each.

The store holds real texts where `--data` names some (LoCoMo's file, a folder of BEAM), repeated with other beginnings
until it is as large as asked; else generated ones. Requests are made within the process, so the times are those of the
server.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psycopg
from psycopg.types.json import Jsonb

from benchmarks import beam, locomo
from benchmarks.corpus import Corpus
from benchmarks.databases import PROJECT, Progress, connect_as, filled_database, unseen
from benchmarks.talks import Talk
from benchmarks.timing import quantile
from pgmem.features.ui.local import local_app
from pgmem.memory import Memory
from pgmem.server.embedded import temporary_server
from pgmem.settings import Settings

BAR_MS = 150.0
BAR_WEIGHT = 60_000
"""Bytes of a page as it is sent, compressed."""

_ADDRESS = "http://127.0.0.1:7437"
_QUESTIONS = (
    "when did we decide about the photo",
    "a trip to the mountains",
    "database schema migration",
    "birthday party",
)


def texts_of(data: Sequence[Path]) -> list[str]:
    """The turns and messages of some data sets.

    Raises:
        ValueError: a file or folder is in another layout.
    """
    found: list[str] = []
    for place in data:
        talks: Sequence[Talk[Any]] = beam.read(place) if place.is_dir() else locomo.read(place)[0]
        found += [turn.text for talk in talks for turn in talk.turns]
    return [text for text in found if len(text.split()) >= 6]


def decisions(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Titles and bodies without end; where the texts repeat, a title begins at a later word."""
    number = count()
    for lap in count():
        for text in texts:
            words = text.split()
            start = lap * 3 % max(1, len(words) - 5)
            yield " ".join(words[start : start + 9])[:200], f"{text[:1500]} ({next(number)})"


def run(
    server: str | None,
    *,
    memories: int = 100_000,
    rounds: int = 30,
    data: Sequence[Path] = (),
    progress: Progress = unseen,
) -> dict[str, Any]:
    """Fill a store, ask for every page, and report times and weights.

    Args:
        server: the DSN of a server to make a database on; None starts an embedded one.
        memories: how many the store holds.
        rounds: how often each page is asked for, after five times that do not count.
        data: files and folders of real texts.
        progress: called as the work advances.
    """
    texts = texts_of(data)
    with (
        temporary_server(server) as (dsn, folder),
        filled_database(
            dsn,
            memories,
            edges=memories // 2,
            vectors=True,
            texts=decisions(texts) if texts else None,
            progress=progress,
        ) as filled,
    ):
        rows = anyio.run(_measured, filled, folder, rounds, progress)
    return {
        "memories": memories,
        "texts": len(texts),
        "rounds": rounds,
        "bar_ms": BAR_MS,
        "bar_weight": BAR_WEIGHT,
        "pages": rows,
        "met": all(row["p95_ms"] <= BAR_MS and row["weight"] <= BAR_WEIGHT for row in rows),
    }


def _paths(dsn: str) -> dict[str, list[str]]:
    with psycopg.connect(dsn) as connection:
        ids = [
            str(row[0])
            for row in connection.execute(
                "select id from pgmem.node where label = 'Decision' order by hashint8(seq) limit 20"
            ).fetchall()
        ]
    where = f"project={PROJECT}"
    return {
        "home": ["/", f"/?{where}"],
        "ask": [f"/ask?q={words.replace(' ', '+')}&{where}" for words in _QUESTIONS],
        "memories": ["/memories", f"/memories?{where}&labels=Decision", f"/memories?after={ids[0]}"],
        "memory": [f"/memory/{one}" for one in ids],
        "memory, two hops": [f"/memory/{one}?hops=2" for one in ids],
        "decide": ["/decide"],
        "approvals": ["/decide/approvals"],
        "insights": ["/decide/insights"],
        "cards": ["/decide/cards"],
        "names": ["/decide/names"],
        "failed saves": ["/decide/saves"],
        "time": ["/time", f"/time?{where}"],
        "time, then": [f"/time?t={2 * 10**9 - 300_000_000}", f"/time?{where}&k={int(time.time()) - 40_000}"],
        "graph": ["/graph", f"/graph?{where}"],
        "graph, clusters": ["/graph?by=cluster"],
        "graph, then": [f"/graph?{where}&k={int(time.time()) - 40_000}"],
        "health": ["/health"],
        "activity": ["/activity", f"/activity?{where}"],
        "tenants": ["/tenants"],
    }


async def _fill_tabs(dsn: str, folder: Path) -> None:
    """Give every page something to show: names and near names, lines, reviews, drafts of two branches, insights."""
    corpus = Corpus("pages")
    async with Memory.connect(
        Settings(dsn=dsn, data_dir=folder, embedding_provider="none"), source="mcp"
    ) as memory:
        for number in range(300):
            name = f"{corpus.title()[:40]} {number}"
            await memory.upsert_entity(name, corpus.body(), PROJECT)
            if number % 20 == 0:
                await memory.upsert_entity(f"{name}s", corpus.body(), PROJECT)
        for number in range(30):
            words = corpus.title().split()
            title = f"{' '.join(words)} number {number}"
            await memory.save_decision(title, corpus.body(), PROJECT)
            await memory.save_decision(f"{title} again", corpus.body(), PROJECT)
            await memory.save_decision(
                f"{' '.join(words[: len(words) // 2])} apart {number}", corpus.body(), PROJECT
            )
            branch = ("pages-bench", "abcdef0") if number % 2 else (None, None)
            await memory.record_candidate(
                "risk_note",
                f"{title} is a risk.",
                f"pkg/{number}.py",
                PROJECT,
                branch=branch[0],
                branch_commit=branch[1],
            )
    with connect_as(dsn) as connection:
        for _ in range(20):
            # Reflection writes these; it would look at the whole store.
            connection.execute(
                "select pgmem.merge_node('Insight', %s, %s)",
                (corpus.title(), Jsonb({"summary": corpus.body()})),
            )


async def _measured(dsn: str, folder: Path, rounds: int, progress: Progress) -> list[dict[str, Any]]:
    progress("filling the tabs", 0, 1)
    await _fill_tabs(dsn, folder)
    app, link = local_app(Settings(dsn=dsn, data_dir=folder), "bench")
    rows: list[dict[str, Any]] = []
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url=_ADDRESS) as client,
    ):
        await client.get(link.at(_ADDRESS))
        pages = _paths(dsn)
        for place, (name, paths) in enumerate(pages.items()):
            progress("asking for the pages", place, len(pages))
            times, weight = [], 0
            for number in range(-5, rounds):
                began = time.perf_counter()
                answer = await client.get(f"/ui{paths[number % len(paths)]}")
                if number >= 0:
                    times.append((time.perf_counter() - began) * 1000)
                if answer.status_code != 200:
                    raise RuntimeError(f"{name} answered {answer.status_code}: {answer.text[-300:]}")
                weight = max(weight, int(answer.headers["content-length"]))
            rows.append(
                {
                    "page": name,
                    "p50_ms": quantile(times, 0.5),
                    "p95_ms": quantile(times, 0.95),
                    "weight": weight,
                }
            )
        loaded = [await client.get(f"/ui/static/{name}") for name in ("style.css", "page.js", "icon.svg")]
        extra = sum(int(answer.headers["content-length"]) for answer in loaded)
        # A first look loads the style, the script and the icon too.
        for row in rows:
            row["weight"] += extra
    return rows
