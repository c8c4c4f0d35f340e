"""The attacker writes a note, or an export of another system, that an import would read for ever or fall over."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from pgmem.errors import InvalidArgument
from pgmem.features.importers import markdown, mem0, notes
from pgmem.features.importers.records import Reading

PIECES = ("<", "](", "[[", "`", "~~~", "```", " #a", "#1", "#1a", "https://", "[", "|", "<a ")
LENGTH = 120_000


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("end", ["", "x"])
def test_the_tags_and_links_of_a_note_are_read_in_time_by_its_length(piece: str, end: str) -> None:
    text = piece * (LENGTH // len(piece)) + end
    begun = time.process_time()
    markdown._tags({}, text)
    notes.LINK.findall(text)
    assert notes.Note.of(f"---\na: 1\n---\n{text}".encode()).links is not None
    assert time.process_time() - begun < 3


def test_front_matter_that_merges_objects_is_refused() -> None:
    """Each level of merged objects can hold the one below nine times."""
    levels = "".join(
        f"a{n}: &a{n}\n  k: 1\n" + (f"  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n" if n else "")
        for n in range(9)
    )
    begun = time.process_time()
    with pytest.raises(ValueError, match="merges objects"):
        notes.Note.of(f"---\n{levels}---\ntext\n".encode())
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 10_000)}]", "repeats a long text"),
        (f"a: &a [{'x' * 100_000}]\nb: &b [*a, *a, *a]\nc: [{'*b, ' * 1000}]", "repeats a long text"),
        (f"a: 1{':59' * 30_000}", "number that is too long"),
        (f"a: 0x{'f' * 5000}", "number that is too long"),
        (f"a: {'[' * 5000}", "not YAML|nested"),
        ("a: &x [*x]", "not YAML"),
        ("a: !!python/object/apply:os.system [id]", "not YAML"),
    ],
    ids=[
        "a text in ten thousand places",
        "lists of it",
        "base 60",
        "hexadecimal",
        "deep",
        "itself",
        "a program",
    ],
)
def test_front_matter_that_unfolds_is_refused_in_one_sentence(block: str, problem: str) -> None:
    """A note of 130 kB was a gigabyte of JSON, and a number of 100 kB took four seconds, one of 1 MB seven minutes."""
    begun = time.process_time()
    with pytest.raises(ValueError, match=problem):
        notes.Note.of(f"---\n{block}\n---\ntext\n".encode())
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("damage", ["method", "encrypted", "data"])
def test_an_archive_that_cannot_be_unpacked_is_refused_in_one_sentence(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("memories.jsonl.gz", "{}\n" * 100)
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    if damage == "method":
        data[8:10] = data[central + 10 : central + 12] = b"\x63\x00"
    elif damage == "encrypted":
        data[6] |= 1
        data[central + 8] |= 1
    else:
        data[30 + len("memories.jsonl.gz") + 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InvalidArgument, match="cannot be unpacked|cannot be read"):
        mem0._contents(path, Reading())
