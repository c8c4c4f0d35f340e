"""Contradictions among harmless texts: each that a save names is counted and shown."""

from __future__ import annotations

import json
from pathlib import Path

from tests.benchmarks.conftest import Benchmark
from tests.benchmarks.synthetic import conversations


def test_each_contradiction_that_a_save_names_is_counted_and_shown(
    benchmark: Benchmark, dsn: str, tmp_path: Path
) -> None:
    talks, texts, report = tmp_path / "talks.json", tmp_path / "texts", tmp_path / "report.json"
    talks.write_text(json.dumps(conversations(1, sessions=1)), encoding="utf-8")
    texts.write_text(
        "The capital of Peru is Lima.\nWe saw two llamas.\nThe capital of Peru is Cusco.\n", encoding="utf-8"
    )
    done = benchmark(
        *("alarms", "--locomo", str(talks), "--texts", str(texts), "--json", str(report), "--dsn", dsn)
    )
    assert done.exit_code == 0, done.stderr
    turns, given = json.loads(report.read_text(encoding="utf-8"))["rows"]
    assert (turns["corpus"], turns["saves"] > 0, turns["alarms"]) == ("LoCoMo turns", True, [])
    assert (given["saves"], [axis for axis, _, _ in given["alarms"]]) == (3, ["object"])
    assert "texts: 1 alarms in 3 saves" in done.stdout
    assert "Lima" in done.stdout


def test_no_file_is_refused(benchmark: Benchmark) -> None:
    refused = benchmark("alarms")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "name at least one file" in refused.stderr
