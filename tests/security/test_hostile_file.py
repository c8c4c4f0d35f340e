"""The attacker hands over a file to import, or gets a secret of the user's into what an agent saves (S14, C2)."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pgmem import InvalidArgument, Memory, bounded
from pgmem._verbs import VERBS
from pgmem.cli import app
from pgmem.engines.secrets import scrubbed
from pgmem.importers import Source, Vocabulary, read
from pgmem.settings import Settings
from tests.conftest import Call

KNOWN = Vocabulary(labels=frozenset({"Concept", "Decision"}), relations=frozenset({"RELATED_TO", "LINKS_TO"}))
DEEP = 100_000
JSON_SOURCES = (Source.mem0, Source.mcp_memory, Source.engrama)


def nested(depth: int) -> str:
    return '{"name": "x", "memory": ' + "[" * depth + "]" * depth + "}"


@pytest.mark.parametrize("depth", [bounded.NESTING + 2, DEEP])
@pytest.mark.parametrize("source", JSON_SOURCES)
def test_json_that_is_nested_deeply_is_refused_in_one_sentence(
    tmp_path: Path, source: Source, depth: int
) -> None:
    """S14: RecursionError and a traceback."""
    file = tmp_path / "memories.json"
    file.write_text(nested(depth), encoding="utf-8")
    with pytest.raises(InvalidArgument, match=r"memories\.json is nested more than 100 levels deep\.$"):
        read(source, file, KNOWN)


@pytest.mark.anyio
async def test_a_nested_line_of_an_export_is_refused_by_its_number(memory: Memory) -> None:
    """S14: in the format of pgmem's own exports too."""
    header = json.dumps({"pgmem_export": 1, "nodes": 1})
    with pytest.raises(InvalidArgument, match=r"^Line 2 is nested more than 100 levels deep\.$"):
        await memory.import_lines([f"{header}\n", nested(DEEP)])
    with pytest.raises(InvalidArgument, match=r"^Line 1 is nested"):
        await memory.import_lines([nested(DEEP)])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Bounds of a test's size; the code reads no more than one byte above them."""
    monkeypatch.setattr(bounded, "UNPACKED_BYTES", 2**20)
    monkeypatch.setattr(bounded, "LINE_CHARS", 2**20)
    return 2**20


def zeros(size: int) -> bytes:
    return gzip.compress(b" " * size)


@pytest.mark.parametrize("source", JSON_SOURCES)
def test_a_small_file_that_unfolds_is_refused(tmp_path: Path, small: int, source: Source) -> None:
    """S14: 2.9 MB of gzip unfolded to more than the memory."""
    file = tmp_path / "memories.json"
    file.write_bytes(zeros(8 * small))
    assert file.stat().st_size < small / 10
    with pytest.raises(InvalidArgument, match=r"is larger than \d+ MiB; import it in parts\.$"):
        read(source, file, KNOWN)


def test_gzip_inside_zip_that_unfolds_is_refused(tmp_path: Path, small: int) -> None:
    """S14: as in the archive of OpenMemory, at both layers."""
    for inner in (zeros(8 * small), b" " * (8 * small)):
        file = tmp_path / "export.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("memories.jsonl.gz", inner)
        with pytest.raises(
            InvalidArgument, match=r"memories\.jsonl\.gz in export\.zip is larger than \d+ MiB"
        ):
            read(Source.mem0, file, KNOWN)


def test_a_file_that_only_looks_packed_is_refused(tmp_path: Path) -> None:
    """S14."""
    (tmp_path / "memories.json").write_bytes(b"\x1f\x8b" + os.urandom(100))
    with pytest.raises(InvalidArgument, match="cannot be"):
        read(Source.mem0, tmp_path / "memories.json", KNOWN)


@pytest.mark.parametrize("packed", [True, False])
def test_the_import_command_bounds_a_line(dsn: str, tmp_path: Path, small: int, packed: bool) -> None:
    """S14: an export is read line by line, and one line can be all of it."""
    text = json.dumps({"pgmem_export": 1}).encode() + b"\n" + b" " * (8 * small)
    file = tmp_path / ("export.jsonl.gz" if packed else "export.jsonl")
    file.write_bytes(gzip.compress(text) if packed else text)
    done = CliRunner().invoke(app, ["import", str(file), "--dsn", dsn, "--data-dir", str(tmp_path / "data")])
    assert done.exit_code == 1
    assert f"pgmem: Line 2 of {file.name} is longer than {small} characters." in done.output
    assert "Traceback" not in done.output


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """S14: reading it would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidArgument, match=r"pipe is no file\.$"):
        read(Source.mem0, tmp_path / "pipe", KNOWN)


def test_notes_whose_front_matter_unfolds_are_left_out(tmp_path: Path) -> None:
    """S14: each alias of YAML repeats what it names, and names others."""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for number in range(1, 12):
        bomb += f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]\n"
    (tmp_path / "bomb.md").write_text(f"---\n{bomb}---\nBody\n", encoding="utf-8")
    (tmp_path / "deep.md").write_text(f"---\na: {'[' * DEEP}{']' * DEEP}\n---\nBody\n", encoding="utf-8")
    (tmp_path / "code.md").write_text(
        "---\na: !!python/object/apply:os.system ['touch x']\n---\nBody\n", "utf-8"
    )
    (tmp_path / "fine.md").write_text("---\ntags: [a, b]\n---\nBody\n", encoding="utf-8")
    reading = read(Source.markdown, tmp_path, KNOWN)
    assert [item.name for item in reading.items] == ["fine"]
    assert sum(reading.left_out.values()) == 3


def test_notes_outside_of_the_folder_are_not_read(tmp_path: Path) -> None:
    """S14: a link in a folder of notes to a file of the user's."""
    private = tmp_path / "private.md"
    private.write_text("The combination of the safe is 12-34.", encoding="utf-8")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "stolen.md").symlink_to(private)
    os.mkfifo(folder / "pipe.md")
    (folder / "fine.md").write_text("Body", encoding="utf-8")
    (folder / "same.md").symlink_to(folder / "fine.md")
    reading = read(Source.markdown, folder, KNOWN)
    assert sorted(item.name for item in reading.items) == ["fine", "same"]
    assert "12-34" not in str(reading)
    assert list(reading.left_out.values()) == [2]


def test_more_notes_than_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S14."""
    monkeypatch.setattr("pgmem.importers.markdown.UNPACKED_BYTES", 2**20)
    (tmp_path / "large.md").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(InvalidArgument, match="holds more than 1 MiB of notes"):
        read(Source.markdown, tmp_path, KNOWN)


# Secrets

KEYS = {
    "AWS Access Key": "AKIAIOSFODNN7EXAMPLE",
    "AWS Secret Key": "aws_secret_access_key=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "Anthropic Token": "sk-ant-" + "api03-" + "aB3_" * 20,
    "Google API Key": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "GitHub Token": "github_pat_" + "11ABCDEFG0" + "a1B2c3D4e5F6g7H8" * 3,
    "Hugging Face Token": "hf_" + "aBcDeFgHiJ" * 3 + "kLmN",
    "OpenAI Token": "sk-proj-" + "aB3_" * 20,
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_secret_is_found_in_texts_lists_objects_and_keys(kind: str) -> None:
    """S14: the scrubber missed these forms, and secrets that are keys of an object."""
    secret = KEYS[kind]
    given = {
        "text": f"use {secret} now",
        "list": [[secret]],
        "deep": {"a": {secret: secret}},
        "two": {secret: 1},
    }
    found = str(scrubbed(given, "redact"))
    assert secret[-16:] not in found
    assert found.count(f"[redacted: {kind}]") == 5
    for place in given:
        with pytest.raises(InvalidArgument, match="holds what looks like a secret") as caught:
            scrubbed({place: given[place]}, "refuse")
        assert secret[-16:] not in str(caught.value)


def test_a_secret_that_only_its_key_gives_away_is_found() -> None:
    """S14: forty letters alone are no secret."""
    value = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"
    found = scrubbed({"env": {"AWS_SECRET_ACCESS_KEY": value, "commit": value}}, "redact")
    assert found == {"env": {"AWS_SECRET_ACCESS_KEY": "[redacted: AWS Secret Key]", "commit": value}}


def test_keys_that_are_redacted_alike_both_stay() -> None:
    """S14."""
    other = KEYS["AWS Access Key"].replace("EXAMPLE", "EXAMPLF")
    found = scrubbed({"env": {KEYS["AWS Access Key"]: 1, other: 2}}, "redact")
    assert sorted(found["env"].values()) == [1, 2]
    assert "AKIA" not in str(found)


SECRET = KEYS["AWS Access Key"]
Write = Callable[[Memory], Any]
WRITES: dict[str, Write] = {
    "record_candidate": lambda m: m.record_candidate("risk_note", f"Use {SECRET}.", "a.py", "shop"),
    "propose_from_receipt": lambda m: m.propose_from_receipt(
        {"receipt_id": "r", "summary": f"Used {SECRET}.", "changed_files": ["a.py"], "status": "accepted"},
        "shop",
    ),
    "manage_engineering_memory": lambda m: m.manage_engineering_memory(
        "record_candidate",
        "shop",
        record_type="risk_note",
        statement=f"Use {SECRET}.",
        subject_path="a.py",
    ),
    "declare_intent": lambda m: m.declare_intent(["a.py"], "shop", f"Use {SECRET}"),
    "upsert_entity": lambda m: m.upsert_entity("key", f"It is {SECRET}", "shop"),
    "refresh_from_run": lambda m: m.refresh_from_run(
        {"complete": False, "modules": [{"path": "a.py", "doc": f"Uses {SECRET}."}]}, "shop"
    ),
    "relate": lambda m: m.relate("Project", "shop", "RELATED_TO", "Project", SECRET),
    "supersede": lambda m: m.supersede(SECRET, "b", "shop"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("verb", WRITES)
async def test_every_verb_that_stores_something_refuses_a_secret(dsn: str, tmp_path: Path, verb: str) -> None:
    """C2: cards stored an AWS key although secrets were to be refused."""
    settings = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="refuse", embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        with pytest.raises(InvalidArgument, match="what looks like a secret"):
            await WRITES[verb](memory)


@pytest.mark.anyio
async def test_an_intent_is_finished_without_a_secret(dsn: str, tmp_path: Path, call: Call) -> None:
    """C2."""
    settings = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="redact", embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        drafted = await memory.record_candidate("risk_note", f"Use {SECRET} there.", "a.py", "shop")
        kept = await memory.query_engineering_memory("shop", "get", record_id=str(drafted.card_id))
        assert "[redacted: AWS Access Key]" in str(kept)
        assert SECRET not in str(kept)


def test_every_verb_of_agents_that_stores_something_is_scrubbed_by_its_declared_effect() -> None:
    """C2: one rule for all of them, so that a new verb needs no line of its own."""
    storing = {verb.name for verb in VERBS.values() if verb.effect in ("write", "repeat")}
    wanted = {
        "record_candidate",
        "propose_from_receipt",
        "manage_engineering_memory",
        "finish_intent",
        "remember",
    }
    assert wanted <= storing


@pytest.mark.anyio
async def test_what_was_saved_under_a_secret_can_be_forgotten_by_it(dsn: str, tmp_path: Path) -> None:
    """S14: a verb that removes stores nothing; refusing it would keep the secret for ever."""
    off = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="off", embedding_provider="none")
    async with Memory.connect(off) as memory:
        await memory.save_session("open", "shop")
        await memory.remember("Tool", {"name": SECRET}, project_id="shop")
    refuse = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="refuse", embedding_provider="none")
    async with Memory.connect(refuse) as memory:
        await memory.forget("Tool", SECRET, project_id="shop")


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["redact", "refuse"])
async def test_an_import_brings_no_secret_in(dsn: str, tmp_path: Path, mode: str) -> None:
    """S14: an export of a store that did not scrub, in one that does."""
    lines = io.StringIO()
    off = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="off", embedding_provider="none")
    async with Memory.connect(off) as memory:
        await memory.save_session("open", "shop")
        await memory.save_context(f"as told: {SECRET}", "shop")
        await memory.export_lines(lines.write)
        assert SECRET in lines.getvalue()
    scrubbing = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets=mode, embedding_provider="none")
    async with Memory.connect(scrubbing) as memory:
        other = lines.getvalue().replace("shop", "bank").splitlines(keepends=True)
        if mode == "refuse":
            with pytest.raises(InvalidArgument, match=r"line \d+.* holds what looks like a secret"):
                await memory.import_lines(other)
        else:
            await memory.import_lines(other)
            found = str(await memory.retrieve_context("bank", "project"))
            assert SECRET not in found
