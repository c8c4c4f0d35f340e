"""The bounded text arm compared with BM25 over all matches, on your texts: best ten results and time.

Each text becomes a memory of one project. A query is a few words of one of them. Every query is put twice: as the store
is set, where only the rarest words of a query bring candidates, and with both limits lifted. An answer counts as kept
if the bounded arm gives it, or another one of the same score.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from benchmarks.databases import Progress, unseen
from benchmarks.timing import quantile
from pgmem.memory import Memory

PROJECT = "texts"
_TOP = 10
_WORD = re.compile(r"[^\W\d_]{3,}")
_LIMITS = ("text_candidate_limit", "text_match_limit")
_NO_LIMIT = "100000000"


def read(file: Path, count: int) -> list[str]:
    """Return the first `count` texts of a file.

    Args:
        file: the package descriptions that `apt-cache dumpavail` prints, or any file with one text a line.
        count: how many.

    Raises:
        ValueError: it holds no text.
    """
    with file.open(encoding="utf-8", errors="replace") as lines:
        first = lines.readline()
        lines.seek(0)
        found = _packages(lines) if first.startswith("Package:") else (line.strip() for line in lines)
        texts = [text for text, _ in zip((text for text in found if text), range(count), strict=False)]
    if not texts:
        raise ValueError(
            f"{file.name} holds no text; send one text a line, or what apt-cache dumpavail prints."
        )
    return texts


def _packages(lines: Iterator[str]) -> Iterator[str]:
    """Yield name and description of each paragraph of a control file."""
    name, text = "", ""
    reads = False
    for line in lines:
        if line.startswith("Package:"):
            if text:
                yield f"{name}: {text}"
            name, text = line.partition(":")[2].strip(), ""
        if not line.startswith(" "):
            reads = line.startswith(("Description:", "Description-en:"))
            line = line.partition(":")[2]
        if reads:
            text = f"{text} {line.strip()}".strip()
    if text:
        yield f"{name}: {text}"


def queries(texts: list[str], count: int) -> list[str]:
    """Return `count` queries, each of two to eight words of one text; the same texts give the same queries."""
    chance = Random("pgmem queries")
    found: list[str] = []
    while len(found) < count:
        words = sorted(set(_WORD.findall(chance.choice(texts))))
        if len(words) >= 2:
            found.append(" ".join(chance.sample(words, min(len(words), chance.randint(2, 8)))))
    return found


async def run(
    memory: Memory, file: Path, *, texts: int = 50_000, asked: int = 1_000, progress: Progress = unseen
) -> dict[str, Any]:
    """Fill an empty store and put every query to it twice.

    Args:
        memory: of an empty store; its two limits of the text arm are set and set back.
        file: the texts; see `read`.
        texts: how many of them to save.
        asked: how many queries to put.
        progress: called as the work advances.

    Returns:
        The share of the full ranking's best ten that is kept, and p50 and p95 of both, in milliseconds.

    Raises:
        ValueError: the file holds no text.
    """
    known = read(file, texts)
    await memory.save_session("Texts of a file", PROJECT)
    for number, text in enumerate(known):
        await memory.save_context(text, PROJECT)
        progress("texts saved", number + 1, len(known))
    given = queries(known, asked)
    bounded, quick = await _ask(memory, given, "bounded", progress)
    before = {row.name: row.value for row in await memory.list_settings() if row.name in _LIMITS}
    try:
        for name in _LIMITS:
            await memory.admin.set_setting(name, _NO_LIMIT)
        full, slow = await _ask(memory, given, "full", progress)
    finally:
        for name, value in before.items():
            await memory.admin.set_setting(name, value)
    shares = [_kept(few, all_) for few, all_ in zip(bounded, full, strict=True) if all_]
    return {
        "bench": "texts",
        "texts": len(known),
        "queries": len(shares),
        "kept": round(fmean(shares), 4),
        "bounded": {"p50_ms": quantile(quick, 0.5), "p95_ms": quantile(quick, 0.95)},
        "full": {"p50_ms": quantile(slow, 0.5), "p95_ms": quantile(slow, 0.95)},
    }


async def _ask(
    memory: Memory, given: list[str], way: str, progress: Progress
) -> tuple[list[list[tuple[str, float]]], list[float]]:
    """Return the best ten of each query, as (id, score), and the milliseconds that it took."""
    found, took = [], []
    for number, query in enumerate(given):
        began = time.perf_counter()
        hits = await memory.caller.database.rows(
            "fulltext_search", query=query, limit=_TOP, project_id=PROJECT
        )
        took.append((time.perf_counter() - began) * 1000)
        found.append([(str(hit["id"]), hit["score"]) for hit in hits])
        progress(f"queries, {way}", number + 1, len(given))
    return found, took


def _kept(bounded: list[tuple[str, float]], full: list[tuple[str, float]]) -> float:
    """Return which share of the full ranking the bounded one holds; equal scores stand for each other."""
    ids = {key for key, _ in bounded}
    least = full[-1][1]
    held = sum(key in ids for key, _ in full)
    equal = sum(round(score, 6) >= round(least, 6) for _, score in bounded)
    return min(len(full), max(held, equal)) / len(full)
