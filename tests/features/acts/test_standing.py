"""Rules beside each other: which contradict, which say the same, and the results of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow
from typer.testing import CliRunner

from tests.features.acts.conftest import Act, Save

Rows = psycopg.Connection[DictRow]
PAIRS: dict[str, list[list[str]]] = json.loads(
    (Path(__file__).parents[3] / "benchmarks" / "rules.json").read_text("utf-8")
)


def compared(connection: Rows, *texts: str) -> list[str]:
    rows = connection.execute(
        "select relation from pgmem.compare_rules(%s::bigint[], %s)",
        (list(range(len(texts))), list(texts)),
    ).fetchall()
    return [row["relation"] for row in rows]


@pytest.mark.parametrize("half", ["chosen_", ""])
def test_contradictions_in_other_words_are_named_and_nothing_else(connection: Rows, half: str) -> None:
    named = [pair for pair in PAIRS[f"{half}contradict"] if "against" in compared(connection, *pair)]
    assert len(named) >= 15
    assert [pair for pair in PAIRS[f"{half}agree"] if compared(connection, *pair)] == []


def test_copies_in_other_words_are_offered_to_be_one(connection: Rows) -> None:
    found = [compared(connection, *pair) for pair in PAIRS["copies"]]
    assert found == [["copy"]] * len(found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never push to main.", "Never push to develop."),
        ("Use 2 workers for tests.", "Use 4 workers for tests of the browser."),
        ("I never push to main.", "Push to main."),
        ("We pushed to main yesterday.", "Never push to main."),
        ("Never deploy on Fridays.", "Deploy on Mondays."),
    ],
)
def test_other_branches_numbers_and_reports_are_no_copies_and_contradict_nothing(
    connection: Rows, one: str, other: str
) -> None:
    assert compared(connection, one, other) in ([], ["against"] if "yesterday" in one else [])
    assert "copy" not in compared(connection, one, other)


def listed(dsn: str) -> dict[str, Any]:
    with psycopg.connect(dsn, row_factory=psycopg.rows.dict_row) as connection:
        return {row["text"]: row for row in connection.execute("select * from pgmem.list_standing()")}


def test_a_rule_shows_its_author_and_age_and_how_often_it_was_heeded(save: Save, act: Act, dsn: str) -> None:
    rule = "Never rewrite the history of main."
    save(rule)
    save("Always push without asking.")
    save("Never auto-push; ask first.", by="mcp")
    heeded, overridden = "git push --force origin main", "git push -f origin main"
    act(heeded, session="a")
    act(overridden, session="b")
    act(overridden, "PostToolUse", "b", tool_response={"stdout": "done", "stderr": ""})
    act("git status", "PostToolUse", "b", tool_response={"stdout": "", "stderr": ""})
    found = listed(dsn)
    assert (found[rule]["by"], found[rule]["age_days"]) == ("person", 0)
    assert (found[rule]["brought"], found[rule]["heeded"], found[rule]["overridden"]) == (2, 1, 1)
    assert found[rule]["against"] == []
    (other,) = found["Always push without asking."]["against"]
    assert other["text"] == "Never auto-push; ask first."
    assert found[other["text"]]["by"] == "agent"


def test_short_notes_of_persons_are_compared_and_long_ones_are_not(save: Save, dsn: str) -> None:
    save("Indent with tabs.")
    save("Four spaces per level, no tabs.")
    save("The kitchen is closed on Mondays.")
    found = listed(dsn)
    assert set(found) == {"Indent with tabs.", "Four spaces per level, no tabs."}
    assert [one["reason"] for one in found["Indent with tabs."]["against"]] == ["indentation: tabs, spaces"]


def test_the_command_prints_rules_and_what_contradicts_them(save: Save, dsn: str) -> None:
    from pgmem.cli import app

    save("Use tabs for indentation.")
    save("Use spaces, not tabs.")
    printed = CliRunner().invoke(app, ["rules", "--dsn", dsn], env={"COLUMNS": "200"}).output
    assert "contradicts" in printed
    assert printed.count("Use spaces, not tabs.") >= 2
