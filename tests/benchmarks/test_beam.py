"""Chats in BEAM's layout are read, asked about, and compared with further steps from the best results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.corpus import Corpus
from tests.benchmarks.conftest import Benchmark
from tests.benchmarks.synthetic import conversations

STATIC = "static:l2_supercat_256"


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Two chats of twelve messages in two batches, and a question about each; one more has no evidence."""
    corpus = Corpus("chats")
    folder = tmp_path / "chats"
    for name in ("1", "2"):
        said = [corpus.body() for _ in range(12)]
        messages = [
            {"id": number, "role": ("user", "assistant")[number % 2], "content": text}
            for number, text in enumerate(said)
        ]
        questions = {
            "information_extraction": [{"question": said[4], "source_chat_ids": [4]}],
            "event_ordering": [{"question": f"In which order: {said[2]}", "source_chat_ids": {"first": [2]}}],
            "abstention": [{"question": "What was never said?"}],
        }
        asked = folder / name / "probing_questions"
        asked.mkdir(parents=True)
        batches = [{"turns": [messages[:6]]}, {"turns": [messages[6:]]}]
        (folder / name / "chat.json").write_text(json.dumps(batches), encoding="utf-8")
        (asked / "probing_questions.json").write_text(json.dumps(questions), encoding="utf-8")
    return folder


@pytest.mark.embedded
def test_the_evidence_of_chats_is_found_by_message(
    benchmark: Benchmark, dsn: str, chats: Path, tmp_path: Path
) -> None:
    file = tmp_path / "beam.json"
    done = benchmark(
        *("beam", "--data", str(chats), "--json", str(file), "--provider", "static", "--dsn", dsn)
    )
    assert done.exit_code == 0, done.stderr
    report = json.loads(file.read_text(encoding="utf-8"))
    assert (report["provider"], report["messages"], report["questions"]) == (STATIC, 24, 4)
    assert set(report["by_kind"]) == {"information_extraction", "event_ordering"}
    assert report["by_kind"]["information_extraction"]["R@1"] == 100
    assert f"BEAM, {STATIC}: 4 questions about 24 messages" in done.stdout


@pytest.mark.embedded
def test_each_step_from_the_best_results_has_a_row_and_its_figures(
    benchmark: Benchmark, dsn: str, chats: Path, tmp_path: Path
) -> None:
    talks, file = tmp_path / "talks.json", tmp_path / "hops.json"
    talks.write_text(json.dumps(conversations(2, sessions=2)), encoding="utf-8")
    done = benchmark(
        *("hops", "--locomo", str(talks), "--beam", str(chats), "--json", str(file)),
        *("--provider", "static", "--dsn", dsn),
    )
    assert done.exit_code == 0, done.stderr
    steps = json.loads(file.read_text(encoding="utf-8"))["steps"]
    assert {"as it is", "next to the best three, + 0.1", "at most 3 of a session"} <= set(steps)
    assert all(set(row) == {"LoCoMo, even", "LoCoMo, odd", "BEAM"} for row in steps.values())
    assert 0 < steps["as it is"]["BEAM"]["NDCG@10"] <= 100
    assert len({json.dumps(row) for row in steps.values()}) > 1
    for name in steps:
        assert name in done.stdout


def test_a_folder_in_another_layout_is_wrong_usage(benchmark: Benchmark, dsn: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused = benchmark("beam", "--data", str(tmp_path / "empty"), "--dsn", dsn)
    assert (refused.exit_code, refused.stderr) == (
        2,
        "pgmem: --data: no folder with a chat.json is in empty\n",
    )
