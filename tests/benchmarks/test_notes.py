"""Notes with questions made by rule from their history and their identifiers, and Okapi beside pgmem."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.notes import Note, auroc, identifier_questions, okapi, read, sign_test
from tests.benchmarks.conftest import Benchmark
from tests.repositories import git


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """A work tree of three notes that four commits wrote."""
    root = tmp_path / "garden"
    root.mkdir()
    git(root, "init", "--quiet")

    def commit(subject: str, **files: str) -> None:
        for name, text in files.items():
            (root / f"{name}.md").write_text(text, encoding="utf-8")
        git(root, "add", ".")
        git(root, "commit", "--quiet", "-m", subject)

    commit(
        "docs(water): describe how beds are watered (#12)", water="# Beds\nWater at dawn by drip_line_valve."
    )
    commit("Store bulbs dry over winter", bulbs="# Bulbs\nDry them, see tools/bulb-rack.py.")
    commit("fix", bulbs="# Bulbs\nDry them for a week, see tools/bulb-rack.py.")
    commit("Prune apples late in February", apples="# Apples\nPrune them when the frost is over.")
    commit("Water less after heavy rain", water="# Beds\nWater at dawn by drip_line_valve, not after rain.")
    return root


def test_a_commit_asks_by_its_subject_for_the_notes_that_it_wrote(garden: Path) -> None:
    (found,) = read(garden)
    assert [note.title for note in found.notes] == ["Apples", "Bulbs", "Beds"]
    assert {(q.text, *q.gold, q.kind) for q in found.questions["subjects"]} == {
        ("describe how beds are watered", "water.md", "added"),
        ("Store bulbs dry over winter", "bulbs.md", "added"),
        ("Prune apples late in February", "apples.md", "added"),
        ("Water less after heavy rain", "water.md", "changed"),
    }


def test_an_identifier_of_one_note_asks_for_it_in_several_spellings() -> None:
    names = [
        f"{stem}_pump_{unit}" for stem in ("north", "south", "upper") for unit in ("valve", "meter", "motor")
    ]
    notes = [Note(name, "", f"See {name} and shared_pump_hose.") for name in names]
    questions = identifier_questions(notes)
    assert {question.kind for question in questions} == {"snake, whole", "snake, words", "snake, spelling"}
    for question in questions:
        (gold,) = question.gold
        spelled = question.text.replace("_", "").replace(" ", "").lower()
        assert gold.replace("_", "") in spelled
        assert "shared" not in spelled  # it is in every note


def test_okapi_ranks_a_rare_word_in_a_short_note_first() -> None:
    notes = [
        Note("long", "", "apple " + "filler " * 50),
        Note("short", "", "apple pear"),
        Note("none", "", "plum pear"),
    ]
    assert okapi(notes)("the apple") == ["short", "long"]
    assert okapi(notes)("quince") == []


@pytest.mark.parametrize(
    ("won", "lost", "p"),
    [(0, 0, 1.0), (3, 3, 1.0), (5, 0, 2 / 32), (8, 1, 2 * 10 / 512), (1, 8, 2 * 10 / 512)],
)
def test_the_sign_test_gives_the_chance_of_a_count_as_uneven(won: int, lost: int, p: float) -> None:
    assert sign_test(won, lost) == pytest.approx(p)


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    assert auroc([0.9, 0.4], [0.4, 0.1]) == pytest.approx(3.5 / 4)


def test_the_command_compares_with_okapi_on_a_work_tree(
    benchmark: Benchmark, garden: Path, tmp_path: Path, dsn: str
) -> None:
    file = tmp_path / "report.json"
    result = benchmark("notes", "--data", str(garden), "--json", str(file), "--dsn", dsn)
    assert result.exit_code == 0, result.stderr
    subjects = json.loads(file.read_text())["sets"]["garden"]["kinds"]["subjects"]
    assert (subjects["pgmem"]["n"], subjects["okapi"]["n"]) == (4, 4)
    assert subjects["pgmem"]["R@5"] == 100
    assert "garden, subjects" in result.stdout


def test_a_folder_without_notes_is_refused_in_one_sentence(
    benchmark: Benchmark, tmp_path: Path, dsn: str
) -> None:
    result = benchmark("notes", "--data", str(tmp_path), "--dsn", dsn)
    assert result.exit_code == 2
    assert result.stderr.strip() == (
        "pgmem: --data: not a git work tree, and no NAME.json in it; name a folder that is one or holds one"
    )
