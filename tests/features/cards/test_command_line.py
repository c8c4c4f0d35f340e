"""`pgmem cards …` from end to end."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from typer.testing import Result

from tests.features.cards.conftest import Commit, Draft, Query, Run


def shown(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_repository_becomes_cards_that_can_be_looked_into(run: Run, commit: Commit) -> None:
    commit("2026-01-01")
    preview = run("init", "--dry-run")
    assert preview.exit_code == 0
    assert "pkg.till: Takes money." in preview.stdout
    refused = run("status", "--json")
    assert "No project " in refused.stderr  # Looking makes no project

    made = run("init")
    assert made.exit_code == 0, made.output
    assert "4 inserted" in made.stdout
    assert "skipped: pkg/broken.py: cannot be parsed (SyntaxError); only its name is kept" in made.stdout
    assert shown(run("refresh", "--json"))["counts"]["unchanged"] == 4
    assert shown(run("status", "--json"))["records_by_status"] == {"active": 4}
    assert "pkg.till: Takes money." in run("for-path", "pkg/till.py").stdout
    assert shown(run("search", "goods", "--json"))["record_count"] == 1
    assert "100.0 %" in run("coverage", "pkg/till.py").stdout
    assert "No cards." in run("stale").stdout
    assert "no cards removed" in run("vacuum").stdout


def test_a_person_sees_all_branches_in_review_and_settles_what_git_does_not_show(
    run: Run, commit: Commit, draft: Draft
) -> None:
    commit("2026-01-01")
    draft("The till rounds down.", "pkg/till.py", branch="rounding", branch_commit="a" * 40)
    rounding = ("search", "rounds", "--project", "shop", "--json")
    assert shown(run(*rounding))["record_count"] == 0
    reviewed = run("review", "--project", "shop", "--i-know-what-im-doing", input="l\n")
    assert "pkg/till.py on branch rounding" in reviewed.stdout
    subprocess.run(["git", "switch", "-q", "-c", "rounding"], check=True)
    assert shown(run(*rounding))["records"][0]["branch"] == "rounding"
    subprocess.run(["git", "switch", "-q", "main"], check=True)
    assert "1 card is shared now." in run("merged", "rounding", "--project", "shop").stdout
    assert shown(run(*rounding))["records"][0].get("branch") is None


def test_the_first_letters_of_a_card_name_it_in_the_project_that_is_named(
    run: Run, draft: Draft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is not the project's own."""
    monkeypatch.chdir(tmp_path)
    for command, status in (("approve", "active"), ("reject", "rejected")):
        card = draft(f"The till rounds down, {command}.", "pkg/till.py")
        decided = run(command, str(card)[:8], "--project", "shop", "--i-know-what-im-doing")
        assert f"{card}: {status}" in decided.stdout, decided.output


def test_how_a_change_was_made_before_is_lines_by_path_and_by_words(
    run: Run, tree: Path, commit: Commit
) -> None:
    commit("2026-01-01")
    (tree / "pkg/stock.py").write_text("def count():\n    return 2\n", encoding="utf-8")
    commit("2026-01-02")
    assert run("init").exit_code == 0
    lines = run("trajectories").stdout.splitlines()
    assert [line[:10] for line in lines] == ["2026-01-02", "2026-01-01"]
    assert lines[0].startswith("2026-01-02 2026-01-02: pkg/stock.py; merged (")
    assert len(run("trajectories", "--path", "pkg/stock.py").stdout.splitlines()) == 2
    (line,) = run("trajectories", "--path", "tests").stdout.splitlines()
    assert "verified by" not in line  # that a commit holds a test does not say that anybody ran it
    assert len(run("trajectories", "warehouse", "--path", "pkg/stock.py").stdout.splitlines()) == 2
    assert shown(run("trajectories", "--path", "pkg", "--json"))["record_count"] == 2
    assert run("trajectories", "warehouse", "--path", "nowhere").stdout.strip() == "No earlier work found."
    assert run("trajectories", "--limit", "1").stdout.splitlines()[1] == "1 more (--limit)."


def test_without_git_init_goes_on_and_says_what_it_left_out(run: Run) -> None:
    made = run("init")
    assert made.exit_code == 0
    assert "history and commits are skipped" in made.stdout
    assert "4 inserted" in made.stdout


def test_refresh_of_an_unknown_project_reports_it(run: Run) -> None:
    result = run("refresh", "--project", "nope")
    assert result.exit_code == 1
    assert "No project " in result.stderr


@pytest.mark.parametrize("command", ["approve", "reject", "archive"])
def test_a_decision_needs_the_word_of_a_person(run: Run, draft: Draft, card: Any, command: str) -> None:
    card_id = draft("One fact.")
    result = run(command, card_id)
    assert result.exit_code == 2
    assert "--i-know-what-im-doing" in result.stderr
    assert card(card_id)["status"] == "draft"


def test_a_person_approves_archives_and_rejects(run: Run, draft: Draft, query: Query) -> None:
    first, second = draft("One."), draft("Two.")
    done = run("approve", first, "--i-know-what-im-doing", "--by", "ada")
    assert (done.exit_code, done.stdout.strip()) == (0, f"{first}: active, verified")
    assert shown(run("archive", first, "--i-know-what-im-doing", "--json"))["status"] == "archived"
    assert run("reject", second, "--i-know-what-im-doing", "--reason", "wrong").exit_code == 0
    revisions = query("get", record_id=second)["revisions"]
    assert (revisions[-1]["by"], revisions[-1]["reason"]) == ("human", "wrong")
    again = run("reject", second, "--i-know-what-im-doing")
    assert (again.exit_code, again.stderr.strip()) == (1, "pgmem: Cannot reject record in status 'rejected'")


def test_review_walks_through_the_drafts_one_by_one(run: Run, draft: Draft, query: Query) -> None:
    for number in range(4):
        draft(f"Fact {number}.")
    # The folder has no more than the name of the project.
    assert "pgmem trust" in run("review", "--i-know-what-im-doing").stderr
    here = ("review", "--project", "shop")
    assert run(*here, input="a\n").exit_code == 2  # no terminal, and nobody says that a person is there
    walked = run(*here, "--i-know-what-im-doing", "--by", "ada", input="a\nr\nwrong\nl\nq\n")
    assert walked.exit_code == 0, walked.output
    assert "1 of 4" in walked.stdout
    assert query("status")["records_by_status"] == {"active": 1, "rejected": 1, "draft": 2}
    assert len(shown(run(*here, "--json"))) == 2


def test_a_person_at_a_terminal_walks_through_the_drafts(
    dsn: str, tmp_path: Path, tree: Path, draft: Draft, query: Query
) -> None:
    """On a real terminal no option has to confirm that a person decides, and each draft is shown before the question."""
    for number in range(3):
        draft(f"Fact {number}.")
    ours, theirs = pty.openpty()
    environment = {
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(tmp_path / "data"),
        "COLUMNS": "100",
        "TERM": "dumb",
    }
    seen = ""
    with subprocess.Popen(
        [sys.executable, "-m", "pgmem", "cards", "review", "--by", "ada", "--project", "shop"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
    ) as process:
        os.close(theirs)
        for place, typed in (("1 of 3", "a"), ("2 of 3", "r"), ("Reason", "measured"), ("3 of 3", "l")):
            seen += heard(ours, place, "]: ")
            os.write(ours, f"{typed}\n".encode())
        seen += heard(ours)
        assert process.wait(timeout=30) == 0, seen
    os.close(ours)
    assert "active, verified" in seen
    assert query("status")["records_by_status"] == {"active": 1, "rejected": 1, "draft": 1}
    (rejected,) = query("search", query="fact", filters={"statuses": ["rejected"]}, detail_level="full")[
        "records"
    ]
    assert (rejected["rejected_by"], rejected["rejection"]) == ("ada", "measured")


def heard(terminal: int, *parts: str) -> str:
    """The output of a program on its terminal until these parts have come in this order; without parts, until it ends."""
    said, deadline = "", monotonic() + 30
    while monotonic() < deadline:
        place = 0
        for part in parts:
            place = said.find(part, place) + 1
            if not place:
                break
        else:
            if parts:
                return said
        if select.select([terminal], [], [], 1)[0]:
            try:
                said += os.read(terminal, 4096).decode(errors="replace")
            except OSError:  # it has ended
                break
    assert not parts, (parts, said)
    return said
