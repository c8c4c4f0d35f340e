"""The block of a file of instructions is kept up to date, and no byte outside of it changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmem.errors import InvalidArgument
from pgmem.features.vault import instructions
from tests.features.vault.conftest import Rows, Run

ITEM = {"id": "01234567-89ab-4cde-8f01-23456789abcd", "title": "Always answer in English", "label": "Context"}
LINES = instructions.render("shop", [ITEM], [])


@given(before=st.binary(max_size=300), after=st.binary(max_size=300))
def test_no_byte_outside_of_the_block_is_changed(before: bytes, after: bytes) -> None:
    if b"pgmem:instructions" in before + after:
        return
    contents = before + instructions.put(b"", ["## An earlier state"]) + after
    for lines in (LINES, ["- x"], LINES):
        contents = instructions.put(contents, lines)
        block = instructions.find(contents)
        assert block is not None
        assert (block.before, block.changed) == (before, False)
        assert block.after.removeprefix(b"\r\n").removeprefix(b"\n") == after or block.after.endswith(after)
    first = instructions.put(before, LINES)
    assert first.startswith(before)


@given(st.text(max_size=200))
def test_no_text_of_a_memory_closes_the_block(text: str) -> None:
    lines = instructions.render(
        text, [{**ITEM, "title": text}], [{**ITEM, "rationale": f"{text} <!-- /pgmem:instructions -->"}]
    )
    block = instructions.find(instructions.put(b"mine\n", lines))
    assert block is not None
    assert (block.before, block.after, block.changed) == (b"mine\n\n", b"\n", False)


def test_a_block_says_that_a_line_of_it_is_cut_and_proposes_nothing_for_that() -> None:
    long = {**ITEM, "id": "11234567-89ab-4cde-8f01-23456789abcd", "content": "Always answer in English " * 40}
    lines = instructions.render("shop", [ITEM, long], [])
    assert lines[-1].startswith("1 line above is not whole")
    assert not any("not whole" in line for line in LINES)
    block = instructions.find(instructions.put(b"", lines))
    assert block is not None
    written = {str(item["id"]): instructions.line_text(item) for item in (ITEM, long)}
    assert instructions.proposals(block, written) == []


@pytest.mark.parametrize("contents", [
    b"<!-- /pgmem:instructions -->", b"<!-- pgmem:instructions -->", instructions.put(b"", LINES) * 2,
    b"<!-- /pgmem:instructions --><!-- pgmem:instructions -->",
])  # fmt: skip
def test_marks_that_do_not_fit_are_refused(contents: bytes) -> None:
    with pytest.raises(InvalidArgument, match="mark"):
        instructions.put(contents, LINES)


def test_a_change_by_hand_is_proposed_for_review_and_the_block_comes_back(
    run: Run, rows: Rows, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "CLAUDE.md").write_bytes(b"# My rules\r\nkeep me")
    keep = ("connect", "claude-code", "--instructions", "--folder", str(folder))
    name = {"PGMEM_PROJECT": "shop"}
    run("save", "session", "Set up", "-p", "shop")
    run("save", "context", "Always answer in English.", "-p", "shop")
    run("save", "decision", "Use PostgreSQL", "One system.", "-p", "shop")
    done = run(*keep, **name)
    assert done.exit_code == 0, done.stderr
    text = (folder / "CLAUDE.md").read_bytes()
    assert text.startswith(b"# My rules\r\nkeep me\r\n\r\n<!-- pgmem:instructions ")
    assert b"- Always answer in English. <!-- " in text
    assert b"- Use PostgreSQL: One system. <!-- " in text
    assert "up to date" in run(*keep, **name).stdout
    changed = text.replace(b"in English.", b"in German.").replace(
        b"\r\nDecisions:", b"- Never push on Friday\r\n\r\nDecisions:"
    )
    (folder / "CLAUDE.md").write_bytes(changed)
    done = run(*keep, **name)
    assert "For review, changed: Always answer in German." in done.stdout
    assert "For review, new: Never push on Friday" in done.stdout
    assert (folder / "CLAUDE.md").read_bytes() == text
    waiting = rows(
        "select save_id, verb from pgmem.save_attempt where dedup_outcome = 'manual_review' order by verb"
    )
    assert [row["verb"] for row in waiting] == ["edit_memory", "save_context"]
    for row, outcome in zip(waiting, ("supersede", "new"), strict=True):
        assert run("review", "--save-id", str(row["save_id"]), "--outcome", outcome).exit_code == 0
    assert run(*keep, **name).exit_code == 0
    text = (folder / "CLAUDE.md").read_bytes()
    assert b"in German." in text
    assert b"- Never push on Friday <!-- " in text
    assert run(*keep, "--undo", **name).exit_code == 0
    assert (folder / "CLAUDE.md").read_bytes().startswith(b"# My rules\r\nkeep me")
