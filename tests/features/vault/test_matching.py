"""Which side of a note and its memory has changed, as a table of cases; and which note is of which memory."""

from __future__ import annotations

import pytest

from pgmem.features.importers.notes import Note
from pgmem.features.vault.folder import Agreed, Found
from pgmem.features.vault.matching import compared, matched

A, B = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
GONE = None


@pytest.mark.parametrize(
    ("noted", "remembered", "now", "memory", "is_older", "came"),
    [
        # now, as they agreed: nothing to do
        ("a", "a", "a", "a", False, ""),
        ("a", "a", "a", "a", True, ""),
        # one side changed
        ("a", "a", "b", "a", False, "take"),
        ("a", "a", "a", "b", False, "give"),
        ("a", "a", "a", "b", True, "give"),
        ("a", "a", GONE, "a", False, "take"),
        ("a", "a", "a", GONE, False, "give"),
        (GONE, GONE, "b", GONE, False, "take"),
        (GONE, GONE, GONE, "b", False, "give"),
        # both changed
        ("a", "a", "b", "c", False, "conflict"),
        ("a", "a", "b", "b", False, ""),
        ("a", "a", GONE, "c", False, "conflict"),
        ("a", "a", "b", GONE, False, "conflict"),
        ("a", "a", GONE, GONE, False, ""),
        (GONE, GONE, "b", "c", False, "conflict"),
        # an older note: it replaces nothing, and what it has not is filled in
        ("b", "b", "a", "b", True, "conflict"),
        ("b", "b", "a", "c", True, "conflict"),
        ("b", "b", "a", "a", True, ""),
        ("b", "b", GONE, "b", True, "give"),
        ("b", "b", GONE, "c", True, "give"),
        ("b", "b", "a", GONE, True, "conflict"),
        # the store has cleaned or refused what the note says: neither is asked again
        ("a ", "a", "a ", "a", False, ""),
        ("a ", "a", "a ", "b", False, "give"),
        ("a ", "a", "b", "a", False, "take"),
    ],
)
def test_what_changed_on_one_side_goes_to_the_other(
    noted: str | None, remembered: str | None, now: str | None, memory: str | None, is_older: bool, came: str
) -> None:
    def held(value: str | None) -> dict[str, str]:
        return {} if value is None else {"text": value}

    found = compared(held(now), held(memory), held(noted), held(remembered), is_older=is_older)
    assert found._asdict() == {
        name: {"text"} if name == came else set() for name in ("take", "give", "conflict")
    }


def note(place: str, text: str = "text", key: str | None = None, version: int = 1) -> Found:
    own = f"id: {key}\npgmem: {{version: {version}}}\n" if key else ""
    contents = f"---\n{own}tags: [a]\n---\n{text}\n".encode()
    return Found(place, contents, Note.of(contents))


@pytest.mark.parametrize(
    ("notes", "came", "older", "new"),
    [
        ([note("x.md", key=A, version=3)], {A: "x.md"}, set(), []),
        ([note("x.md", key=A, version=2)], {A: "x.md"}, {A}, []),
        ([note("x.md")], {A: "x.md"}, {A}, []),
        ([note("y/x.md")], {A: "y/x.md"}, {A}, []),
        ([note("y/x.md", "another text")], {}, set(), ["y/x.md"]),
        ([note("z.md")], {}, set(), ["z.md"]),
        ([note("y/x.md"), note("z/x.md")], {A: "y/x.md"}, {A}, ["z/x.md"]),
        ([note("x.md"), note("y.md", key=A, version=3)], {A: "y.md"}, set(), ["x.md"]),
        ([note("x.md", key=A, version=3), note("x2.md", key=A, version=3)], {A: "x.md"}, set(), []),
    ],
)
def test_a_note_is_found_by_its_id_else_by_the_place_that_it_had(
    notes: list[Found], came: dict[str, str], older: set[str], new: list[str]
) -> None:
    agreed = {A: Agreed("x.md", "-", {"text": "text"}, version=3), B: Agreed(None)}
    found = matched(notes, {A, B}, set(), agreed)
    assert {key: each.place for key, each in found.notes.items()} == came
    assert (found.older, [each.place for each in found.new]) == (older, new)


def test_a_copied_folder_is_one_sentence() -> None:
    ids = [f"{n:08x}-1111-4111-8111-111111111111" for n in range(50)]
    notes = [note(f"{folder}/{n}.md", key=key) for n, key in enumerate(ids) for folder in ("a", "b")]
    agreed = {key: Agreed(f"a/{n}.md", version=1) for n, key in enumerate(ids)}
    found = matched(notes, set(ids), set(), agreed)
    assert [place for place, _ in found.problems] == ["b/0.md"]
    assert "49 other notes" in found.problems[0][1]
    assert {key: each.place for key, each in found.notes.items()} == {
        key: one.place for key, one in agreed.items()
    }
    assert len(matched(notes, set(ids), set(), {}).problems) == 1
