"""`pgmem calibrate`: when a search counts as answered, from titles searched in their own and in another project."""

from __future__ import annotations

import json

from benchmarks.corpus import Corpus
from tests.conftest import Call
from tests.core.cli.conftest import Run


def fill(call: Call, *projects: str) -> None:
    """Save twenty decisions in each project: as many titles as calibration takes of one."""
    corpus = Corpus("calibration")
    for project in projects:
        call("save_session", objective=f"open the {project}", project_id=project)
        for _ in range(20):
            call("save_decision", title=corpus.title(), rationale=corpus.body(), project_id=project)


def test_own_titles_are_answered_and_the_floors_are_settings_only_when_asked(run: Run, call: Call) -> None:
    fill(call, "shop", "bank", "farm")
    before = run("config", "get", "answered_yes").stdout
    found = json.loads(run("calibrate", "--json").stdout)
    assert (found["queries"], found["applied"]) == (60, False)
    assert found["own_answered"] > 0.9 > 0.5 > found["foreign_answered"]
    assert 0.05 <= found["answered_no"] <= found["answered_yes"] <= 0.95
    assert run("config", "get", "answered_yes").stdout == before
    applied = json.loads(run("calibrate", "--apply", "--json").stdout)
    assert (applied["applied"], applied["answered_yes"]) == (True, found["answered_yes"])
    assert f"{found['answered_yes']:.3f}" in run("config", "get", "answered_yes").stdout


def test_too_few_titles_are_refused_and_nothing_is_set(run: Run, call: Call) -> None:
    fill(call, "shop", "bank")
    before = run("config", "get", "answered_yes").stdout
    refused = run("calibrate", "--apply")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == (
        "pgmem: Calibration needs 50 titles of at least two projects, and reads the newest 20 of each: "
        "found 40 to compare in 2 projects.\n"
    )
    assert run("config", "get", "answered_yes").stdout == before
