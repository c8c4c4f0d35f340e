"""The attacker decides about the input of a hook: text of a page, a file or a paste in its event."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from pgmem.features.editor import events
from pgmem.features.editor.state import log

Sent = Callable[[bytes], list[str]]


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Sent:
    """`sent(b"…")`: the lines of the log after a hook got this on stdin; it has printed nothing and exited with 0."""
    monkeypatch.setenv("PGMEM_DSN", f"host={tmp_path} connect_timeout=1")
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr(events, "_give_up_after", lambda _seconds, _event: None)

    def send(given: bytes) -> list[str]:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(given)))
        events.main(events.Call("Stop", data_dir=str(tmp_path / "data")))
        assert ended == [0]
        assert capfd.readouterr() == ("", "")
        return (tmp_path / "data" / "hooks" / "hook.log").read_text("utf-8").splitlines()

    return send


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(b"[" * 200_000, id="deep"),
        pytest.param(b'{"prompt": ' * 100_000, id="deep objects"),
        pytest.param(b'{"prompt": "\xff\xfe"}', id="not UTF-8"),
        pytest.param(b'{"session_id": ' + b"9" * 100_000 + b"}", id="a long number"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"\x00" * 1000, id="NUL"),
    ],
)
def test_what_is_no_event_is_one_line_of_the_log(given: bytes, sent: Sent) -> None:
    assert len(sent(given)) == 1


def test_no_more_is_read_than_a_bound(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer of a tool has no bound: a session waited, and the machine had to hold it three times."""
    monkeypatch.setattr(events, "_MOST_READ", 1000)
    event = json.dumps({"hook_event_name": "Stop", "tool_response": "x" * 2000}).encode()
    (line,) = sent(event)
    assert "JSONDecodeError" in line


def test_the_log_controls_no_terminal(tmp_path: Path) -> None:
    """The message of an error may repeat a name."""
    log(tmp_path, "Stop", "No project \x1b]0;x\x07\x1b[2J\u202e found\n2026-01-01 all is well")
    (line,) = (tmp_path / "hooks" / "hook.log").read_text("utf-8").splitlines()
    assert line.isprintable()
