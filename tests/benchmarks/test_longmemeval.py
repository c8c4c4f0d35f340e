"""LongMemEval's schema, on a made-up file: the turns that are read, those that are left out, and the figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import longmemeval
from pgmem import Memory
from pgmem.settings import load

pytestmark = pytest.mark.anyio


def turn(role: str, content: str, **more: bool) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


SESSIONS = {
    "s_run": [
        turn("user", "I ran the charity race in 25 minutes.", has_answer=True),
        turn("assistant", "Well done!"),
    ],
    "s_rain": [turn("user", "It rains in Porto."), turn("assistant", "Take an umbrella.")],
    "s_dog": [turn("user", "My dog is called Bruno.", has_answer=True), turn("assistant", "A fine name.")],
    "s_soup": [turn("user", ""), turn("assistant", "Lentil soup needs cumin.", has_answer=False)],
}


def entry(key: str, question: str, answers: list[str] | list[list[str]], **more: Any) -> dict[str, Any]:
    return {
        "question_id": key,
        "question_type": "single-session-user",
        "question": question,
        "answer": "",
        "question_date": "2023/06/01 (Thu) 00:58",
        "haystack_dates": [f"2023/05/{day:02} (Sat) 10:20" for day in range(10, 14)],
        "haystack_session_ids": list(SESSIONS),
        "haystack_sessions": list(SESSIONS.values()),
        "answer_session_ids": answers,
        **more,
    }


def write(folder: Path, *entries: dict[str, Any]) -> Path:
    file = folder / "data.json"
    file.write_text(json.dumps(entries), encoding="utf-8")
    return file


def test_questions_are_read_with_their_sessions_and_turns_and_abstention_is_left_out(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        entry("q1", "How fast was my charity race?", ["s_run"]),
        entry("q2_abs", "What is my cat called?", ["s_dog"]),
        entry(
            "q3", "How do Bruno and the race go together?", ["s_dog", "s_run"], question_type="multi-session"
        ),
    )
    haystacks, left_out = longmemeval.read(file)
    assert left_out == 1
    first, last = (haystack.questions[0] for haystack in haystacks)
    assert (first.key, first.kind, set(first.sessions)) == ("q1", "single-session-user", {"s_run"})
    assert set(first.evidence) == {"s_run:0"}
    assert (last.kind, set(last.evidence)) == ("multi-session", {"s_run:0", "s_dog:0"})
    when = next(haystacks[0].turns).when
    assert (when.year, when.month, when.day, when.hour, when.minute) == (2023, 5, 10, 10, 20)


def test_a_haystack_may_have_many_questions(tmp_path: Path) -> None:
    many = entry("h", "", [["s_run"], ["s_dog", "s_soup"]], questions=["How fast?", "Which dog likes soup?"])
    del many["question"]
    (haystack,), left_out = longmemeval.read(write(tmp_path, many))
    assert [question.key for question in haystack.questions] == ["h/0", "h/1"]
    assert [question.sessions for question in haystack.questions] == [{"s_run"}, {"s_dog", "s_soup"}]
    assert left_out == 0


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"haystack_dates": []}, "entry 1 .* differ in length"),
        ({"haystack_sessions": None}, "entry 1 is not in"),
    ],
)
def test_an_entry_in_another_schema_is_named(tmp_path: Path, broken: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        longmemeval.read(write(tmp_path, entry("q1", "?", ["s_run"]), entry("q2", "?", ["s_run"], **broken)))


def test_any_is_one_of_the_evidence_and_all_is_every_one() -> None:
    found = longmemeval.score(["x", "a", "y", "z", "w", "b"], frozenset({"a", "b"}))
    shares = {name: found[name] for name in ("any@1", "all@1", "any@3", "all@5", "all@10")}
    assert shares == {"any@1": 0, "all@1": 0, "any@3": 1, "all@5": 0, "all@10": 1}


async def test_a_run_finds_the_evidence_by_session_and_by_turn(dsn: str, tmp_path: Path) -> None:
    file = write(
        tmp_path,
        entry("q1", "How fast did I run the charity race?", ["s_run"]),
        entry("q2", "What is the name of my dog?", ["s_dog"], question_type="knowledge-update"),
        entry("q3_abs", "What is the name of my cat?", ["s_dog"]),
        entry("q4", "What does lentil soup need?", ["s_soup"], question_type="knowledge-update"),
    )
    steps: list[tuple[str, int, int]] = []
    async with Memory.connect(load(dsn=dsn, data_dir=tmp_path)) as memory:
        report = await longmemeval.run(memory, file, progress=lambda *step: steps.append(step))
    assert (report["bench"], report["questions"], report["left_out"]) == ("longmemeval", 3, 1)
    assert report["session"]["any@1"] == report["session"]["all@1"] == 100
    assert (report["turn"]["n"], report["turn"]["any@3"]) == (2, 100)  # q4 marks no turn
    assert {kind: row["session"]["n"] for kind, row in report["by_type"].items()} == {
        "single-session-user": 1,
        "knowledge-update": 2,
    }
    assert steps[-1] == ("questions", 3, 3)
