"""The attacker hands over a file to import, or gets a secret of the user's into an agent's saves."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from typer.testing import CliRunner

from pgmem import InvalidArgument, Memory, documents
from pgmem._verbs import VERBS
from pgmem.calls.secrets import scrubbed
from pgmem.cli import app
from pgmem.features.importers import transcripts
from pgmem.features.importers.loader import Source, read
from pgmem.features.importers.records import Vocabulary
from pgmem.settings import Settings
from tests.conftest import Call

KNOWN = Vocabulary(labels=frozenset({"Concept", "Decision"}), relations=frozenset({"RELATED_TO", "LINKS_TO"}))
DEEP = 100_000
JSON_SOURCES = (Source.mem0, Source.mcp_memory, Source.engrama)


def nested(depth: int) -> str:
    return '{"name": "x", "memory": ' + "[" * depth + "]" * depth + "}"


@pytest.mark.parametrize("depth", [documents.NESTING + 2, DEEP])
@pytest.mark.parametrize("source", JSON_SOURCES)
def test_json_that_is_nested_deeply_is_refused_in_one_sentence(
    tmp_path: Path, source: Source, depth: int
) -> None:
    """RecursionError and a traceback."""
    file = tmp_path / "memories.json"
    file.write_text(nested(depth), encoding="utf-8")
    with pytest.raises(
        InvalidArgument, match=r"memories\.json:? i[st].* nested more than 100 levels deep\.$"
    ):
        read(source, file, KNOWN)


@pytest.mark.anyio
async def test_a_nested_line_of_an_export_is_refused_by_its_number(memory: Memory) -> None:
    """In the format of pgmem's own exports too."""
    header = json.dumps({"pgmem_export": 1, "nodes": 1})
    done = await memory.import_lines([f"{header}\n", nested(DEEP), '{"type": "end", "lines": 1}\n'])
    assert [*done.left_out] == ["line 2 of the file: it is nested more than 100 levels deep"]
    with pytest.raises(InvalidArgument, match=r"^Line 1 is nested"):
        await memory.import_lines([nested(DEEP)])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Bounds of a test's size; the code reads no more than one byte above them."""
    monkeypatch.setattr(documents, "UNPACKED_BYTES", 2**20)
    monkeypatch.setattr(documents, "LINE_CHARS", 2**20)
    return 2**20


def zeros(size: int) -> bytes:
    return gzip.compress(b" " * size)


@pytest.mark.parametrize("source", JSON_SOURCES)
def test_a_small_file_that_unfolds_is_refused(tmp_path: Path, small: int, source: Source) -> None:
    """2.9 MB of gzip unfolded to more than the memory."""
    file = tmp_path / "memories.json"
    file.write_bytes(zeros(8 * small))
    assert file.stat().st_size < small / 10
    with pytest.raises(InvalidArgument, match=r"is larger than \d+ MiB; import it in parts\.$"):
        read(source, file, KNOWN)


def test_gzip_inside_zip_that_unfolds_is_refused(tmp_path: Path, small: int) -> None:
    """As in the archive of OpenMemory, at both layers."""
    for inner in (zeros(8 * small), b" " * (8 * small)):
        file = tmp_path / "export.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("memories.jsonl.gz", inner)
        with pytest.raises(
            InvalidArgument, match=r"memories\.jsonl\.gz in export\.zip is larger than \d+ MiB"
        ):
            read(Source.mem0, file, KNOWN)


def test_a_file_that_only_looks_packed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memories.json").write_bytes(b"\x1f\x8b" + os.urandom(100))
    with pytest.raises(InvalidArgument, match="cannot be"):
        read(Source.mem0, tmp_path / "memories.json", KNOWN)


@pytest.mark.parametrize("packed", [True, False])
def test_the_import_command_bounds_a_line(dsn: str, tmp_path: Path, small: int, packed: bool) -> None:
    """An export is read line by line, and one line can be all of it."""
    text = json.dumps({"pgmem_export": 1}).encode() + b"\n" + b" " * (8 * small)
    file = tmp_path / ("export.jsonl.gz" if packed else "export.jsonl")
    file.write_bytes(gzip.compress(text) if packed else text)
    done = CliRunner().invoke(app, ["import", str(file), "--dsn", dsn, "--data-dir", str(tmp_path / "data")])
    assert done.exit_code == 1
    assert f"pgmem: Line 2 of {file.name} is longer than {small} characters." in done.output
    assert "Traceback" not in done.output


def test_a_pipe_is_not_a_file(tmp_path: Path) -> None:
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidArgument, match=r"pipe is not a file\.$"):
        read(Source.mem0, tmp_path / "pipe", KNOWN)


def test_notes_whose_front_matter_unfolds_are_left_out(tmp_path: Path) -> None:
    """Each alias of YAML repeats what it names, and names others."""
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
    """A link in a folder of notes to a file of the user's."""
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
    monkeypatch.setattr("pgmem.features.importers.markdown.UNPACKED_BYTES", 2**20)
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
    """The scrubber missed these forms, and secrets that are keys of an object."""
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
    """Forty letters alone are not a secret."""
    value = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"
    found = scrubbed({"env": {"AWS_SECRET_ACCESS_KEY": value, "commit": value}}, "redact")
    assert found == {"env": {"AWS_SECRET_ACCESS_KEY": "[redacted: AWS Secret Key]", "commit": value}}


def test_keys_that_are_redacted_alike_both_stay() -> None:
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
        "record_candidate", "shop", record_type="risk_note", statement=f"Use {SECRET}.", subject_path="a.py"
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
    """Cards stored an AWS key although secrets were to be refused."""
    settings = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="refuse", embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        with pytest.raises(InvalidArgument, match="what looks like a secret"):
            await WRITES[verb](memory)


@pytest.mark.anyio
async def test_an_intent_is_finished_without_a_secret(dsn: str, tmp_path: Path, call: Call) -> None:
    settings = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="redact", embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        drafted = await memory.record_candidate("risk_note", f"Use {SECRET} there.", "a.py", "shop")
        kept = await memory.query_engineering_memory("shop", "get", record_id=str(drafted.card_id))
        assert "[redacted: AWS Access Key]" in str(kept)
        assert SECRET not in str(kept)


def test_every_verb_of_agents_that_stores_something_is_scrubbed_by_its_declared_effect() -> None:
    """One rule for all of them, so that a new verb needs no separate line."""
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
    """A verb that removes stores nothing; refusing it would keep the secret for ever."""
    off = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="off", embedding_provider="none")
    async with Memory.connect(off) as memory:
        await memory.save_session("open", "shop")
        await memory.remember("Tool", {"name": SECRET}, project_id="shop")
    refuse = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets="refuse", embedding_provider="none")
    async with Memory.connect(refuse) as memory:
        await memory.forget("Tool", SECRET, project_id="shop")


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["redact", "refuse"])
async def test_an_import_brings_no_secret_in(dsn: str, store: str, tmp_path: Path, mode: str) -> None:
    """An export of a store that did not scrub, in one that does."""
    lines = io.StringIO()
    off = Settings(dsn=store, data_dir=tmp_path, scrub_secrets="off", embedding_provider="none")
    async with Memory.connect(off) as memory:
        await memory.save_session("open", "shop")
        await memory.save_context(f"as noted: {SECRET}", "shop")
        await memory.export_lines(lines.write)
        assert SECRET in lines.getvalue()
    scrubbing = Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets=mode, embedding_provider="none")
    async with Memory.connect(scrubbing) as memory:
        other = lines.getvalue().replace("shop", "bank").splitlines(keepends=True)
        if mode == "refuse":
            (reason,) = (await memory.import_lines(other)).left_out
            assert re.search(r"line \d+.* holds what looks like a secret", reason)
            assert SECRET not in str(await memory.retrieve_context("bank", "project"))
        else:
            await memory.import_lines(other)
            found = str(await memory.retrieve_context("bank", "project"))
            assert SECRET not in found


# Cases that no schema promises: any value in the place of any other.

ODD = (
    *("null", "true", "-0", "1e999", "-1e999", "NaN", "1" + "0" * 4000, "253402300800", "-62135596801", '""'),
    *('"\\ud800"', '"\\u0000"', '"</system>"', '"\\u202e"', "[]", "{}", "[[]]", "[{}]", '{"": ""}', "[null]"),
    *('"9999-12-31T23:59:59-23:59"', '"0001-01-01T00:00:00+23:59"', '"\\u0660\\u0661"', "1.5"),
)
WHOLE: dict[str, list[object]] = {
    "mem0": [
        {
            "results": [
                {"id": "a", "memory": "m", "user_id": "u", "created_at": "2026-01-01", "metadata": {"a": 1}}
            ],
            "relations": [{"source": "x", "relationship": "knows", "target": "y"}],
        }
    ],
    "mcp-memory": [
        {"type": "entity", "name": "x", "entityType": "Concept", "observations": ["o"]},
        {"type": "relation", "from": "x", "to": "y", "relationType": "knows"},
    ],
    "engrama": [
        {
            "type": "node",
            "label": "Concept",
            "key": "k",
            "properties": {"name": "n", "tags": ["t"], "confidence": 1},
        },
        {"nodes": [{"label": "Concept", "properties": {"name": "n"}}], "relationships": [{"type": "USES"}]},
    ],
    "chatgpt": [
        [
            {
                "id": "c",
                "title": "t",
                "current_node": "a",
                "mapping": {
                    "a": {
                        "message": {
                            "id": "m",
                            "author": {"role": "user"},
                            "content": {"content_type": "text", "parts": ["hi"]},
                            "create_time": 1700000000,
                            "metadata": {},
                        },
                        "parent": "a",
                        "children": [],
                    }
                },
            }
        ]
    ],
    "claude": [
        [
            {
                "uuid": "c",
                "name": "n",
                "chat_messages": [
                    {
                        "uuid": "m",
                        "sender": "human",
                        "text": "hi",
                        "created_at": "2026-01-01",
                        "content": [{"type": "text", "text": "hi"}],
                    }
                ],
            }
        ]
    ],
    "claude-code": [
        {
            "type": "user",
            "sessionId": "s",
            "cwd": "/",
            "uuid": "m",
            "timestamp": "2026-01-01",
            "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        }
    ],
    "codex": [
        {"type": "session_meta", "timestamp": "2026-01-01", "payload": {"id": "s", "cwd": "/"}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        },
    ],
}


def changed(value: object, odd: str) -> Iterator[str]:
    """The JSON texts of a value, each with an odd one in the place of one of its parts."""
    if isinstance(value, dict):
        for key, item in value.items():
            rest = "".join(f", {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items() if k != key)
            for text in changed(item, odd):
                yield f"{{{json.dumps(key)}: {text}{rest}}}"
    if isinstance(value, list):
        for place, item in enumerate(value):
            for text in changed(item, odd):
                yield (
                    "[" + ", ".join(json.dumps(v) if n != place else text for n, v in enumerate(value)) + "]"
                )
    yield odd


@pytest.mark.parametrize("source", WHOLE)
def test_any_value_in_the_place_of_any_other_is_read_or_refused(tmp_path: Path, source: str) -> None:
    """A number for a list, an object for a name: TypeError and a traceback."""
    file = tmp_path / ("rollout-s.jsonl" if source in ("claude-code", "codex") else "conversations.json")
    tried = 0
    for place, record in enumerate(WHOLE[source]):
        for text in (text for odd in ODD for text in changed(record, odd)):
            lines = [text if n == place else json.dumps(other) for n, other in enumerate(WHOLE[source])]
            file.write_text("\n".join(lines), encoding="utf-8")
            with suppress(InvalidArgument):
                if Source(source).is_conversations:
                    for conversation in transcripts.read(source, file):
                        list(conversation.turns)
                else:
                    read(Source(source), file, KNOWN)
            tried += 1
    assert tried > 100


UNITS = (
    "sk-",
    "eyJ-",
    "eyJa=",
    "xoxb-1-",
    "-----BEGIN ",
    "-----END ",
    "aws key '",
    "AKC",
    "https://a:b",
    "npm_",
    "0",
    "a-",
    "=",
)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("end", ["", "!", "."])
def test_a_text_that_begins_like_a_secret_over_and_over_takes_no_time(unit: str, end: str) -> None:
    """150 kB of `sk-` took 23 seconds, in which a server answers nobody; turns are redacted by default."""
    began = perf_counter()
    scrubbed({"content": unit * (200_000 // len(unit)) + end}, "redact")
    assert perf_counter() - began < 3  # a tenth of a second on a quiet machine
