"""Which conversation a process belongs to: a hook notes it under the processes that started it, and a server reads it.

A client starts its hooks and its MCP server, each perhaps through a shell or a launcher. So a note is kept under the
parent and the grandparent of the hook, and a server looks for its own parent first. A note of another client does not
count: two clients of one terminal have the terminal as an ancestor. This module imports nothing heavy, because a
session waits for hooks.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from pathlib import Path

from pgmem import plain_files

_FORGET_AFTER_S = 30 * 86400
_MOST = 2_000


def note(data_dir: Path, client: str, session_id: str) -> None:
    """Note the conversation for the other processes of its client.

    Args:
        data_dir: the data directory of pgmem.
        client: such as claude-code.
        session_id: the id of the session in that client.
    """
    content = json.dumps({"client": client, "session": session_id}).encode(errors="replace")
    folder = _folder(data_dir)
    with contextlib.suppress(OSError):
        plain_files.make_private_folder(folder.parent)
        plain_files.make_private_folder(folder)
    for process in _ancestors():
        path = folder / f"{process}.json"
        with contextlib.suppress(OSError):
            if not _is_noted(path, content):
                plain_files.replace(path, content, durable=False)


def current(data_dir: Path, client: str) -> str | None:
    """Return the conversation of the client that started this process, as turns name it; None if no hook noted it.

    Args:
        data_dir: the data directory of pgmem.
        client: the name by which the client introduced itself to this process.
    """
    for process in _ancestors():
        try:
            found = json.loads(plain_files.read(_folder(data_dir) / f"{process}.json", _MOST))
            noted, session = str(found["client"]), str(found["session"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if _maker(noted) == _maker(client):
            return f"{noted}:{session}"
    return None


def sweep(data_dir: Path) -> None:
    """Remove the notes of processes that ended long ago."""
    oldest = time.time() - _FORGET_AFTER_S
    for path in _folder(data_dir).glob("*.json"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _is_noted(path: Path, content: bytes) -> bool:
    """Whether a file says this already, and nobody else may read it."""
    return path.exists() and path.stat().st_mode & 0o077 == 0 and path.read_bytes() == content


def _folder(data_dir: Path) -> Path:
    return data_dir / "hooks" / "processes"


def _maker(client: str) -> str:
    """The first word of a client's name: `codex` is `codex-mcp-client` too."""
    return re.split(r"[^a-z0-9]", client.lower(), maxsplit=1)[0]


def _ancestors() -> list[str]:
    """The parent and, where the system shows it, the grandparent of this process: names that none has later."""
    parent = os.getppid()
    found = _process(parent)
    if found is None:
        return [str(parent)]
    name, before = found
    above = _process(before) if before > 1 else None
    return [name, above[0]] if above else [name]


def _process(pid: int) -> tuple[str, int] | None:
    """The name of a process, made of its id and its start, and its parent; None where the system has no /proc."""
    try:
        # The name of the program comes before, in brackets, and may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return f"{pid}-{fields[19]}", int(fields[1])
    except (OSError, ValueError, IndexError):
        return None
