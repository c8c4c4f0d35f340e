"""The balance: memories brought and their results, and a trial whose effect is known."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from typer.testing import CliRunner

from tests.features.acts.conftest import Act, Save

RULE = "Never rewrite the history of main."
FORCE = "git push --force origin main"
FAILED = "Exit code 1\nModuleNotFoundError: No module named 'zarnakplot'"


def balance(dsn: str) -> dict[str, Any]:
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        row = connection.execute("select * from pgmem.sum_balance()").fetchone()
    assert row is not None
    return row


def measures(dsn: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in balance(dsn)["measures"]}


def switch_on(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("select pgmem.set_setting('memory_trial', 'on')")


def test_what_was_brought_heeded_and_failed_again_is_summed(save: Save, act: Act, dsn: str) -> None:
    save(RULE)
    save("zarnakplot left our index: uv add zarnakplot==2.4 --index wheelhouse.", by="mcp")
    act(FORCE, session="a")
    act(FORCE, session="b")
    act(FORCE, "PostToolUse", "b", tool_response={"stdout": "done", "stderr": ""})
    for session in ("a", "b"):
        act("python plots.py", "PostToolUseFailure", session, error=FAILED)
        act("python plots.py", "PostToolUseFailure", session, error="KeyError: 'colour'")
    act("python plots.py", "PostToolUseFailure", "a", error="ValueError: no such plot")
    found = balance(dsn)
    assert {one["by"] for one in found["brought"]} == {"PreToolUse", "PostToolUseFailure"}
    assert found["tokens"] == sum(one["tokens"] for one in found["brought"]) > 0
    assert (found["met"], found["changed"], found["done"]) == (2, 1, 1)
    errors = found["errors"]
    assert (errors["with_memory"], errors["again_with_memory"]) == (1, 1)
    assert (errors["without_memory"], errors["again_without_memory"]) == (2, 1)
    assert (found["memories_brought"], found["corrected"]) == (2, 0)
    assert found["measures"] == []


def test_a_coin_gives_a_session_its_memories_or_none_and_says_so(
    save: Save, act: Act, dsn: str, tmp_path: Path
) -> None:
    save(RULE)
    switch_on(dsn)
    notes = {}
    for number in range(12):
        begun = act("", "SessionStart", f"t{number}", source="startup")
        notes[f"t{number}"] = begun["systemMessage"]
        assert "the coin of the trial gave this session" in begun["systemMessage"]
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("select session_id, arm from pgmem.trial_session").fetchall()
    arms: dict[str, str] = dict(rows)
    assert set(arms.values()) == {"with", "without"}
    for session, arm in ((one.removeprefix("claude-code:"), arm) for one, arm in arms.items()):
        assert ("no memories" in notes[session]) is (arm == "without")
        answer = act(FORCE, session=session)
        assert (answer is None) is (arm == "without")
    without = next(one for one, arm in arms.items() if arm == "without").removeprefix("claude-code:")
    again = act("", "SessionStart", without, source="compact")
    assert RULE not in json.dumps(again)
    transcript = tmp_path / "t.jsonl"
    usage = {"input_tokens": 900, "output_tokens": 100}
    said = {
        "type": "assistant",
        "message": {"id": "m1", "role": "assistant", "content": "ok", "usage": usage},
    }
    transcript.write_text(f"{json.dumps(said)}\n" * 2)
    act("", "UserPromptSubmit", without, prompt="Please rename the plots of last week.")
    act("", "Stop", without, transcript_path=str(transcript))
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "select prompts, tokens from pgmem.trial_session where session_id like %s", (f"%{without}",)
        ).fetchone()
    assert row == (1, 1000)


def test_without_a_trial_no_session_is_asked_for_a_coin(save: Save, act: Act) -> None:
    save(RULE)
    assert "systemMessage" not in act("", "SessionStart", "t", source="startup")


def month(dsn: str, effect: float, sessions: int, seed: int) -> None:
    """Sessions of a month with twenty prompts on average, and with memory so many more."""
    chance = random.Random(seed)
    rows = []
    for number in range(sessions):
        arm = "with" if number % 2 else "without"
        shift = effect if arm == "with" else 0.0
        prompts = max(1, round(chance.gauss(20 + shift, 6)))
        failed = max(0, round(chance.gauss(5 + shift / 4, 2)))
        rows.append((f"s{number}", arm, prompts, prompts * 900, failed, failed // 3))
    with psycopg.connect(dsn) as connection:
        for row in rows:
            connection.execute(
                "insert into pgmem.trial_session (tenant, session_id, arm, begun_at, prompts, tokens, failed, repeated)"
                " values ((select pgmem.tenant_of()), %s, %s, pgmem.now(), %s, %s, %s, %s)",
                row,
            )


@pytest.mark.parametrize(
    ("effect", "says"), [(-8.0, "fewer with memory"), (8.0, "more with memory"), (0.0, "too few to say")]
)
def test_a_month_with_a_known_effect_shows_its_sign(dsn: str, effect: float, says: str) -> None:
    month(dsn, effect, 120, seed=7)
    found = measures(dsn)
    assert set(found) == {"prompts", "tokens", "failed commands", "repeated errors"}
    for name in ("prompts", "tokens"):
        one = found[name]
        assert (one["says"], one["with_n"], one["without_n"]) == (says, 60, 60)
        assert one["low"] < one["difference"] < one["high"]
    assert found["prompts"]["low"] < effect < found["prompts"]["high"]


def test_a_few_sessions_are_too_few_to_say_however_they_differ(dsn: str) -> None:
    month(dsn, -15.0, 16, seed=7)
    assert {one["says"] for one in measures(dsn).values()} == {"too few to say"}
    assert measures(dsn)["prompts"]["with_n"] == 8


def test_without_an_effect_one_month_in_twenty_at_most_says_something(dsn: str) -> None:
    said = 0
    for seed in range(60):
        month(dsn, 0.0, 60, seed)
        said += {one["says"] for one in measures(dsn).values()} != {"too few to say"}
        with psycopg.connect(dsn) as connection:
            connection.execute("delete from pgmem.trial_session")
    assert said <= 6  # 60 months at 5 %: more than 6 have a chance of 3 %


def test_the_command_prints_no_figure_without_its_number(dsn: str) -> None:
    from pgmem.cli import app

    month(dsn, -8.0, 120, seed=7)
    printed = CliRunner().invoke(app, ["balance", "--dsn", dsn], env={"COLUMNS": "200"}).output
    assert printed.count("(n = 60)") == 8
    assert "fewer with memory" in printed
    assert "0 of 0 with which a memory had come" in printed
