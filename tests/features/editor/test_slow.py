"""Texts that take long to read: a session waits no longer for them, and the rest of it is kept all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.rows import DictRow

from pgmem import transcripts
from pgmem.features.editor import events
from pgmem.features.editor.libpq import Connection
from pgmem.features.editor.state import Session
from pgmem.transcripts import said
from tests.features.editor.conftest import Hook, repository
from tests.fixtures.amounts import amount

PIECES = ("<system-reminder", "<command-name", "</system-reminder>", "<", ">", '"', " ", "a", "\n")


@settings(max_examples=amount(100, 300), deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.lists(st.sampled_from(PIECES), max_size=3)
)
def test_no_text_takes_more_time_than_its_length(repeated: list[str], first: list[str]) -> None:
    text = "".join(first) + "".join(repeated) * 10_000
    began = time.process_time()
    said(text)
    assert time.process_time() - began < 2  # 10 ms; a pattern that begins again takes a minute


def test_a_text_is_not_read_again_for_each_name_that_does_not_pair() -> None:
    text = "".join(
        f"<x{number}-reminder><x{number}-reminder></x{number}-reminder>" for number in range(15_000)
    )
    began = time.process_time()
    said(text)
    assert time.process_time() - began < 2  # 50 ms; it took 20 s


def test_what_was_put_in_is_left_out_whatever_its_tag_holds() -> None:
    assert said('Paint it. <pgmem-memory project="a<b>c">It was blue.</pgmem-memory>') == "Paint it."
    assert said("Paint it.\n<system-reminder>It was blue.</system-reminder>") == "Paint it."
    assert said("<system-reminder>Never ends.") == "<system-reminder>Never ends."
    assert said("Does `<system-reminder` open a tag?") == "Does `<system-reminder` open a tag?"


def test_the_limit_of_an_event_holds_while_a_pattern_is_matched(tmp_path: Path) -> None:
    """While a pattern is matched, no other thread runs."""
    program = f"""
import pathlib, re
from pgmem.features.editor import events
from pgmem.features.editor.state import Session
folder = pathlib.Path({str(tmp_path)!r})
events._give_up_after(0.2, events.Event("Stop", "keep", "claude-code", {{}}, Session(folder, "c", "s"), folder))
re.match("(a+)+b", "a" * 60)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "Stop gave up after 0.2 seconds" in (tmp_path / "hooks" / "hook.log").read_text()


def turn(number: int, text: str) -> str:
    return json.dumps(
        {"type": "user", "uuid": f"turn-{number}", "message": {"role": "user", "content": text}}
    )


def kept(connection: psycopg.Connection[DictRow]) -> list[str]:
    rows = connection.execute("select content from pgmem.turn order by place").fetchall()
    return [row["content"] for row in rows]


def test_a_line_that_cannot_be_read_in_time_is_passed_over(
    dsn: str, tmp_path: Path, connection: psycopg.Connection[DictRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event ends while it reads, wherever in the transcript the line is."""
    texts = [f"Remember number {number}." for number in range(150)]
    texts[100] = "slow"
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("".join(f"{turn(*each)}\n" for each in enumerate(texts)))
    read = transcripts.Reader.read

    def give_up_on_the_slow_one(reader: transcripts.Reader, lines: list[bytes]) -> list[dict[str, str]]:
        if any(b"slow" in line for line in lines):
            raise TimeoutError
        return read(reader, lines)

    monkeypatch.setattr(transcripts.Reader, "read", give_up_on_the_slow_one)
    given = {
        "session_id": "s1",
        "transcript_path": str(transcript),
        "cwd": str(repository(tmp_path / "shop")),
    }
    event = events.Event("Stop", "keep", "claude-code", given, Session(tmp_path, "c", "s1"), tmp_path)

    def events_until_one_ends_well() -> int:
        for number in range(1, 10):
            with Connection(dsn) as server:
                try:
                    events._keep(event, server)
                except TimeoutError:
                    continue
            return number
        return 0

    assert 1 < events_until_one_ends_well() <= 4
    assert kept(connection) == [text for text in texts if text != "slow"]
    log = (tmp_path / "hooks" / "hook.log").read_text()
    assert log.count(f"Stop passed over a line of {transcript}") == 1
    assert events_until_one_ends_well() == 1


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"type": "user", "message": ' + "x" * 17_000_000], ids=["deep", "long"]
)
def test_the_rest_of_a_session_is_kept_behind_a_line_that_no_client_writes(
    hook: Hook, tmp_path: Path, connection: psycopg.Connection[DictRow], line: str
) -> None:
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(f"{turn(1, 'Before it.')}\n{line}\n{turn(2, 'Behind it.')}\n")
    stop: dict[str, Any] = {
        "hook_event_name": "Stop",
        "session_id": "s1",
        "transcript_path": str(transcript),
        "cwd": str(repository(tmp_path / "shop")),
    }
    for _ in range(3):
        hook(stop)
    assert kept(connection) == ["Before it.", "Behind it."]


def test_a_pipe_in_the_place_of_a_transcript_is_not_waited_for(
    hook: Hook, data_dir: Path, tmp_path: Path
) -> None:
    transcript = tmp_path / "transcript.jsonl"
    os.mkfifo(transcript)
    stop = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(transcript)}
    hook({**stop, "cwd": str(repository(tmp_path / "shop"))})
    assert not (data_dir / "hooks" / "hook.log").exists()
