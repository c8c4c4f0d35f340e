"""Histories of each client and release: the turns that must come out, and a new form noticed on its first day."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.features.editor.catalog import CLIENTS
from pgmem.features.editor.checks import examine_clients
from pgmem.features.importers import transcripts
from tests.features.editor.conftest import Hook, data_dir, hook, repository
from tests.features.importers.samples import FOLDER, Sample, all_samples, kept

__all__ = ["data_dir", "hook"]

pytestmark = pytest.mark.anyio

SAMPLES = all_samples()
NO_HISTORY = {
    "claude-desktop": "its conversations are those of claude.ai, and are exported there",
    "vscode": "its chat is Copilot's",
    "copilot-cli": "its histories are read as those of copilot",
    "hermes": "its sessions lie in a database; the hooks bring the words",
    "openclaw": "it gets the server alone",
}
"""Clients of `pgmem connect` without a reader of histories, and why."""


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.file.name)
def test_a_history_gives_the_turns_of_its_release_and_nothing_is_unknown(sample: Sample) -> None:
    found, account = kept(sample.client, sample.file)
    assert found == sample.expected
    assert dict(account.unknown) == {}
    assert dict(account.left_out) == {}


def test_each_client_with_a_reader_has_samples_of_two_releases() -> None:
    releases = {client: {s.release for s in SAMPLES if s.client == client} for client in transcripts.CLIENTS}
    assert {client: len(found) for client, found in releases.items() if len(found) < 2} == {}
    assert set(CLIENTS) - set(releases) == set(NO_HISTORY)


def test_the_new_turns_of_a_fork_are_its_own_and_the_copied_ones_those_of_its_parent() -> None:
    found = list(transcripts.read("codex", FOLDER / "codex-0.147.0.jsonl"))
    assert [(c.session_id[-3:], len(c.turns)) for c in found] == [("fb7", 2), ("fc0", 2)]
    parent = next(transcripts.read("codex", FOLDER / "codex-0.40.0.jsonl"))
    assert [turn["id"] for turn in found[0].turns] == [turn["id"] for turn in parent.turns[:2]]


def line_type(lines: list[dict[str, Any]]) -> str:
    lines.insert(
        2, {**lines[1], "type": "voice_memo", "uuid": "v-1", "transcript": "Ship it on Tuesday only."}
    )
    return "the line type voice_memo of claude-code 2.1.12"


def part_type(lines: list[dict[str, Any]]) -> str:
    content = next(line["payload"] for line in lines if line["payload"].get("role") == "user")["content"]
    content.append({"type": "input_sketch", "caption": "Ship it on Tuesday only."})
    return "the part type input_sketch of codex 0.153.0"


def field(lines: list[dict[str, Any]]) -> str:
    lines[1]["data"]["dictated"] = "Ship it on Tuesday only."
    return "the field dictated of the events user.message of copilot 1.0.9"


MUTATED: tuple[tuple[str, Callable[[list[dict[str, Any]]], str]], ...] = (
    ("claude-code-2.1.12.jsonl", line_type),
    ("codex-0.153.0.jsonl", part_type),
    ("copilot-1.0.9.jsonl", field),
)


@pytest.mark.parametrize(
    ("name", "change"), MUTATED, ids=lambda value: value if isinstance(value, str) else ""
)
async def test_a_form_of_a_new_release_is_named_in_the_answer_once_in_the_log_and_by_doctor(
    memory: Memory,
    hook: Hook,
    data_dir: Path,
    tmp_path: Path,
    connection: psycopg.Connection[DictRow],
    name: str,
    change: Callable[[list[dict[str, Any]]], str],
) -> None:
    sample = next(s for s in SAMPLES if s.file.name == name)
    lines = [json.loads(line) for line in sample.file.read_text().splitlines()]
    form = change(lines)
    file = tmp_path / name
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found, account = kept(sample.client, file)
    assert set(sample.expected) <= set(found)
    assert dict(account.unknown) == {form: 1}
    done = await transcripts.load(memory, sample.client, file, "shop")
    (reason,) = [reason for reason in done.left_out if form in reason]
    assert reason.startswith("line ")
    assert name in reason
    root = repository(tmp_path / "webshop")
    event = {"session_id": "s1", "cwd": str(root), "hook_event_name": "Stop", "transcript_path": str(file)}
    hook(event, "--client", sample.client)
    with file.open("a") as more:
        more.write(json.dumps(lines[2]) + "\n")
    hook({**event, "session_id": "s2"}, "--client", sample.client)
    log = (data_dir / "hooks" / "hook.log").read_text()
    assert log.count(form) == 1
    seen = examine_clients(tmp_path, tmp_path, {"PGMEM_DATA_DIR": str(data_dir)})
    assert [finding.check for finding in seen if form in finding.message] == ["transcripts"]
