"""The state of a hook between events: files in the data directory, so that no event waits for another.

Each fact is its own file, made in one step: parallel events of a session need no lock, and a lost directory
means only that a text is shown or read again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from pgmem import plain_files

_LOG_LIMIT = 1_000_000
_FORGET_AFTER_S = 30 * 86400
_WORD = re.compile(r"[^A-Za-z0-9_-]")


class Session:
    """The files of one session of a client.

    Args:
        data_dir: the data directory of pgmem.
        client: such as claude-code.
        session_id: the id of the session in that client.
    """

    def __init__(self, data_dir: Path, client: str, session_id: str) -> None:
        digest = hashlib.sha256(session_id.encode(errors="replace")).hexdigest()[:16]
        self.folder = data_dir / "hooks" / f"{_WORD.sub('', client)[:20]}-{digest}"

    def first(self, kind: str, key: str) -> bool:
        """Whether this is the first time that a thing of a kind comes up in the session."""
        self._make()
        try:
            os.close(os.open(self._mark(kind, key), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        return True

    def has(self, kind: str, key: str) -> bool:
        """Whether a thing of a kind came up in the session before."""
        return self._mark(kind, key).exists()

    def forget(self, kind: str) -> None:
        """Let everything of a kind come up for the first time again."""
        for path in self.folder.glob(f"{kind}-*"):
            path.unlink(missing_ok=True)

    def read(self, name: str) -> Any:
        """Return the text that `write` kept under a name; None if there is none."""
        try:
            return json.loads((self.folder / self._file(name)).read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def write(self, name: str, value: object) -> None:
        """Keep a value of JSON under a name."""
        self._make()
        plain_files.replace(self.folder / self._file(name), json.dumps(value).encode(), durable=False)

    def sweep(self) -> None:
        """Remove the files of sessions that ended long ago."""
        oldest = time.time() - _FORGET_AFTER_S
        for folder in self.folder.parent.iterdir():
            if folder.is_dir() and not folder.is_symlink() and folder.stat().st_mtime < oldest:
                for path in folder.iterdir():
                    path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def _mark(self, kind: str, key: str) -> Path:
        return self.folder / f"{kind}-{hashlib.sha256(key.encode(errors='replace')).hexdigest()[:24]}"

    def _make(self) -> None:
        plain_files.make_private_folder(self.folder.parent)
        plain_files.make_private_folder(self.folder)

    @staticmethod
    def _file(name: str) -> str:
        return f"kept-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:24]}.json"


def log(data_dir: Path, event: str, message: str) -> None:
    """Append a line to hooks/hook.log; it never raises."""
    try:
        path = data_dir / "hooks" / "hook.log"
        plain_files.make_private_folder(path.parent)
        if path.exists() and path.stat().st_size > _LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        line = "".join(filter(str.isprintable, " ".join(message.split())))[:500]
        plain_files.append(path, f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {event} {line}\n")
    except OSError:
        return
