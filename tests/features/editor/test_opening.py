"""The opening of a session: open items, the last work, and every decision, within its tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchmarks import week
from pgmem import texts
from pgmem.features.editor.done import done
from pgmem.memory import Memory
from pgmem.settings import load
from tests.conftest import Call
from tests.features.editor.conftest import Hook, context

Begin = Callable[..., str]


@pytest.fixture
def begin(hook: Hook, tmp_path: Path, call: Call) -> Begin:
    """`begin()`: the text that a new session of the project begins with."""
    call("save_session", objective="Set up the bank", project_id="bank")

    def begin(session: str = "next", **environment: str) -> str:
        event = {
            "session_id": session,
            "cwd": str(tmp_path),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
        return context(hook(event, PGMEM_PROJECT="bank", **environment), "SessionStart")

    return begin


def decide(call: Call, *titles: str, **more: Any) -> list[str]:
    return [
        str(
            call(
                "save_decision", title=title, rationale=f"It is cheaper: {title}.", project_id="bank", **more
            )["artifact_id"]
        )
        for title in titles
    ]


TITLES = [
    "Sign statements with the card of the treasurer",
    "Print cheques on yellow paper",
    "Close the vault at six",
    "Interest is rounded down to cents",
    "Archive contracts in Lyon",
    "Answer telephones in three languages",
    "Count coins twice before noon",
    "Weigh gold in troy ounces",
    "Hire couriers from Basel only",
    "Paint every branch green",
    "Write ledgers with fountain pens",
    "Heat the lobby with wood",
]


def test_an_open_item_stays_until_a_later_session_names_it_as_done(call: Call, begin: Begin) -> None:
    call(
        "save_session",
        objective="Renew certificates",
        project_id="bank",
        open_items=["Certificate of the bank is missing, expires 1 December", "Choose the host"],
    )
    decide(call, *TITLES)
    for number in range(12):
        call("save_session", objective=f"Sort the drawer {number}", project_id="bank")
    text = begin()
    first = [line for line in text.splitlines() if line.startswith("- ")][:2]
    assert "Certificate of the bank is missing, expires 1 December" in first[0]
    assert "Choose the host" in first[1]
    assert "closed by a save_session that names it in actions_taken" in text

    call(
        "save_session",
        objective="Move",
        project_id="bank",
        actions_taken=["Chose the host: Hetzner", "Ordered the certificates of the canteen"],
    )
    opened = [line for line in begin("third").splitlines() if line.startswith("- [Open")]
    assert len(opened) == 1
    assert "Certificate of the bank" in opened[0]


def test_an_item_that_is_named_again_is_open_once(call: Call, begin: Begin) -> None:
    for item in ("Renew the lease of the branch", "Renew the lease of the branch in Bern"):
        call("save_session", objective=f"Look at {item}", project_id="bank", open_items=[item])
    opened = [line for line in begin().splitlines() if line.startswith("- [Open")]
    assert len(opened) == 1
    assert "in Bern" in opened[0]


def test_every_decision_is_one_line_and_what_does_not_fit_is_counted(call: Call, begin: Begin) -> None:
    decide(call, *TITLES)
    text = begin()
    assert all(title in text for title in TITLES)
    assert "It is cheaper: Heat the lobby with wood." in text  # the room that is left holds reasons
    assert "Left out" not in text
    assert len(text) <= 4 * 1_200

    short = begin("short", PGMEM_HOOK_TOKENS="250")
    assert len(short) <= 4 * 250
    held = sum(title in short for title in TITLES)
    assert 0 < held < len(TITLES)
    assert f"- [Left out] {len(TITLES) - held} decisions" in short
    assert TITLES[-1] in short  # the newest
    assert TITLES[0] not in short


def test_a_used_decision_comes_before_newer_ones_and_one_named_wrong_comes_last(
    call: Call, begin: Begin
) -> None:
    ids = decide(call, *TITLES)
    call("feedback", id=ids[0], verdict="used")
    call("feedback", id=ids[-1], verdict="wrong")
    lines = [line for line in begin().splitlines() if line.startswith("- [Decision")]
    assert TITLES[0] in lines[0]
    assert TITLES[-1] in lines[-1]
    assert "named wrong" in lines[-1]
    assert ids[0][:8] in lines[0]


def test_a_person_puts_a_decision_first_or_leaves_it_out(
    call: Call, begin: Begin, connection: psycopg.Connection[Any]
) -> None:
    old, *_ = decide(call, "Count the coins by hand", *(f"Weigh note {n} of the till twice" for n in "abc"))
    source = "select set_config('pgmem.source', %s, false)"
    connection.execute(source, ["mcp"])
    with pytest.raises(psycopg.Error, match="Only a person gives a decision its place"):
        call("place_in_opening", id=old, place="first")
    connection.execute(source, ["cli"])

    def decisions() -> list[str]:
        return [line for line in begin().split("\n") if line.startswith("- [Decision")]

    assert "Count the coins" in decisions()[-1]
    call("place_in_opening", id=old, place="first")
    assert "Count the coins" in decisions()[0]
    call("place_in_opening", id=old, place="never")
    text = begin()
    assert "Count the coins" not in text
    assert "[Left out] 1 decision" in text
    call("place_in_opening", id=old)
    assert "Count the coins" in decisions()[-1]


def test_a_replacement_of_this_week_is_named(call: Call, begin: Begin) -> None:
    (old,) = decide(call, "Close the vault at six")
    decide(call, "Close the vault at seven", supersedes=old)
    text = begin()
    assert "Close the vault at six (by agent) | now: Close the vault at seven (by agent)" in text
    assert text.index("[Replaced on") < text.index("- [Decision")


def test_the_opening_says_what_was_done_last(hook: Hook, begin: Begin, tmp_path: Path) -> None:
    transcript = tmp_path / "last.jsonl"
    call = iter(range(100))

    def line(kind: str, *content: dict[str, Any]) -> str:
        number = next(call)
        return json.dumps(
            {
                "type": kind,
                "uuid": f"00000000-0000-4000-8000-{number:012d}",
                "cwd": str(tmp_path),
                "timestamp": f"2026-03-01T10:00:{number:02d}.000Z",
                "message": {"role": kind, "content": list(content)},
            }
        )

    def used(name: str, number: str, **given: str) -> str:
        return line("assistant", {"type": "tool_use", "id": number, "name": name, "input": given})

    def result(number: str, text: str, failed: bool = False) -> str:
        return line(
            "user", {"type": "tool_result", "tool_use_id": number, "content": text, "is_error": failed}
        )

    transcript.write_text(
        "\n".join(
            [
                line("user", {"type": "text", "text": "Please repair the vault gate."}),
                used("Edit", "t1", file_path=str(tmp_path / "src" / "gate.py")),
                result("t1", "done"),
                used("Bash", "t2", command="make   check"),
                result("t2", "2 failed", failed=True),
                used("Bash", "t3", command="pytest tests/gate"),
                result("t3", "1 failed", failed=True),
                used("Bash", "t4", command="pytest tests/gate"),
                result("t4", "3 passed"),
                used("Bash", "t5", command="git commit -am x"),
                result("t5", "[main 1a2b3c4] Repair the vault gate\n 1 file changed"),
                used("Bash", "t6", command="rm -rf /"),
                result("t6", "The user doesn't want to proceed with this tool use.", failed=True),
                line("assistant", {"type": "text", "text": "The gate closes. The alarm is still to test."}),
            ]
        )
        + "\n"
    )
    hook(
        {
            "session_id": "last",
            "cwd": str(tmp_path),
            "hook_event_name": "Stop",
            "transcript_path": str(transcript),
        },
        PGMEM_PROJECT="bank",
    )
    text = begin()
    assert "edited] src/gate.py" in text
    assert "failed] make check" in text
    assert "committed] Repair the vault gate" in text
    assert "rm -rf" not in text
    assert "pytest tests/gate" not in text
    assert "Please repair the vault gate." in text


def test_the_acts_of_codex_are_read(tmp_path: Path) -> None:
    def line(**payload: Any) -> str:
        return json.dumps({"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": payload})

    patch = "*** Begin Patch\n*** Update File: src/vault.ts\n@@\n-a\n+b\n*** End Patch"
    lines = [
        line(
            type="function_call",
            name="shell",
            call_id="c1",
            arguments=json.dumps({"command": ["bash", "-lc", "npm test"]}),
        ),
        line(
            type="function_call_output",
            call_id="c1",
            output=json.dumps({"output": "1 failing", "metadata": {"exit_code": 1}}),
        ),
        line(type="custom_tool_call", name="apply_patch", call_id="c2", input=patch),
    ]
    found = done(lines)
    assert [turn["role"] for turn in found] == ["tool"]
    assert found[0]["content"].split("\n") == ["Failed: npm test", "Edited: src/vault.ts"]
    assert done(lines) == found  # a transcript that is read again has the same turns


def test_open_items_leave_room_for_the_rest() -> None:
    parts = texts.Opening(
        open_items=[f"- [Open since 2026-01-01] Item {number} " + "x" * 200 for number in range(100)],
        decisions=[("1", "- [Decision] Close at six", "- [Decision] Close at six: it is dark.")],
    )
    text, whole = texts.opening("bank", "Heading.", parts, 600)
    assert whole == ["1"]
    assert "Close at six" in text
    assert "open items" in text.split("[Left out]")[1]
    assert len(text) <= 4 * 600


@pytest.mark.anyio
async def test_no_session_of_a_week_loses_an_open_item_a_decision_or_the_last_work(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGMEM_PROJECT", "parcels")
    async with Memory.connect(load(dsn=dsn, data_dir=tmp_path / "data"), source="mcp") as memory:
        report = await week.run(memory, dsn, tmp_path)
    assert len(report["rows"]) == 12
    for row in report["rows"]:
        assert (row["shown"], row["listed"], row["work"]) == (row["open"], row["decisions"], True), row
        assert row["tokens"] <= 1_200
