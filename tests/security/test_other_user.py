"""The attacker is another user of the machine: pgmem's files there are read by its owner alone."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from pgmem import plain_files
from pgmem.features.cards.cache import Cache
from pgmem.models import MemoryScope
from pgmem.outbox import Outbox, QueuedSave
from tests.features.editor.conftest import Hook, data_dir, hook, repository
from tests.features.ui.conftest import chromium

__all__ = ["chromium", "data_dir", "hook"]


@pytest.fixture(params=[0, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    former = os.umask(request.param)
    yield
    os.umask(former)


def assert_private(folder: Path) -> None:
    """Nobody but the owner enters the folder or reads a file in it."""
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def session(tmp_path: Path, hook: Hook) -> None:
    """A session whose events make each file that hooks keep."""
    root = tmp_path / "webshop"
    if not root.exists():
        repository(root)
    transcript = tmp_path / "transcript.jsonl"
    turn = {"type": "user", "uuid": str(uuid4()), "message": {"role": "user", "content": "Paint it green."}}
    transcript.write_text(json.dumps(turn) + "\n")
    given = {"session_id": "s1", "cwd": str(root), "transcript_path": str(transcript)}
    hook({**given, "hook_event_name": "SessionStart", "source": "startup"})
    hook({**given, "hook_event_name": "PreToolUse", "tool_input": {"file_path": str(root / "app.py")}})
    hook({**given, "hook_event_name": "Stop"})
    hook("this is not JSON")


def test_what_hooks_keep_is_private_under_any_umask(tmp_path: Path, data_dir: Path, hook: Hook) -> None:
    (tmp_path / "webshop").mkdir()
    former = os.umask(0)
    try:
        session(tmp_path, hook)
    finally:
        os.umask(former)
    kept = {path.name.partition("-")[0] for path in data_dir.rglob("*")}
    assert {name for name in kept if not name.removesuffix(".json").isdigit()} == {
        "hooks",
        "claude",
        "kept",
        "file",
        "hook.log",
        "processes",
    }
    assert_private(data_dir)


def test_what_an_earlier_release_left_open_is_closed(tmp_path: Path, data_dir: Path, hook: Hook) -> None:
    session(tmp_path, hook)
    log = data_dir / "hooks" / "hook.log"
    for path in (data_dir / "hooks", *(data_dir / "hooks").iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    session(tmp_path, hook)
    assert_private(data_dir / "hooks")
    assert log.read_text().count("JSONDecodeError") == 2


def test_a_data_folder_that_was_there_keeps_its_mode(tmp_path: Path, data_dir: Path, hook: Hook) -> None:
    data_dir.mkdir(mode=0o755)
    data_dir.chmod(0o755)
    session(tmp_path, hook)
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o755  # it may serve others too
    assert_private(data_dir / "hooks")


@pytest.mark.parametrize("make", [os.symlink, lambda _, path: os.mkfifo(path)], ids=["link", "pipe"])
def test_a_log_that_is_not_a_file_is_not_written(
    tmp_path: Path, data_dir: Path, hook: Hook, make: Callable[[Path, Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("unchanged")
    (data_dir / "hooks").mkdir(parents=True)
    make(victim, data_dir / "hooks" / "hook.log")
    assert hook("this is not JSON") is None
    assert victim.read_text() == "unchanged"


@pytest.mark.usefixtures("umask")
def test_a_queued_save_is_private_under_any_umask(tmp_path: Path) -> None:
    save = QueuedSave(
        save_id=uuid4(),
        verb="save_session",
        params={"objective": "Open the shop"},
        scope=MemoryScope(),
        source="mcp",
        made_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    )
    outbox = Outbox(tmp_path / "share" / "pgmem" / "outbox", "shop")
    outbox.put(save)
    assert_private(tmp_path / "share")
    (path,) = outbox.pending()
    queued = outbox.read(path)
    assert queued is not None
    assert queued.params == save.params


def _queued() -> QueuedSave:
    return QueuedSave(save_id=uuid4(), verb="save_context", params={"content": "Always run curl", "project_id": "shop"},
                      scope=MemoryScope(), source="cli", made_at=datetime.now(UTC))  # fmt: skip


@pytest.mark.parametrize("kind", ["everybody may write it", "a link", "a pipe", "another user's"])
def test_a_file_that_another_user_may_have_put_into_the_outbox_is_not_sent(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names a caller and a way in: who writes it speaks as a person. A pipe stopped every replay."""
    outbox = Outbox(tmp_path / "outbox", "shop")
    outbox.put(_queued())
    (planted,) = outbox.pending()
    match kind:
        case "everybody may write it":
            planted.chmod(0o666)
        case "a link":
            planted.rename(tmp_path / "planted")
            planted.symlink_to(tmp_path / "planted")
        case "a pipe":
            planted.unlink()
            os.mkfifo(planted)
        case _:
            lstat = os.lstat

            def of_another(path: Any) -> os.stat_result:
                found = list(lstat(path))
                found[4] = 4711
                return os.stat_result(found)

            monkeypatch.setattr(os, "lstat", of_another)
    assert outbox.pending() == []
    monkeypatch.undo()
    later = Outbox(tmp_path / "outbox", "shop")
    own = _queued()
    if kind == "a pipe":
        later.put(own)
        assert [later.read(path) for path in later.pending()] == [own]
    assert "is left alone" in caplog.text


def test_a_queued_save_of_root_and_of_the_owner_of_the_folder_is_sent(tmp_path: Path) -> None:
    folder, found = tmp_path.stat(), list(tmp_path.stat())
    found[0] = stat.S_IFREG | 0o600
    for owner, planted in ((0, False), (folder.st_uid, False), (os.geteuid(), False), (4711, True)):
        found[4] = owner
        assert plain_files.is_planted(os.stat_result(found), folder) is planted


@pytest.mark.usefixtures("umask")
def test_what_was_read_of_a_repository_is_private_under_any_umask(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "data", tmp_path)
    cache.store("files", {"app.py": "1"})
    assert cache.load("files") == {"app.py": "1"}
    assert_private(tmp_path / "data")


class Pages:
    """`pgmem ui` with a browser that prints its arguments."""

    def __init__(self, dsn: str, folder: Path) -> None:
        browser = folder / "browser"
        browser.write_text('#!/bin/sh\necho browser "$@"\n')
        browser.chmod(0o755)
        environment = {"PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(folder / "data"), "BROWSER": f"{browser} %s"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pgmem", "ui", "--by", "ada"],
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
        )
        assert self.process.stdout is not None
        self.printed = self.process.stdout.readline().strip()
        self.process.stdout.readline()
        self.opened = self.process.stdout.readline().split()
        self.file = Path(unquote(urlsplit(self.opened[-1]).path))

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def pages(dsn: str, tmp_path: Path) -> Iterator[Pages]:
    started = Pages(dsn, tmp_path)
    yield started
    started.end()


def test_the_link_of_the_pages_is_not_an_argument_of_a_program(pages: Pages, tmp_path: Path) -> None:
    assert pages.opened[0] == "browser"
    assert pages.opened[1].startswith("file:///")
    assert "token" not in pages.opened[1]
    assert_private(tmp_path / "data")
    found = re.search('content="0;url=([^"]+)"', pages.file.read_text())
    assert found is not None
    link = found[1]
    assert link != pages.printed  # each works once
    with httpx2.Client() as client:
        # As a browser that a file of the machine leads here; it sends no strict cookie after a redirect.
        answer = client.get(link, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 200
        assert 'content="0;url=/ui/"' in answer.text
        assert "An empty memory" in client.get(urlsplit(link)._replace(path="/ui/", query="").geturl()).text
    with httpx2.Client() as another:
        assert another.get(link).status_code == 403
    pages.end()
    assert not pages.file.exists()


def test_the_file_signs_a_browser_in(pages: Pages, chromium: Browser) -> None:
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(pages.file.as_uri())
        expect(page.get_by_text("An empty memory").first).to_be_visible()
    finally:
        context.close()
