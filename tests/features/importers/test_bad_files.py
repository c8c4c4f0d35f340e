"""The message of each importer for a file that it cannot take: one sentence with the file and the remedy."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pgmem import Memory
from pgmem.errors import InvalidArgument
from pgmem.features.importers import loader, transcripts
from pgmem.features.importers.loader import Source
from pgmem.features.importers.records import Vocabulary
from pgmem.foreign import Account
from tests.features.importers.samples import all_samples

pytestmark = pytest.mark.anyio

KNOWN = Vocabulary(frozenset({"Person", "Concept"}), frozenset({"USES", "RELATED_TO"}))
MEMORIES = {
    "mcp-memory": '{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]}\n'
    '{"type": "entity", "name": "Bob", "entityType": "person", "observations": ["likes cake"]}\n',
    "mem0": '{"id": "1", "memory": "Ada likes tea"}\n{"id": "2", "memory": "Bob likes cake"}\n',
    "letta": '{"id": "passage-1", "text": "Ada likes tea"}\n{"id": "passage-2", "text": "Bob likes cake"}\n',
    "csv": "memory,tags\nAda likes tea,food\nBob likes cake,food\n",
    "engrama": '{"engrama_export": 1, "format": 1}\n{"type": "node", "label": "Concept", "key_value": "Tea", "properties": {"a": "b"}}\n'
    '{"type": "node", "label": "Concept", "key_value": "Cake", "properties": {"a": "b"}}\n',
}
SOURCES = [source for source in Source if source not in (Source.pgmem, Source.markdown)]
"""All that read a file; notes are a folder, and an export of pgmem is whole or refused (tests/core/moving)."""


def sample(source: Source, folder: Path) -> Path:
    """A good file of a source."""
    folder.mkdir(parents=True, exist_ok=True)
    if text := MEMORIES.get(str(source)):
        file = folder / ("memory.csv" if source is Source.csv else "memory.jsonl")
        file.write_text(text)
        return file
    name = "conversations.json" if str(source) in ("chatgpt", "claude") else None
    found = next(s for s in all_samples() if s.client == str(source) and s.file.suffix != ".txt")
    return Path(shutil.copy(found.file, folder / (name or found.file.name)))


def read(source: Source, file: Path) -> tuple[int, list[str]]:
    """How many records are read of a file, and the sentences on the rest."""
    if not source.is_conversations:
        reading = loader.read(source, file, KNOWN)
        return len(reading.items), [*reading.left_out, *reading.converted]
    account = Account()
    found = transcripts.read(str(source), file, account)
    return sum(len(c.turns) for c in found), [*account.left_out, *account.converted]


def refused(source: Source, file: Path) -> str:
    """The one sentence with which a file is refused."""
    with pytest.raises(InvalidArgument) as error:
        read(source, file)
    text = str(error.value)
    assert file.name in text, text
    assert "\n" not in text
    assert len(text) < 400, text
    return text


def other_product(file: Path) -> None:
    file.write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n")


def other_json(file: Path) -> None:
    file.write_text('{"scripts": {"build": "tsc --all of it"}}\n')


def empty(file: Path) -> None:
    file.write_text("")


def sparse(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(2 * 2**30)


def packed(file: Path) -> None:
    file.write_bytes(b"\x28\xb5\x2f\xfd" + b"zstd" * 50)


def half_packed(file: Path) -> None:
    whole = gzip.compress(file.read_bytes())
    file.write_bytes(whole[: len(whole) // 2])


REFUSED: tuple[tuple[Callable[[Path], None], str], ...] = (
    (other_product, "is --from right|holds no memories|not an export"),
    (other_json, "is --from right|holds no memories|not an export"),
    (empty, "is --from right|holds no memories|not an export"),
    (sparse, "larger than 256 MiB.*(split|in parts)"),
    (packed, "compressed: unpack it|is --from right|holds no memories|not an export"),
    (half_packed, "half a file|cannot be unpacked|cannot be read"),
)


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_file_of_another_kind_is_refused_in_one_sentence(
    source: Source, change: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    file = sample(source, tmp_path)
    change(file)
    assert re.search(message, refused(source, file)), refused(source, file)


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_folder_without_such_files_and_no_file_are_refused_in_one_sentence(
    source: Source, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.md").write_text("x")
    refused(source, folder)
    refused(source, tmp_path / "absent.jsonl")


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_file_that_gzip_packed_is_read_and_a_link_by_its_name_too(source: Source, tmp_path: Path) -> None:
    file = sample(source, tmp_path)
    whole = read(source, file)
    assert whole[0] >= 2
    link = tmp_path / f"link{file.suffix}"
    link.symlink_to(file)
    assert read(source, link)[0] == whole[0]
    gz = tmp_path / f"{file.name}.gz"
    gz.write_bytes(gzip.compress(file.read_bytes()))
    assert read(source, gz)[0] == whole[0]


@pytest.mark.parametrize(
    "source", [s for s in SOURCES if s.is_conversations and str(s) not in ("chatgpt", "claude")], ids=str
)
def test_a_link_in_a_folder_is_named_and_not_followed(source: Source, tmp_path: Path) -> None:
    elsewhere = sample(source, tmp_path / "elsewhere")
    folder = tmp_path / "sessions"
    kept, _ = read(source, sample(source, folder))
    (folder / f"link{elsewhere.suffix}").symlink_to(elsewhere)
    count, sentences = read(source, folder)
    assert count == kept
    assert f"link{elsewhere.suffix}: it is a link: name it itself to import it" in sentences


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is one that root becomes")
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_the_file_of_another_user_is_named_with_what_to_do(source: Source) -> None:
    home = Path(tempfile.mkdtemp())
    try:
        home.chmod(0o755)
        file = sample(source, home / "open")
        file.chmod(0o600)
        hidden = sample(source, home / "closed")
        hidden.parent.chmod(0o700)
        os.seteuid(65534)
        try:
            texts = refused(source, file), refused(source, hidden)
        finally:
            os.seteuid(0)
    finally:
        shutil.rmtree(home)
    assert all("as the user that it belongs to" in text for text in texts)


LINES = [s for s in SOURCES if str(s) not in ("zed", "chatgpt", "claude", "gemini-cli")]


@pytest.mark.parametrize("source", LINES, ids=str)
def test_half_a_file_gives_what_is_whole_and_names_the_rest(source: Source, tmp_path: Path) -> None:
    file = sample(source, tmp_path)
    if file.suffix != ".jsonl":
        pytest.skip("a document is whole or refused")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    count, sentences = read(source, file)
    assert count >= 1
    assert any(f"line {len(lines)} of {file.name}: it is not JSON" in text for text in sentences), sentences


@pytest.mark.parametrize("source", [s for s in SOURCES if str(s) in ("zed", "chatgpt", "claude")], ids=str)
def test_half_a_document_is_refused_as_half(source: Source, tmp_path: Path) -> None:
    file = sample(source, tmp_path)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert "is not JSON" in refused(source, file)


async def test_the_same_import_again_adds_nothing_and_a_file_that_has_grown_its_end(
    memory: Memory, tmp_path: Path
) -> None:
    for n, each in enumerate(all_samples()):
        file = Path(shutil.copy(each.file, tmp_path / each.file.name))
        first = await transcripts.load(memory, each.client, file, f"p{n}")
        again = await transcripts.load(memory, each.client, file, f"p{n}")
        assert first.taken + first.present == len(each.expected), each.file.name
        assert (again.taken, again.present) == (0, len(each.expected)), each.file.name
    for source in (Source.mcp_memory, Source.mem0, Source.engrama):
        file = sample(source, tmp_path / str(source))
        whole = file.read_text()
        file.write_text("".join(whole.splitlines(keepends=True)[:-1]))
        known = Vocabulary.of(await memory.describe_schema())
        taken = []
        for text in (None, None, whole, whole):
            if text is not None:
                file.write_text(text)
            done = await loader.load(memory, source, loader.read(source, file, known), str(source))
            taken.append(done.taken)
        assert taken == [1, 0, 1, 0], source
