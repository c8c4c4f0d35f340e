"""`python -m benchmarks`: what it lists, prints and writes, and how it refuses what it cannot measure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.conftest import Benchmark
from tests.benchmarks.synthetic import conversations
from tests.conftest import Call

ROOT = Path(__file__).parent.parent.parent
STATIC = "static:l2_supercat_256"


def test_a_checkout_lists_the_benchmarks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = ("speed", "fairness", "http", "locomo", "beam", "longmemeval", "texts", "hooks", "ui", "cards")
    listed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("│ ")]
    assert set(names) <= set(listed)


def test_wrong_usage_is_one_line_on_stderr_and_exit_code_2(benchmark: Benchmark) -> None:
    for words, message in (
        (("sped",), "pgmem: No such command 'sped'"),
        (("speed", "--size", "1"), "pgmem: Invalid value for '--size'"),
    ):
        refused = benchmark(*words)
        assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert refused.stderr.startswith(message)


def test_locomo_prints_both_halves_and_writes_its_figures(benchmark: Benchmark, tmp_path: Path) -> None:
    data, report = tmp_path / "talks.json", tmp_path / "report.json"
    data.write_text(json.dumps(conversations(2, sessions=2)), encoding="utf-8")
    result = benchmark(
        "locomo", "--data", str(data), "--json", str(report), "--ablation", "--provider", "static"
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    content = json.loads(report.read_text(encoding="utf-8"))
    assert (content["bench"], content["provider"]) == ("locomo", STATIC)
    assert set(content["splits"]) == {"odd", "even", "all"}
    n = content["splits"]["all"]["turn"]["n"]
    assert (
        n
        == content["splits"]["odd"]["turn"]["n"] + content["splits"]["even"]["turn"]["n"]
        == content["questions"]
    )
    assert {"R@1", "R@5", "R@10", "R@20", "NDCG@10", "MRR"} <= content["splits"]["odd"]["session"].keys()
    for half in ("odd", "even", "all"):
        assert f"LoCoMo, {half} conversations, {STATIC}" in result.stdout
    assert set(content["ablation"]) > {
        "without names",
        "without window",
        "without date",
        "without all of these",
    }
    assert "without window" in result.stdout


def test_a_benchmark_never_fills_a_store_that_is_in_use(
    benchmark: Benchmark, call: Call, dsn: str, tmp_path: Path
) -> None:
    call("save_session", objective="open the shop", project_id="shop")
    call("save_decision", title="Use redis", rationale="It is fast.", project_id="shop")
    data = tmp_path / "talks.json"
    data.write_text(json.dumps(conversations(1, sessions=1)), encoding="utf-8")
    result = benchmark("locomo", "--data", str(data), "--dsn", dsn)
    assert (result.exit_code, result.stderr) == (
        1,
        "pgmem: --dsn: the store holds 2 memories; name an empty one.\n",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("longmemeval", "--data: entry 0 is not in LongMemEval's schema: 'haystack_session_ids'"),
        ("locomo", "--data: conversation 0 is not in LoCoMo's schema: 'conversation'"),
    ],
)
def test_a_file_in_another_schema_is_wrong_usage(
    benchmark: Benchmark, dsn: str, tmp_path: Path, name: str, message: str
) -> None:
    data = tmp_path / "data.json"
    data.write_text('[{"question_id": "q1"}]', encoding="utf-8")
    refused = benchmark(name, "--data", str(data), "--dsn", dsn)
    assert (refused.exit_code, refused.stderr) == (2, f"pgmem: {message}\n")
    assert benchmark(name, "--data", str(tmp_path / "none.json")).exit_code == 2


def test_a_provider_that_gives_no_vectors_has_no_figures(
    benchmark: Benchmark, dsn: str, tmp_path: Path
) -> None:
    """A provider without its library looked like a bad model: the figures were those of full text."""
    file = tmp_path / "talks.json"
    file.write_text(json.dumps(conversations(1)), encoding="utf-8")
    result = benchmark(
        *("locomo", "--data", str(file), "--provider", "ollama", "--dsn", dsn),
        OLLAMA_URL="http://127.0.0.1:9",
    )
    assert result.exit_code == 1
    assert "--provider ollama: it gives no vectors" in result.stderr
